r"""How far features are from the kernel they stand for.

Features :math:`\varphi` *nest* in a kernel `k` when what they leave out,
:math:`k(x, y) - \varphi(x) \cdot \varphi(y)`, is itself a positive semi-definite kernel. Mercer
features do, whatever the density they assume, and so do Nystroem's, whose remainder is a Schur
complement. Then one number a row, the *residual*

.. math:: r(x) = k(x, x) - \|\varphi(x)\|^2 \ge 0 ,

says how good the features are at that row, with nothing known of how the rows were drawn:

=============================  ================================================================
:func:`residuals`              :math:`r`, from the features
:func:`pointwise_bound`        :math:`|k(x, y) - \varphi(x) \cdot \varphi(y)| \le
                               \sqrt{r(x) r(y)}`, every pair
:func:`gram_bound`             :math:`\|K - \Phi \Phi^\top\|_2 \le \sum_i r(x_i)`, any rows
:func:`relative_gram_bound`    the same, relative to :math:`\|K\|_2`, without computing `K`
:func:`residual_bound`         :math:`\mathbb{E}\, r` of unseen rows, with probability
                               :math:`1 - \delta`, from held-out rows
:func:`predicted_residual`     :math:`\mathbb{E}\, r` if the assumed density were the true one:
                               a prediction, not a guarantee
=============================  ================================================================

Random Fourier features do not nest: :math:`\|\varphi(x)\| = 1` at every row, however poor they
are. What exists for them, and for any bounded features, is

=======================================  ======================================================
:func:`mean_squared_kernel_error`        an unbiased estimate from pairs of held-out rows
:func:`mean_squared_kernel_error_bound`  its confidence bound (Hoeffding)
:func:`fourier_uniform_bound`            Rahimi and Recht's: the largest error over a whole
                                         domain, before the frequencies are drawn
=======================================  ======================================================

The mean squared error of nested features over two independent rows is at most
:math:`(\mathbb{E}\, r)^2`, so that :func:`residual_bound` and the root of
:func:`mean_squared_kernel_error_bound` are figures of one kind. :func:`compare_approximations`
puts them side by side.

All this is arithmetic in float64 on the features given. float32 features carry a rounding error
of about 1e-6 in :math:`r`: a residual below that is not certified by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.guarantees.checks import check_above, check_count, check_delta
from bochner.guarantees.divergences import inverse_binary_kl
from bochner.guarantees.samples import effective_pairs

Float = NDArray[np.float64]
Kernel = Callable[[Any, Any], Any]

# How far below zero rounding may carry a residual, relative to the kernel's diagonal.
_ROUNDING = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-6}
_POWER_STEPS = 30
_BLOCK = 1024  # rows of a block of pairs


# --------------------------------------------------------------------------- nested features


def residuals(features: ArrayLike, diagonal: ArrayLike = 1.0) -> Float:
    r"""What nested features leave out at each row, :math:`r(x) = k(x, x) - \|\varphi(x)\|^2`.

    For Nystroem features of landmarks `Z` this is the Schur complement
    :math:`k(x, x) - k(x, Z) K_{ZZ}^{-1} k(Z, x)`, or a little more where small eigenvalues of
    :math:`K_{ZZ}` were cut.

    Parameters
    ----------
    features : array of shape (n, D)
        Rows of features that nest in the kernel. Nothing here can check that they do, except
        that no residual is negative.
    diagonal : float or array of shape (n,), default=1.0
        :math:`k(x, x)`; 1 for translation-invariant kernels.

    Returns
    -------
    array of shape (n,)
        Zero or more; what rounding made negative is zero.

    Raises
    ------
    ValueError
        When a row is longer than the kernel allows: the features do not nest in it.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.guarantees import residuals
    >>> residuals([[0.8, 0.0], [0.6, 0.8]]).round(2)
    array([0.36, 0.  ])
    """
    array = np.asarray(features)
    if array.ndim != 2:
        raise ValueError(f"features must have shape (n, D), got {array.shape}.")
    limits = np.broadcast_to(np.asarray(diagonal, dtype=np.float64), len(array))
    if not (limits >= 0).all():
        raise ValueError(f"diagonal must be zero or more, got {limits.min()!r}.")
    slack = _ROUNDING.get(array.dtype, 1e-6) * limits
    rows = array.astype(np.float64, copy=False)
    r = limits - np.einsum("ij,ij->i", rows, rows)
    wrong = ~(r >= -slack)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"features of row {row} have the squared length {limits[row] - r[row]:.6g}, which is "
            f"more than k(x, x) = {limits[row]:.6g}: they do not nest in this kernel, and have "
            "no residual. Normalised rows and random features have none either."
        )
    return np.asarray(np.maximum(r, 0.0))


def pointwise_bound(r_x: ArrayLike, r_y: ArrayLike) -> Float:
    r"""Bound on the error of a kernel value, :math:`\sqrt{r(x) r(y)}` (Cauchy and Schwarz).

    Holds for every pair of points, drawn however, when the features nest in the kernel.

    Residuals are known to rounding only, about 1e-15 (1e-7 in float32; more for Nystroem features
    of landmarks that nearly repeat). That matters under the root: where a residual is near zero,
    add its rounding to it.

    Parameters
    ----------
    r_x, r_y : float or array
        :func:`residuals` of the two points; arrays are broadcast, ``r[:, None], r`` for all pairs.

    Examples
    --------
    >>> from bochner.guarantees import pointwise_bound
    >>> float(pointwise_bound(0.04, 0.01).round(4))
    0.02
    """
    x, y = _check_residuals("r_x", r_x), _check_residuals("r_y", r_y)
    return np.asarray(np.sqrt(x) * np.sqrt(y))


def gram_bound(r: ArrayLike) -> float:
    r"""Bound on the spectral norm of :math:`K - \Phi \Phi^\top` over rows: the sum of residuals.

    The remainder is positive semi-definite, so that its largest eigenvalue is at most its trace.
    It is also the exact trace norm and a bound on the Frobenius norm. Holds for any rows. It is
    large beside the true spectral norm when many eigenvalues of the remainder are alike.

    Parameters
    ----------
    r : array of shape (n,)
        :func:`residuals` of the rows.

    Examples
    --------
    >>> from bochner.guarantees import gram_bound
    >>> gram_bound([0.25, 0.5, 0.0])
    0.75
    """
    return float(np.sum(_check_residuals("r", r)))


def relative_gram_bound(features: ArrayLike, r: ArrayLike) -> float:
    r"""Bound on :math:`\|K - \Phi \Phi^\top\|_2 / \|K\|_2` that needs no kernel value.

    .. math:: \frac{\sum_i r(x_i)}{\|\Phi\|_2^2}

    As the features nest, :math:`\|K\|_2 \ge \|\Phi \Phi^\top\|_2 = \|\Phi\|_2^2`. That is found by
    power iteration, which comes from below and so never makes the bound too small. It costs
    :math:`O(n D)`.

    Parameters
    ----------
    features : array of shape (n, D)
        The features.
    r : array of shape (n,)
        Their :func:`residuals`.

    Returns
    -------
    float
        At most 1; 0 for no residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.guarantees import relative_gram_bound, residuals
    >>> features = np.full((10, 1), 0.9)
    >>> round(relative_gram_bound(features, residuals(features)), 4)    # 10 * 0.19 / 8.1
    0.2346
    """
    rows = np.asarray(features)
    if rows.ndim != 2:
        raise ValueError(f"features must have shape (n, D), got {rows.shape}.")
    total = gram_bound(r)
    if total == 0:
        return 0.0
    # A random start has a part along the leading direction with probability one.
    v = np.asarray(np.random.RandomState(0).standard_normal(rows.shape[1]), dtype=rows.dtype)
    norm = 0.0
    for _ in range(_POWER_STEPS):
        v /= max(float(np.linalg.norm(v)), np.finfo(np.float64).tiny)
        image = rows @ v
        norm = max(norm, float(np.dot(image, image)))
        v = rows.T @ image
    # The remainder is part of K: the ratio cannot exceed 1.
    return min(1.0, total / norm) if norm > 0 else 1.0


def predicted_residual(eigenvalues: ArrayLike, total: float = 1.0) -> float:
    r"""The mean residual that the assumed density predicts: the tail of its eigenvalues.

    .. math:: 1 - \sum_{i \le D} \lambda_i

    A *prediction*: exact if the rows have the density the eigenvalues belong to, and nothing more.
    Mukuta and Harada (2016), Theorem 3.1, add the total-variation distance to the true density,
    which nobody knows. :func:`residual_bound` is the guarantee.

    Parameters
    ----------
    eigenvalues : array of shape (D,)
        Those of the features that were kept.
    total : float, default=1.0
        Sum of all eigenvalues, the mean of :math:`k(x, x)`.

    Examples
    --------
    >>> from bochner.guarantees import predicted_residual
    >>> round(predicted_residual([0.5, 0.25, 0.125]), 4)
    0.125
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    total = check_above("total", total, 0)
    captured = float(np.sum(values))
    if not (values >= 0).all() or captured > total * (1 + 1e-9):
        raise ValueError(
            f"eigenvalues must be zero or more with a sum of at most {total:g}, "
            f"got values from {values.min()!r} on with the sum {captured!r}."
        )
    return max(0.0, total - captured)


