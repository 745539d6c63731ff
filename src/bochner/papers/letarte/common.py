"""Splits, landmarks and linear models of the studies of Letarte, Morvant and Germain (2019).

Rows are split as in the authors' program: to train, to validate, to test. gamma is the choice of
a support vector machine (:mod:`bochner.papers.letarte.svm`); C, and the strength of a posterior
if there are several, are chosen on the validation rows. Models are trained on the training rows
only.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from bochner.data.local import PAIRS, LocalDataset, load_local
from bochner.engine.places import dense, float_dtype, is_numpy_device, on_device
from bochner.engine.rowwise import row_slices
from bochner.fourier.landmarks import LandmarkSimilarities
from bochner.linear import SquaredHingeClassifier
from bochner.papers.groups import Groups, error_percent
from bochner.papers.study import Request, Study, Version, timed_result
from bochner.records.cells import Cell, Result

PAPER = "Letarte, Morvant, Germain 2019"
# Table 1: test error in percent (landmarks by k-means, 10 % of the training rows). PB tunes beta
# and D, "PB beta=1" only D, "PB D=64" only beta.
PUBLISHED_COLUMNS = ("SVM", "RBF", "PB", "PB beta=1", "PB D=64")
PUBLISHED: dict[str, tuple[float, ...]] = {
    "ads": (3.05, 10.98, 4.88, 5.12, 5.00),
    "adult": (19.70, 19.60, 17.99, 17.99, 17.99),
    "breast": (4.90, 6.99, 3.50, 3.50, 2.80),
    "farm": (11.58, 17.47, 15.73, 14.19, 15.73),
    "mnist17": (0.34, 0.74, 0.42, 0.32, 0.32),
    "mnist49": (1.16, 2.26, 1.80, 2.09, 2.50),
    "mnist56": (0.55, 0.97, 1.06, 1.55, 1.03),
}
DATASETS = tuple(PUBLISHED)
FILES: dict[str, tuple[str, ...]] = {
    "ads": ("internet_ads.npz",),
    "adult": ("adult.npz",),
    "farm": ("farm_ads.npz",),
    **{name: (PAIRS[name][0],) for name in DATASETS if name in PAIRS},
}
WIDE = "farm"
WIDE_SPLITS = 2  # splits of it in the figures: its 54877 columns take most of their time

PENALTIES = tuple(float(f"1e{k}") for k in range(-5, 5))  # C of the support vector machines
QUICK_ROWS = 500
SIMILAR = 1.0  # percent: what we take "similar" to mean

LANDMARK_FREQUENCIES, LANDMARK_BETA = 64, 1.0
# Names in the tables and figures: landmarks are centroids, or rows at random (R).
RBF, RBF_R, RBF_C, PB_R, PB_C = "RBF", "RBF-R", "RBF-C", "PB-R", "PB-C"
SHARED = "shared"  # our own: a pool of frequencies for all landmarks, at its defaults

# How the linear model on top is trained. The authors' program used what were scikit-learn's
# defaults in 2018, which stop short of the optimum when C is large. On Internet Ads and Farm Ads
# this costs the plain similarities more than the learned ones: the comparison depends on it.
# LIBLINEAR's other solver, too, stops 5 % above the optimum there at C = 10^4.
OPTIMUM, AUTHORS = "optimum", "authors"
SOLVERS = {
    OPTIMUM: "squared hinge at its optimum, with an intercept that is not penalised",
    AUTHORS: "LIBLINEAR's dual, at most 1000 passes",
}
_TOLERANCE = 1e-6  # of the gradient


def make_study(
    item: str, summary: str, tasks: tuple[str, ...], full: Version, quick: Version, **values: Any
) -> Study:
    """Make a study of this paper; its quick version leaves out the data with most columns."""
    if WIDE in tasks:
        note = f"{quick.note}, without {WIDE}, whose 54877 columns take minutes"
        quick = replace(quick, note=note, tasks=tuple(task for task in tasks if task != WIDE))
    values |= {"tasks": tasks, "files": FILES, "full": full, "quick": quick}
    return Study(paper=PAPER, item=item, summary=summary, **values)


def by_width(request: Request) -> list[Request]:
    """Split a request in two: the data with most columns comes last, with fewer splits."""
    wide = tuple(task for task in request.tasks if task == WIDE)
    others = tuple(task for task in request.tasks if task != WIDE)
    few = min(request.seeds, WIDE_SPLITS)
    return [replace(request, tasks=others), replace(request, tasks=wide, seeds=few)]


def wide_lines(tasks: Sequence[str]) -> list[str]:
    """Say, in at most one line, that the data with most columns has fewer splits."""
    text = f"{WIDE}, whose 54877 columns take most of the time: at most {WIDE_SPLITS} splits."
    return [text] if WIDE in tasks else []


def training_rows(request: Request, most: int) -> int:
    """Return the training rows of the full version, or of the quick one."""
    return QUICK_ROWS if request.quick else most


@dataclass(frozen=True)
class Split:
    """Rows to train, to validate and to test; `n_available` counts training rows before a cut."""

    X_train: Any
    y_train: NDArray[np.int64]
    X_valid: Any
    y_valid: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    n_available: int

    def on(self, device: str) -> Split:
        """Return the split with rows on a device, dense and in their dtype; itself on the CPU."""
        if is_numpy_device(device):
            return self
        parts = {name: getattr(self, name) for name in ("X_train", "X_valid", "X_test")}
        moved = {name: on_device(dense(X), device, float_dtype(X)) for name, X in parts.items()}
        return replace(self, **moved)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Numbers of rows to train, validate and test, and of columns: a row of Table 2."""
        return (len(self.y_train), len(self.y_valid), len(self.y_test), self.X_train.shape[1])


