"""How a cell of the studies of Bullins, Zhang and Zhang (2018) is measured.

Each study says where its rows come from, what linear machine is put on the features, and among
which bandwidths random features may choose. All choices are made on held-out training rows, see
:mod:`bochner.models.linear_machine`; the test rows are looked at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import SVC

import bochner
from bochner.data.local import LocalDataset, load_mnist, load_pair, load_regression
from bochner.data.toys import checkerboard_sphere, windmill
from bochner.fourier.bandwidth import median_distance
from bochner.fourier.features import FourierFeatures
from bochner.models.linear_machine import (
    MANY_CLASSES,
    NUMBERS,
    TWO_CLASSES,
    Machine,
    hold_out,
    tune,
)
from bochner.records.cells import Cell, Result

Kernel = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]]

OURS, RANDOM = "ours", "random"
RBF_MEDIAN, RBF_QUARTER = "RBF SVM at the median distance", "RBF SVM at a quarter of it"
RBF_SVM, ARCCOSINE_SVM = "RBF SVM", "arc-cosine SVM"

SYNTHETIC_ROWS = (2000, 50000)  # to train, to test
# With more rows than this the bandwidth of random features is chosen on a random subset, and with
# more than so many columns, where one machine takes seconds, on a smaller one.
BANDWIDTH_ROWS, WIDE_COLUMNS, WIDE_BANDWIDTH_ROWS = 16000, 2000, 5000
KERNEL_PENALTIES = tuple(float(10.0**k) for k in range(-1, 6))

# gamma as multiples of the median heuristic 1 / (2 median^2). Low dimensions want narrower
# kernels: half a length scale is four times gamma.
WIDE_MULTIPLES = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)
NARROW_MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)


@dataclass(frozen=True)
class Study:
    """Rows of a task, the machine on the features, and the bandwidths of random features."""

    load: Callable[[str, int], LocalDataset]
    machine: Machine
    multiples: tuple[float, ...]
    strength: str = "C"  # what the machine's regularisation is called
    seeded: bool = True  # whether the rows depend on the seed
    folds: int = 1  # of the rows, for choices; one is a quarter held out
    bands: tuple[float, ...] = ()  # of ours, among which held-out rows choose; none: its own


def margin_features(**parameters: Any) -> Any:
    """The map of most studies, with its defaults."""
    return bochner.MarginFourierFeatures(**parameters)


def gradient_features(**parameters: Any) -> Any:
    """The map of the windmill study: the paper's own update."""
    return bochner.MarginFourierFeatures(dual_update="gradient", damping=0.3, **parameters)


def harmonic_features(**parameters: Any) -> Any:
    """The map of the checkerboard study."""
    from bochner.margin.sphere.features import MarginHarmonicFeatures

    return MarginHarmonicFeatures(**parameters)


def measure(cell: Cell) -> Result:
    """Measure one cell."""
    study = STUDIES[cell.study]
    data = _cut(_rows(cell.study, cell.task, cell.seed if study.seeded else 0), cell)
    start = time.perf_counter()
    outcome = _kernel_machine if cell.width is None else _feature_machine
    score, fit, details = outcome(cell, data)
    return Result(cell, score, round(fit, 4), round(time.perf_counter() - start, 2), details)


def maps(cell: Cell, X: NDArray[Any]) -> dict[float, Callable[[], Any]]:
    """The maps among which held-out rows choose: by band, or by multiple of the median rule.

    Where a study has no bands, ours has no choices here: what it chooses it chooses in `fit`.
    """
    settings: dict[str, Any] = {"n_components": cell.width, "random_state": cell.seed}
    if cell.method == OURS:
        make = partial(MAPS[cell.study], **settings)
        bands = STUDIES[cell.study].bands
        return {band: partial(make, band=band) for band in bands} if bands else {1.0: make}
    if cell.method != RANDOM:
        raise ValueError(f"there is no method {cell.method!r} with a width.")
    gamma = _median_gamma(X, cell.seed)
    return {
        multiple: partial(FourierFeatures, gamma=multiple * gamma, **settings)
        for multiple in STUDIES[cell.study].multiples
    }


