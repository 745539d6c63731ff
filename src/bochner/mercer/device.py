"""Gaussian features computed by an array library, on the device of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import (
    asks_for_gradients,
    cast,
    convert,
    detached,
    item_size,
    namespace,
    result_dtype,
    to_numpy,
    wide_dtype,
)
from bochner.engine.rowwise import map_batches
from bochner.mercer.hermite import recurrence
from bochner.mercer.host import Projection
from bochner.mercer.logarithms import by_logarithms
from bochner.mercer.plan import LIMITS, GaussianPlan, Levels, unit_rows

Indices = NDArray[np.intp]

_DEFAULT_BUDGET = 2**28


def features(X: Any, plan: GaussianPlan, normalize: bool, memory_budget: int | None) -> Any:
    xp, wide, dtype = namespace(X), wide_dtype(X), result_dtype(X)
    device, size = _Device(xp, X, plan), item_size(X)
    if asks_for_gradients(X):
        return cast(_with_gradients(cast(X, wide), device, normalize), dtype)

    def batch(block: Any) -> Any:
        values, log_f = device.features(block, dtype, normalize)
        left = ~(log_f >= LIMITS[size])  # NaN too
        if dtype != wide and bool(xp.any(left)):
            again, log_f = device.features(block, wide, normalize)
            values = xp.where(left[:, None], cast(again, dtype), values)
            left = ~(log_f >= LIMITS[8])
        if bool(xp.any(left)):
            values = _with_far_rows(values, left, block, plan, normalize)
        return values

    row = size * (3 * len(plan.products) + plan.width + 2 * plan.rotation.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):  # in far rows, for NumPy-like libraries
        return map_batches(batch, X, (memory_budget or _DEFAULT_BUDGET) // row)


def _with_gradients(X: Any, device: _Device, normalize: bool) -> Any:
    """Features in float64; for rows that are far out they vanish, and so do their gradients."""
    xp, plan = device.xp, device.plan
    far = ~(device.features(detached(X), X.dtype, normalize)[1] >= LIMITS[8])
    if not bool(xp.any(far)):
        return device.features(X, X.dtype, normalize)[0]
    if normalize:
        raise ValueError(
            "X asks for gradients, but holds rows so far from the others that their features do "
            "not fit in float64 before they are normalized: use X.detach(), or normalize=False."
        )
    # one infinite term would make the whole gradient NaN
    near = xp.where(far[:, None], device.array("mean", plan.mean, X.dtype)[None, :], X)
    values = device.features(near, X.dtype, normalize)[0]
    return _with_far_rows(values, far, X, plan, normalize)


def _with_far_rows(values: Any, left: Any, block: Any, plan: GaussianPlan, normalize: bool) -> Any:
    """Replace the rows marked `left` by features computed on the host."""
    xp = namespace(values)
    mask = to_numpy(left)
    Z, rest = Projection(plan, np.dtype(np.float64))(to_numpy(block)[mask])
    exact = np.zeros((len(mask), plan.width))
    exact[mask] = by_logarithms(plan, Z, rest, normalize)
    return xp.where(left[:, None], convert(exact, values), values)


class _Device:
    """The steps of a plan through the functions of an array library, on the device of the rows."""

    def __init__(self, xp: Any, X: Any, plan: GaussianPlan) -> None:
        self.xp, self.like, self.plan = xp, X, plan
        products = plan.products
        # Ratios are computed order by order, for the axes that reach that order: a table of all
        # ratios has those of order 1 first. Axes with the highest orders come first.
        n_ratios = products.n_orders(plan.rotation.shape[1]) - 1
        axes = np.argsort(-n_ratios, kind="stable")
        self.axes = axes[n_ratios[axes] > 0]
        highest = int(n_ratios.max(initial=0))
        self.counts = [int(np.sum(n_ratios > order)) for order in range(highest)]
        starts = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.intp)
        rank = np.zeros(len(n_ratios) + 1, np.intp)
        rank[self.axes] = np.arange(len(self.axes))
        pairs = np.where(products.axes >= 0, starts[products.orders - 1] + rank[products.axes], 0)
        self.levels = Levels(products, plan.columns, pairs)
        self.up, self.down = recurrence(plan.gamma, plan.ratios[self.axes], highest)
        self.arrays: dict[Any, Any] = {}

    def array(self, name: str, values: Any, dtype: Any) -> Any:
        """Return `values` on the device, sent there once."""
        key = (name, dtype)
        if key not in self.arrays:
            self.arrays[key] = convert(values, self.like, dtype)
        return self.arrays[key]

    def index(self, values: Indices) -> Any:
        return self.array(f"index {id(values)}", values, self.xp.int64)

    def features(self, block: Any, dtype: Any, normalize: bool) -> tuple[Any, Any]:
        """Return the features, correct where ``log F`` is not too small, and ``log F``."""
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
            values = unit_rows(xp, values)
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
            before, here = (
                here[:, :count],
                (
                    up[:count, order][None, :] * z[:, :count] * here[:, :count]
                    - down[:count, order][None, :] * before[:, :count]
                ),
            )
            orders.append(here)
        return xp.concat(orders, axis=1)
