"""Feature maps side by side: the same rows, the same kernel, the same linear model on top.

One *cell* is one method at one width on one random split. All methods share the split, the
standardised columns, and the gamma of the kernel, so that a difference between them is one of
the features. The linear model's regularisation is chosen for each by leave-one-out error.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bochner.datasets import Dataset
from bochner.engine.summaries import variance
from bochner.mercer.features import MercerFeatures, MercerWarning
from bochner.spectral.features import FourierFeatures
from bochner.spectral.landmarks import LandmarkSimilarities
from bochner.spectral.margin_features import MarginFourierFeatures
from bochner.spectral.posterior_features import PosteriorFourierFeatures
from bochner.spherical.features import EXACT_DIMENSIONS, MarginHarmonicFeatures

EXACT = "exact SVC"
SPHERE = "MarginHarmonicFeatures"
MOST_ZONAL = 64


def _on_the_sphere(*, n_components: int, gamma: float, random_state: int) -> Any:
    """Rows on the sphere have no length that a gamma could scale."""
    return MarginHarmonicFeatures(n_components=n_components, random_state=random_state)


# Feature maps by the name they have in the table; each takes n_components, gamma, random_state.
MAPS: dict[str, Callable[..., Any]] = {
    "MarginFourierFeatures": MarginFourierFeatures,
    SPHERE: _on_the_sphere,
    "PosteriorFourierFeatures": PosteriorFourierFeatures,
    "PosteriorFourierFeatures, chi2": partial(PosteriorFourierFeatures, divergence="chi2"),
    "LandmarkSimilarities": LandmarkSimilarities,
    "LandmarkSimilarities, plain": partial(LandmarkSimilarities, posterior=None),
    "MercerFeatures": MercerFeatures,
    "FourierFeatures": FourierFeatures,
    "FourierFeatures, iid": partial(FourierFeatures, sampling="iid"),
    "FourierFeatures, sobol": partial(FourierFeatures, sampling="sobol"),
    "FourierFeatures, unpaired": partial(FourierFeatures, sampling="iid", paired=False),
    "RBFSampler": RBFSampler,
    "Nystroem": Nystroem,
}
METHODS = (*MAPS, EXACT)


@dataclass(frozen=True)
class Cell:
    """What to measure. The exact machine has no width."""

    method: str
    width: int | None
    seed: int


@dataclass(frozen=True)
class Measurement:
    """What came out of a cell: share of test rows classified rightly, and seconds.

    For a feature map `fit` and `transform` are the map's own times (transform: all rows); for
    the exact machine they are training and prediction.
    """

    cell: Cell
    accuracy: float
    fit: float
    transform: float


@dataclass(frozen=True)
class Summary:
    """A method at one width over all seeds: means, and the standard error of the accuracy."""

    method: str
    width: int | None
    accuracy: float
    standard_error: float
    fit: float
    transform: float
    seeds: int


def plan(
    methods: Sequence[str], widths: Sequence[int], n_seeds: int, shape: tuple[int, int]
) -> tuple[list[Cell], list[str]]:
    """The cells of a comparison of rows of this shape, and a line about every one left out.

    Nystroem and landmarks cannot have more columns than training rows; zonal functions take a
    search each.
    """
    n_rows, n_features = shape
    cells, left_out = [], []
    n_training = n_rows - _n_test(n_rows)
    for seed in range(n_seeds):
        for method in methods:
            for width in (None,) if method == EXACT else tuple(widths):
                one_a_row = method.startswith(("Nystroem", "Landmark"))
                if one_a_row and width is not None and width > n_training:
                    left_out.append(
                        f"{method} with {width} columns needs as many training rows, "
                        f"there are {n_training}"
                    )
                elif (
                    (width or 0) > MOST_ZONAL
                    and method == SPHERE
                    and n_features > EXACT_DIMENSIONS
                ):
                    left_out.append(
                        f"{method} with {width} columns would take a search for each, in "
                        f"{n_features} dimensions; the most is {MOST_ZONAL}"
                    )
                else:
                    cells.append(Cell(method, width, seed))
    return cells, sorted(set(left_out))


def measure(cell: Cell, data: Dataset) -> Measurement:
    """Measure one cell."""
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, test_size=_n_test(len(data.X)), stratify=data.y, random_state=cell.seed
    )
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    gamma = 1 / (X.shape[1] * variance(X))
    if cell.width is None:
        machine = GridSearchCV(SVC(gamma=gamma), {"C": [0.1, 1, 10, 100]}, cv=3)
        machine.fit(X, y)
        machine, fit = _timed(clone(machine.best_estimator_).fit, X, y)
        predictions, transform = _timed(machine.predict, X_test)
    else:
        feature_map = MAPS[cell.method](
            n_components=cell.width, gamma=gamma, random_state=cell.seed
        )
        with warnings.catch_warnings():
            # A width that cuts a shell of equal eigenvalues: the widths are what is compared.
            warnings.simplefilter("ignore", MercerWarning)
            _, fit = _timed(feature_map.fit, X, y)
        feature_map.transform(X[:1])  # loads compiled code, once a process
        features, transform = _timed(feature_map.transform, np.vstack([X, X_test]))
        machine = RidgeClassifierCV(alphas=np.logspace(-5, 2, 8)).fit(features[: len(X)], y)
        predictions = machine.predict(features[len(X) :])
    return Measurement(cell, float(np.mean(predictions == y_test)), fit, transform)


def summarise(measurements: Sequence[Measurement]) -> list[Summary]:
    """Means over the seeds, in the order in which methods and widths first appear."""
    groups: dict[tuple[str, int | None], list[Measurement]] = {}
    for measurement in measurements:
        key = measurement.cell.method, measurement.cell.width
        groups.setdefault(key, []).append(measurement)
    return [
        Summary(
            method,
            width,
            float(np.mean([m.accuracy for m in group])),
            _standard_error([m.accuracy for m in group]),
            float(np.mean([m.fit for m in group])),
            float(np.mean([m.transform for m in group])),
            len(group),
        )
        for (method, width), group in groups.items()
    ]


def _standard_error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def _n_test(n_rows: int) -> int:
    return n_rows // 4


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start
