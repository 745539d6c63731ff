r"""Newton directions for many squared-hinge problems at once.

A direction solves :math:`(I + 2 C \Phi_a^T S \Phi_a) \, p = -g` with the features of the active
rows, those inside the margin. There are three methods, chosen by predicted cost:

* *dense*: the Gram matrix of the active rows, updated from the rows that entered and left, and its
  Cholesky factorisation;
* *conjugate*: conjugate gradients on all columns together, preconditioned by one factorisation
  of the Gram matrix of all rows, which all columns and steps share;
* *rows*: a system with one equation per active row, where these are fewer than the features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
from scipy.linalg import LinAlgError

from bochner.engine.inverse import inverse, inverse_or_none
from bochner.engine.places import cast, identity, zeros
from bochner.engine.threads import default_threads, ordered_map
from bochner.linear.design import Design, column_sums, dot, norm, ratio

Method = Literal["auto", "dense", "conjugate", "rows"]

_CONJUGATE_STEPS = 12  # per Newton step, when the host must not look at results
_MOST_CONJUGATE_STEPS = 60  # per Newton step, when it may
_LOOK_EACH = 4  # steps between looks at a device, each of which waits for it
_JITTERS = (1.0, 10.0, 100.0, 1e4)  # multiples of the rounding of a Gram matrix
_MANY_FEATURES = 400  # with fewer features Gram matrices cost little
_FEW_ACTIVE = 0.7  # most active rows per feature for a system of the size of the active rows
_SAME_LEVEL = 1.5  # ratio by which the level of a factorised Gram matrix may differ from now
_DENSE_MEMORY = 2**30  # most bytes of Gram matrices


class Directions(Protocol):
    """A way to solve ``(I + 2 C Gram of the active rows) direction = -gradient``."""

    def __call__(
        self, C: float, active: Any, gradient: Any, columns: list[int], enough: Any
    ) -> Any:
        """Return directions for `columns`, of shape (k, size).

        A residual of at most `enough` will do; if it is None, the host must not look at what is
        computed.
        """
        ...


@dataclass(frozen=True)
class KeptGrams:
    """Active rows and Gram matrix by column, for the next solution on more features."""

    n: int
    D: int
    fit_intercept: bool
    weights: Any
    state: dict[int, tuple[Any, Any]]


class DenseHost:
    """Gram matrices of the active rows, kept and updated; NumPy."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self._state: dict[int, tuple[Any, Any]] = {}
        self._all: Any = None

    def keep(self) -> KeptGrams:
        d = self.design
        return KeptGrams(d.n, d.D, d.fit_intercept, d.weights, dict(self._state))

    def take_over(self, kept: KeptGrams | None) -> None:
        """Extend what was kept by the new columns, in O(n D p) for `p` of them."""
        design = self.design
        if (
            kept is not None
            and (kept.n, kept.fit_intercept) == (design.n, design.fit_intercept)
            and np.array_equal(kept.weights, design.weights)
        ):
            for column, (active, gram) in kept.state.items():
                self._state[column] = active, self._extended(active, gram, kept.D)

    def _extended(self, active: Any, gram: Any, D: int) -> Any:
        design, size = self.design, self.design.size
        if D == design.D:
            return gram
        rows = design.weighted(active.astype(design.features.dtype))
        new = design.features[:, D:] * rows[:, None]
        cross = design.features.T @ new
        larger = np.empty((size, size))
        larger[:D, :D] = gram[:D, :D]
        larger[: design.D, D : design.D] = cross
        larger[D : design.D, : design.D] = cross.T
        if design.fit_intercept:
            larger[:D, -1] = larger[-1, :D] = gram[:D, -1]
            larger[D:-1, -1] = larger[-1, D:-1] = column_sums(new)
            larger[-1, -1] = gram[-1, -1]
        return larger

    def __call__(
        self, C: float, active: Any, gradient: Any, columns: list[int], enough: Any
    ) -> Any:
        def one(row: int) -> Any:
            return -self._solve(2 * C * self._gram(columns[row], active[row]), gradient[row], C)

        if len(columns) > 1 and active.all():
            self._from_scratch(active[0])  # all columns share it: computed once, not per thread
        return np.stack(list(ordered_map(one, range(len(columns)), default_threads())))

    def _gram(self, column: int, active: Any) -> Any:
        before, gram = self._state.get(column, (np.zeros_like(active), None))
        entered, left = active & ~before, before & ~active
        moved = np.count_nonzero(entered) + np.count_nonzero(left)
        if gram is None or moved >= np.count_nonzero(active):
            gram = self._from_scratch(active)
        else:
            if entered.any():
                gram = gram + self.design.gram(entered)
            if left.any():
                gram = gram - self.design.gram(left)
        self._state[column] = (active, gram)
        return gram

    def _from_scratch(self, active: Any) -> Any:
        n_active = np.count_nonzero(active)
        if n_active == 0:
            return np.zeros((self.design.size, self.design.size))
        if n_active == self.design.n:
            if self._all is None:
                self._all = self.design.gram()
            return self._all
        return self.design.gram(active)

    def _solve(self, H: Any, gradient: Any, C: float) -> Any:
        return solve_penalised(H, gradient, penalty_of(self.design, C), self.design.epsilon)