# --------------------------------------------------------------------------- held-out rows


def hoeffding_bound(values: ArrayLike, delta: float, *, limit: float = 1.0) -> float:
    r"""Upper confidence bound on a mean, :math:`\bar v + B \sqrt{\ln(1 / \delta) / (2 m)}`.

    Holds with probability ``1 - delta`` for `m` independent values in ``[0, limit]`` with one
    mean. Residuals qualify when the rows took no part in fitting the features.

    Parameters
    ----------
    values : array of shape (m,)
        Numbers in ``[0, limit]``.
    delta : float
        Probability that the bound may fail.
    limit : float, default=1.0
        Largest value that was possible, :math:`B`; known beforehand, not the largest seen.

    Returns
    -------
    float
        At most `limit`.

    Examples
    --------
    >>> from bochner.guarantees import hoeffding_bound
    >>> round(hoeffding_bound([0.01] * 1000, delta=0.05), 4)
    0.0487
    """
    v, limit = _check_values(values, limit)
    radius = limit * np.sqrt(np.log(1 / check_delta(delta)) / (2 * len(v)))
    return float(min(limit, v.mean() + radius))


def chernoff_bound(values: ArrayLike, delta: float, *, limit: float = 1.0) -> float:
    r"""The same in Hoeffding's own sharp form, :math:`B\, \mathrm{kl}^{-1}(\bar v / B,
    \ln(1/\delta) / m)`.

    Never larger than :func:`hoeffding_bound`, under the same conditions, and much smaller when the
    mean is: about :math:`B \ln(1 / \delta) / m` where all values are zero.

    Parameters
    ----------
    values, delta, limit
        As for :func:`hoeffding_bound`.

    Examples
    --------
    >>> from bochner.guarantees import chernoff_bound
    >>> round(chernoff_bound([0.01] * 1000, delta=0.05), 4)
    0.0198
    """
    v, limit = _check_values(values, limit)
    budget = np.log(1 / check_delta(delta)) / len(v)
    return limit * float(inverse_binary_kl(v.mean() / limit, budget))


