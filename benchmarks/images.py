"""Convolutional kernel networks: features of all images of MNIST.

``python -m benchmarks images`` needs ``BOCHNER_DATA``; ``python -m benchmarks.images cuda`` puts
the images on a PyTorch device first, and also measures CIFAR-10.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from benchmarks.harness import heading, row
from bochner import ConvolutionalKernelNetwork
from bochner.data.local import load_images
from bochner.engine.places import on_device
from bochner.papers.mukuta.networks import METHODS, dataset_of

WIDTHS = (24, 10, 14, 18)


def images(device: str = "cpu", architectures: tuple[str, ...] = ("mnist-pm",)) -> None:
    """Time the fit on all training images and the features of all training and test images."""
    for architecture in architectures:
        try:
            data = load_images(dataset_of(architecture))
        except FileNotFoundError as error:
            print(f"left out: {error}")
            return
        X, X_test = on_device(data.X_train, device), on_device(data.X_test, device)
        n = len(data.X_train) + len(data.X_test)
        heading(f"{architecture}, {n} images, {device}")
        row("approximation", "fit", "features", "images a second", widths=WIDTHS)
        for name, approximation in METHODS.items():
            network = ConvolutionalKernelNetwork(
                layers=architecture,
                approximation=approximation,
                memory_budget=2**30 if device == "cpu" else 2**33,
                random_state=0,
            )
            start = _now(device)
            network.fit(X)
            fit = _now(device) - start
            seconds = min(_features(network, (X, X_test), device) for _ in range(2))
            row(name, f"{fit:.2f} s", f"{seconds:.2f} s", f"{n / seconds:.0f}", widths=WIDTHS)


def _features(network: Any, parts: tuple[Any, ...], device: str) -> float:
    start = _now(device)
    for part in parts:
        network.transform(part)
    return _now(device) - start


def _now(device: str) -> float:
    if device != "cpu":
        import torch

        torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    images(sys.argv[1] if sys.argv[1:] else "cpu", ("mnist-pm", "cifar-pm"))
