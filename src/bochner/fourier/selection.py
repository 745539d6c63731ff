r"""Frequencies that complement each other: forward orthogonal least squares over candidates.

Scores of single frequencies do not show how similar the best ones are. Here a set is chosen one
frequency at a time, each for how much its cosine and sine add to those chosen before. With the
target columns `Y`, orthonormal columns `Q` that span the constant and the pairs chosen so far, the
residual ``R = Y - Q Q^T Y`` and Fourier sums :math:`F_v(w) = \sum_i v_i e^{i \langle w, x_i
\rangle}`, the pair of a candidate, made orthogonal to `Q`, has the Gram matrix

.. math::

    a = \tfrac12 (n + \mathrm{Re} F_1(2 w)) - \sum_q (\mathrm{Re} F_q(w))^2, \qquad
    c = \tfrac12 (n - \mathrm{Re} F_1(2 w)) - \sum_q (\mathrm{Im} F_q(w))^2, \\
    b = \tfrac12 \mathrm{Im} F_1(2 w) - \sum_q \mathrm{Re} F_q(w) \, \mathrm{Im} F_q(w),

and with :math:`S_k = F_{R_k}(w)`, :math:`A = a + \lambda n` and :math:`C = c + \lambda n`,

.. math::

    \mathrm{gain}(w) = \sum_k \frac{C \, \mathrm{Re}(S_k)^2 - 2 b \, \mathrm{Re}(S_k) \,
        \mathrm{Im}(S_k) + A \, \mathrm{Im}(S_k)^2}{A C - b^2}

is the reduction of the objective in a ridge regression of the residual on the pair.

The gains of all candidates need a pass over the rows, so several frequencies are chosen in each
pass: the best candidates are compared one by one, from the products of their own columns. `Q` and
`R` are not stored. They are combinations of the chosen pairs and are recomputed for each block of
rows, so that only sums over the rows are needed, on whatever device the rows are. Weights of rows
are counts: `n` is their sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import (
    cast,
    convert,
    is_host,
    namespace,
    to_numpy,
    wide_dtype,
    zeros,
)
from bochner.engine.rowwise import concat_columns, reduce_rows, row_slices

Float = NDArray[np.float64]

PASSES = 10
RIDGE = 0.01  # the penalty of a pair, as a share of the number of rows
_LOOKED_AT = 8  # candidates compared one by one, for each that is chosen
KEPT = 0.8  # share of the candidates kept after each pass: those that gain least rarely win later
_CHANCE = 0.05
_DEPENDENT = 1e-6  # share of the rows: a column whose new part is smaller counts as dependent
_MOST_COLUMNS = 64  # of targets
_BLOCK = 2**22  # numbers in the pairs of a block of rows
_SUMMED = 2**10  # rows whose products are in the dtype of the rows; sums of these are in float64


@dataclass(frozen=True)
class Selection:
    """The candidates that were chosen, in order.

    Attributes
    ----------
    index : array of shape (n_chosen,)
        Positions of the candidates, the most useful first.
    gains : array of shape (n_chosen,)
        Reduction of the squared error by each, as a share of the target's variance.
    n_beyond_chance : int
        How many of them, from the first on, gained more than the luckiest of as many candidates
        that are unrelated to the target.
    """

    index: NDArray[np.intp]
    gains: Float
    n_beyond_chance: int


def select_frequencies(
    X: Any,
    targets: Float,
    W: NDArray[Any],
    size: int,
    *,
    weights: Float | None = None,
    n_candidates: int | None = None,
    passes: int = PASSES,
    kept: float = KEPT,
    ridge: float = RIDGE,
    after_pass: Callable[[], Any] = lambda: None,
    **options: Any,
) -> Selection:
    """Choose the `size` candidates whose cosines and sines together predict the targets best.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows: NumPy, sparse, on a device, or a dask array.
    targets : array of shape (n, K)
        Numbers to predict, on the host.
    W : array of shape (d, N)
        Candidates, one per column.
    size : int
        Number of candidates to choose, at most `N`; if 0, the rows are not looked at.
    weights : array of shape (n,), optional
        Counts of the rows.
    n_candidates : int, optional
        Number of candidates assumed for the gain to be expected by chance; `N` by default.
    passes : int, default=10
        Number of passes over the rows.
    kept : float, default=0.8
        Share of the candidates kept for the next pass, those that would gain most. Keeping all of
        them, with as many passes as `size`, is the exact greedy choice.
    ridge : float, default=0.01
        Penalty of a pair, divided by the number of rows.
    after_pass : callable, optional
        Called after each pass.
    **options
        `n_threads` and `memory_budget` of the engine.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.fourier.selection import select_frequencies
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> W = np.array([[1.0, 1.01, 2.0, 3.0]])
    >>> y = np.sin(X) + np.cos(3 * X) / 2
    >>> select_frequencies(X, y, W, 2).index  # not 0 and 1, which are alike
    array([1, 3])
    """
    if size == 0:
        return Selection(np.empty(0, np.intp), np.empty(0), 0)
    rows = _Rows(X, targets, weights, options)
    search = _Search(rows, W, ridge, kept, least=2 * size)
    passes = max(1, min(passes, size))
    for count in np.diff(np.linspace(0, size, passes + 1).round().astype(int)):
        search.choose(int(count))
        after_pass()
    return search.selection(n_candidates or W.shape[1])


def few_columns(targets: Float, seed: int) -> Float:
    """Return at most 64 random mixtures of the columns, whose gains are the same up to noise.

    The cost of a choice grows with the number of columns, of which there is one per class.
    """
    K = targets.shape[1]
    if K <= _MOST_COLUMNS:
        return targets
    mixtures = np.random.RandomState(seed).standard_normal((K, _MOST_COLUMNS))
    return np.asarray(targets @ mixtures / _MOST_COLUMNS**0.5)


def pair_gains(
    a: Float, b: Float, c: Float, sums: NDArray[np.complex128], penalty: float
) -> Float:
    """Return the gains of pairs with Gram matrices ``(a, b; b, c)``, see the module docstring."""
    A, C = a + penalty, c + penalty
    real, imaginary = sums.real, sums.imag
    # If a penalty of 0 leaves the matrix singular, the pair adds nothing new.
    determinant = A * C - b * b
    usable = determinant > 1e-12 * np.maximum(A * C, np.finfo(np.float64).tiny)
    found = (
        C * (real**2).sum(axis=1)
        - 2 * b * (real * imaginary).sum(axis=1)
        + A * (imaginary**2).sum(axis=1)
    )
    return np.where(usable, found / np.where(usable, determinant, 1.0), 0.0)


def chance_gain(residual: Float, n_candidates: int, freedom: float) -> float:
    """Return the gain that the luckiest of unrelated candidates exceeds in 5 cases of 100 at most.

    `residual` is ``R^T R``; a pair gains two squares of normal variables for each column, and
    their sum has the tail bound of Laurent and Massart.
    """
    u = np.log(n_candidates / _CHANCE)
    largest = np.linalg.norm(residual, 2)
    spread = 2 * np.sqrt(2 * u) * np.linalg.norm(residual) + 2 * u * largest
    return float((2 * np.trace(residual) + spread) / max(freedom, 1.0))


@dataclass(frozen=True)
class _Rows:
    """Rows with their targets, accessed only through sums over them."""

    X: Any
    targets: Float
    weights: Float | None
    options: dict[str, Any]

    def _reduce(self, function: Callable[..., Any], **shared: Any) -> Any:
        weights = np.ones(len(self.targets)) if self.weights is None else self.weights
        return reduce_rows(
            _by_blocks,
            self.X,
            self.targets,
            weights,
            shared=shared,
            of_block=function,
            **self.options,
        )

    def sums(self, W: Any, chosen: Any, fit: Float, basis: Float) -> NDArray[np.complex128]:
        """Return Fourier sums at `W` of the residual's columns, then of orthonormal columns."""
        shared = {"W": W, "chosen": chosen, "fit": fit, "basis": basis}
        return np.asarray(self._reduce(_residual_sums, **shared))

    def doubled_sums(self, W: Any) -> NDArray[np.complex128]:
        """Return Fourier sums of ones at twice the frequencies."""
        return np.asarray(self._reduce(_doubled_sums, W=W, chosen=W[:, :0])[:, 0])

    def products(self, W: Any, chosen: Any) -> Float:
        """Return products of the pairs of `W` with themselves, constant, chosen pairs, targets."""
        return np.asarray(self._reduce(_products, W=W, chosen=chosen))


