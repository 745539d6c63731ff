"""How a cell of the studies of Letarte, Morvant and Germain (2019) is measured.

Rows are split as the authors' program does: to train, to choose on, to test. gamma is the choice
of a support vector machine with the full Gram matrix (study ``svm``), and part of the cells that
follow; C, and the strength of a posterior where there are several, are chosen on the validation
rows. Machines are trained on the training rows only.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC

from bochner.data.local import LocalDataset, load_local
from bochner.fourier.features import FourierFeatures
from bochner.fourier.landmarks import LandmarkSimilarities
from bochner.fourier.posterior_features import PosteriorFourierFeatures
from bochner.models.linear_machine import hinge_path
from bochner.papers.letarte.toys import TOY_SPLIT, TOYS
from bochner.records.cells import Cell, Result

GAMMAS = tuple(float(f"1e{k}") for k in range(-7, 3))
PENALTIES = tuple(float(f"1e{k}") for k in range(-5, 5))  # C of the support vector machines
AUTHORS_SEED = 42

SVM, RBF, PB = "SVM", "RBF", "PB"
TABLE1_METHODS = (SVM, RBF, PB)

LANDMARKS = 0.1  # of the training rows
LANDMARK_FREQUENCIES = 64
LANDMARK_BETA = 1.0
# Names in the figures: landmarks are rows at random, or centroids.
RBF_R, RBF_C, PB_R, PB_C = "RBF-R", "RBF-C", "PB-R", "PB-C"
LANDMARK_METHODS = (RBF_R, RBF_C, PB_R, PB_C)
TOY_LANDMARKS, TOY_FREQUENCIES = 5, 20

# How the linear machine on top is trained. The authors' program used what were scikit-learn's
# defaults in 2018, which stop short of the optimum when C is large. On Internet Ads and Farm Ads
# that costs the plain similarities more than the learned ones: the comparison depends on it.
CONVERGED, AUTHORS = "converged", "authors"
SOLVERS: dict[str, dict[str, Any]] = {
    CONVERGED: {"dual": "auto", "max_iter": 5000},
    AUTHORS: {"dual": True, "max_iter": 1000},
}

# Settings of PosteriorFourierFeatures by the name they have in the table of the mnist49 study.
POSTERIORS: dict[str, dict[str, str]] = {
    "KL, with replacement": {"divergence": "kl", "draw": "with_replacement"},
    "KL, without": {"divergence": "kl", "draw": "without_replacement"},
    "chi-square": {"divergence": "chi2", "draw": "without_replacement"},
    "continuous": {"divergence": "kl", "support": "continuous"},
}
# Strengths among which the validation rows choose; rho is a multiple of the candidates.
BETAS, CHAIN_BETAS, RHOS = (1.0, 3.0, 10.0, 100.0), (10.0, 100.0), (1e-3, 1e-2, 1e-1)
RANDOM = "random"
MNIST49_METHODS = (RANDOM, *POSTERIORS)
MNIST49_FREQUENCIES = (5, 10, 25, 50, 100)
MNIST49_ROWS = (4000, 1000, 4000)  # to train, to validate, to test
N_CANDIDATES = 20000

# The greedy study: the paper's names, draws with replacement, the paper's strengths.
RFF, OKRFF, PBRFF = "RFF", "OKRFF", "PBRFF"
GREEDY: dict[str, tuple[str, str, tuple[float, ...]]] = {
    OKRFF: ("chi2", "rho", tuple(float(f"1e{k}") for k in range(-4, 1))),
    PBRFF: ("kl", "beta", tuple(float(f"1e{k}") for k in range(-3, 4))),
}
GREEDY_METHODS = (RFF, OKRFF, PBRFF)


@dataclass(frozen=True)
class Split:
    """Rows to train, to choose on, and to test; `n_available`: training rows before a cut."""

    X_train: Any
    y_train: NDArray[np.int64]
    X_valid: Any
    y_valid: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    n_available: int

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Rows to train, to validate, to test, and columns: a row of the paper's Table 2."""
        return (len(self.y_train), len(self.y_valid), len(self.y_test), self.X_train.shape[1])


@dataclass(frozen=True)
class Machine:
    """A trained machine: what was chosen, and its shares of wrong rows."""

    gamma: float
    C: float
    valid_error: float
    test_error: float
    train_error: float


