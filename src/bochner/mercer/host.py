"""Gaussian features on the cores of the host, for dense and sparse rows.

A task is a few rows: a matrix product gives their coordinates and a compiled loop their features,
all of it in cache. How the rows are split into tasks depends on the shapes alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bochner.engine.places import cast, float_dtype
from bochner.engine.rowwise import row_slices
from bochner.engine.threads import for_each
from bochner.mercer.hermite import recurrence
from bochner.mercer.logarithms import by_logarithms
from bochner.mercer.plan import LIMITS, GaussianPlan

Array = NDArray[Any]
Floats = NDArray[np.float64]

_TASK = 2**22  # bytes of features written by a task
_LONGEST = 1024  # rows per task
_NONE = np.empty(0, np.int32)


def features(X: Any, plan: GaussianPlan, normalize: bool, n_threads: int | None) -> Array:
    dtype = float_dtype(X)
    steps = _Steps.of(plan)
    project = Projection(plan, dtype)
    careful = Projection(plan, np.dtype(np.float64))
    n, width = X.shape[0], plan.width
    result = np.empty((n, width), dtype)

    def work(rows: slice) -> None:
        out, block = result[rows], X[rows]
        flags = _write(plan, steps, *project(block), normalize, out)
        if not flags.any():
            return
        chosen = np.flatnonzero(flags)
        Z, rest = careful(block[chosen])
        exact = np.empty((len(chosen), width))
        if dtype == np.float32:
            flags = _write(plan, steps, Z, rest, normalize, exact)
            further = np.flatnonzero(flags)
        else:
            further = np.arange(len(chosen))
        if further.size:
            exact[further] = by_logarithms(plan, Z[further], rest[further], normalize)
        out[chosen] = exact

    height = min(max(16, _TASK // (dtype.itemsize * max(1, width))), _LONGEST)
    for_each(work, row_slices(n, height), n_threads)
    return result


class _Steps(NamedTuple):
    """A plan in the form that the compiled loop reads."""

    weights: Floats
    axes: NDArray[np.int32]  # the axes of which more than order 0 is used
    starts: NDArray[np.int32]  # where their ratios begin in the table
    up: Floats
    down: Floats
    parents: NDArray[np.int32]
    pairs: NDArray[np.int32]
    columns: NDArray[np.int32]

    @classmethod
    def of(cls, plan: GaussianPlan) -> _Steps:
        products, m = plan.products, plan.rotation.shape[1]
        n_ratios = products.n_orders(m) - 1
        axes = np.flatnonzero(n_ratios)
        starts = np.concatenate([[0], np.cumsum(n_ratios)])
        up, down = np.empty(starts[-1]), np.empty(starts[-1])
        for axis in axes:
            here = slice(starts[axis], starts[axis + 1])
            up[here], down[here] = recurrence(plan.gamma, plan.ratios[axis], n_ratios[axis])
        return cls(
            plan.gamma * (1.0 - plan.ratios),
            axes.astype(np.int32),
            np.append(starts[axes], starts[-1]).astype(np.int32),
            up,
            down,
            products.parents.astype(np.int32),
            products.positions(starts - 1).astype(np.int32),
            _NONE if plan.columns is None else plan.columns.astype(np.int32),
        )


class Projection:
    """Coordinates along the axes, and what the other directions subtract from ``log F``."""

    def __init__(self, plan: GaussianPlan, dtype: np.dtype[Any]) -> None:
        self.plan, self.dtype = plan, dtype
        self.mean = plan.mean.astype(dtype)
        self.rotation = np.ascontiguousarray(plan.rotation, dtype)
        self.shift = plan.mean @ plan.rotation

    def __call__(self, block: Any) -> tuple[Array, Floats]:
        from bochner.mercer.compiled import square_rows

        squares = inside = np.zeros(block.shape[0])
        if sparse.issparse(block):
            # Centred after the rotation, hence in float64: the mean may be far from zero.
            block, mean = block.astype(np.float64), self.plan.mean
            wide = block @ self.plan.rotation - self.shift
            if self.plan.n_rest:
                lengths = np.asarray(block.multiply(block).sum(axis=1)).ravel()
                squares = lengths - 2.0 * (block @ mean) + mean @ mean
                inside = np.einsum("ij,ij->i", wide, wide)
            Z = wide.astype(self.dtype, copy=False)
        else:
            centred = np.ascontiguousarray(cast(block, self.dtype) - self.mean)
            Z = centred @ self.rotation
            if self.plan.n_rest:
                squares, inside = np.empty(len(Z)), np.empty(len(Z))
                square_rows(centred, squares)
                square_rows(Z, inside)
        with np.errstate(invalid="ignore", over="ignore"):
            rest = np.maximum(squares - inside, 0.0) * self.plan.rest_weight
        return Z, np.nan_to_num(rest, nan=np.inf, posinf=np.inf)  # squares beyond 1e308


def _write(
    plan: GaussianPlan, steps: _Steps, Z: Array, rest: Floats, normalize: bool, out: Array
) -> NDArray[np.bool_]:
    """Write the features of rows for which the dtype of `out` suffices; flag the other rows."""
    from bochner.mercer.compiled import gaussian_tile

    flags = np.empty(len(Z), np.bool_)
    table = np.empty(len(steps.up), out.dtype)
    values = np.empty(len(steps.parents) if len(steps.columns) else 0, out.dtype)
    gaussian_tile(
        np.ascontiguousarray(Z),
        rest,
        steps.weights,
        plan.log_constant,
        steps.axes,
        steps.starts,
        steps.up,
        steps.down,
        table,
        steps.parents,
        steps.pairs,
        steps.columns,
        values,
        normalize,
        LIMITS[out.dtype.itemsize],
        out,
        flags,
    )
    return flags