@lru_cache(maxsize=1)
def load_split(task: str, seed: int, max_train: int | None, device: str = "cpu") -> Split:
    """Return the authors' split of a dataset, with its rows on a device."""
    return authors_split(load_rows(task), seed, max_train).on(device)


@lru_cache(maxsize=1)
def load_rows(task: str) -> LocalDataset:
    """Return all rows of a dataset."""
    return load_local(task)


def authors_split(data: LocalDataset, seed: int, max_train: int | None = None) -> Split:
    """Set aside a quarter of the rows to test, then a fifth of the others to validate.

    Both draws use one generator, as in the authors' program; data with a fixed test part keeps
    it. More than `max_train` training rows are cut to a random subset.
    """
    generator = RandomState(seed)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    if y_test is None:
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=generator)
    X, X_valid, y, y_valid = train_test_split(X, y, test_size=0.2, random_state=generator)
    n_available = len(y)
    if max_train is not None and n_available > max_train:
        # A separate generator, so that the split is the same with and without the cut.
        rows = RandomState(seed).permutation(n_available)[:max_train]
        X, y = X[rows], y[rows]
    return Split(X, y, X_valid, y_valid, X_test, y_test, n_available)


def pool_split(data: LocalDataset, seed: int, n_train: int, n_valid: int, n_test: int) -> Split:
    """Draw these numbers of rows at random; fewer to test if the data has no more."""
    order = RandomState(seed).permutation(len(data.y_train))
    train, valid, test = np.split(
        order[: n_train + n_valid + n_test], [n_train, n_train + n_valid]
    )
    if not len(test):
        raise ValueError(f"{data.name} has {len(order)} rows, too few for {n_train} + {n_valid}.")
    X, y = data.X_train, data.y_train
    return Split(X[train], y[train], X[valid], y[valid], X[test], y[test], len(train))


@dataclass(frozen=True)
class Tuned:
    """A trained model: the chosen settings, and its shares of wrong rows."""

    gamma: float
    C: float
    valid_error: float
    test_error: float
    train_error: float
    strength: float = 0.0  # of the posterior, where several were tried


def tune(
    maps: Iterable[tuple[float, Any]],
    split: Split,
    gamma: float,
    fit_path: Callable[[Any, NDArray[np.int64]], Iterable[Any]],
    block: int = 2000,
) -> Tuned:
    """Return the map and the C that are best on validation rows.

    `maps` are fitted, each given with its strength. `fit_path` fits linear models to features,
    from the smallest C to the largest. Ties go to the first map, then to the smallest C. `gamma`
    is only reported. The features of `block` test rows are computed at a time.
    """
    best: tuple[float, float, float, Any, Any] | None = None
    for strength, feature_map in maps:
        features, valid = map(feature_map.transform, (split.X_train, split.X_valid))
        for model in fit_path(features, split.y_train):
            error = wrong(model.predict(valid), split.y_valid)
            if best is None or error < best[0]:
                train_error = wrong(model.predict(features), split.y_train)
                best = error, train_error, strength, feature_map, model
    assert best is not None, "there are no maps"
    valid_error, train_error, strength, feature_map, model = best
    predictions = [
        model.predict(feature_map.transform(split.X_test[rows]))
        for rows in row_slices(len(split.y_test), block)
    ]
    test_error = wrong(np.concatenate(predictions), split.y_test)
    return Tuned(gamma, model.C, valid_error, test_error, train_error, strength)