def empirical_bernstein_bound(values: ArrayLike, delta: float, *, limit: float = 1.0) -> float:
    r"""Upper confidence bound on a mean that profits from a small variance.

    .. math:: \bar v + \sqrt{\frac{2 V \ln(2 / \delta)}{m}}
              + \frac{7 B \ln(2 / \delta)}{3 (m - 1)}

    with the sample variance `V` (Maurer and Pontil 2009). Conditions as for
    :func:`hoeffding_bound`. Smaller than :func:`chernoff_bound` when the values vary little about
    a mean that is not small.

    Parameters
    ----------
    values, delta, limit
        As for :func:`hoeffding_bound`; at least two values.

    Examples
    --------
    >>> from bochner.guarantees import empirical_bernstein_bound
    >>> round(empirical_bernstein_bound([0.01] * 1000, delta=0.05), 4)
    0.0186
    """
    v, limit = _check_values(values, limit)
    m = check_count("the number of values", len(v), 2)
    logarithm = np.log(2 / check_delta(delta))
    radius = np.sqrt(2 * v.var(ddof=1) * logarithm / m) + 7 * limit * logarithm / (3 * (m - 1))
    return float(min(limit, v.mean() + radius))


def residual_bound(r: ArrayLike, delta: float = 0.05, *, limit: float = 1.0) -> float:
    r"""The bound to report for unseen rows: the smaller of two, each with half of `delta`.

    With probability ``1 - delta`` over the held-out rows, :math:`\mathbb{E}\, r(x)` of a new row
    is at most this. Then, for two independent new rows, the mean squared error of the kernel is
    at most its square, as :math:`\mathbb{E}\, r(x) r(y) = (\mathbb{E}\, r)^2`; and the expected
    spectral error of a Gram matrix of `n` new rows is at most `n` times it.

    It holds if the held-out rows are independent, identically distributed and took no part in
    fitting the features: nor their bandwidth, nor a scaler, nor in choosing among several maps
    (for the best of `g` use ``delta / g``). The two are :func:`chernoff_bound` and
    :func:`empirical_bernstein_bound`.

    Parameters
    ----------
    r : array of shape (m,)
        :func:`residuals` of the held-out rows.
    delta : float, default=0.05
        Probability that the bound may fail.
    limit : float, default=1.0
        Largest :math:`k(x, x)`.

    Examples
    --------
    >>> from bochner.guarantees import residual_bound
    >>> round(residual_bound([0.01] * 1000), 4)
    0.0202
    """
    share = check_delta(delta) / 2
    bound = chernoff_bound(r, share, limit=limit)
    if np.size(r) < 2:
        return bound
    return min(bound, empirical_bernstein_bound(r, share, limit=limit))