def authors_split(
    data: LocalDataset, seed: int = AUTHORS_SEED, max_train: int | None = None
) -> Split:
    """A quarter of the rows to test, then a fifth of the others to validate.

    Both draws take their numbers from one generator, as the authors' program does; data with a
    fixed test part keeps it. More than `max_train` training rows are cut to a random subset.
    """
    generator = RandomState(seed)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    if y_test is None:
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=generator)
    X, X_valid, y, y_valid = train_test_split(X, y, test_size=0.2, random_state=generator)
    n_available = len(y)
    if max_train is not None and n_available > max_train:
        # From a generator of its own, so that the split is the same with and without the cut.
        rows = RandomState(seed).permutation(n_available)[:max_train]
        X, y = X[rows], y[rows]
    return Split(X, y, X_valid, y_valid, X_test, y_test, n_available)


def pool_split(data: LocalDataset, seed: int, n_train: int, n_valid: int, n_test: int) -> Split:
    """That many rows of each kind, drawn at random; fewer to test when the data ends."""
    order = RandomState(seed).permutation(len(data.y_train))
    train, valid, test = np.split(
        order[: n_train + n_valid + n_test], [n_train, n_train + n_valid]
    )
    if not len(test):
        raise ValueError(f"{data.name} has {len(order)} rows, too few for {n_train} + {n_valid}.")
    X, y = data.X_train, data.y_train
    return Split(X[train], y[train], X[valid], y[valid], X[test], y[test], len(train))


def tune_svm(
    split: Split,
    gammas: Sequence[float] | None = None,
    penalties: Sequence[float] | None = None,
) -> Machine:
    """The Gaussian support vector machine whose gamma and C are best on the validation rows.

    It is trained on the training rows only, not again with the validation rows. Of equally good
    pairs the one with the smallest C, then the smallest gamma, is taken: the first that the
    authors' grid search meets. None is the authors' grid.
    """
    gammas = GAMMAS if gammas is None else gammas
    penalties = PENALTIES if penalties is None else penalties
    # Distances are computed once, kernels once a gamma. In float64: in float32 the difference of
    # squares would lose the small distances of unscaled columns.
    train = _squared_distances(split.X_train, split.X_train)
    valid = _squared_distances(split.X_valid, split.X_train)
    errors = np.empty((len(penalties), len(gammas)))
    kernel, valid_kernel = np.empty_like(train), np.empty_like(valid)
    for column, gamma in enumerate(gammas):
        _gaussian(train, gamma, out=kernel)
        _gaussian(valid, gamma, out=valid_kernel)
        for row, C in enumerate(penalties):
            machine = _precomputed(C).fit(kernel, split.y_train)
            errors[row, column] = np.mean(machine.predict(valid_kernel) != split.y_valid)
    row, column = divmod(int(np.argmin(errors)), len(gammas))
    C, gamma = penalties[row], gammas[column]
    machine = _precomputed(C).fit(_gaussian(train, gamma, out=kernel), split.y_train)
    train_error = float(np.mean(machine.predict(kernel) != split.y_train))
    test_kernel = _squared_distances(split.X_test, split.X_train)
    predictions = machine.predict(_gaussian(test_kernel, gamma, out=test_kernel))
    test_error = float(np.mean(predictions != split.y_test))
    return Machine(gamma, C, float(errors[row, column]), test_error, train_error)


def tune_linear(
    feature_map: Any,
    split: Split,
    gamma: float,
    seed: int,
    penalties: Sequence[float] = PENALTIES,
    solver: str = CONVERGED,
) -> Machine:
    """The linear machine on the features of a map, with the C that is best on validation rows.

    Of equally good ones the smallest is taken. `gamma` is only reported; `solver` is a name in
    ``SOLVERS``.
    """
    features = feature_map.transform(split.X_train)
    valid = feature_map.transform(split.X_valid)
    errors, machines = [], []
    for C in penalties:
        machine = LinearSVC(C=C, random_state=seed, **SOLVERS[solver])
        with warnings.catch_warnings():
            # The largest values of C may stop short of the optimum, and with the authors' solver
            # do; they are judged by their validation error like all others.
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(features, split.y_train)
        errors.append(float(np.mean(machine.predict(valid) != split.y_valid)))
        machines.append(machine)
    best = int(np.argmin(errors))
    train_error = float(np.mean(machines[best].predict(features) != split.y_train))
    predictions = machines[best].predict(feature_map.transform(split.X_test))
    test_error = float(np.mean(predictions != split.y_test))
    return Machine(gamma, penalties[best], errors[best], test_error, train_error)


