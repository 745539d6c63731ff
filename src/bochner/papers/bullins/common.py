"""Learned and random features side by side, with settings chosen on held-out training rows.

Choices are made by :func:`~bochner.models.selection.choose_map`. The test rows are used once.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bochner.data.local import LocalDataset
from bochner.engine.places import on_device
from bochner.fourier.bandwidth import median_distance
from bochner.fourier.features import FourierFeatures
from bochner.fourier.posterior_features import PosteriorFourierFeatures
from bochner.linear import SquaredHingeClassifier
from bochner.linear.base import LinearHead
from bochner.linear.scoring import MEASURES
from bochner.linear.splits import hold_out
from bochner.margin.features import MarginFourierFeatures
from bochner.models.selection import choose_map
from bochner.papers.groups import Groups, fit_seconds
from bochner.papers.kernel_svm import (
    Kernel,
    Pairwise,
    fit_svm,
    gaussian,
    held_out_scores,
    squared_distances,
)
from bochner.papers.study import Request, Runner, Study, grid, timed_result
from bochner.records.cells import Cell, Result
from bochner.records.sections import Section, Value
from bochner.records.wording import listed

PAPER = "Bullins, Zhang, Zhang 2018"
OURS, RANDOM, LKRF = "ours", "random", "LKRF"

SYNTHETIC_ROWS = (2000, 50000)  # to train, to test
# With more rows than this, the bandwidth of random features is chosen on a random subset; with
# more columns than this, where one linear model takes seconds, on a smaller subset.
BANDWIDTH_ROWS, WIDE_COLUMNS, WIDE_BANDWIDTH_ROWS = 16000, 2000, 5000

# gamma as multiples of the median heuristic 1 / (2 median^2). Low dimensions want narrower
# kernels: half a length scale is four times gamma.
WIDE_MULTIPLES = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)
NARROW_MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
GAMMA = "gamma / median rule"
SQUARED_HINGE = SquaredHingeClassifier()

PAPERS_GAME = partial(MarginFourierFeatures, stop=None)  # played to its end, on all rows
# Sinha and Duchi's: the weights that align best with the labels, within a chi-square distance of
# the kernel's own frequencies, and frequencies drawn from these weights.
LEARNED_KERNEL = partial(
    PosteriorFourierFeatures,
    divergence="chi2",
    criterion="alignment",
    draw="with_replacement",
    n_candidates=5000,
)
PICTURE_ROWS = 1000  # rows that are drawn, and with which the game is played
RESOLUTION = 80  # points around the sphere, and across the plane


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Rows, learned map and linear model of a study, and the choices made on held-out rows.

    `name` is the study of the cells. `load` returns the rows of a task and a seed; `seeded` is
    whether they depend on the seed. `bands`, if there are any, are tried for the learned map, and
    `multiples` of the median rule for the bandwidth of the `baselines`, which are maps by name of
    method. Widths apply to all maps, in units of `columns_each` columns. Choices are made on a
    quarter of the rows, or in several `folds`. With `count_columns`, the number of learned
    features is part of the result. With `wide_seeds`, maps of many columns have fewer seeds.
    """

    name: str
    load: Callable[[str, int], LocalDataset]
    multiples: tuple[float, ...]
    widths: tuple[int, ...]
    make_map: Callable[..., Any] = PAPERS_GAME
    baselines: Mapping[str, Callable[..., Any]] = field(
        default_factory=lambda: {RANDOM: FourierFeatures}
    )
    head: LinearHead = SQUARED_HINGE
    measure: str = "accuracy"
    quick_widths: tuple[int, ...] = (100,)
    baseline_widths: tuple[int, ...] = ()
    quick_baseline_widths: tuple[int, ...] = ()
    columns_each: int = 1
    kernel_svms: tuple[str, ...] = ()
    quick_rows: int = 1000
    seeded: bool = True
    folds: int = 1
    bands: tuple[float, ...] = ()
    count_columns: bool = False
    wide_seeds: int | None = None


def make_study(
    experiment: Experiment, sections: Callable[[Sequence[Result]], list[Section]], **values: Any
) -> Study:
    """Make a study of one experiment with columns."""
    return Study(
        paper=PAPER,
        collect=partial(collect, experiment),
        measure=partial(measure_features, experiment),
        sections=sections,
        widths="columns",
        on_devices=True,
        **values,
    )


def collect(experiment: Experiment, request: Request, run: Runner) -> list[Result]:
    """Measure baselines, learned features and kernel SVMs; requested widths apply to all maps."""
    others, ours = experiment.baseline_widths, experiment.widths
    if request.quick:
        others, ours = experiment.quick_baseline_widths, experiment.quick_widths
    if request.widths:
        others, ours = request.widths if others else (), request.widths
    each = experiment.columns_each
    columns: list[tuple[str, int | None]] = [
        *((method, each * width) for method in experiment.baselines for width in others),
        *((OURS, each * width) for width in ours),
        *((method, None) for method in experiment.kernel_svms),
    ]
    max_train = experiment.quick_rows if request.quick else None
    cells, few = grid(experiment.name, request, columns, max_train), experiment.wide_seeds
    return run([c for c in cells if (c.width or 0) < WIDE_COLUMNS or few is None or c.seed < few])