# --------------------------------------------------------------------------- any features


def mean_squared_kernel_error(features: ArrayLike, kernel: Kernel, X: Any) -> float:
    r"""Unbiased estimate of :math:`\mathbb{E} (k(x, y) - \varphi(x) \cdot \varphi(y))^2`.

    The mean over all pairs of different rows, for two independent rows `x`, `y`. Unbiased if the
    rows took no part in fitting the features. It costs :math:`O(n^2 (d + D))`, in blocks: a few
    thousand rows are plenty.

    Parameters
    ----------
    features : array of shape (n, D)
        Any features of the rows `X`.
    kernel : callable
        ``kernel(X, Y)`` gives the exact values between rows; those of :mod:`bochner.kernels` do.
    X : array or sparse matrix of shape (n, d)
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.guarantees import mean_squared_kernel_error
    >>> from bochner.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> round(mean_squared_kernel_error(np.zeros((3, 1)), Gaussian(gamma=0.5), X), 4)
    0.2514
    """
    return _pairs(_check_rows(features, X), kernel, X)[0]


def mean_squared_kernel_error_bound(
    estimate: float, n: int, delta: float = 0.05, *, limit: float = 2.0
) -> float:
    r"""Confidence bound on the mean squared error of the kernel, from all pairs of `n` rows.

    .. math:: B\, \mathrm{kl}^{-1} \left( \frac{\hat e}{B}, \frac{\ln(1 / \delta)}{m} \right),
              \qquad B = \mathrm{limit}^2, \quad m = \lfloor n / 2 \rfloor

    Hoeffding's bound for averages over pairs, which are worth ``n // 2`` independent ones. Holds
    with probability ``1 - delta`` over rows that are independent, identically distributed and
    took no part in fitting the features.

    Parameters
    ----------
    estimate : float
        :func:`mean_squared_kernel_error`.
    n : int
        Number of rows it was computed from.
    delta : float, default=0.05
        Probability that the bound may fail.
    limit : float, default=2.0
        Largest error of a kernel value that is possible: 2 for features of length 1 (paired
        cosines and sines), 3 for single cosines with an offset, 1 for features that nest.

    Examples
    --------
    >>> from bochner.guarantees import mean_squared_kernel_error_bound
    >>> round(mean_squared_kernel_error_bound(0.001, 2000), 4)
    0.0157
    """
    top = check_above("limit", limit, 0) ** 2
    if not 0 <= estimate <= top:
        raise ValueError(f"estimate must lie in [0, limit^2] = [0, {top:g}], got {estimate!r}.")
    budget = np.log(1 / check_delta(delta)) / effective_pairs(n)
    return top * float(inverse_binary_kl(estimate / top, budget))


