"""Joint features of several Gaussian components, wherever the rows are.

Every component is a plan of :mod:`bochner.mercer.evaluate`; the features of all of them are joined
by a matrix (an orthogonalised mixture) or by factors (the weighted mixture of the paper).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import (
    cast,
    convert,
    float_dtype,
    is_host,
    namespace,
    result_dtype,
    wide_dtype,
)
from bochner.engine.rowwise import map_batches, row_slices
from bochner.engine.threads import for_each
from bochner.mercer.gaussian import gaussian_plan
from bochner.mercer.mixtures import (
    Mixture,
    order_matrix,
    share_features,
    union_gram,
    whitening,
)
from bochner.mercer.plan import GaussianPlan, unit_rows

Floats = NDArray[np.float64]

_SINGLE = 10.0  # largest factor by which joining may enlarge the rounding of float32
_TASK = 2**23  # bytes of component features held by a task
_DEVICE_BUDGET = 2**28


@dataclass(frozen=True, eq=False)
class UnionPlan:
    """All that is needed to compute the features of a row under a mixture."""

    plans: tuple[GaussianPlan, ...]  # one per component; some may have no features
    axes: tuple[NDArray[np.intp], ...]  # the shared axes that the axes of each plan are
    # Multiplies the D features of all components: a matrix (D, r), or factors (D,).
    join: Floats
    # Log eigenvalues of the components' features plus log weights, component by component.
    log_values: Floats

    @property
    def width(self) -> int:
        """The number of features."""
        return self.join.shape[-1]

    def orders(self) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
        """Return the component and the pairs (axis, order >= 1) of every component feature."""
        return [
            (component, tuple(sorted((int(axes[axis]), order) for axis, order in pairs)))
            for component, (plan, axes) in enumerate(zip(self.plans, self.axes, strict=True))
            for pairs in plan.orders()
        ]

    def features(self, X: Any, normalize: bool, n_threads: int | None, budget: int | None) -> Any:
        """See :class:`Plan`."""
        if is_host(X):
            return _on_host(X, self, normalize, n_threads)
        return _on_device(X, self, normalize, budget or _DEVICE_BUDGET)

    @property
    def enlargement(self) -> float:
        """Largest factor by which joining enlarges independent errors of component features."""
        join = self.join
        return float(np.abs(join).max() if join.ndim == 1 else np.linalg.norm(join, axis=0).max())

    def __bochner_check__(self) -> bool:
        """Whether there is a row of `join` for every feature of the components."""
        if not all(isinstance(part, GaussianPlan) for part in self.plans):
            return False
        width = sum(part.width for part in self.plans)
        return isinstance(self.join, np.ndarray) and self.join.shape[:1] == (width,)


def plan_union(
    mixture: Mixture, gamma: float, count: int, kind: Literal["orthogonal", "weighted"]
) -> UnionPlan:
    r"""Join the `count` features of a mixture that have the largest eigenvalue times weight.

    With ``"orthogonal"`` they are whitened by the Gram matrix, which leaves as many features as
    are independent up to rounding, maybe fewer than `count`. With ``"weighted"`` they are
    multiplied by :math:`\sqrt{\pi_k}`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.mixtures import Mixture
    >>> from bochner.mercer.evaluate import plan_features
    >>> from bochner.mercer.union import plan_union
    >>> means = np.array([[-2.0], [2.0]])
    >>> mixture = Mixture(np.zeros(1), np.eye(1), np.full(2, 0.5), means, np.ones((2, 1)))
    >>> phi = plan_features(means, plan_union(mixture, 0.1, 12, "orthogonal"))
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


def _on_host(X: Any, plan: UnionPlan, normalize: bool, n_threads: int | None) -> NDArray[Any]:
    dtype = float_dtype(X)
    inner = dtype if plan.enlargement <= _SINGLE else np.dtype(np.float64)
    join = plan.join.astype(inner)
    result = np.empty((X.shape[0], plan.width), dtype)

    def work(rows: slice) -> None:
        result[rows] = _joined(np, cast(X[rows], inner), plan, join, normalize, None)

    height = max(16, _TASK // (inner.itemsize * len(plan.join)))
    for_each(work, row_slices(X.shape[0], height), n_threads)
    return result


def _on_device(X: Any, plan: UnionPlan, normalize: bool, budget: int) -> Any:
    xp, dtype = namespace(X), result_dtype(X)
    inner = dtype if plan.enlargement <= _SINGLE else wide_dtype(X)
    join = convert(plan.join, X, inner)

    def batch(rows: Any) -> Any:
        rows = cast(rows, inner)
        return cast(_joined(xp, rows, plan, join, normalize, budget), dtype)

    return map_batches(batch, X, budget // (24 * len(plan.join)))


def _joined(
    xp: Any, rows: Any, plan: UnionPlan, join: Any, normalize: bool, budget: int | None
) -> Any:
    parts = [each.features(rows, False, 1, budget) for each in plan.plans if each.width]
    features = xp.concat(parts, axis=1) if len(parts) > 1 else parts[0]
    features = features * join[None, :] if join.ndim == 1 else features @ join
    return unit_rows(xp, features) if normalize else features