def wrong(predictions: NDArray[Any], y: NDArray[Any]) -> float:
    """Return the share of wrong predictions."""
    return float(np.mean(predictions != y))


def linear_path(
    features: Any,
    y: NDArray[Any],
    *,
    seed: int = 0,
    solver: str = OPTIMUM,
    penalties: Sequence[float] = PENALTIES,
) -> Iterator[Any]:
    """Yield linear models from small to large C, at their optimum or as the authors did.

    With the authors' solver, models with the largest values of C stop short of the optimum; they
    are judged by their validation error like all others.
    """
    if solver == OPTIMUM:
        yield from SquaredHingeClassifier(tol=_TOLERANCE).path(features, y, penalties)
        return
    for C in penalties:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            yield LinearSVC(C=C, dual=True, max_iter=1000, random_state=seed).fit(features, y)


def landmark_map(cell: Cell, n_landmarks: float, n_frequencies: int) -> Any:
    """Make an unfitted map of similarities to landmarks, plain or learned."""
    make = partial(
        LandmarkSimilarities,
        n_components=n_landmarks,
        landmarks="random" if cell.method in (RBF_R, PB_R) else "kmeans",
        gamma=cell.setting("gamma"),
        random_state=cell.seed,
    )
    if cell.method == SHARED:
        return make()
    if cell.method not in (PB_R, PB_C):
        return make(posterior=None)
    return make(frequencies="own", beta=LANDMARK_BETA, n_frequencies=n_frequencies)


def measure_landmarks(
    cell: Cell, split: Split, n_landmarks: float, n_frequencies: int = LANDMARK_FREQUENCIES
) -> Result:
    """Measure a linear model on similarities to landmarks."""
    start = time.perf_counter()
    feature_map = landmark_map(cell, n_landmarks, n_frequencies)
    with warnings.catch_warnings():
        # Many rows of Internet Ads are the same: fewer distinct centroids than asked for.
        warnings.simplefilter("ignore", ConvergenceWarning)
        feature_map.fit(split.X_train, split.y_train)
    fit = time.perf_counter() - start
    tuned = tune([(LANDMARK_BETA, feature_map)], split, cell.setting("gamma"), path_of(cell))
    return as_result(cell, split, tuned, start, fit)


def path_of(cell: Cell) -> Callable[[Any, NDArray[Any]], Iterator[Any]]:
    """Return the function that fits the linear models of a cell."""
    return partial(linear_path, seed=cell.seed, solver=cell.setting("solver", OPTIMUM))


def as_result(
    cell: Cell,
    split: Split,
    tuned: Tuned,
    start: float,
    fit: float = 0.0,
    details: dict[str, float] | None = None,
) -> Result:
    """Return a result with the chosen settings, and the seconds since `start`."""
    n_train, _, n_test, _ = split.sizes
    details = {
        **(details or {}),
        "gamma": tuned.gamma,
        "C": tuned.C,
        "valid error": tuned.valid_error,
        "train error": tuned.train_error,
        "n_train": n_train,
        "n_available": split.n_available,
        "n_test": n_test,
    }
    return timed_result(cell, 1 - tuned.test_error, fit, start, details)


def averaged_differences(groups: Groups, task: str, worse: str, better: str) -> list[float]:
    """Return by how many percent `better` errs less than `worse`, averaged over the x axis.

    There is one number per seed, for the seeds that have every x.
    """
    xs = groups.xs(task, better)
    by_seed: dict[int, list[float]] = {}
    for x in xs:
        first, second = (groups.seeds(task, method, x) for method in (worse, better))
        for seed in first.keys() & second.keys():
            difference = error_percent(first[seed]) - error_percent(second[seed])
            by_seed.setdefault(seed, []).append(difference)
    return [float(np.mean(d)) for _, d in sorted(by_seed.items()) if len(d) == len(xs)]


def cut_note(result: Result) -> str:
    """Say how many of the training rows were used, if not all."""
    n_train, n_available = (result.details[name] for name in ("n_train", "n_available"))
    return "" if n_train == n_available else f"{n_train:g} of {n_available:g} training rows"


def cut_lines(results: Sequence[Result]) -> list[str]:
    """Say for all tasks, in at most one line, how many training rows were used."""
    notes = {result.cell.task: cut_note(result) for result in results if cut_note(result)}
    return ["; ".join(f"{task}: {note}" for task, note in notes.items()) + "."] if notes else []


def solver_text(name: str) -> str:
    """Describe how the linear model was trained."""
    return f"Linear model: {SOLVERS[name]}."