def fourier_uniform_bound(
    n_frequencies: int, n_features: int, diameter: float, spread: float, delta: float = 0.05
) -> float:
    r"""The largest error of random Fourier features over a domain, before they are drawn.

    With probability ``1 - delta`` over `N` independent frequencies, for all `x`, `y` in a set of
    diameter :math:`\ell`, :math:`|k(x, y) - \varphi(x) \cdot \varphi(y)| \le \varepsilon`, where
    :math:`\varepsilon` makes

    .. math:: \min_s \; 2 \left( 1 + \frac{2 \ell}{s} \right)^d e^{- N \varepsilon^2 / 8}
              + \left( \frac{4 \sigma s}{\varepsilon} \right)^2

    equal to `delta`: the argument of Rahimi and Recht (2007), Claim 1, in the form of Sutherland
    and Schneider (2015), Proposition 1, for paired cosines and sines. The first term is
    Hoeffding's inequality at the centres of a cover with balls of radius `s`, the second Markov's
    for the steepest slope between them. Rahimi and Recht have a factor 2 in place of 4: they take
    the mean slope at the steepest point as if that point did not depend on the frequencies. With
    4 nothing is assumed, and :math:`\varepsilon` hardly changes.

    It is a worst case over a domain: usually many times the error seen, and not comparable with
    :func:`residual_bound`, which is about the rows one has. It covers independent draws only, not
    ``sampling="orthogonal"`` or the quasi-random ones.

    Parameters
    ----------
    n_frequencies : int
        `N`, half the columns.
    n_features : int
        `d`.
    diameter : float
        :math:`\ell`, of a set fixed beforehand that holds all rows; the largest distance among
        rows at hand says nothing of others.
    spread : float
        :math:`\sigma = \sqrt{\mathbb{E} \|w\|^2}`; ``sqrt(2 * gamma * d)`` for the gaussian
        kernel, infinite for the laplacian one, which has no such bound.
    delta : float, default=0.05
        Probability that the bound may fail.

    Returns
    -------
    float
        At most 2, the largest error possible.

    Examples
    --------
    >>> from bochner.guarantees import fourier_uniform_bound
    >>> round(fourier_uniform_bound(5000, 10, diameter=6.0, spread=1.0), 3)
    0.337
    """
    N, d = check_count("n_frequencies", n_frequencies, 1), check_count("n_features", n_features, 1)
    delta, sigma = check_delta(delta), check_above("spread", spread, 0)
    length = check_above("diameter", diameter, 0)
    # Any radius gives a bound: those tried need not contain the best.
    radii = length * np.geomspace(1e-9, 1e3, 600)
    cover = np.log(2) + d * np.log1p(2 * length / radii)

    def probability(error: float) -> float:
        anchors = np.exp(np.minimum(cover - N * error**2 / 8, 0.0))
        return float(np.min(anchors + (4 * sigma * radii / error) ** 2))

    low, high = 0.0, 2.0
    if probability(high) > delta:
        return high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if probability(middle) <= delta else (middle, high)
    return high