class DenseDevice:
    """Gram matrices of the active rows, recomputed in each step; the host never waits."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self._identity = identity(design.size, design.features, design.wide)
        self._penalised: tuple[Any, Any] | None = None  # the last C and its diagonal matrix

    def __call__(
        self, C: float, active: Any, gradient: Any, columns: list[int], enough: Any
    ) -> Any:
        design = self.design
        if self._penalised is None or self._penalised[0] is not C:
            self._penalised = C, penalty_of(design, C) * self._identity
        rows = []
        for index in range(len(columns)):
            gram = 2 * C * design.gram(factors=cast(active[index, :], design.features.dtype))
            penalty, watched = self._penalised[1], enough is not None
            solve = solver(design, gram, penalty, self._identity, watched=watched)
            rows.append(-solve(gradient[index, :][:, None])[:, 0])
        return design.xp.stack(rows)


class Conjugate:
    """Conjugate gradients, preconditioned by the Gram matrix of all rows."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self._all: Any = None
        self._factorised: tuple[float, Callable[[Any], Any]] | None = None

    def __call__(
        self, C: float, active: Any, gradient: Any, columns: list[int], enough: Any
    ) -> Any:
        design, xp = self.design, self.design.xp
        penalty = penalty_of(design, C)
        weights = design.weighted(cast(active, design.features.dtype))
        watched = enough is not None
        precondition = self._preconditioner(C, weights, penalty, watched)
        goal = self._goal(norm(xp, gradient), enough) if watched else None
        each = 1 if design.host else _LOOK_EACH

        solution, residual = xp.zeros_like(gradient), -gradient
        z = precondition(residual)
        p, rz = z, dot(xp, residual, z)
        for step in range(1, 1 + (_MOST_CONJUGATE_STEPS if watched else _CONJUGATE_STEPS)):
            Hp = penalty * p + 2 * C * design.adjoint(weights * design.product(p))
            length = ratio(xp, rz, dot(xp, p, Hp))
            solution, residual = solution + length * p, residual - length * Hp
            if watched and step % each == 0 and bool(xp.all(norm(xp, residual) <= goal)):
                break
            z = precondition(residual)
            rz, before = dot(xp, residual, z), rz
            p = z + ratio(xp, rz, before) * p
        return solution

    def _goal(self, size: Any, enough: Any) -> Any:
        """Return the residual to stop at: the direction must be precise only near the end.

        Where the gradient itself is less than `enough` and a step is still wanted, the result must
        be a descent direction all the same.
        """
        xp = self.design.xp
        return xp.where(size > enough, xp.maximum(0.1 * size, enough), 0.1 * size)

    def _preconditioner(self, C: float, weights: Any, penalty: Any, watched: bool) -> Any:
        """Return a solver with the Gram matrix of all rows, scaled to the share of active ones."""
        design, xp = self.design, self.design.xp
        if self._all is None:
            self._all = design.gram()
        total = design.n if design.weights is None else xp.sum(cast(design.weights, design.wide))
        # the share of the rows that is active, on average over the columns
        level = 2 * C * xp.sum(cast(xp.mean(weights, axis=0), design.wide)) / total
        if not watched:
            return self._of_rows(level, penalty, watched)
        now = float(level)
        if self._factorised is not None:
            before, solve = self._factorised
            if before / _SAME_LEVEL <= now <= before * _SAME_LEVEL:
                return solve
        solve = self._of_rows(level, penalty, watched)
        self._factorised = now, solve
        return solve

    def _of_rows(self, level: Any, penalty: Any, watched: bool) -> Callable[[Any], Any]:
        """Return the function that multiplies rows `R` by ``(level Gram + penalty)^-1``."""
        design = self.design
        one = identity(design.size, design.features, design.wide)
        solve = solver(design, level * self._all, penalty * one, one, watched=watched)
        if design.host:
            return lambda R: solve(R.T).T
        # One product instead of two triangular systems, which a device solves row by row.
        whole = cast(solve(one), design.features.dtype)
        return lambda R: cast(cast(R, whole.dtype) @ whole, R.dtype)


