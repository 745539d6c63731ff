"""Comparison of feature maps of one kernel, with estimates and bounds of their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.guarantees.checks import check_count, check_delta
from bochner.guarantees.kernel_error import (
    Kernel,
    kernel_diagonal,
    mean_squared_kernel_error_bound,
    pairwise_error,
)
from bochner.guarantees.residuals import (
    relative_gram_bound,
    residual_bound,
    residuals,
    rounding_of,
)
from bochner.records.sections import aligned


@dataclass(frozen=True)
class Approximation:
    """How well one feature map approximates the kernel on held-out rows.

    Attributes
    ----------
    name : str
        Name of the map.
    n_columns : int
        Number of features.
    squared_error : float
        Unbiased estimate of the mean squared error of the kernel.
    squared_error_bound : float or None
        Bound from pairs of rows on the mean squared error, which holds with probability
        ``1 - delta``. None where no limit on the features' length is known.
    mean_residual : float or None
        Mean of the residuals of the held-out rows; None for features that do not nest in the
        kernel.
    residual_bound : float or None
        Bound on the mean residual of new rows, and on the root mean squared error of the kernel,
        which holds with probability ``1 - delta``.
    relative_gram_bound : float or None
        Bound on the relative spectral error of the held-out rows' Gram matrix, which holds with
        certainty.
    """

    name: str
    n_columns: int
    squared_error: float
    squared_error_bound: float | None = None
    mean_residual: float | None = None
    residual_bound: float | None = None
    relative_gram_bound: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Result of :func:`compare_approximations`; prints as a table.

    Attributes
    ----------
    rows : tuple of Approximation
        One entry per map, in the order given.
    n : int
        Number of held-out rows.
    delta : float
        Probability that a single bound may fail.
    """

    rows: tuple[Approximation, ...]
    n: int
    delta: float

    def __str__(self) -> str:
        head = ("map", "columns", "error", "<= (pairs)", "<= (residual)", "residual", "Gram <=")
        lines: list[tuple[str, ...]] = [head]
        for row in self.rows:
            numbers = (
                np.sqrt(row.squared_error),
                None if row.squared_error_bound is None else np.sqrt(row.squared_error_bound),
                row.residual_bound,
                row.mean_residual,
                row.relative_gram_bound,
            )
            texts = ("-" if number is None else f"{number:.3g}" for number in numbers)
            lines.append((row.name, str(row.n_columns), *texts))
        return aligned(lines)


def compare_approximations(
    maps: Mapping[str, Any], kernel: Kernel, X: Any, delta: float = 0.05
) -> Comparison:
    r"""Compare feature maps of one kernel on held-out rows, with estimates and bounds of error.

    Every map gets the estimate :func:`mean_squared_kernel_error`. Its bound from pairs needs a
    limit on the length of the features, which is known for nested ones, for maps with an attribute
    ``squared_norm_limit`` (``FourierFeatures``) and for scikit-learn's ``RBFSampler``. Maps that
    nest in the kernel also get the certificates of their residuals: those with a method
    ``residual`` (``MercerFeatures``, unless it normalises its rows), and scikit-learn's
    ``Nystroem``. In the printed table, the column *error* is the square root of the estimate, and
    the two columns after it bound the same quantity: the first from pairs of rows, the second from
    residuals, which is far smaller for good features.

    Each bound holds by itself with probability ``1 - delta``, if the rows are independent and took
    no part in fitting the maps; to report the best of `g` maps, use ``delta / g``. Residuals are
    about the map's own kernel; if `kernel` is another one, such as one with another gamma, the
    exact pairs reveal it.

    Parameters
    ----------
    maps : mapping from str to fitted transformer
        Maps, by the name to print.
    kernel : callable
        Exact kernel that all maps approximate, ``kernel(X, Y)``, with values in [-1, 1].
    X : array or sparse matrix of shape (n, d)
        Held-out rows, at least 2; the cost grows with the square of their number.
    delta : float, default=0.05
        Probability that a single bound may fail.

    Raises
    ------
    ConditionsNotMet
        When a map with residuals is further from the kernel on a pair of rows than its residuals
        allow.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import Nystroem
    >>> from bochner import FourierFeatures
    >>> from bochner.guarantees import compare_approximations
    >>> from bochner.kernels import Gaussian
    >>> X = np.random.RandomState(0).standard_normal((3000, 2))
    >>> maps = {"random": FourierFeatures(n_components=100, gamma=0.1, random_state=0),
    ...         "Nystroem": Nystroem(n_components=100, gamma=0.1, random_state=0)}
    >>> maps = {name: m.fit(X[:1000]) for name, m in maps.items()}
    >>> comparison = compare_approximations(maps, Gaussian(gamma=0.1), X[1000:])
    >>> [row.residual_bound is None for row in comparison.rows]
    [True, False]
    >>> comparison.rows[0].squared_error > comparison.rows[1].squared_error
    True
    """
    delta = check_delta(delta)
    n = check_count("the number of rows", X.shape[0], 2)
    rows = (_approximation(name, each, kernel, X, delta) for name, each in maps.items())
    return Comparison(tuple(rows), n, delta)


def _approximation(
    name: str, feature_map: Any, kernel: Kernel, X: Any, delta: float
) -> Approximation:
    features = np.asarray(feature_map.transform(X))
    limit, lengths = _largest_error(feature_map), None
    certificates: dict[str, float] = {}
    if _nests(feature_map):
        r, limit = residuals(features, kernel_diagonal(kernel, X)), 1.0
        lengths = np.sqrt(r + rounding_of(features))
        certificates = {
            "mean_residual": float(r.mean()),
            "residual_bound": residual_bound(r, delta),
            "relative_gram_bound": relative_gram_bound(features, r),
        }
    error = pairwise_error(features, kernel, X, lengths)
    bound = None
    if limit is not None:
        bound = mean_squared_kernel_error_bound(error, len(features), delta, limit=limit)
    return Approximation(name, features.shape[1], error, bound, **certificates)


def _nests(feature_map: Any) -> bool:
    from sklearn.kernel_approximation import Nystroem

    if isinstance(feature_map, Nystroem):
        return True
    return hasattr(feature_map, "residual") and not getattr(feature_map, "normalize", False)


def _largest_error(feature_map: Any) -> float | None:
    """Largest error of a kernel value in [-1, 1], given the features' length; None if unknown."""
    from sklearn.kernel_approximation import RBFSampler

    longest = getattr(feature_map, "squared_norm_limit", None)
    if isinstance(feature_map, RBFSampler):
        longest = 2.0  # single cosines with an offset
    return None if longest is None else 1.0 + float(longest)