# --------------------------------------------------------------------------- side by side


@dataclass(frozen=True)
class Approximation:
    """How well one feature map stands for the kernel, on held-out rows.

    Attributes
    ----------
    name : str
        Of the map.
    n_columns : int
        Its width.
    squared_error : float
        Unbiased estimate of the mean squared error of the kernel.
    squared_error_bound : float or None
        With probability ``1 - delta`` the mean squared error is at most this, from pairs of rows.
        None where no limit on the features' length is known.
    mean_residual : float or None
        Mean of the held-out rows' residuals; None for features that do not nest in the kernel.
    residual_bound : float or None
        With probability ``1 - delta`` the mean residual of new rows is at most this, and so is the
        root mean squared error of the kernel.
    relative_gram_bound : float or None
        The relative spectral error of the held-out rows' Gram matrix is at most this, surely.
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
    """What :func:`compare_approximations` found; prints as a table.

    Attributes
    ----------
    rows : tuple of Approximation
        One a map, in the order given.
    n : int
        Number of held-out rows.
    delta : float
        Probability that any one of the bounds may fail.
    """

    rows: tuple[Approximation, ...]
    n: int
    delta: float

    def __str__(self) -> str:
        head = ("map", "columns", "error", "<= (pairs)", "<= (residual)", "residual", "Gram <=")
        lines: list[tuple[str, ...]] = [head]
        for row in self.rows:
            figures = (
                np.sqrt(row.squared_error),
                None if row.squared_error_bound is None else np.sqrt(row.squared_error_bound),
                row.residual_bound,
                row.mean_residual,
                row.relative_gram_bound,
            )
            texts = ("-" if figure is None else f"{figure:.3g}" for figure in figures)
            lines.append((row.name, str(row.n_columns), *texts))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if column else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )


def compare_approximations(
    maps: Mapping[str, Any], kernel: Kernel, X: Any, delta: float = 0.05
) -> Comparison:
    r"""Feature maps of one kernel side by side on held-out rows, each with what is known of it.

    Every map gets the estimate :func:`mean_squared_kernel_error`. Its bound from pairs needs a
    limit on the length of the features, which is known of nested ones, of ``FourierFeatures`` and
    of scikit-learn's ``RBFSampler``. Maps that nest in the kernel also get the certificates of
    their residuals: those with a method ``residual`` (``MercerFeatures``, unless it normalises
    its rows), and scikit-learn's ``Nystroem``. Printed, the column *error* is the root of the
    estimate, and the two columns after it bound the same quantity: the first with the rows in
    pairs, the second through residuals, which is far smaller for good features.

    Each bound holds by itself with probability ``1 - delta``, if the rows are independent and took
    no part in fitting the maps; to report the best of `g` maps use ``delta / g``.

    Parameters
    ----------
    maps : mapping from str to fitted transformer
        The maps, by the name to print.
    kernel : callable
        The exact kernel they all stand for, ``kernel(X, Y)``, with values in [-1, 1].
    X : array or sparse matrix of shape (n, d)
        Held-out rows, at least 2; the cost grows with their square.
    delta : float, default=0.05
        Probability that one bound may fail.

    Returns
    -------
    Comparison

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
    >>> found = compare_approximations(maps, Gaussian(gamma=0.1), X[1000:])
    >>> [row.residual_bound is None for row in found.rows]
    [True, False]
    >>> found.rows[0].squared_error > found.rows[1].squared_error
    True
    """
    delta = check_delta(delta)
    n = check_count("the number of rows", X.shape[0], 2)
    rows = []
    for name, feature_map in maps.items():
        features = _check_rows(feature_map.transform(X), X)
        error, diagonal = _pairs(features, kernel, X)
        if _nests(feature_map):
            r = residuals(features, diagonal)
            rows.append(
                Approximation(
                    name,
                    features.shape[1],
                    error,
                    mean_squared_kernel_error_bound(error, n, delta, limit=1.0),
                    float(r.mean()),
                    residual_bound(r, delta),
                    relative_gram_bound(features, r),
                )
            )
            continue
        limit = _largest_error(feature_map)
        bound = None
        if limit is not None:
            bound = mean_squared_kernel_error_bound(error, n, delta, limit=limit)
        rows.append(Approximation(name, features.shape[1], error, bound))
    return Comparison(tuple(rows), n, delta)


def _nests(feature_map: Any) -> bool:
    from sklearn.kernel_approximation import Nystroem

    if isinstance(feature_map, Nystroem):
        return True
    return hasattr(feature_map, "residual") and not getattr(feature_map, "normalize", False)


def _largest_error(feature_map: Any) -> float | None:
    """Of a value of a kernel in [-1, 1], by the length of the features; None if unknown."""
    from sklearn.kernel_approximation import RBFSampler

    from bochner.fourier.features import FourierFeatures

    if isinstance(feature_map, FourierFeatures):
        return 2.0 if feature_map.paired else 3.0
    return 3.0 if isinstance(feature_map, RBFSampler) else None


def _pairs(features: NDArray[Any], kernel: Kernel, X: Any) -> tuple[float, Float]:
    """Mean squared error over pairs of different rows, and the kernel's diagonal."""
    n = len(features)
    check_count("the number of rows", n, 2)
    total, diagonal = 0.0, np.empty(n)
    for first, second in _blocks(n):
        exact = np.asarray(kernel(X[first], X[second]), dtype=np.float64)
        wanted = (first.stop - first.start, second.stop - second.start)
        if exact.shape != wanted:
            raise ValueError(
                f"kernel(X, Y) must give an array of shape {wanted}, got {exact.shape}."
            )
        squares = (exact - features[first] @ features[second].T) ** 2
        if first == second:
            diagonal[first] = exact.diagonal()
            np.fill_diagonal(squares, 0.0)
            total += float(squares.sum())
        else:
            total += 2 * float(squares.sum())
    return total / (n * (n - 1)), diagonal


