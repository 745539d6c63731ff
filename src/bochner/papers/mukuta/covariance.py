"""Figure 5: how far from diagonal the covariance of the last layer's features is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import cast, namespace, on_device, to_numpy
from bochner.engine.summaries import rows_at
from bochner.images.layers import PatchLayer
from bochner.images.network import ConvolutionalKernelNetwork
from bochner.images.patches import extract_patches, normalize_patches
from bochner.papers.groups import Groups, detail, score
from bochner.papers.mukuta import networks
from bochner.papers.mukuta.networks import MERCER, OPTIMIZED
from bochner.papers.study import timed_result
from bochner.records.cells import Cell, Result
from bochner.records.sections import Row, Section

MAPS, IMAGES = 400, 2000


def measure(cell: Cell, device: str = "cpu") -> Result:
    """Measure one cell.

    The score is the root mean square of the correlations between different features of patches,
    among the first 400; `details` has the same for the maps after pooling.
    """
    start = time.perf_counter()
    data = networks.load_part(networks.dataset_of(cell.task), cell.max_train, cell.seed)
    X = on_device(data.X_train, device)
    network, fit = networks.fitted(cell, X, networks.QUANTILE)
    patches, maps = last_features(network, X[:IMAGES])
    details = {"maps": off_diagonal(maps)}
    return timed_result(cell, off_diagonal(patches), fit, start, details)


def last_features(
    network: ConvolutionalKernelNetwork, images: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return features of the last layer: of single patches, and after pooling."""
    *layers, last = network.layers_
    before = cast(images, namespace(images).float32)
    before = before[..., None] if before.ndim == 3 else before
    for layer in layers:
        before = layer(before, network.memory_budget // 2)
    assert isinstance(last.layer, PatchLayer)
    patches = extract_patches(before, last.layer.patch)
    patches = patches.reshape((-1, patches.shape[-1]))
    step = max(1, int(patches.shape[0]) // 100_000)
    directions, norms = normalize_patches(
        patches[::step, ...], before.shape[-1], center=last.center
    )
    rows = rows_at(directions, np.flatnonzero(to_numpy(norms) > 0))
    patch_features = to_numpy(last.xi(rows))
    maps = to_numpy(last(before, network.memory_budget // 2)).reshape(-1, last.n_maps)
    return patch_features, maps


def off_diagonal(features: NDArray[Any], most: int = MAPS) -> float:
    """Return the root mean square of the correlations between different columns that vary."""
    correlations = correlation(features, most)
    apart = correlations[~np.eye(len(correlations), dtype=bool)]
    return float(np.sqrt(np.mean(apart**2)))


def correlation(features: NDArray[Any], most: int = MAPS) -> NDArray[np.float64]:
    """Return the covariance of columns that were rescaled to variance one."""
    rows = features[:, :most].astype(np.float64)
    spread = rows.std(axis=0)
    return np.atleast_2d(np.corrcoef(rows[:, spread > 1e-9 * spread.max()], rowvar=False))


def sections(results: Sequence[Result]) -> list[Section]:
    """Report correlations between the features of the last layer."""
    groups = Groups(results)
    rows: list[Row] = [("architecture", "approximation", "of patches", "after pooling")]
    rows += [
        (*key[:2], groups.mean(*key, score, ".3f"), groups.mean(*key, detail("maps"), ".3f"))
        for key in groups
    ]
    claim = groups.compare(
        "features of Mercer are less correlated than those of the optimised map",
        OPTIMIZED,
        MERCER,
        score,
    )
    line = (
        "Root mean square of the correlations between different features, the first"
        f" {MAPS} of the last layer: of single patches, for which the eigenfunctions"
        " are made, and of the maps after pooling."
    )
    heading = "Figure 5: how far from diagonal the covariance is"
    return [Section(heading, tuple(rows), (line,), claims=(claim,))]


FIGURE5 = networks.make_study(
    ("cifar-pm",),
    "cifar-pm",
    item="Figure 5",
    summary="covariance of the features of a convolutional kernel network",
    quick_time="50 s",
    full_time="about 30 min",
    collect=partial(networks.collect, "covariance"),
    measure=measure,
    sections=sections,
)