def measure_features(experiment: Experiment, cell: Cell, device: str = "cpu") -> Result:
    """Measure a linear model on learned or on random features, computed on the device."""
    data = rows_of(experiment, cell)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    assert y_test is not None
    start = time.perf_counter()
    measure, spread = MEASURES[experiment.measure], float(np.std(y_test))
    if not measure.classes:
        # Whole numbers would be taken for classes.
        mean, unit = float(np.mean(y)), float(np.std(y))
        y, y_test = (y - mean) / unit, (y_test - mean) / unit
    candidates = candidate_maps(experiment, cell, X)
    wide = cell.width is not None and cell.width > WIDE_COLUMNS
    with warnings.catch_warnings():
        # The weakest penalties may stop short of the optimum; they are judged like the others.
        warnings.simplefilter("ignore", ConvergenceWarning)
        name, model = choose_map(
            candidates,
            on_device(X, device),
            y,
            experiment.head,
            measure,
            cell.seed,
            max_rows=WIDE_BANDWIDTH_ROWS if wide else BANDWIDTH_ROWS,
            folds=experiment.folds,
        )
    score = measure.score(y_test, model.predict_in_blocks(on_device(X_test, device)))
    details = {"C": model.C, "held-out": model.score}
    if len(candidates) > 1:
        details["band" if cell.method == OURS else GAMMA] = name
    if not measure.classes:
        details["RMSE"] = float(np.sqrt(1 - score)) * spread
    if experiment.count_columns:
        details["columns"] = model.head.n_features_in_
    return timed_result(cell, score, model.seconds, start, details)


def candidate_maps(
    experiment: Experiment, cell: Cell, X: NDArray[Any]
) -> dict[float, Callable[[], Any]]:
    """Return the maps to choose from on held-out rows: by band, or multiple of the median rule.

    Without bands, ours has no choices here: it makes its choices in `fit`.
    """
    settings: dict[str, Any] = {"n_components": cell.width, "random_state": cell.seed}
    if cell.method == OURS:
        make = partial(experiment.make_map, **settings)
        bands = experiment.bands
        return {band: partial(make, band=band) for band in bands} if bands else {1.0: make}
    if cell.method not in experiment.baselines:
        known = listed([OURS, *experiment.baselines])
        raise ValueError(f"there is no map {cell.method!r}; there are {known}.")
    make = partial(experiment.baselines[cell.method], **settings)
    gamma = median_gamma(X, cell.seed)
    return {multiple: partial(make, gamma=multiple * gamma) for multiple in experiment.multiples}


def measure_gaussian_svm(
    experiment: Experiment, cell: Cell, multiples: Sequence[float], penalties: Sequence[float]
) -> Result:
    """Measure a Gaussian support vector machine; `multiples` are of the median heuristic."""
    gamma = median_gamma(rows_of(experiment, cell).X_train, cell.seed)
    kernels = {multiple: gaussian(multiple * gamma) for multiple in multiples}
    return measure_svm(experiment, cell, squared_distances, kernels, penalties, GAMMA)


def measure_svm(
    experiment: Experiment,
    cell: Cell,
    pairwise: Pairwise,
    kernels: Mapping[float, Kernel],
    penalties: Sequence[float],
    name: str = "",
) -> Result:
    """Measure a support vector machine; the details give the key of its kernel as `name`.

    Kernel and C are chosen on held-out rows, which the time to fit includes; ties go to the first
    kernel, then to the first penalty. With one of each, no rows are held out.
    """
    data = rows_of(experiment, cell)
    X, y = data.X_train, data.y_train
    start = time.perf_counter()
    choices = [(key, C) for key in kernels for C in penalties]
    best = 0
    if len(choices) > 1:
        kept, held = hold_out(y, cell.seed, classes=True)
        rows = X[kept], y[kept], X[held], y[held]
        best = int(held_out_scores(pairwise, [*kernels.values()], penalties, *rows).argmax())
    key, C = choices[best]
    predict = fit_svm(pairwise, kernels[key], C, X, y)
    fit = time.perf_counter() - start
    details = {"C": C, name: key} if name else {"C": C}
    score = float(np.mean(predict(data.X_test) == data.y_test))
    return timed_result(cell, score, fit, start, details)


def median_gamma(X: NDArray[Any], seed: int) -> float:
    """Return the gamma of the median heuristic on a subset of the rows."""
    distance = median_distance(X, "euclidean", np.random.RandomState(seed))
    return 1 / (2 * distance**2)


def rows_of(experiment: Experiment, cell: Cell) -> LocalDataset:
    """Return the rows of a cell; a random part if there are more than `max_train` to train."""
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
    """Draw synthetic rows, to train and to test."""
    random_state = np.random.RandomState(seed)
    parts = [draw(n, random_state=random_state) for n in SYNTHETIC_ROWS]
    return LocalDataset(task, *parts[0], *parts[1])


def over(groups: Groups, results: Sequence[Result]) -> str:
    """Return how many seeds and training rows there are, as text."""
    cuts = sorted({cell.max_train for r in results if (cell := r.cell).max_train is not None})
    return groups.over() + (f", at most {cuts[0]} training rows" if cuts else "")


def fit_value(groups: Groups, task: str, method: str, width: int | None) -> Value:
    """Return the seconds of the fit, for a table."""
    return groups.mean(task, method, width, fit_seconds)


def picture_model(features: NDArray[Any], y: NDArray[Any]) -> SquaredHingeClassifier:
    """Fit the linear model whose decisions a picture shows."""
    return SquaredHingeClassifier(C=100.0).fit(features, y)


def decide(feature_map: Any, model: SquaredHingeClassifier, points: NDArray[Any]) -> NDArray[Any]:
    """Return the decisions at points."""
    return np.asarray(model.decision_function(feature_map.transform(points)))