def tune_path(
    feature_maps: Iterator[tuple[float, Any]],
    split: Split,
    gamma: float,
    penalties: Sequence[float] = PENALTIES,
    block: int = 2000,
) -> tuple[Machine, float]:
    """The map and the C that are best on validation rows, for maps of very many columns.

    The same squared hinge as LIBLINEAR's, at its optimum, but with an intercept that is not
    penalised. Of equally good ones the first map, then the smallest C, is taken.

    Parameters
    ----------
    feature_maps : iterator of (float, fitted map)
        Maps, each with the strength it was made with.
    split, gamma, penalties
        As in :func:`tune_linear`.
    block : int, default=2000
        Test rows whose features are there at a time.

    Returns
    -------
    machine : Machine
        What was chosen and how it does.
    strength : float
        That of the map chosen.
    """
    best: tuple[float, float, float, float, Any, Any] | None = None
    signs = split.y_train.astype(np.float64)[:, None]
    for strength, feature_map in feature_maps:
        features = np.asarray(feature_map.transform(split.X_train), dtype=np.float32)
        valid = np.asarray(feature_map.transform(split.X_valid), dtype=np.float32)
        for C, linear in zip(penalties, hinge_path(features, signs, penalties), strict=True):
            error = _wrong(linear(valid), split.y_valid)
            if best is None or error < best[0]:
                train_error = _wrong(linear(features), split.y_train)
                best = error, C, strength, train_error, feature_map, linear
    assert best is not None, "there are no maps"
    error, C, strength, train_error, feature_map, linear = best
    n = len(split.y_test)
    wrong = [
        _wrong(linear(np.asarray(feature_map.transform(split.X_test[rows]))), split.y_test[rows])
        * len(split.y_test[rows])
        for rows in (slice(start, start + block) for start in range(0, n, block))
    ]
    return Machine(gamma, C, error, sum(wrong) / n, train_error), strength


def measure(cell: Cell) -> Result:
    """Measure one cell."""
    split = _split(cell.study, cell.task, cell.seed, cell.max_train)
    start = time.perf_counter()
    gamma = cell.setting("gamma")
    details: dict[str, float] = {}
    fit = 0.0
    if cell.method == SVM:
        machine = tune_svm(split, None if gamma is None else (gamma,))
    elif gamma is None:
        raise ValueError(f"{cell.method} needs a gamma.")
    elif cell.study == "greedy":
        maps = _greedy_maps(cell, split)
        machine, strength = tune_path(maps, split, gamma)
        if cell.method in GREEDY:
            details[GREEDY[cell.method][1]] = strength
    else:
        solver = cell.setting("solver", CONVERGED)
        machines = []
        for fitted, seconds in _fitted_maps(cell, split):
            fit += seconds
            machines.append(tune_linear(fitted, split, gamma, cell.seed, solver=solver))
        machine = min(machines, key=lambda machine: machine.valid_error)
    n_train, _, n_test, _ = split.sizes
    details |= {
        "gamma": machine.gamma,
        "C": machine.C,
        "train error": machine.train_error,
        "n_train": n_train,
        "n_available": split.n_available,
        "n_test": n_test,
    }
    seconds = round(time.perf_counter() - start, 2)
    return Result(cell, 1 - machine.test_error, round(fit, 4), seconds, details)


def landmark_map(cell: Cell, n_landmarks: float, n_frequencies: int) -> Any:
    """Similarities to landmarks, plain or learned, that are not fitted yet."""
    return LandmarkSimilarities(
        n_components=n_landmarks,
        landmarks="random" if cell.method in (RBF_R, PB_R) else "kmeans",
        posterior="kl" if cell.method in (PB, PB_R, PB_C) else None,
        beta=LANDMARK_BETA,
        n_frequencies=n_frequencies,
        gamma=cell.setting("gamma"),
        random_state=cell.seed,
    )


def fitted_toy(cell: Cell) -> tuple[Any, Split]:
    """The fitted map of a cell of the `toys` study, and its rows."""
    split = _split(cell.study, cell.task, cell.seed, cell.max_train)
    return _feature_map(cell).fit(split.X_train, split.y_train), split


@lru_cache(maxsize=1)
def _data(name: str) -> LocalDataset:
    return load_local(name)


