"""Linear models on the features of convolutional kernel networks.

A network learns from the training images without their labels, and a linear support vector machine
(squared hinge, one against the others) is trained on its features. What is chosen, the penalty and
where there are several the quantile of the bandwidth, is chosen on a sixth of the training images;
then the model is trained on all of them. Images may be on the host or on a GPU, and everything
is computed where they are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.local import LocalDataset, load_images
from bochner.engine.summaries import rows_at
from bochner.images.layers import ARCHITECTURES, Layer
from bochner.images.network import ConvolutionalKernelNetwork
from bochner.images.optimized import OptimizedMap
from bochner.linear import SquaredHingeClassifier
from bochner.linear.heads import choose_penalty
from bochner.linear.scoring import MEASURES
from bochner.linear.splits import hold_out
from bochner.papers.mukuta.feature_maps import PAPER
from bochner.papers.study import Study, Version, timed_result
from bochner.records.cells import Cell, Result

OPTIMIZED, RANDOM, NYSTROEM, MERCER = "optimized", "random", "Nystroem", "Mercer"
# name in the tables: name of the approximation
METHODS = {OPTIMIZED: "optimized", RANDOM: "fourier", NYSTROEM: "nystroem", MERCER: "mercer"}
FILES = {"mnist": ("mnist.npz",), "cifar10": ("cifar10_train.npz", "cifar10_test.npz")}

PENALTIES = tuple(2.0**power for power in range(-3, 16, 2))
QUANTILE = 0.1  # of the bandwidth, where nothing is chosen
PATCHES = 300_000
# of the quick versions, which have `max_train` images
QUICK_IMAGES, QUICK_PATCHES, QUICK_MAP = 600, 20_000, OptimizedMap(5_000, 20)
HELD_OUT = 6  # one of so many training images chooses
GIBIBYTE = 2**30


def make_study(
    tasks: tuple[str, ...], quick_task: str, full_time: str, quick_time: str, **values: Any
) -> Study:
    """A study of networks; its tasks are names of architectures."""
    note = f"{quick_task}, {QUICK_IMAGES} images to train, one seed, a short optimisation"
    return Study(
        paper=PAPER,
        tasks=tasks,
        files={task: FILES[dataset_of(task)] for task in tasks},
        full=Version(2, full_time),
        quick=Version(1, quick_time, note, (quick_task,)),
        on_devices=True,
        **values,
    )


def measure_accuracy(
    cell: Cell, quantiles: Sequence[float], device: str = "cpu", budget: int = GIBIBYTE
) -> Result:
    """The accuracy of a linear model on the features of a network.

    Parameters
    ----------
    cell : Cell
        Its task is the name of an architecture, its width the number of maps of the last layer,
        None for that of the architecture.
    quantiles : sequence of float
        Of the bandwidth, among which held-out images choose.
    device : str, default="cpu"
        Where: ``"cpu"`` is NumPy, anything else a device of PyTorch.
    budget : int
        Bytes of scratch memory of the network.
    """
    start = time.perf_counter()
    data = load_part(dataset_of(cell.task), cell.max_train, cell.seed)
    X, X_test = place(data.X_train, device), place(data.X_test, device)
    y = data.y_train
    kept, held = hold_out(y, cell.seed, classes=False, n_held=len(y) // HELD_OUT)
    head = SquaredHingeClassifier()
    best: _Choice | None = None
    for quantile in quantiles:
        network, fit = fitted(cell, X, quantile, budget)
        begin = _clock(X)
        features = network.transform(X)
        seconds = _clock(X) - begin
        choice = choose_penalty(
            head,
            rows_at(features, kept),
            y[kept],
            rows_at(features, held),
            y[held],
            MEASURES["accuracy"],
            Cs=PENALTIES,
        )
        if best is None or choice.score > best.score:
            # C weighs a sum over the rows: scaled to the number of all images.
            C = choice.C * len(kept) / len(y)
            best = _Choice(choice.score, C, quantile, fit, seconds, network, features)
    assert best is not None
    begin = _clock(X)
    features_test = best.network.transform(X_test)
    seconds = best.seconds + _clock(X) - begin
    (model,) = head.path(best.features, y, [best.C])
    details = {
        "C": best.C,
        "held out": best.score,
        "quantile": best.quantile,
        "columns": float(best.features.shape[1]),
        "transform": round(seconds, 3),
    }
    score = float(np.mean(model.predict(features_test) == data.y_test))
    return timed_result(cell, score, best.fit, start, details)


@dataclass(frozen=True, eq=False)
class _Choice:
    """A network, its features, and how well a linear model on them does on held-out images."""

    score: float
    C: float
    quantile: float
    fit: float
    seconds: float
    network: ConvolutionalKernelNetwork
    features: Any


def dataset_of(name: str) -> str:
    """The images that an architecture is for.

    Examples
    --------
    >>> from bochner.papers.mukuta.networks import dataset_of
    >>> dataset_of("cifar-pm")
    'cifar10'
    """
    return {"mnist": "mnist", "cifar": "cifar10"}[name.partition("-")[0]]


@lru_cache(maxsize=1)
def load_part(name: str, max_train: int | None, seed: int) -> LocalDataset:
    """The images of a dataset; of more than `max_train` a part, and half as many to test."""
    data = _all_images(name)
    if max_train is None or len(data.y_train) <= max_train:
        return data
    assert data.y_test is not None
    random_state = np.random.RandomState(seed)
    train = random_state.permutation(len(data.y_train))[:max_train]
    test = random_state.permutation(len(data.y_test))[: max_train // 2]
    return LocalDataset(
        name, data.X_train[train], data.y_train[train], data.X_test[test], data.y_test[test]
    )


@lru_cache(maxsize=1)
def _all_images(name: str) -> LocalDataset:
    return load_images(name)


def architecture(name: str, maps: int | None = None) -> tuple[Layer, ...]:
    """A named architecture, with another number of maps in its last layer.

    Examples
    --------
    >>> from bochner.papers.mukuta.networks import architecture
    >>> [layer.maps for layer in architecture("cifar-pm", 200)]
    [100, 200]
    """
    *first, last = ARCHITECTURES[name]
    return (*first, last if maps is None else replace(last, maps=maps))


def place(X: NDArray[Any], device: str) -> Any:
    """Images where they are to be computed."""
    if device == "cpu":
        return X
    import torch

    return torch.as_tensor(X, device=device)


def fitted(
    cell: Cell, X: Any, quantile: float, budget: int = GIBIBYTE
) -> tuple[ConvolutionalKernelNetwork, float]:
    """The network of a cell, fitted to images, and the seconds that it took."""
    if cell.method not in METHODS:
        raise ValueError(f"there is no method {cell.method!r}; there are {', '.join(METHODS)}.")
    quick = cell.max_train is not None
    network = ConvolutionalKernelNetwork(
        layers=architecture(cell.task, cell.width),
        approximation=QUICK_MAP if cell.method == OPTIMIZED and quick else METHODS[cell.method],
        quantile=quantile,
        n_patches=QUICK_PATCHES if quick else PATCHES,
        memory_budget=budget,
        random_state=cell.seed,
    )
    start = _clock(X)
    network.fit(X)
    return network, _clock(X) - start


def _clock(X: Any) -> float:
    """The time, after everything that was asked of the device is done."""
    if not isinstance(X, np.ndarray):
        import torch

        if X.is_cuda:
            torch.cuda.synchronize()
    return time.perf_counter()
