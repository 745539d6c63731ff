r"""The values of products of one-dimensional features, wherever the rows are.

A row's gaussian features are

.. math::

    \varphi_S(x) = F(x) \prod_{(j, n) \in S} R_{j,n}(z_j), \qquad
    F = \prod_j f_{j,0}, \qquad R_{j,n} = f_{j,n} / f_{j,0},

with :math:`z = V^\top (x - \mu)`. A product is its parent times one ratio: one multiplication for
a feature, after one matrix product for the :math:`z`. Directions of which only order 0 is used
need not be looked at one by one: with one :math:`B` for all of them, the length of :math:`x - \mu`
outside of the columns of :math:`V` is enough.

As :math:`|\varphi_S| \le 1` no product of ratios exceeds :math:`1 / F`. Where :math:`F` is too
small for that to be a number, the row is computed in float64, and beyond that in logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bochner.engine.arrays import cast, convert, namespace, wide_dtype
from bochner.engine.operations import is_dask, is_device
from bochner.engine.summaries import to_numpy
from bochner.engine.threads import default_threads, ordered_map
from bochner.mercer.hermite import hermite_log_ratios, log_ground, recurrence
from bochner.mercer.products import Products

Array = NDArray[Any]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_LIMITS = {4: -60.0, 8: -600.0}  # below this log F the ratios may overflow, by bytes a number
_TASK = 2**22  # bytes of features a task writes: they stay in cache while they are normalised
_LONGEST = 1024  # rows a task
_SCRATCH = 2**25  # bytes, for rows that need logarithms
_CHUNK = 2**26  # bytes of features that are reduced at once
_DEVICE_BUDGET = 2**28
_NONE = np.empty(0, np.int32)


def evaluate_plain(products: Products, tables: Sequence[Any]) -> Floats:
    """The products, one column after another: what :func:`evaluate` is tested against."""
    columns: list[Any] = []
    for parent, axis, order in zip(
        products.parents, products.axes, products.orders, strict=True
    ):
        if parent < 0:
            columns.append(np.ones(len(tables[0]) if len(tables) else 1))
        else:
            columns.append(columns[parent] * np.asarray(tables[axis])[:, order])
    return np.stack(columns, axis=1)


def evaluate(products: Products, tables: Sequence[Any], columns: Indices | None = None) -> Array:
    """The products of the entries of `tables`, without the factors of order 0.

    Parameters
    ----------
    products : Products
    tables : sequence over the axes of arrays of shape (n, n_orders)
        Values of every order at every row, from order 0, which is not looked at.
    columns : int array, optional
        Which products; all by default.

    Returns
    -------
    ndarray of shape (n, D)
        In the dtype of the tables.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.evaluate import evaluate
    >>> from bochner.mercer.products import select_products
    >>> products = select_products([[1.0], [1.5]], 0.0, 4)
    >>> evaluate(products, [np.array([[1.0, 2.0]]), np.array([[1.0, 5.0]])])
    array([[ 1.,  2.,  5., 10.]])
    """
    from bochner.mercer.compiled import product_tile

    tables = [np.asarray(table) for table in tables]
    if not tables:
        raise ValueError("tables must hold at least one axis, got none.")
    starts = np.concatenate([[0], np.cumsum([table.shape[1] for table in tables])])
    joined = np.ascontiguousarray(np.concatenate(tables, axis=1))
    if joined.dtype not in (np.float32, np.float64):
        joined = joined.astype(np.float64)
    pairs = np.where(products.axes >= 0, starts[products.axes] + products.orders, 0)
    chosen = _NONE if columns is None else np.asarray(columns, np.int32)
    values = np.empty(len(products), joined.dtype)
    width = len(products) if columns is None else len(chosen)
    out = np.empty((len(joined), width), joined.dtype)
    parents = products.parents.astype(np.int32)
    product_tile(joined, parents, pairs.astype(np.int32), chosen, values, out)
    return out


@dataclass(frozen=True, eq=False)
class GaussianPlan:
    """All that is needed to compute the features of a row.

    Parameters
    ----------
    gamma : float
    mean : float64 array of shape (d,)
    rotation : float64 array of shape (d, m)
        Orthonormal columns: the axes that are looked at one by one.
    ratios : float64 array of shape (m,)
        Their ``B``.
    rest_ratio : float
        The one ``B`` of the other ``d - m`` directions.
    products : Products
        Over the ``m`` axes.
    columns : int array, optional
        The products that are features; all by default.
    """

    gamma: float
    mean: Floats
    rotation: Floats
    ratios: Floats
    rest_ratio: float
    products: Products
    columns: Indices | None = None

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.products) if self.columns is None else len(self.columns)

    @property
    def n_rest(self) -> int:
        """The number of directions that share one ratio."""
        return self.rotation.shape[0] - self.rotation.shape[1]

    @property
    def log_values(self) -> Floats:
        """Logarithms of the eigenvalues of the features."""
        values = self.products.log_values
        return values if self.columns is None else values[self.columns]

    def first(self, count: int) -> GaussianPlan:
        """The plan of the first `count` products; all of them must be features."""
        p = self.products
        fewer = Products(
            p.parents[:count], p.axes[:count], p.orders[:count], p.log_values[:count]
        )
        return replace(self, products=fewer)

    def orders(self) -> list[tuple[tuple[int, int], ...]]:
        """Every feature as its pairs (axis, order >= 1)."""
        indices = self.products.multi_indices()
        return indices if self.columns is None else [indices[k] for k in self.columns]

    @property
    def log_constant(self) -> float:
        """The logarithm of ``F`` at the mean."""
        rest = self.n_rest * math.log1p(-(self.rest_ratio**2))
        return 0.25 * (float(np.sum(np.log1p(-self.ratios * self.ratios))) + rest)

    @property
    def rest_weight(self) -> float:
        """What a unit of squared length in the other directions takes off ``log F``."""
        return self.gamma * (1.0 - self.rest_ratio)


def gaussian_features(
    X: Any,
    plan: GaussianPlan,
    *,
    normalize: bool = False,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    """The features of rows of any kind.

    Parameters
    ----------
    X : array of shape (n, d)
        Any input the engine accepts.
    plan : GaussianPlan
    normalize : bool, default=False
        Scale each row of features to length one; a row whose features are all zero stays so.
    n_threads : int, optional
        CPU threads; by default as many as BLAS may use.
    memory_budget : int, optional
        Bytes of scratch memory on a device.

    Returns
    -------
    array of shape (n, plan.width)
        Of the same kind, device and floating dtype as `X`; lazy when `X` is a dask array.
    """
    if is_dask(X):
        return _on_cluster(X, plan, normalize, memory_budget)
    if is_device(X):
        return _on_device(X, plan, normalize, memory_budget)
    return _on_host(X, plan, normalize, n_threads)


def residuals(
    X: Any,
    plan: GaussianPlan,
    *,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    """``1 - |phi(x)|^2`` of every row, in float64 where there is float64.

    What rounding (some 1e-15) takes below zero counts as zero. Parameters as `gaussian_features`.
    """
    if is_dask(X):
        return _residuals_on_cluster(X, plan, memory_budget)
    height = max(16, (memory_budget or _CHUNK) // (8 * plan.width))
    xp: Any = namespace(X) if is_device(X) else np
    parts = []
    for first in range(0, X.shape[0], height):
        rows = slice(first, min(first + height, X.shape[0]))
        block = X[rows, :] if is_device(X) else X[rows]
        wide = cast(block, wide_dtype(X)) if is_device(X) else block.astype(np.float64)
        phi = gaussian_features(wide, plan, n_threads=n_threads, memory_budget=memory_budget)
        left = 1.0 - xp.sum(phi * phi, axis=1)
        parts.append(xp.where(left > 0, left, xp.zeros_like(left)))
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)


class _Steps(NamedTuple):
    """A plan as the compiled loop reads it."""

    weights: Floats
    axes: NDArray[np.int32]  # those of which more than order 0 is used
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
        used = products.axes >= 0
        pairs = np.where(used, starts[products.axes] + products.orders - 1, 0)
        return cls(
            plan.gamma * (1.0 - plan.ratios),
            axes.astype(np.int32),
            np.append(starts[axes], starts[-1]).astype(np.int32),
            up,
            down,
            products.parents.astype(np.int32),
            pairs.astype(np.int32),
            _NONE if plan.columns is None else plan.columns.astype(np.int32),
        )


def _on_host(X: Any, plan: GaussianPlan, normalize: bool, n_threads: int | None) -> Array:
    dtype = np.dtype(np.float32 if X.dtype in (np.float32, np.float16) else np.float64)
    steps = _Steps.of(plan)
    project = _Projection(plan, dtype)
    careful = _Projection(plan, np.dtype(np.float64))
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
            exact[further] = _by_logarithms(plan, Z[further], rest[further], normalize)
        out[chosen] = exact

    height = min(max(16, _TASK // (dtype.itemsize * max(1, width))), _LONGEST)
    tasks = [slice(first, min(first + height, n)) for first in range(0, n, height)]
    for _ in ordered_map(work, tasks, n_threads or default_threads()):
        pass
    return result


class _Projection:
    """Coordinates along the axes, and what the other directions take off ``log F``."""

    def __init__(self, plan: GaussianPlan, dtype: np.dtype[Any]) -> None:
        self.plan, self.dtype = plan, dtype
        self.mean = plan.mean.astype(dtype)
        self.rotation = np.ascontiguousarray(plan.rotation, dtype)
        self.shift = plan.mean @ plan.rotation

    def __call__(self, block: Any) -> tuple[Array, Floats]:
        from bochner.mercer.compiled import square_rows

        squares = inside = np.zeros(block.shape[0])
        if sparse.issparse(block):
            # Centred after the rotation, so in float64: the mean may be far from zero.
            block, mean = block.astype(np.float64), self.plan.mean
            wide = block @ self.plan.rotation - self.shift
            if self.plan.n_rest:
                lengths = np.asarray(block.multiply(block).sum(axis=1)).ravel()
                squares = lengths - 2.0 * (block @ mean) + mean @ mean
                inside = np.einsum("ij,ij->i", wide, wide)
            Z = wide.astype(self.dtype, copy=False)
        else:
            centred = np.ascontiguousarray(np.asarray(block, self.dtype) - self.mean)
            Z = centred @ self.rotation
            if self.plan.n_rest:
                squares, inside = np.empty(len(Z)), np.empty(len(Z))
                square_rows(centred, squares)
                square_rows(Z, inside)
        return Z, np.maximum(squares - inside, 0.0) * self.plan.rest_weight


def _write(
    plan: GaussianPlan, steps: _Steps, Z: Array, rest: Floats, normalize: bool, out: Array
) -> NDArray[np.bool_]:
    """Write the features of the rows where the dtype of `out` is enough; tell which are left."""
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
        _LIMITS[out.dtype.itemsize],
        out,
        flags,
    )
    return flags


class _Levels:
    """Products in groups of equal numbers of pairs, each from the group before.

    Parameters
    ----------
    plan : GaussianPlan
    pairs : int array
        Where the last factor of each product is in a table of all ratios.
    """

    def __init__(self, plan: GaussianPlan, pairs: Indices) -> None:
        products = plan.products
        level = products.levels()
        order = np.argsort(level, kind="stable")
        place = np.empty(len(products), np.intp)  # of a product among those of its level
        self.steps: list[tuple[Indices, Indices]] = []
        for number in range(int(level.max()) + 1):
            members = np.flatnonzero(level == number)
            place[members] = np.arange(len(members))
            if number:
                self.steps.append((place[products.parents[members]], pairs[members]))
        where = np.argsort(order, kind="stable")  # of each product in the groups one after another
        self.columns = where if plan.columns is None else where[plan.columns]

    def __call__(
        self, xp: Any, root: Any, table: Any, join: Callable[[Any, Any], Any], index: Any
    ) -> Any:
        values = [root]
        for parents, pairs in self.steps:
            above = xp.take(values[-1], index(parents), axis=1)
            values.append(join(above, xp.take(table, index(pairs), axis=1)))
        return xp.take(xp.concat(values, axis=1), index(self.columns), axis=1)


def _by_logarithms(plan: GaussianPlan, Z: Floats, rest: Floats, normalize: bool) -> Floats:
    """Features of rows so far out that the ratios are no numbers of the machine."""
    products = plan.products
    n_orders = products.n_orders(plan.rotation.shape[1])
    axes, highest = np.flatnonzero(n_orders > 1), int(n_orders.max(initial=1))
    rank = np.zeros(len(n_orders) + 1, np.intp)
    rank[axes] = np.arange(len(axes))
    levels = _Levels(plan, rank[products.axes] * highest + products.orders)
    result = np.empty((len(Z), plan.width))
    row = 16 * (len(products) + len(axes) * highest + plan.width)
    height = max(1, _SCRATCH // row)
    for first in range(0, len(Z), height):
        here = slice(first, first + height)
        z = Z[here]
        tables = hermite_log_ratios(z[:, axes], plan.gamma, plan.ratios[axes], highest)
        logs, signs = (table.reshape(len(z), -1) for table in tables)
        start = np.sum(log_ground(z, plan.gamma, plan.ratios), axis=1) - rest[here]
        start += 0.25 * plan.n_rest * math.log1p(-(plan.rest_ratio**2))
        root = np.zeros((len(z), 1)) if normalize else start[:, None]
        log = levels(np, root, logs, np.add, np.asarray)
        sign = levels(np, np.ones((len(z), 1)), signs, np.multiply, np.asarray)
        if normalize:
            top = log.max(axis=1, keepdims=True)
            log -= np.where(np.isfinite(top), top, 0.0)
        values = sign * np.exp(log)
        if normalize:
            norms = np.linalg.norm(values, axis=1, keepdims=True)
            values /= np.where(norms > 0, norms, 1.0)
        result[here] = values
    return result


def _on_device(X: Any, plan: GaussianPlan, normalize: bool, memory_budget: int | None) -> Any:
    if hasattr(X, "detach"):  # PyTorch: nothing is recorded
        X = X.detach()
    xp = namespace(X)
    wide = wide_dtype(X)
    narrow = X.dtype == xp.float32 or str(X.dtype).endswith("float16")
    dtype = xp.float32 if narrow else wide
    if not xp.isdtype(dtype, "real floating"):
        dtype = wide = xp.float32  # whole numbers on a device without float64
    device = _Device(xp, X, plan)
    row = 8 * (3 * len(plan.products) + plan.width + plan.rotation.shape[0])
    height = max(1, (memory_budget or _DEVICE_BUDGET) // row)
    parts = []
    for first in range(0, X.shape[0], height):
        block = X[first : min(first + height, X.shape[0]), :]
        values, log_f = device.features(block, dtype, normalize)
        left = log_f < _LIMITS[4 if dtype == xp.float32 else 8]
        if dtype != wide and bool(xp.any(left)):
            again, log_f = device.features(block, wide, normalize)
            values = xp.where(left[:, None], cast(again, dtype), values)
            left = log_f < _LIMITS[8]
        if bool(xp.any(left)):
            values = _with_far_rows(values, left, block, plan, normalize)
        parts.append(values)
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)


def _with_far_rows(values: Any, left: Any, block: Any, plan: GaussianPlan, normalize: bool) -> Any:
    """The rows marked `left`, from the host."""
    xp = namespace(values)
    mask = to_numpy(left)
    Z, rest = _Projection(plan, np.dtype(np.float64))(to_numpy(block)[mask])
    exact = np.zeros((len(mask), plan.width))
    exact[mask] = _by_logarithms(plan, Z, rest, normalize)
    return xp.where(left[:, None], convert(exact, values), values)


class _Device:
    """The same steps through the functions of an array library, on the device of the rows."""

    def __init__(self, xp: Any, X: Any, plan: GaussianPlan) -> None:
        self.xp, self.like, self.plan = xp, X, plan
        products = plan.products
        # Ratios are computed order by order, of the axes that go that far: a table of all ratios
        # has those of order 1 first. Axes that go furthest come first.
        n_ratios = products.n_orders(plan.rotation.shape[1]) - 1
        axes = np.argsort(-n_ratios, kind="stable")
        self.axes = axes[n_ratios[axes] > 0]
        highest = int(n_ratios.max(initial=0))
        self.counts = [int(np.sum(n_ratios > order)) for order in range(highest)]
        starts = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.intp)
        rank = np.zeros(len(n_ratios) + 1, np.intp)
        rank[self.axes] = np.arange(len(self.axes))
        pairs = np.where(products.axes >= 0, starts[products.orders - 1] + rank[products.axes], 0)
        self.levels = _Levels(plan, pairs)
        self.up, self.down = recurrence(plan.gamma, plan.ratios[self.axes], highest)
        self.arrays: dict[Any, Any] = {}

    def array(self, name: str, values: Any, dtype: Any) -> Any:
        """`values` on the device, sent there once."""
        key = (name, dtype)
        if key not in self.arrays:
            self.arrays[key] = convert(values, self.like, dtype)
        return self.arrays[key]

    def index(self, values: Indices) -> Any:
        return self.array(f"index {id(values)}", values, self.xp.int64)

    def features(self, block: Any, dtype: Any, normalize: bool) -> tuple[Any, Any]:
        """The features, right where ``log F``, which is returned too, is not too small."""
        xp, plan = self.xp, self.plan
        centred = cast(block, dtype) - self.array("mean", plan.mean, dtype)[None, :]
        Z = centred @ self.array("rotation", plan.rotation, dtype)
        weights = self.array("weights", plan.gamma * (1.0 - plan.ratios), dtype)
        log_f = plan.log_constant - (Z * Z) @ weights
        if plan.n_rest:
            outside = xp.sum(centred * centred, axis=1) - xp.sum(Z * Z, axis=1)
            outside = xp.where(outside > 0, outside, xp.zeros_like(outside))
            log_f = log_f - plan.rest_weight * outside
        root = xp.exp(xp.zeros_like(log_f) if normalize else log_f)[:, None]
        values = self.levels(xp, root, self.ratios(Z, dtype), lambda a, b: a * b, self.index)
        if normalize:
            # by the largest first: the squares of the others are then numbers of the machine
            values = values / _positive(xp, xp.max(xp.abs(values), axis=1, keepdims=True))
            norms = xp.sqrt(xp.sum(values * values, axis=1, keepdims=True))
            values = values / _positive(xp, norms)
        return values, log_f

    def ratios(self, Z: Any, dtype: Any) -> Any:
        xp = self.xp
        if not self.counts:
            return Z[:, :0]
        z = xp.take(Z, self.index(self.axes), axis=1)
        up, down = self.array("up", self.up, dtype), self.array("down", self.down, dtype)
        before, here = xp.zeros_like(z), xp.ones_like(z)
        orders = []
        for order, count in enumerate(self.counts):
            before, here = here[:, :count], (
                up[:count, order][None, :] * z[:, :count] * here[:, :count]
                - down[:count, order][None, :] * before[:, :count]
            )
            orders.append(here)
        return xp.concat(orders, axis=1)


def _positive(xp: Any, values: Any) -> Any:
    return xp.where(values > 0, values, xp.ones_like(values))


def _on_cluster(X: Any, plan: GaussianPlan, normalize: bool, memory_budget: int | None) -> Any:
    import dask

    from bochner.engine.cluster import _one_block_of_columns, _result_dtype, _result_meta

    X = _one_block_of_columns(X)
    dtype = _result_dtype(X)
    return X.map_blocks(
        _block_features,
        plan=dask.delayed(plan, pure=True),  # once in the graph, not once a block
        normalize=normalize,
        memory_budget=memory_budget,
        chunks=(X.chunks[0], (plan.width,)),
        dtype=dtype,
        meta=_result_meta(X, dtype),
    )


def _block_features(
    block: Any, plan: GaussianPlan, normalize: bool, memory_budget: int | None
) -> Any:
    # one thread: the blocks themselves run side by side
    return gaussian_features(
        block, plan, normalize=normalize, n_threads=1, memory_budget=memory_budget
    )


def _residuals_on_cluster(X: Any, plan: GaussianPlan, memory_budget: int | None) -> Any:
    import dask

    from bochner.engine.cluster import _one_block_of_columns

    X = _one_block_of_columns(X)
    return X.map_blocks(
        _block_residuals,
        plan=dask.delayed(plan, pure=True),
        memory_budget=memory_budget,
        drop_axis=1,
        dtype=np.float64,
        meta=np.empty(0),
    )


def _block_residuals(block: Any, plan: GaussianPlan, memory_budget: int | None) -> Any:
    return residuals(block, plan, n_threads=1, memory_budget=memory_budget)
