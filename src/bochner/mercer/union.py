"""Features of several gaussian components together, wherever the rows are.

Every component is a plan of :mod:`bochner.mercer.evaluate`; what comes out of all of them is
joined by a matrix (an orthogonalised mixture) or by factors (the weighted mixture of the paper).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.engine.arrays import cast, convert, namespace, wide_dtype
from bochner.engine.operations import is_dask, is_device
from bochner.engine.threads import default_threads, ordered_map
from bochner.mercer.evaluate import gaussian_features
from bochner.mercer.gaussian import gaussian_plan
from bochner.mercer.mixtures import (
    Mixture,
    order_matrix,
    share_features,
    union_gram,
    whitening,
)
from bochner.mercer.plan import GaussianPlan

Floats = NDArray[np.float64]

_SINGLE = 10.0  # how much joining may enlarge the rounding of float32
_TASK = 2**23  # bytes of features of components that a task holds
_DEVICE_BUDGET = 2**28


@dataclass(frozen=True, eq=False)
class UnionPlan:
    """All that is needed to compute the features of a row under a mixture.

    Parameters
    ----------
    plans : tuple of GaussianPlan
        One a component, of which some may have no features.
    axes : tuple of int arrays
        Which of the shared axes the axes of each plan are.
    join : float64 array of shape (D, r) or (D,)
        What the ``D`` features of all components are multiplied by: a matrix, or a factor each.
    log_values : float64 array of shape (D,)
        Logarithms of the eigenvalues of the components' features times the components' weights,
        in the order of the components.
    """

    plans: tuple[GaussianPlan, ...]
    axes: tuple[NDArray[np.intp], ...]
    join: Floats
    log_values: Floats

    @property
    def width(self) -> int:
        """The number of features."""
        return self.join.shape[-1]

    def orders(self) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
        """The features of the components: which one, and the pairs (axis, order >= 1)."""
        return [
            (component, tuple(sorted((int(axes[axis]), order) for axis, order in pairs)))
            for component, (plan, axes) in enumerate(zip(self.plans, self.axes, strict=True))
            for pairs in plan.orders()
        ]

    @property
    def enlargement(self) -> float:
        """How much joining enlarges independent errors of the components' features, at most."""
        return float(np.abs(self.join).max() if self.join.ndim == 1 else _norm(self.join))


def plan_union(
    mixture: Mixture, gamma: float, count: int, kind: Literal["orthogonal", "weighted"]
) -> UnionPlan:
    r"""The `count` features of the largest eigenvalue times weight of a mixture, joined.

    Parameters
    ----------
    mixture : Mixture
    gamma : float
        `b` of the kernel.
    count : int
        Number of features of the components together. Orthogonalised, fewer may come out: as
        many as are independent to the precision of the machine.
    kind : {"orthogonal", "weighted"}
        Whitened by the Gram matrix, or multiplied by :math:`\sqrt{\pi_k}`.

    Returns
    -------
    UnionPlan

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.mixtures import Mixture
    >>> from bochner.mercer.union import plan_union, union_features
    >>> means = np.array([[-2.0], [2.0]])
    >>> mixture = Mixture(np.zeros(1), np.eye(1), np.full(2, 0.5), means, np.ones((2, 1)))
    >>> phi = union_features(means, plan_union(mixture, 0.1, 12, "orthogonal"))
    >>> bool(np.isclose(phi[0] @ phi[1], np.exp(-0.1 * 16), atol=1e-4))
    True
    """
    d, plans, axes = len(mixture.center), [], []
    for mean, variances in zip(mixture.means, mixture.variances, strict=True):
        largest = np.argsort(-variances, kind="stable")
        where = mixture.center + mixture.rotation @ mean
        rotation = mixture.rotation[:, largest]
        plans.append(gaussian_plan(gamma, where, variances[largest], rotation, count))
        axes.append(largest)
    shares = share_features([plan.log_values for plan in plans], mixture.weights, count)
    ratios = np.empty((len(plans), d))
    orders = [np.empty((share, d), np.intp) for share in shares]
    for k, (plan, largest) in enumerate(zip(plans, axes, strict=True)):
        plans[k] = plan = plan.first(shares[k])
        ratios[k, largest] = np.append(plan.ratios, np.full(plan.n_rest, plan.rest_ratio))
        orders[k][:, largest] = order_matrix(plan.products, d)
    if kind == "weighted":
        join = np.repeat(np.sqrt(mixture.weights), shares)
    else:
        join = whitening(union_gram(gamma, ratios, mixture.means, orders))
    log_weights = np.repeat(np.log(mixture.weights), shares)
    log_values = np.concatenate([plan.log_values for plan in plans]) + log_weights
    return UnionPlan(tuple(plans), tuple(axes), join, log_values)