def arccosine_kernel(X: NDArray[Any], Y: NDArray[Any]) -> NDArray[np.float64]:
    r"""The arc-cosine kernel of order 1 (Cho and Saul, 2009), exactly.

    .. math::

        k(x, y) = \tfrac{1}{\pi} \|x\| \|y\| (\sin \theta + (\pi - \theta) \cos \theta),

    with :math:`\theta` the angle between x and y.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.papers.bullins.measures import arccosine_kernel
    >>> arccosine_kernel(np.eye(2), np.array([[2.0, 0.0]])).round(3)
    array([[2.   ],
           [0.637]])
    """
    lengths = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(Y, axis=1)
    cosines = np.clip((X @ Y.T) / np.where(lengths > 0, lengths, 1), -1, 1)
    angles = np.arccos(cosines)
    return lengths * (np.sin(angles) + (np.pi - angles) * cosines) / np.pi


def gaussian_kernel(X: NDArray[Any], Y: NDArray[Any], gamma: float) -> NDArray[np.float64]:
    """``exp(-gamma |x - y|^2)``."""
    return np.exp(-gamma * euclidean_distances(X, Y, squared=True))


def tune_kernel_machine(
    kernels: Mapping[float, Kernel],
    X: NDArray[Any],
    y: NDArray[Any],
    penalties: Sequence[float],
    seed: int,
) -> tuple[Callable[[NDArray[Any]], NDArray[Any]], float, float]:
    """The support vector machine whose kernel and C are best on held-out rows.

    Trained again on all rows. Of equally good ones the first kernel, then the first penalty, is
    taken. With one kernel and one penalty nothing is held out.

    Returns
    -------
    predict : callable
        From rows to labels.
    name, C : float
        What was chosen.
    """
    choices = [(name, C) for name in kernels for C in penalties]
    if len(choices) > 1:
        kept, held = hold_out(y, seed, stratify=True)
        scores = []
        for kernel in kernels.values():
            gram, held_gram = kernel(X[kept], X[kept]), kernel(X[held], X[kept])
            for C in penalties:
                machine = SVC(C=C, kernel="precomputed").fit(gram, y[kept])
                scores.append(machine.score(held_gram, y[held]))
        name, C = choices[int(np.argmax(scores))]
    else:
        ((name, C),) = choices
    kernel = kernels[name]
    machine = SVC(C=C, kernel="precomputed").fit(kernel(X, X), y)

    def predict(rows: NDArray[Any], block: int = 5000) -> NDArray[Any]:
        blocks = [rows[start : start + block] for start in range(0, len(rows), block)]
        return np.concatenate([machine.predict(kernel(part, X)) for part in blocks])

    return predict, name, C


def _feature_machine(cell: Cell, data: LocalDataset) -> tuple[float, float, dict[str, float]]:
    study = STUDIES[cell.study]
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    assert y_test is not None
    spread = 1.0
    if not study.machine.classes:
        spread = float(np.std(y_test))
        # Whole numbers would be taken for classes.
        mean, unit = float(np.mean(y)), float(np.std(y))
        y, y_test = (y - mean) / unit, (y_test - mean) / unit
    candidates = maps(cell, X)
    wide = cell.width is not None and cell.width > WIDE_COLUMNS
    max_rows = WIDE_BANDWIDTH_ROWS if wide else BANDWIDTH_ROWS
    fitted = tune(candidates, X, y, study.machine, cell.seed, max_rows, study.folds)
    score = study.machine.score(fitted.decide(X_test), y_test)
    details = {study.strength: fitted.strength, "held-out": fitted.held_out_score}
    if len(candidates) > 1:
        details["band" if cell.method == OURS else "gamma / median rule"] = fitted.name
    if not study.machine.classes:
        details["RMSE"] = float(np.sqrt(1 - score)) * spread
    if cell.study == "checkerboard":
        details["columns"] = len(fitted.linear.coefficients)
    return score, fitted.fit, details


