"""Choosing gamma: a number, or a rule that computes it from the data."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from bochner.engine.places import cast, identity, namespace, on_cuda, wide_dtype
from bochner.engine.summaries import choose_rows, rows_at, sample_rows, variance
from bochner.guarantees.guarantee import ConditionsNotMet
from bochner.kernels import SpectralKernel, StandardKernel, kernel_object
from bochner.weights import copies

GAMMA_RULES = ("scale", "median")
DEFAULT_GAMMA = "median"  # for all maps and the program: see docs/fourier.md
MOST = 2**31 - 1  # largest value of any count: more would not fit in any memory

# Constraints of the parameters that maps over frequencies share. Names of kernels are looked up
# when a kernel is needed, so that one may be registered later.
SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [str, HasMethods(["sample", "__call__"])],
    "gamma": [StrOptions(set(GAMMA_RULES)), Interval(Real, 0, None, closed="neither")],
    "n_jobs": [None, Integral],
    "memory_budget": [None, Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}
_MEDIAN_ROWS = 1000
_ROUNDING = 1e-14  # rounding of squared distances from products: equal rows may seem apart


def resolve_kernel(
    kernel: str | SpectralKernel,
    gamma: float | str,
    X: Any,
    random_state: RandomState,
    weights: Any = None,
) -> SpectralKernel:
    """Return the kernel object with a number for gamma, for rows counted by `weights`.

    A standard kernel's own gamma, if it has one, takes precedence; a user's own object is
    returned as it is. ``"scale"`` is ``1 / (n_features * X.var())`` as in scikit-learn's SVC. For
    kernels whose distances are not squared it is ``1 / (n_features * X.std())`` (Laplacian) or
    ``1 / (n_features ** 0.5 * X.std())`` (exponential).
    ``"median"`` makes the median distance between rows the length scale of the kernel:
    ``1 / (2 median^2)``, or ``1 / median`` for the exponential kernel and, with the city-block
    distance, for the Laplacian. Both
    rules give 1 when all entries (all rows) of X are equal.
    """
    kernel = kernel_object(kernel)
    if not isinstance(kernel, StandardKernel):
        return kernel
    if kernel.gamma is None:
        kernel = kernel.with_gamma(_gamma(kernel, gamma, X, random_state, weights))
    _ = kernel.width  # raises where it is not a positive number
    return kernel


def _gamma(
    kernel: StandardKernel, gamma: float | str, X: Any, random_state: RandomState, weights: Any
) -> float:
    if isinstance(gamma, (int, float, np.number)) and not isinstance(gamma, bool):
        return float(gamma)
    if gamma == "scale":
        return scale_gamma(kernel, X.shape[1], variance(X, weights))
    if gamma == "median":
        if weights is not None:  # a sample of the rows that the weighted rows stand for
            index = copies(weights, weights, random_state)
            X = rows_at(X, index[choose_rows(len(index), _MEDIAN_ROWS, random_state)])
        distance = median_distance(X, kernel.metric, random_state)
        return kernel.gamma_for_distance(distance) if distance > 0 else 1.0
    raise ValueError(f"gamma must be a positive number or one of {GAMMA_RULES}, got {gamma!r}.")


def scale_gamma(kernel: Any, n_features: int, spread: float) -> float:
    """Return the value of ``gamma="scale"`` for entries of this variance."""
    known = isinstance(kernel, StandardKernel) and spread > 0
    return float(kernel.gamma_for_variance(n_features, spread)) if known else 1.0


def median_distance(X: Any, metric: str, random_state: RandomState) -> float:
    """Return the median distance between distinct rows of a sample of at most 1000; 0 if none."""
    from scipy.spatial.distance import squareform
    from sklearn.metrics import pairwise_distances
    from sklearn.utils.extmath import row_norms

    if metric == "euclidean" and on_cuda(X):
        return median_distance_on_device(X, random_state)
    rows = sample_rows(X, _MEDIAN_ROWS, random_state).astype(np.float64)
    distances = pairwise_distances(rows, metric=metric)
    if metric == "euclidean":
        lengths = row_norms(rows, squared=True)
        distances[distances**2 <= _ROUNDING * (lengths[:, None] + lengths)] = 0.0
    distances = squareform(distances, checks=False)  # those above the diagonal
    distances = distances[distances > 0]
    return float(np.median(distances)) if distances.size else 0.0


def median_distance_on_device(X: Any, random_state: RandomState) -> float:
    """Compute the median distance on the device of `X`, which sends one number back."""
    xp, index = namespace(X), choose_rows(X.shape[0], _MEDIAN_ROWS, random_state)
    rows = cast(rows_at(X, index), wide_dtype(X))
    squares = xp.sum(rows * rows, axis=1)
    both = squares[:, None] + squares[None, :]
    distances = both - 2 * (rows @ rows.T)
    # Zero for a row with itself and for equal rows; every other pair comes twice, which leaves
    # the median.
    equal = (identity(len(index), rows, rows.dtype) > 0) | (distances <= _ROUNDING * both)
    distances = xp.where(equal, xp.zeros_like(distances), distances)
    distances = xp.sort(xp.reshape(distances, (-1,)))
    count = int(xp.sum(cast(distances > 0, xp.int64)))
    if count == 0:
        return 0.0
    middle = distances.shape[0] - count + (count - 1) // 2
    return float(xp.mean(xp.sqrt(distances[middle : middle + 2 - count % 2])))


def check_honest(gamma: Any, fitted: Any, given: Any, classes: Any) -> None:
    """Raise ConditionsNotMet if the conditions of a guarantee are known not to hold.

    Not every violation can be detected here: a scaler fitted on the same rows voids it as well.
    """
    if classes is None:
        raise ConditionsNotMet(
            "there is no bound for regression: the targets are scaled by the rows themselves."
        )
    own = isinstance(fitted, StandardKernel) and getattr(given, "gamma", None) is None
    if own and isinstance(gamma, str):
        raise ConditionsNotMet(
            f"gamma={gamma!r} was read off the same rows, so that no bound holds; give a number "
            "that was chosen without them."
        )