class _Search:
    """State of a choice, no larger than the candidates and what was chosen from them."""

    def __init__(
        self, rows: _Rows, W: NDArray[Any], ridge: float, kept: float, least: int
    ) -> None:
        self.rows, self.W, self.kept, self.least = rows, W, kept, least
        weights, Y = rows.weights, rows.targets
        self.n = float(len(Y) if weights is None else weights.sum())
        means = np.average(Y, axis=0, weights=weights)
        centred = Y - means
        scaled = centred if weights is None else centred * weights[:, None]
        self.penalty = ridge * self.n
        self.residual = scaled.T @ centred  # R^T R
        self.total = float(np.trace(self.residual))
        # Orthonormal columns as combinations of the constant and the pairs: one row each.
        self.basis = np.array([[self.n**-0.5]])
        self.moments = self.n**0.5 * means[None, :]  # Q^T Y
        self.n_summed = 0  # orthonormal columns whose sums are known
        self.index: list[int] = []
        self.gains: list[float] = []
        self.residuals: list[Float] = []
        self.open = np.arange(W.shape[1])  # candidates still considered
        doubled = rows.doubled_sums(W)
        self.a, self.c = (self.n + doubled.real) / 2, (self.n - doubled.real) / 2
        self.b = doubled.imag / 2

    def choose(self, count: int) -> None:
        """Compute the gains of the candidates in one pass over the rows, and choose `count`."""
        chosen = self.W[:, self.index]
        basis, fit = self.basis, self.basis @ self.moments
        F = self.rows.sums(self.W[:, self.open], chosen, fit, basis[:, self.n_summed :])
        K = fit.shape[1]
        S, Q = F[:, :K], F[:, K:]
        self.n_summed = basis.shape[1]
        self.a = self.a - (Q.real**2).sum(axis=1)
        self.c = self.c - (Q.imag**2).sum(axis=1)
        self.b = self.b - (Q.real * Q.imag).sum(axis=1)
        gains = pair_gains(self.a, self.b, self.c, S, self.penalty)
        order = np.argsort(-gains, kind="stable")
        best = self.open[order[: _LOOKED_AT * count]]
        products = self.rows.products(self.W[:, best], chosen)
        self._one_by_one(best, products, count)
        self._close(order)

    def _close(self, order: NDArray[np.intp]) -> None:
        """Drop the candidates that were chosen and those that would gain least."""
        order = order[: max(self.least, math.ceil(self.kept * len(order)))]
        order = np.sort(order[~np.isin(self.open[order], self.index)])
        self.open = self.open[order]
        self.a, self.b, self.c = self.a[order], self.b[order], self.c[order]

    def _one_by_one(self, best: NDArray[np.intp], products: Float, count: int) -> None:
        """Choose among a few candidates whose products with everything are known."""
        M, width = len(best), 2 * len(best)
        n_known = 1 + 2 * len(self.index)
        P = products[:, width : width + n_known] @ self.basis
        G = products[:, :width] - P @ P.T
        S = products[:, width + n_known :] - P @ self.moments
        free = np.ones(M, bool)
        for _ in range(min(count, M)):
            cross = G[np.arange(M), np.arange(M, width)]
            diagonal = np.diagonal(G)
            gains = pair_gains(diagonal[:M], cross, diagonal[M:], S[:M] + 1j * S[M:], self.penalty)
            m = int(np.argmax(np.where(free, gains, -np.inf)))
            free[m] = False
            pair = [m, M + m]
            self.residuals.append(self.residual)
            self.gains.append(float(gains[m]))
            values, vectors = np.linalg.eigh(G[np.ix_(pair, pair)])
            new = values > _DEPENDENT * self.n
            turn = vectors[:, new] / np.sqrt(values[new])
            own, moments = G[:, pair] @ turn, turn.T @ S[pair]
            self._extend(int(best[m]), turn, P[pair], moments)
            P = np.hstack([P, own])
            G, S = G - own @ own.T, S - own @ moments

    def _extend(self, index: int, turn: Float, projections: Float, moments: Float) -> None:
        """Append the orthonormal columns of a pair: the pair minus its projection, rotated."""
        pair = np.vstack([-self.basis @ projections.T, np.eye(2)])
        basis = np.vstack([self.basis, np.zeros((2, self.basis.shape[1]))])
        self.basis = np.hstack([basis, pair @ turn])
        self.moments = np.vstack([self.moments, moments])
        self.residual = self.residual - moments.T @ moments
        self.index.append(index)

    def selection(self, n_candidates: int) -> Selection:
        beyond = 0
        for gain, residual in zip(self.gains, self.residuals, strict=True):
            if gain <= chance_gain(residual, n_candidates, self.n - 2 * beyond - 1):
                break
            beyond += 1
        gains = np.array(self.gains) / (self.total or 1.0)
        return Selection(np.array(self.index, dtype=np.intp), gains, beyond)


