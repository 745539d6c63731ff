"""Variants that may make a network on CIFAR-10 more accurate (not in the paper).

Each variant is the network ``cifar-pm`` with Mercer features and something changed. The best one
is chosen on held-out training images; the accuracy of every variant on the test images is shown
beside it, and plays no part in the choice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import as_float, convert, namespace, on_device, to_numpy
from bochner.engine.rowwise import row_slices
from bochner.engine.summaries import rows_at
from bochner.images.layers import ARCHITECTURES, Layer
from bochner.images.network import ConvolutionalKernelNetwork
from bochner.images.patches import extract_patches
from bochner.linear import SquaredHingeClassifier
from bochner.linear.penalty import choose_penalty
from bochner.linear.scoring import MEASURES
from bochner.linear.splits import hold_out
from bochner.papers.groups import Groups, detail, fit_seconds
from bochner.papers.mukuta import networks
from bochner.papers.mukuta.table2 import PUBLISHED
from bochner.papers.study import Request, Runner, grid, timed_result
from bochner.records.cells import Cell, Result
from bochner.records.sections import Row, Section, value
from bochner.records.statistics import mean_and_error

TASK = "cifar-pm"
HELD = "held out"
_WHITENED_PATCH, _FLOOR = 3, 0.01  # patch side; least variance, relative to the mean
_SAMPLE, _BATCH = 10_000, 2000  # images


@dataclass(frozen=True)
class Network:
    """Layers of a network, applied to the images or to whitened ones."""

    layers: tuple[Layer, ...]
    whitened: bool = False


@dataclass(frozen=True)
class Variant:
    """Networks whose features stand side by side, and whether mirror images count as well."""

    networks: tuple[Network, ...]
    mirrored: bool = False


def _changed(first: dict[str, Any] | None = None, last: dict[str, Any] | None = None) -> Network:
    """Return the patch network with other values in its layers."""
    layers = ARCHITECTURES[TASK]
    return Network((replace(layers[0], **(first or {})), replace(layers[1], **(last or {}))))


PATCHES, GRADIENTS = Network(ARCHITECTURES[TASK]), Network(ARCHITECTURES["cifar-gm"])
WHITENED = replace(PATCHES, whitened=True)
VARIANTS: dict[str, Variant] = {
    "as it is": Variant((PATCHES,)),
    "quantile 0.02": Variant((_changed({"quantile": 0.02}, {"quantile": 0.02}),)),
    "quantile 0.02 first": Variant((_changed({"quantile": 0.02}),)),
    "quantile 0.02 last": Variant((_changed(last={"quantile": 0.02}),)),
    "patches of 3 x 3": Variant((_changed({"patch": 3}),)),
    "200 maps first": Variant((_changed({"maps": 200}),)),
    "1600 maps last": Variant((_changed(last={"maps": 1600}),)),
    "whitened": Variant((WHITENED,)),
    "gradients": Variant((GRADIENTS,)),
    "with gradients": Variant((PATCHES, GRADIENTS)),
    "with whitened": Variant((PATCHES, WHITENED)),
    "mirrored": Variant((PATCHES,), mirrored=True),
    "with whitened, mirrored": Variant((PATCHES, WHITENED), mirrored=True),
}


def collect(request: Request, run: Runner) -> list[Result]:
    """Measure every variant."""
    few = networks.QUICK_IMAGES if request.quick else None
    return run(grid("variants", request, [(name, None) for name in VARIANTS], few))


def measure(cell: Cell, device: str = "cpu") -> Result:
    """Measure the test accuracy of one variant; `details` has that on the held-out images."""
    start = time.perf_counter()
    variant = VARIANTS[cell.method]
    data = networks.load_part(networks.dataset_of(cell.task), cell.max_train, cell.seed)
    X, X_test = on_device(data.X_train, device), on_device(data.X_test, device)
    y = data.y_train
    extract, fit = fitted(variant, X, cell)
    sides = [extract(side) for side in _sides(variant, X)]
    kept, held = hold_out(y, cell.seed, classes=False, n_held=len(y) // networks.HELD_OUT)
    rows = _stacked([rows_at(side, kept) for side in sides])
    held_sides = [rows_at(side, held) for side in sides]
    head, several = SquaredHingeClassifier(), len(sides)
    choice = choose_penalty(
        head,
        rows,
        np.tile(y[kept], several),
        held_sides[0],
        y[held],
        MEASURES["accuracy"],
        Cs=networks.PENALTIES,
    )
    score = choice.score
    if several > 1:
        (model,) = head.path(rows, np.tile(y[kept], several), [choice.C])
        score = _accuracy(model, held_sides, y[held])
    del rows, held_sides
    details = {
        # C weighs a sum over the rows: scaled to the number of all images.
        "C": choice.C * len(kept) / len(y),
        HELD: score,
        "columns": float(sides[0].shape[1]),
    }
    (model,) = head.path(_stacked(sides), np.tile(y, several), [details["C"]])
    del sides
    assert data.y_test is not None
    test = _accuracy(model, [extract(side) for side in _sides(variant, X_test)], data.y_test)
    return timed_result(cell, test, fit, start, details)


def fitted(variant: Variant, X: Any, cell: Cell) -> tuple[Any, float]:
    """Return a function from images to the features of all networks, and the fit's seconds."""
    start = time.perf_counter()
    quick = cell.max_train is not None
    whiten = whitening(X) if any(network.whitened for network in variant.networks) else None
    several = [
        ConvolutionalKernelNetwork(
            layers=network.layers,
            n_patches=networks.QUICK_PATCHES if quick else networks.PATCHES,
            memory_budget=networks.memory_at(X),
            random_state=cell.seed,
        ).fit(whiten(X) if network.whitened and whiten else X)
        for network in variant.networks
    ]

    def extract(images: Any) -> Any:
        parts = [
            network.transform(whiten(images) if described.whitened and whiten else images)
            for network, described in zip(several, variant.networks, strict=True)
        ]
        return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=1)

    return extract, time.perf_counter() - start