@lru_cache(maxsize=1)
def _split(study: str, task: str, seed: int, max_train: int | None) -> Split:
    if task in TOYS:
        X, y = TOYS[task](sum(TOY_SPLIT), RandomState(seed))
        return pool_split(LocalDataset(task, X, y), seed, *TOY_SPLIT)
    if study == "mnist49":
        return pool_split(_data(task), seed, max_train or MNIST49_ROWS[0], *MNIST49_ROWS[1:])
    return authors_split(_data(task), seed, max_train)


def _fitted_maps(cell: Cell, split: Split) -> Iterator[tuple[Any, float]]:
    """The map of a cell, for a posterior one for every strength, and the seconds each took."""
    X, y = split.X_train, split.y_train
    start = time.perf_counter()
    if cell.method not in POSTERIORS:
        with warnings.catch_warnings():
            # Of Internet Ads many rows are the same: fewer distinct centroids than asked for.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = _feature_map(cell).fit(X, y)
        yield fitted, time.perf_counter() - start
        return
    settings: dict[str, Any] = {
        **POSTERIORS[cell.method],
        "n_components": _width(cell),
        "gamma": cell.setting("gamma"),
        "random_state": cell.seed,
    }
    if cell.method == "continuous":
        for beta in CHAIN_BETAS:
            fitted = PosteriorFourierFeatures(beta=beta, **settings).fit(X, y)
            yield fitted, time.perf_counter() - start
            start = time.perf_counter()
        return
    # The losses are computed once; every posterior follows from them.
    base = PosteriorFourierFeatures(n_candidates=N_CANDIDATES, **settings).fit(X, y)
    name, values = ("rho", RHOS) if settings["divergence"] == "chi2" else ("beta", BETAS)
    for value in values:
        fitted = base.with_posterior(**{name: value})
        yield fitted, time.perf_counter() - start
        start = time.perf_counter()


def _greedy_maps(cell: Cell, split: Split) -> Iterator[tuple[float, Any]]:
    """Random frequencies, or those drawn from a posterior of every strength."""
    gamma, n_candidates = cell.setting("gamma"), cell.setting("candidates", N_CANDIDATES)
    if cell.method == RFF:
        yield 0.0, _feature_map(cell).fit(split.X_train)
        return
    if cell.method not in GREEDY:
        raise ValueError(
            f"there is no method {cell.method!r}; there are {', '.join(GREEDY_METHODS)}."
        )
    divergence, name, strengths = GREEDY[cell.method]
    base = _losses(cell.task, cell.seed, cell.max_train, gamma, n_candidates)
    for strength in strengths:
        changes = {"divergence": divergence, name: strength, "n_components": _width(cell)}
        yield strength, base.with_posterior(**changes)


@lru_cache(maxsize=1)
def _losses(task: str, seed: int, max_train: int | None, gamma: float, n_candidates: int) -> Any:
    """Candidates with their losses, from which every posterior of a split follows."""
    split = _split("greedy", task, seed, max_train)
    posterior = PosteriorFourierFeatures(
        n_components=2,
        n_candidates=n_candidates,
        draw="with_replacement",
        gamma=gamma,
        random_state=seed,
    )
    return posterior.fit(split.X_train, split.y_train)


def _feature_map(cell: Cell) -> Any:
    if cell.task in TOYS:
        return landmark_map(cell, TOY_LANDMARKS, TOY_FREQUENCIES)
    if cell.method in (RBF, PB, *LANDMARK_METHODS):
        share = cell.setting("percent", 100 * LANDMARKS) / 100
        return landmark_map(cell, share, LANDMARK_FREQUENCIES)
    return FourierFeatures(
        n_components=_width(cell),
        sampling="iid",
        gamma=cell.setting("gamma"),
        random_state=cell.seed,
    )


def _width(cell: Cell) -> int:
    if cell.width is None:
        raise ValueError(f"{cell.method} needs a number of columns.")
    return cell.width


def _wrong(decisions: NDArray[Any], y: NDArray[np.int64]) -> float:
    return float(np.mean(np.where(decisions[:, 0] > 0, 1, -1) != y))


def _squared_distances(X: Any, Y: Any) -> NDArray[np.float64]:
    return euclidean_distances(X.astype(np.float64), Y.astype(np.float64), squared=True)


def _gaussian(
    squared_distances: NDArray[np.float64], gamma: float, out: NDArray[np.float64]
) -> NDArray[np.float64]:
    np.multiply(squared_distances, -gamma, out=out)
    return np.exp(out, out=out)


def _precomputed(C: float) -> SVC:
    return SVC(C=C, kernel="precomputed", cache_size=1000)