def _by_blocks(
    X: Any,
    targets: Float,
    weights: Float,
    *,
    of_block: Callable[..., Any],
    chosen: Any,
    W: Any,
    **options: Any,
) -> Any:
    """Sum a function of the rows over blocks small enough for the chosen pairs."""
    total: Any = 0.0
    for block in row_slices(X.shape[0], _BLOCK // (1 + 2 * chosen.shape[1])) or [slice(0, 0)]:
        rows = X[block, :], targets[block], weights[block]
        total = total + to_numpy(of_block(*rows, chosen=chosen, W=W, **options))
    return total


def _with_constant(X: Any, chosen: Any, **options: Any) -> Any:
    """Return a column of ones, then the cosine and the sine of each frequency side by side."""
    waves = _waves(X, chosen, **options)
    xp, (n, width) = namespace(waves), waves.shape
    pairs = xp.stack([waves[:, : width // 2], waves[:, width // 2 :]], axis=2)
    ones = zeros((n, 1), waves, waves.dtype) + 1.0
    return concat_columns([ones, xp.reshape(pairs, (n, width))])


def _waves(X: Any, W: Any, **options: Any) -> Any:
    """Return waves in the dtype of the rows on the host, where it is faster; else in float64."""
    waves = engine.features(X, W, scale=1.0, **options)
    return waves if is_host(waves) else cast(waves, wide_dtype(waves))


def _residual_sums(
    X: Any,
    targets: Float,
    weights: Float,
    *,
    W: Any,
    chosen: Any,
    fit: Float,
    basis: Float,
    **options: Any,
) -> Any:
    Z = _with_constant(X, chosen, **options)
    Z = cast(Z, wide_dtype(Z))
    Y, rows = convert(targets, Z), convert(weights, Z)[:, None]
    columns = concat_columns([Y - Z @ convert(fit, Z), Z @ convert(basis, Z)])
    return engine.fourier_sums(X, W, columns * rows, **options)


def _doubled_sums(
    X: Any, targets: Float, weights: Float, *, W: Any, chosen: Any, **options: Any
) -> Any:
    return engine.fourier_sums(X, 2 * W, weights[:, None], **options)


def _products(
    X: Any, targets: Float, weights: Float, *, W: Any, chosen: Any, **options: Any
) -> Any:
    waves = _waves(X, W, **options)
    others = concat_columns([_with_constant(X, chosen, **options), convert(targets, waves)])
    if not is_host(waves):
        left = waves * convert(weights, waves)[:, None]
        return left.T @ concat_columns([waves, others])
    if not (weights == 1).all():
        roots = np.sqrt(weights).astype(waves.dtype)[:, None]
        waves, others = waves * roots, others * roots
    n, width = waves.shape
    found = np.zeros((width, width + others.shape[1]))
    for block in row_slices(n, _SUMMED):
        rows = waves[block]
        # BLAS takes half the time for a matrix times its own transpose
        found[:, :width] += rows.T @ rows
        found[:, width:] += rows.T @ others[block]
    return found