class ActiveRows:
    r"""Systems with one equation per active row, where these are few; NumPy.

    With the active rows :math:`\Phi` and :math:`N = \Phi \Phi^T + S^{-1} / (2 C)`, the direction
    for a gradient :math:`(g, g_b)` is, by the Woodbury formula,

    .. math:: p = \Phi^T (v - p_b o) - g, \qquad
        p_b = \frac{1^T v - g_b}{1^T o}, \qquad N v = \Phi g, \quad N o = 1 .

    Columns with many active rows, as at the beginning, are left to `others`.
    """

    def __init__(self, design: Design, others: Directions) -> None:
        self.design, self._others = design, others

    def __call__(
        self, C: float, active: Any, gradient: Any, columns: list[int], enough: Any
    ) -> Any:
        if self.design.weights is not None:
            active = active & (self.design.weights > 0)
        counts = np.count_nonzero(active, axis=1)
        few = (counts > 0) & (counts <= _FEW_ACTIVE * self.design.D)
        direction = np.empty_like(gradient)
        for row in np.flatnonzero(few):
            found = self._direction(C, active[row], gradient[row])
            few[row] = found is not None
            if found is not None:
                direction[row] = found
        many = np.flatnonzero(~few)
        if len(many):
            some = [columns[row] for row in many]
            direction[many] = self._others(C, active[many], gradient[many], some, enough[many])
        return direction

    def _direction(self, C: float, active: Any, gradient: Any) -> Any:
        """Return the direction, or None where rounding has left the system indefinite."""
        design = self.design
        Phi = design.features[active]
        N = Phi @ Phi.T
        ridge = 1 / (2 * C) if design.weights is None else 1 / (2 * C * design.weights[active])
        N.flat[:: len(N) + 1] += ridge
        solve = inverse_or_none(N)
        if solve is None:
            return None
        g = gradient[: design.D]
        right = np.stack([Phi @ g.astype(Phi.dtype), np.ones(len(Phi), Phi.dtype)], axis=1)
        v, ones = solve(right).astype(np.float64).T
        if not design.fit_intercept:
            return (v.astype(Phi.dtype) @ Phi).astype(np.float64) - g
        b = (v.sum() - gradient[-1]) / ones.sum()
        p = ((v - b * ones).astype(Phi.dtype) @ Phi).astype(np.float64) - g
        return np.append(p, b)


def choose_directions(
    method: Method, design: Design, k: int, *, growing: bool = False
) -> Directions:
    """Choose how to find directions; if features are `growing`, Gram matrices are to be kept."""
    if method not in get_args(Method):
        known = ", ".join(map(repr, get_args(Method)))
        raise ValueError(f"method must be one of {known}, got {method!r}.")
    dense = method == "dense" or (method != "conjugate" and _dense_is_cheaper(design, k))
    found: Directions = Conjugate(design)
    if dense:
        found = DenseHost(design) if design.host else DenseDevice(design)
    if not design.host or method in ("dense", "conjugate"):
        return found
    by_rows = method == "rows" or (design.D >= _MANY_FEATURES and not (dense and growing))
    return ActiveRows(design, found) if by_rows else found


def _dense_is_cheaper(design: Design, k: int) -> bool:
    # Limits from measurements. Both methods need the Gram matrix of all rows to begin with, so
    # that conjugate gradients can save time only where each of several columns needs its own.
    if not design.host:
        # With more features the Gram matrix has fewer digits than Newton steps need: for features
        # of a wide kernel float32 leaves none.
        return design.D * k <= 5000 and design.D <= 1000
    return (k == 1 or design.D <= 1500) and 8 * k * design.size**2 <= _DENSE_MEMORY


def solver(
    design: Design, gram: Any, penalty: Any, one: Any, *, watched: bool
) -> Callable[[Any], Any]:
    """Return a solver for a Gram matrix plus a diagonal one, plus as much `one` as rounding needs.

    How much that is follows from the factorisation, if the host may look at it: where one feature
    outweighs the others, as a constant does, rounding leaves more than its share.
    """
    rounding = design.epsilon * design.xp.linalg.trace(gram)
    H = gram + penalty
    if not watched:
        return inverse(H + rounding * one)
    for jitter in _JITTERS:
        solve = inverse_or_none(H + jitter * rounding * one)
        if solve is not None:
            return solve
    # Not even positive up to rounding: the rows are not finite, or enormous.
    diagonal = (1 + design.xp.linalg.diagonal(gram))[:, None]
    return lambda B: B / diagonal


def solve_penalised(H: Any, gradient: Any, penalty: Any, epsilon: float) -> Any:
    """Return ``(H + diag(penalty))^-1 gradient`` in NumPy, for `H` rounded by `epsilon`.

    `H` is overwritten.
    """
    diagonal = np.einsum("ii->i", H)
    bare = diagonal.copy()
    for jitter in (0.0, 1.0, 100.0):
        diagonal[:] = bare + penalty + jitter * epsilon * bare.sum()
        try:
            return inverse(H)(gradient)
        except LinAlgError:
            continue
    # Not even positive up to rounding: the rows are not finite, or enormous.
    return gradient / (1 + bare)


def penalty_of(design: Design, C: float) -> Any:
    """Return the diagonal that the Hessian adds to the Gram matrix, of shape (size,)."""
    ones = zeros((design.D,), design.features, design.wide) + 1.0
    if not design.fit_intercept:
        return ones
    # Without active rows nothing would determine the intercept: it stays where it is.
    held = zeros((1,), design.features, design.wide) + 2 * C * design.n * 1e-12
    return design.xp.concat([ones, held])