def _norm(matrix: Floats) -> float:
    return float(np.linalg.norm(matrix, axis=0).max())


def union_features(
    X: Any,
    plan: UnionPlan,
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
    plan : UnionPlan
    normalize : bool, default=False
        Scale each row of features to length one; a row whose features are all zero stays so.
    n_threads : int, optional
        CPU threads; by default as many as BLAS may use.
    memory_budget : int, optional
        Bytes of scratch memory on a device.

    Returns
    -------
    array of shape (n, plan.width)
        Of the same kind, device and floating dtype as `X`; lazy when `X` is a dask array. float32
        rows are computed in float64 where whitening would enlarge the rounding too much.
    """
    if is_dask(X):
        return _on_cluster(X, plan, normalize, memory_budget)
    if is_device(X):
        return _on_device(X, plan, normalize, memory_budget)
    return _on_host(X, plan, normalize, n_threads)


def _on_host(X: Any, plan: UnionPlan, normalize: bool, n_threads: int | None) -> NDArray[Any]:
    dtype = np.dtype(np.float32 if X.dtype in (np.float32, np.float16) else np.float64)
    inner = dtype if plan.enlargement <= _SINGLE else np.dtype(np.float64)
    join = plan.join.astype(inner)
    result = np.empty((X.shape[0], plan.width), dtype)

    def work(rows: slice) -> None:
        block = X[rows].astype(inner, copy=False)
        parts = [gaussian_features(block, each, n_threads=1) for each in plan.plans if each.width]
        features = np.concatenate(parts, axis=1)
        features = features * join if join.ndim == 1 else features @ join
        result[rows] = _unit_rows(np, features) if normalize else features

    height = max(16, _TASK // (inner.itemsize * len(plan.join)))
    tasks = [slice(first, first + height) for first in range(0, X.shape[0], height)]
    for _ in ordered_map(work, tasks, n_threads or default_threads()):
        pass
    return result


def _on_device(X: Any, plan: UnionPlan, normalize: bool, memory_budget: int | None) -> Any:
    if hasattr(X, "detach"):  # PyTorch: nothing is recorded
        X = X.detach()
    xp, budget = namespace(X), memory_budget or _DEVICE_BUDGET
    height = max(1, budget // (24 * len(plan.join)))
    parts = []
    for first in range(0, X.shape[0], height):
        block = X[first : min(first + height, X.shape[0]), :]
        careful = block.dtype == xp.float32 and plan.enlargement > _SINGLE
        inner = cast(block, wide_dtype(block)) if careful else block
        each = [
            gaussian_features(inner, one, memory_budget=budget) for one in plan.plans if one.width
        ]
        features = xp.concat(each, axis=1) if len(each) > 1 else each[0]
        join = convert(plan.join, features)
        features = features * join[None, :] if join.ndim == 1 else features @ join
        features = _unit_rows(xp, features) if normalize else features
        parts.append(cast(features, xp.float32) if careful else features)
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)


def _unit_rows(xp: Any, features: Any) -> Any:
    # by the largest first: the squares of the others are then numbers of the machine
    features = features / _positive(xp, xp.max(xp.abs(features), axis=1, keepdims=True))
    squares = xp.sum(features * features, axis=1, keepdims=True)
    return features / _positive(xp, xp.sqrt(squares))


def _positive(xp: Any, values: Any) -> Any:
    return xp.where(values > 0, values, xp.ones_like(values))


def _on_cluster(X: Any, plan: UnionPlan, normalize: bool, memory_budget: int | None) -> Any:
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


def _block_features(block: Any, plan: UnionPlan, normalize: bool, memory_budget: Any) -> Any:
    # one thread: the blocks themselves run side by side
    return union_features(
        block, plan, normalize=normalize, n_threads=1, memory_budget=memory_budget
    )
