"""Linear models on the features of convolutional kernel networks.

A network learns from the training images without their labels, and a linear support vector machine
(squared hinge, one against the others) is trained on its features. The penalty and, if there are
several, the quantile of the bandwidth are chosen on a sixth of the training images; then the model
is trained on all of them. Images may be on the host or on a GPU, and everything is computed where
they are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from bochner.data.local import LocalDataset, load_images
from bochner.engine.places import is_host, on_device
from bochner.engine.summaries import rows_at
from bochner.images.layers import ARCHITECTURES, Layer
from bochner.images.network import ConvolutionalKernelNetwork
from bochner.images.optimized import OptimizedMap
from bochner.linear import SquaredHingeClassifier
from bochner.linear.penalty import choose_penalty
from bochner.linear.scoring import MEASURES
from bochner.linear.splits import hold_out
from bochner.papers.mukuta.feature_maps import PAPER
from bochner.papers.study import Request, Runner, Study, Version, grid, timed_result
from bochner.records.cells import Cell, Result

OPTIMIZED, RANDOM, NYSTROEM, MERCER = "optimized", "random", "Nystroem", "Mercer"
# name in the tables: name of the approximation
METHODS = {OPTIMIZED: "optimized", RANDOM: "fourier", NYSTROEM: "nystroem", MERCER: "mercer"}
FILES = {"mnist": ("mnist.npz",), "cifar10": ("cifar10_train.npz", "cifar10_test.npz")}

PENALTIES = tuple(2.0**power for power in range(-3, 16, 2))
QUANTILE = 0.1  # of the bandwidth, if nothing is chosen
PATCHES = 300_000
# of the quick versions, which have `max_train` images
QUICK_IMAGES, QUICK_PATCHES, QUICK_MAP = 600, 20_000, OptimizedMap(5_000, 20)
HELD_OUT = 6  # one of this many training images is held out


def make_study(
    tasks: tuple[str, ...], quick_task: str, full_time: str, quick_time: str, **values: Any
) -> Study:
    """Make a study of networks; its tasks are names of architectures."""
    note = f"{quick_task}, {QUICK_IMAGES} images to train, one seed, a short optimisation"
    return Study(
        paper=PAPER,
        tasks=tasks,
        files={task: FILES[dataset_of(task)] for task in tasks},
        full=Version(3, full_time),
        quick=Version(1, quick_time, note, (quick_task,)),
        on_devices=True,
        **values,
    )


def collect(
    experiment: str,
    request: Request,
    run: Runner,
    full_widths: Sequence[int | None] = (None,),
    quick_widths: Sequence[int | None] = (None,),
) -> list[Result]:
    """Measure every approximation with every number of maps in the last layer."""
    widths = request.widths or (quick_widths if request.quick else full_widths)
    columns = [(method, width) for width in widths for method in METHODS]
    return run(grid(experiment, request, columns, QUICK_IMAGES if request.quick else None))


def measure_accuracy(cell: Cell, quantiles: Sequence[float], device: str = "cpu") -> Result:
    """Measure the accuracy of a linear model on the features of a network.

    The task of the cell is the name of an architecture, its width the number of maps of the last
    layer, None for that of the architecture. Held-out images choose among the `quantiles` of the
    bandwidth. The device ``"cpu"`` is NumPy, any other one of PyTorch.
    """
    start = time.perf_counter()
    data = load_part(dataset_of(cell.task), cell.max_train, cell.seed)
    X, X_test = on_device(data.X_train, device), on_device(data.X_test, device)
    y = data.y_train
    kept, held = hold_out(y, cell.seed, classes=False, n_held=len(y) // HELD_OUT)
    head = SquaredHingeClassifier()
    best: tuple[dict[str, float], float, Any, Any] | None = None
    for quantile in quantiles:
        network, fit = fitted(cell, X, quantile)
        begin = _clock(X)
        features = network.transform(X)
        seconds = _clock(X) - begin
        rows = rows_at(features, kept), y[kept], rows_at(features, held), y[held]
        choice = choose_penalty(head, *rows, MEASURES["accuracy"], Cs=PENALTIES)
        if best is None or choice.score > best[0]["held out"]:
            details = {
                # C weighs a sum over the rows: scaled to the number of all images.
                "C": choice.C * len(kept) / len(y),
                "held out": choice.score,
                "quantile": quantile,
                "columns": float(features.shape[1]),
                "transform": seconds,
            }
            best = details, fit, network, features
    assert best is not None
    details, fit, network, features = best
    begin = _clock(X)
    features_test = network.transform(X_test)
    details["transform"] = round(details["transform"] + _clock(X) - begin, 3)
    (model,) = head.path(features, y, [details["C"]])
    score = float(np.mean(model.predict(features_test) == data.y_test))
    return timed_result(cell, score, fit, start, details)


def dataset_of(name: str) -> str:
    """Return the dataset that an architecture is for: ``cifar10`` for ``cifar-pm``."""
    return {"mnist": "mnist", "cifar": "cifar10"}[name.partition("-")[0]]


@lru_cache(maxsize=1)
def load_part(name: str, max_train: int | None, seed: int) -> LocalDataset:
    """Return the images of a dataset; at most `max_train`, then half as many to test."""
    data = _all_images(name)
    if max_train is None or len(data.y_train) <= max_train:
        return data
    assert data.y_test is not None
    random_state = np.random.RandomState(seed)
    train = random_state.permutation(len(data.y_train))[:max_train]
    test = random_state.permutation(len(data.y_test))[: max_train // 2]
    parts = data.X_train[train], data.y_train[train], data.X_test[test], data.y_test[test]
    return LocalDataset(name, *parts)


@lru_cache(maxsize=1)
def _all_images(name: str) -> LocalDataset:
    return load_images(name)


def architecture(name: str, maps: int | None = None) -> tuple[Layer, ...]:
    """Return a named architecture, with another number of maps in its last layer."""
    *first, last = ARCHITECTURES[name]
    return (*first, last if maps is None else replace(last, maps=maps))


def fitted(cell: Cell, X: Any, quantile: float) -> tuple[ConvolutionalKernelNetwork, float]:
    """Fit the network of a cell to images; return it with the seconds that it took."""
    if cell.method not in METHODS:
        raise ValueError(f"there is no method {cell.method!r}; there are {', '.join(METHODS)}.")
    quick = cell.max_train is not None
    network = ConvolutionalKernelNetwork(
        layers=architecture(cell.task, cell.width),
        approximation=QUICK_MAP if cell.method == OPTIMIZED and quick else METHODS[cell.method],
        quantile=quantile,
        n_patches=QUICK_PATCHES if quick else PATCHES,
        memory_budget=memory_at(X),
        random_state=cell.seed,
    )
    start = _clock(X)
    network.fit(X)
    return network, _clock(X) - start


def memory_at(X: Any) -> int:
    """Return the bytes of scratch memory of a network on the device of the images."""
    return 2**30 if is_host(X) else 2**33


def _clock(X: Any) -> float:
    """Return the time, once everything that was asked of the device is done."""
    if not isinstance(X, np.ndarray):
        import torch

        if X.is_cuda:
            torch.cuda.synchronize()
    return time.perf_counter()