def _blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """All pairs of blocks of rows, each once."""
    slices = [slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK)]
    for index, first in enumerate(slices):
        for second in slices[index:]:
            yield first, second


def _check_rows(features: ArrayLike, X: Any) -> NDArray[Any]:
    array = np.asarray(features)
    if array.ndim != 2 or len(array) != X.shape[0]:
        raise ValueError(
            f"features must have shape (n, D) with one row for each of the {X.shape[0]} rows of "
            f"X, got {array.shape}."
        )
    return array.astype(np.float64, copy=False) if array.dtype != np.float32 else array


def _check_residuals(name: str, values: ArrayLike) -> Float:
    array = np.asarray(values, dtype=np.float64)
    if not (array >= 0).all():
        raise ValueError(
            f"{name} must be residuals, zero or more, got {array[~(array >= 0)].flat[0]!r}."
        )
    return array


def _check_values(values: ArrayLike, limit: float) -> tuple[Float, float]:
    limit = check_above("limit", limit, 0)
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"values must have shape (m,) with m >= 1, got {array.shape}.")
    # Rounding may carry a value a little beyond the limit.
    wrong = ~((array >= 0) & (array <= limit * (1 + 1e-9)))
    if wrong.any():
        raise ValueError(f"values must lie in [0, {limit:g}], got {array[wrong][0]!r}.")
    return np.minimum(array, limit), limit
