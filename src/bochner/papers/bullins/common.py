"""Learned and random features side by side, everything chosen on held-out training rows.

How choices are made: :mod:`bochner.models.linear_machine`. The test rows are looked at once.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import bochner
from bochner.data.local import LocalDataset
from bochner.fourier.bandwidth import median_distance
from bochner.fourier.features import FourierFeatures
from bochner.models.linear_machine import Machine, tune
from bochner.papers.groups import Groups, fit_seconds
from bochner.papers.study import Request, Runner, grid
from bochner.records.cells import Cell, Result
from bochner.records.sections import Value

PAPER = "Bullins, Zhang, Zhang 2018"
OURS, RANDOM = "ours", "random"

SYNTHETIC_ROWS = (2000, 50000)  # to train, to test
# With more rows than this the bandwidth of random features is chosen on a random subset, and with
# more than so many columns, where one linear model takes seconds, on a smaller one.
BANDWIDTH_ROWS, WIDE_COLUMNS, WIDE_BANDWIDTH_ROWS = 16000, 2000, 5000

# gamma as multiples of the median heuristic 1 / (2 median^2). Low dimensions want narrower
# kernels: half a length scale is four times gamma.
WIDE_MULTIPLES = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)
NARROW_MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
GAMMA = "gamma / median rule"

PICTURE_ROWS = 1000  # that are drawn, and that the game is played with
RESOLUTION = 80  # points around the sphere, and across the plane


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Rows, learned map and linear model of a study, and what is chosen on held-out rows.

    `name` is the study of the cells. `load` gives the rows of a task and a seed; `seeded` is
    whether they depend on the seed. `bands`, if there are any, are tried for the learned map, and
    `multiples` of the median rule for the bandwidth of random features. Widths are of both maps,
    in units of `columns_each` columns. `strength` is what the regularisation of the model is
    called. Choices are made on a quarter of the rows, or in several `folds`. With `count_columns`
    the number of features that were learned is a result.
    """

    name: str
    load: Callable[[str, int], LocalDataset]
    make_map: Callable[..., Any]
    model: Machine
    multiples: tuple[float, ...]
    widths: tuple[int, ...]
    quick_widths: tuple[int, ...] = (100,)
    random_widths: tuple[int, ...] = ()
    quick_random_widths: tuple[int, ...] = ()
    columns_each: int = 1
    kernel_svms: tuple[str, ...] = ()
    quick_rows: int = 1000
    strength: str = "C"
    seeded: bool = True
    folds: int = 1
    bands: tuple[float, ...] = ()
    count_columns: bool = False


def margin_features(**parameters: Any) -> Any:
    """The map of most studies, with its defaults."""
    return bochner.MarginFourierFeatures(**parameters)


def collect(experiment: Experiment, request: Request, run: Runner) -> list[Result]:
    """Random features, learned ones and kernel machines; widths asked for are of both maps."""
    random, ours = experiment.random_widths, experiment.widths
    if request.quick:
        random, ours = experiment.quick_random_widths, experiment.quick_widths
    if request.widths:
        random, ours = request.widths if random else (), request.widths
    each = experiment.columns_each
    columns: list[tuple[str, int | None]] = [
        *((RANDOM, each * width) for width in random),
        *((OURS, each * width) for width in ours),
        *((method, None) for method in experiment.kernel_svms),
    ]
    max_train = experiment.quick_rows if request.quick else None
    return run(grid(experiment.name, request, columns, max_train))