def _kernel_machine(cell: Cell, data: LocalDataset) -> tuple[float, float, dict[str, float]]:
    X, y = data.X_train, data.y_train
    assert data.y_test is not None
    gamma = _median_gamma(X, cell.seed)
    penalties = KERNEL_PENALTIES
    kernels: dict[float, Kernel]
    if cell.method in (RBF_MEDIAN, RBF_QUARTER):
        # A quarter of the length scale is sixteen times gamma.
        multiple = 1.0 if cell.method == RBF_MEDIAN else 16.0
        kernels = {multiple: partial(gaussian_kernel, gamma=multiple * gamma)}
        penalties = (1.0,)
    elif cell.method == RBF_SVM:
        multiples = STUDIES[cell.study].multiples
        kernels = {m: partial(gaussian_kernel, gamma=m * gamma) for m in multiples}
    elif cell.method == ARCCOSINE_SVM:
        kernels = {1.0: arccosine_kernel}
    else:
        raise ValueError(f"there is no method {cell.method!r} without a width.")
    start = time.perf_counter()
    predict, name, C = tune_kernel_machine(kernels, X, y, penalties, cell.seed)
    fit = time.perf_counter() - start
    details = {"C": C}
    if cell.method != ARCCOSINE_SVM:
        details["gamma / median rule"] = name
    return float(np.mean(predict(data.X_test) == data.y_test)), fit, details


def _median_gamma(X: NDArray[Any], seed: int) -> float:
    distance = median_distance(X, "euclidean", np.random.RandomState(seed))
    return 1 / (2 * distance**2)


@lru_cache(maxsize=1)
def _rows(study: str, task: str, seed: int) -> LocalDataset:
    return STUDIES[study].load(task, seed)


def _cut(data: LocalDataset, cell: Cell) -> LocalDataset:
    n = len(data.y_train)
    if cell.max_train is None or n <= cell.max_train:
        return data
    rows = np.random.RandomState(cell.seed).permutation(n)[: cell.max_train]
    return replace(data, X_train=data.X_train[rows], y_train=data.y_train[rows])


def _pair(task: str, seed: int) -> LocalDataset:
    return load_pair(task)


def _digits(task: str, seed: int) -> LocalDataset:
    return load_mnist()


def _regression(task: str, seed: int) -> LocalDataset:
    return load_regression(task, random_state=seed)


def _synthetic(task: str, seed: int) -> LocalDataset:
    random_state = np.random.RandomState(seed)
    draws: dict[str, Callable[..., Any]] = {
        # twisted so that the usual Gaussian machine has the paper's 92.1
        "calibrated": partial(windmill, arms=2, twist=0.65),
        "W2": partial(windmill, arms=2),
        "W4": partial(windmill, arms=4),
        "sphere": checkerboard_sphere,
    }
    parts = [draws[task](n, random_state=random_state) for n in SYNTHETIC_ROWS]
    return LocalDataset(task, *parts[0], *parts[1])


MAPS: dict[str, Callable[..., Any]] = {
    "table1": margin_features,
    "windmill": gradient_features,
    "checkerboard": harmonic_features,
    "digits": margin_features,
    "regression": margin_features,
}
STUDIES: dict[str, Study] = {
    "table1": Study(_pair, TWO_CLASSES, WIDE_MULTIPLES, seeded=False),
    "windmill": Study(
        _synthetic, TWO_CLASSES, NARROW_MULTIPLES[3:], folds=5, bands=(3.0, 6.0, 12.0)
    ),
    "checkerboard": Study(_synthetic, TWO_CLASSES, NARROW_MULTIPLES, folds=5),
    "digits": Study(_digits, MANY_CLASSES, WIDE_MULTIPLES, strength="alpha", seeded=False),
    "regression": Study(_regression, NUMBERS, NARROW_MULTIPLES[:-3], strength="alpha"),
}