def whitening(X: Any) -> Any:
    """Return a function that whitens images by the covariance of small patches.

    A whitened pixel is the middle pixel of its patch, after the columns of the patches have been
    made uncorrelated, of variance one.
    """
    sample = to_numpy(as_float(X[:_SAMPLE, ...], images=True)).astype(np.float64)
    pixels, channels = _WHITENED_PATCH**2, X.shape[3]
    patches = extract_patches(sample, _WHITENED_PATCH).reshape(-1, pixels * channels)
    variances, directions = np.linalg.eigh(np.cov(patches.T))
    scales = 1 / np.sqrt(variances + _FLOOR * variances.mean())
    matrix = (directions * scales) @ directions.T
    middle = slice(pixels // 2 * channels, (pixels // 2 + 1) * channels)
    filters, mean = matrix[:, middle], patches.mean(axis=0) @ matrix[:, middle]

    def whiten(images: Any) -> Any:
        parts = []
        for rows in row_slices(int(images.shape[0]), _BATCH):
            some = as_float(images[rows, ...], images=True)
            cut = extract_patches(some, _WHITENED_PATCH)
            parts.append(cut @ convert(filters, some) - convert(mean, some))
        return namespace(parts[0]).concat(parts, axis=0)

    return whiten


def _sides(variant: Variant, X: Any) -> list[Any]:
    """Return the images and, if the variant asks for them, their mirror images."""
    return [X, namespace(X).flip(X, axis=2)] if variant.mirrored else [X]


def _stacked(sides: Sequence[Any]) -> Any:
    return sides[0] if len(sides) == 1 else namespace(sides[0]).concat(list(sides), axis=0)


def _accuracy(model: Any, sides: Sequence[Any], y: NDArray[Any]) -> float:
    """Return the accuracy of decisions about an image and its mirror image together."""
    decisions = sum(to_numpy(model.decision_function(side)) for side in sides)
    return float(np.mean(model.classes_[np.argmax(decisions, axis=1)] == y))


def sections(results: Sequence[Result]) -> list[Section]:
    """Report every variant, and the one that held-out images prefer."""
    groups = Groups(results)
    (task,) = groups.tasks
    held = {
        name: mean_and_error(groups.numbers(task, name, None, detail(HELD)))[0]
        for name in groups.methods
    }
    rows: list[Row] = [("variant", "held out %", "test %", "columns", "fit s")]
    for name in groups.methods:
        place = task, name, None
        rows.append(
            (
                name,
                groups.mean(*place, lambda result: 100 * result.details[HELD]),
                groups.mean(*place),
                value(groups.numbers(*place, detail("columns"))[0], ".0f"),
                groups.mean(*place, fit_seconds, ".1f"),
            )
        )
    best = max(held, key=lambda name: held[name])
    published = max(number for row in PUBLISHED["cifar10"] for number in row)
    lines = (
        f"Held-out images prefer '{best}': {groups.mean(task, best, None)} % of the test images,"
        f" where the largest published number is {published:.2f}.",
        "A variant is cifar-pm with Mercer features and something changed. Whitened: pixels of"
        " patches of 3 x 3 whose columns are uncorrelated. With gradients: the features of"
        " cifar-gm beside. Mirrored: mirror images are learned from as well, and decided together"
        " with their images.",
        "Held out: a sixth of the training images, on which C is chosen.",
    )
    return [Section(f"Networks on CIFAR-10, {groups.over()}", tuple(rows), lines)]


VARIANTS_STUDY = networks.make_study(
    (TASK,),
    TASK,
    item="Variants",
    summary="changes to a network on CIFAR-10 (not in the paper)",
    quick_time="60 s",
    full_time="hours",
    collect=collect,
    measure=measure,
    sections=sections,
)