def measure_features(experiment: Experiment, cell: Cell) -> Result:
    """A linear model on learned or on random features."""
    data = rows_of(experiment, cell)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    assert y_test is not None
    start = time.perf_counter()
    model, spread = experiment.model, float(np.std(y_test))
    if not model.classes:
        # Whole numbers would be taken for classes.
        mean, unit = float(np.mean(y)), float(np.std(y))
        y, y_test = (y - mean) / unit, (y_test - mean) / unit
    candidates = candidate_maps(experiment, cell, X)
    wide = cell.width is not None and cell.width > WIDE_COLUMNS
    max_rows = WIDE_BANDWIDTH_ROWS if wide else BANDWIDTH_ROWS
    fitted = tune(candidates, X, y, model, cell.seed, max_rows, experiment.folds)
    score = model.score(fitted.decide(X_test), y_test)
    details = {experiment.strength: fitted.strength, "held-out": fitted.held_out_score}
    if len(candidates) > 1:
        details["band" if cell.method == OURS else GAMMA] = fitted.name
    if not model.classes:
        details["RMSE"] = float(np.sqrt(1 - score)) * spread
    if experiment.count_columns:
        details["columns"] = len(fitted.linear.coefficients)
    return as_result(cell, score, fitted.fit, start, details)


def candidate_maps(
    experiment: Experiment, cell: Cell, X: NDArray[Any]
) -> dict[float, Callable[[], Any]]:
    """The maps among which held-out rows choose: by band, or by multiple of the median rule.

    Without bands ours has no choices here: what it chooses it chooses in `fit`.
    """
    settings: dict[str, Any] = {"n_components": cell.width, "random_state": cell.seed}
    if cell.method == OURS:
        make = partial(experiment.make_map, **settings)
        bands = experiment.bands
        return {band: partial(make, band=band) for band in bands} if bands else {1.0: make}
    if cell.method != RANDOM:
        raise ValueError(f"there is no map {cell.method!r}; there are {OURS} and {RANDOM}.")
    gamma = median_gamma(X, cell.seed)
    return {
        multiple: partial(FourierFeatures, gamma=multiple * gamma, **settings)
        for multiple in experiment.multiples
    }


def median_gamma(X: NDArray[Any], seed: int) -> float:
    """The median heuristic on a subset of the rows."""
    distance = median_distance(X, "euclidean", np.random.RandomState(seed))
    return 1 / (2 * distance**2)


def rows_of(experiment: Experiment, cell: Cell) -> LocalDataset:
    """The rows of a cell; of more than `max_train` training rows a random part."""
    data = _rows(experiment.load, cell.task, cell.seed if experiment.seeded else 0)
    n = len(data.y_train)
    if cell.max_train is None or n <= cell.max_train:
        return data
    rows = np.random.RandomState(cell.seed).permutation(n)[: cell.max_train]
    return replace(data, X_train=data.X_train[rows], y_train=data.y_train[rows])


@lru_cache(maxsize=1)
def _rows(load: Callable[[str, int], LocalDataset], task: str, seed: int) -> LocalDataset:
    return load(task, seed)


def draw_rows(task: str, draw: Callable[..., Any], seed: int) -> LocalDataset:
    """Synthetic rows, to train and to test."""
    random_state = np.random.RandomState(seed)
    parts = [draw(n, random_state=random_state) for n in SYNTHETIC_ROWS]
    return LocalDataset(task, *parts[0], *parts[1])


def as_result(
    cell: Cell, score: float, fit: float, start: float, details: dict[str, float]
) -> Result:
    """A result with the seconds since `start`."""
    return Result(cell, score, round(fit, 4), round(time.perf_counter() - start, 2), details)


def over(groups: Groups, results: Sequence[Result]) -> str:
    """How many seeds and training rows there are, as text."""
    cuts = sorted({cell.max_train for r in results if (cell := r.cell).max_train is not None})
    return groups.over() + (f", at most {cuts[0]} training rows" if cuts else "")


def fit_value(groups: Groups, task: str, method: str, width: int | None) -> Value:
    """The seconds of the fit, for a table."""
    return groups.mean(task, method, width, fit_seconds)


def picture_model(features: NDArray[Any], y: NDArray[Any]) -> LinearSVC:
    """The linear model whose decisions a picture shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a picture shows no difference
        return LinearSVC(C=100.0, random_state=0).fit(features, y)


def decide(feature_map: Any, model: LinearSVC, points: NDArray[Any]) -> NDArray[Any]:
    """Decisions at points."""
    return np.asarray(model.decision_function(feature_map.transform(points)))
