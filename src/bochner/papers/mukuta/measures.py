"""How a cell of the studies of Mukuta and Harada (2016) is measured.

Two kinds of cell. In the studies ``densities``, ``clusters`` and ``images`` the score is the
normalised spectral error of the Gram matrix of rows that no map has seen,
``|K - Phi Phi^T|_2 / |K|_2``: small is good. In the study ``machines`` a linear machine is trained
on the features, and the score is of the test rows: accuracy, or R2 for numbers.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

import bochner
from bochner.data.local import (
    LocalDataset,
    load_cifar10_hog,
    load_local,
    load_regression,
    load_yearmsd,
)
from bochner.fourier.features import FourierFeatures
from bochner.guarantees.residuals import predicted_residual, relative_gram_bound, residuals
from bochner.linear.squared_hinge import solve_squared_hinge
from bochner.records.cells import Cell, Result

Float = NDArray[np.float64]

RANDOM, ORTHOGONAL, NYSTROEM = "random", "orthogonal", "Nystroem"
MERCER, RERANKED = "Mercer", "reranked"
# name: parameters of MercerFeatures; the paper's mixtures, and the orthogonalised ones
MERCER_MAPS: dict[str, dict[str, Any]] = {
    MERCER: {},
    RERANKED: {"rerank": True},
    **{f"weighted {m}": {"density": "weighted-mixture", "n_mixture": m} for m in (4, 16, 64)},
    **{f"mixture {m}": {"density": "mixture", "n_mixture": m} for m in (4, 8, 16, 32, 64)},
}
# The density that does best on held-out training rows: how many gaussians depends on the data.
CHOSEN, CANDIDATES = "Mercer, chosen", {MERCER: 1, "mixture 8": 8, "mixture 32": 32}
METHODS = (RANDOM, ORTHOGONAL, NYSTROEM, *MERCER_MAPS, CHOSEN)

CLASSIFICATION = ("a9a", "ijcnn1", "covtype")
YEARS = "yearmsd"  # its file is large, and not among those that most people have
NUMBERS = ("cpusmall", "cadata", YEARS)

DIMENSION = 10  # of the synthetic rows
SYNTHETIC_ROWS = 5000  # to fit the maps, and as many others to measure the error
CLUSTERS, CLUSTER_DISTANCE, CLUSTER_WIDTH = 8, 4.0, 0.7
IMAGES = 5000  # test rows of a Gram matrix
STORED_GRAM = 5000  # rows whose Gram matrix is stored; of more it is computed again when needed
PENALTY, RIDGE = 100.0, 0.01  # C of the support vector machine, lambda of the ridge regression
DENSITY_ROWS = {True: 10_000, False: 1000}  # that Mercer maps are fitted to: classes, numbers
TEST_SHARE = {"covtype": 0.1, "cpusmall": 0.2, "cadata": 0.2}  # of data without a fixed split
PART, PARTS = "part", 10  # of the test rows of a fixed split, one a seed
HELD_OUT = 0.2  # of the training rows, where something is chosen
LARGEST_TRAINING = 50_000  # rows; covtype has ten times as many
EXACT_NYSTROEM = 2560  # columns up to which scikit-learn's own is used


def measure(cell: Cell) -> Result:
    """Measure one cell."""
    if cell.method not in METHODS:
        raise ValueError(f"there is no method {cell.method!r}; there are {', '.join(METHODS)}.")
    start = time.perf_counter()
    outcome = _machine if cell.study == "machines" else _gram_error
    score, fit, details = outcome(cell)
    return Result(cell, score, round(fit, 4), round(time.perf_counter() - start, 2), details)


def make_map(method: str, width: int, gamma: float, seed: int) -> Any:
    """A feature map that is not fitted yet."""
    if method == ORTHOGONAL:
        return FourierFeatures(n_components=width, gamma=gamma, random_state=seed)
    if method == RANDOM:  # the paper's form: independent single cosines with an offset
        return FourierFeatures(
            n_components=width, gamma=gamma, sampling="iid", paired=False, random_state=seed
        )
    if method == NYSTROEM:
        kind = Nystroem if width <= EXACT_NYSTROEM else TriangularNystroem
        return kind(n_components=width, gamma=gamma, random_state=seed)
    return bochner.MercerFeatures(
        n_components=width, gamma=gamma, random_state=seed, **MERCER_MAPS[method]
    )


class TriangularNystroem:
    """Nystroem features through a Cholesky factor, for so many landmarks that an SVD takes long.

    The same kernel as scikit-learn's but for the jitter, which only makes it smaller; at 2560
    columns the spectral errors of the two differ by less than 1e-4 of themselves.
    """

    def __init__(self, *, n_components: int, gamma: float, random_state: int) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.random_state = random_state

    def fit(self, X: NDArray[Any], jitter: float = 1e-10) -> TriangularNystroem:
        """Draw the landmarks and factorise their Gram matrix."""
        order = np.random.RandomState(self.random_state).permutation(len(X))
        self.landmarks_ = X[order[: self.n_components]].astype(np.float64)
        gram = rbf_kernel(self.landmarks_, gamma=self.gamma)
        gram.flat[:: len(gram) + 1] += jitter * len(gram)
        self.factor_ = linalg.cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
        return self

    def transform(self, X: NDArray[Any]) -> Float:
        """Features of rows."""
        between = rbf_kernel(self.landmarks_, X.astype(np.float64), gamma=self.gamma)
        features: Float = linalg.solve_triangular(
            self.factor_, between, lower=True, overwrite_b=True, check_finite=False
        )
        return features.T


# --------------------------------------------------------------------------- spectral errors


class Gram:
    """Products with the Gram matrix of rows, which is stored if there are few.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    gamma : float
        Of the gaussian kernel.
    block : int, default=1000
        Rows of the matrix that are computed at a time when it is not stored.
    """

    def __init__(self, X: NDArray[Any], gamma: float, block: int = 1000) -> None:
        self.X = X.astype(np.float64)
        self.gamma, self.block = gamma, block
        self.stored = rbf_kernel(self.X, gamma=gamma) if len(X) <= STORED_GRAM else None
        self.norm = spectral_norm(self.product, len(X))

    def product(self, v: Float) -> Float:
        """The matrix times a vector."""
        if self.stored is not None:
            return np.asarray(self.stored @ v)
        parts = [
            rbf_kernel(self.X[start : start + self.block], self.X, gamma=self.gamma) @ v
            for start in range(0, len(self.X), self.block)
        ]
        return np.concatenate(parts)


def spectral_norm(product: Callable[[Float], Float], n: int) -> float:
    """The largest absolute eigenvalue of a symmetric matrix, from products with vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.papers.mukuta.measures import spectral_norm
    >>> matrix = np.diag([1.0, 0.5, -3.0, 2.0])
    >>> round(spectral_norm(lambda v: matrix @ v, 4), 6)
    3.0
    """
    if n <= 3:  # too small for Lanczos
        columns = [product(column) for column in np.eye(n)]
        return float(np.linalg.norm(np.stack(columns), 2))
    operator = LinearOperator((n, n), matvec=lambda v: product(np.ravel(v)), dtype=np.float64)
    start = np.random.RandomState(0).standard_normal(n)
    values = eigsh(
        operator, k=1, which="LM", v0=start, tol=1e-5, return_eigenvectors=False, maxiter=1000
    )
    return float(np.abs(values).max())


def spectral_error(gram: Gram, features: NDArray[Any]) -> float:
    """``|K - Phi Phi^T|_2 / |K|_2``, without forming the difference."""
    rows = features.astype(np.float64, copy=False)
    error = spectral_norm(lambda v: gram.product(v) - rows @ (rows.T @ v), len(rows))
    return error / gram.norm


@dataclass(frozen=True)
class Sample:
    """Rows to fit maps to, and the Gram matrix of others."""

    X: NDArray[Any]
    gram: Gram


def _gram_error(cell: Cell) -> tuple[float, float, dict[str, float]]:
    sample = _sample(cell.study, cell.task, cell.seed, cell.max_train)
    assert cell.width is not None
    feature_map = make_map(cell.method, cell.width, sample.gram.gamma, cell.seed)
    fit = _timed_fit(feature_map, sample.X)
    features = np.asarray(feature_map.transform(sample.gram.X))
    details: dict[str, float] = {}
    if cell.method not in (RANDOM, ORTHOGONAL):
        r = residuals(features)
        details["residual"] = float(r.mean())
        details["certified"] = relative_gram_bound(features, r)
    if cell.method == MERCER:
        details["predicted"] = predicted_residual(feature_map.eigenvalues_)
    return spectral_error(sample.gram, features), fit, details


@lru_cache(maxsize=1)
def _sample(study: str, task: str, seed: int, max_rows: int | None) -> Sample:
    if study == "images":
        data = load_cifar10_hog()
        X, X_test = data.X_train, data.X_test
        order = np.random.RandomState(seed).permutation(len(X_test))
        rows = X_test[order[: max_rows or IMAGES]]
        # One over the mean squared distance, as in the synthetic study.
        return Sample(X, Gram(rows, float(0.5 / X.var(axis=0, dtype=np.float64).sum())))
    n = max_rows or SYNTHETIC_ROWS
    X = draw(task, 2 * n, np.random.RandomState(seed))
    return Sample(X[:n], Gram(X[n:], 1 / (2 * DIMENSION)))


def draw(task: str, n: int, random_state: np.random.RandomState) -> Float:
    """Synthetic rows: independent coordinates, or clusters."""
    shape = (n, DIMENSION)
    if task == "gaussian":
        return random_state.standard_normal(shape)
    if task == "laplace":
        return random_state.laplace(size=shape)
    if task == "uniform":
        return random_state.uniform(-1, 1, shape)
    centres = CLUSTER_DISTANCE * random_state.standard_normal((CLUSTERS, DIMENSION))
    rows = centres[random_state.randint(CLUSTERS, size=n)]
    return np.asarray(rows + CLUSTER_WIDTH * random_state.standard_normal(shape))


# --------------------------------------------------------------------------- linear machines


def _machine(cell: Cell) -> tuple[float, float, dict[str, float]]:
    data = _rows(cell.task, cell.seed, cell.max_train)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    assert y_test is not None
    classes = cell.task in CLASSIFICATION
    details: dict[str, float] = {}
    method = cell.method
    if method == CHOSEN:
        method = _choose_density(cell, X, y)
        details["gaussians"] = CANDIDATES[method]
    feature_map, fit = _fitted_map(method, cell, X)
    coefficients = _trained(np.asarray(feature_map.transform(X)), y, classes)
    decisions = _decide(feature_map, X_test, coefficients)
    if not classes:
        squares = float(np.mean((decisions - y_test) ** 2))
        return 1 - squares / float(np.var(y_test)), fit, details | {"MSE": squares}
    right = np.where(decisions > 0, 1, -1) == y_test
    if cell.task not in TEST_SHARE:
        # All seeds share these test rows. Ten seeds divide them among themselves: over such parts
        # a standard error has the noise of the test rows in it.
        details[PART] = float(right[cell.seed % PARTS :: PARTS].mean())
    return float(right.mean()), fit, details


def _choose_density(cell: Cell, X: NDArray[Any], y: NDArray[Any]) -> str:
    """The candidate that does best on the last of the training rows, which are in random order."""
    classes = cell.task in CLASSIFICATION
    n = len(y) - round(HELD_OUT * len(y))
    scores = {}
    for method in CANDIDATES:
        feature_map, _ = _fitted_map(method, cell, X[:n])
        coefficients = _trained(np.asarray(feature_map.transform(X[:n])), y[:n], classes)
        decisions = _decide(feature_map, X[n:], coefficients)
        scores[method] = (
            float(np.mean(np.where(decisions > 0, 1, -1) == y[n:]))
            if classes
            else -float(np.mean((decisions - y[n:]) ** 2))
        )
    return max(scores, key=lambda method: scores[method])


def _fitted_map(method: str, cell: Cell, X: NDArray[Any]) -> tuple[Any, float]:
    assert cell.width is not None
    feature_map = make_map(method, cell.width, 1 / (2 * X.shape[1]), cell.seed)
    # The paper estimates densities from few rows. Landmarks come from all.
    rows = X[: DENSITY_ROWS[cell.task in CLASSIFICATION]] if method in MERCER_MAPS else X
    return feature_map, _timed_fit(feature_map, rows)


def _trained(features: NDArray[Any], y: NDArray[Any], classes: bool) -> Float:
    """Coefficients of the machine on top."""
    if not classes:
        return ridge(features, y, RIDGE)
    # The minimiser of LIBLINEAR's squared hinge without a bias, its default, found faster.
    machine = solve_squared_hinge(
        features.astype(np.float32), y.astype(np.float64), PENALTY, fit_intercept=False, tol=1e-5
    )
    return np.asarray(machine.coefficients, dtype=np.float64)[:, 0]


def ridge(features: NDArray[Any], y: NDArray[Any], strength: float) -> Float:
    """The minimiser of ``|features w - y|^2 + strength |w|^2``, without an intercept."""
    gram = features.T @ features
    gram.flat[:: len(gram) + 1] += strength
    solution: Float = linalg.solve(gram, features.T @ y, assume_a="pos", overwrite_a=True)
    return solution


def _decide(feature_map: Any, X: NDArray[Any], coefficients: Float, block: int = 5000) -> Float:
    parts = [
        np.asarray(feature_map.transform(X[start : start + block])) @ coefficients
        for start in range(0, len(X), block)
    ]
    return np.concatenate(parts)


@lru_cache(maxsize=1)
def _rows(task: str, seed: int, max_train: int | None) -> LocalDataset:
    """Rows in a random order, scaled by the training part to [0, 1], for numbers to [-1, 1]."""
    random_state = np.random.RandomState(seed)
    if task == YEARS:
        data = load_yearmsd()
    elif task in NUMBERS:
        data = load_regression(task, test_size=TEST_SHARE[task], random_state=seed)
    else:
        data = load_local(task)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    order = random_state.permutation(len(y))
    if y_test is None:
        n_test = round(TEST_SHARE[task] * len(y))
        test, order = order[:n_test], order[n_test:]
        X_test, y_test = X[test], y[test]
    order = order[: min(max_train or LARGEST_TRAINING, LARGEST_TRAINING)]
    X, y, X_test = X[order].astype(np.float64), y[order], X_test.astype(np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    unit = np.where(high > low, high - low, 1)
    X, X_test = (X - low) / unit, (X_test - low) / unit
    if task in NUMBERS:
        X, X_test = 2 * X - 1, 2 * X_test - 1
    return LocalDataset(task, X, y, X_test, y_test)


def _timed_fit(feature_map: Any, X: NDArray[Any]) -> float:
    start = time.perf_counter()
    with warnings.catch_warnings():
        # Widths are the paper's: that they cut a shell of equal eigenvalues is no news here.
        warnings.simplefilter("ignore", UserWarning)
        feature_map.fit(X)
    return time.perf_counter() - start
