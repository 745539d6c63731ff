"""Mercer features: products of eigenfunctions along the axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.mercer.hermite import recurrence
from bochner.mercer.plan import GaussianPlan, Levels
from bochner.mercer.separable import SeparablePlan
from bochner.mercer.union import UnionPlan
from bochner.models.onnx.graph import Graph, in_float64
from bochner.models.onnx.kernels import log_profile

_FAR = -600.0  # below this logarithm of the constant product the ratios may overflow


@in_float64
def write_mercer(graph: Graph, x: str, model: Any) -> str:
    plan = model._plan
    if isinstance(plan, UnionPlan):
        values = _union(graph, x, plan)
    elif isinstance(plan, SeparablePlan):
        values = _separable(graph, x, plan, model._normalize)
    else:
        values = _gaussian(graph, x, plan, model._normalize)
    return graph.unit_rows(values) if model._normalize else values


def _gaussian(graph: Graph, x: str, plan: GaussianPlan, normalize: bool) -> str:
    """Write features of a Gaussian density: Hermite ratios, then one product per feature."""
    centred = graph.plus(x, -plan.mean)
    Z = graph.product(centred, plan.rotation)
    exponent = graph.sum(graph.times(graph.square(Z), plan.gamma * (1.0 - plan.ratios)))
    if plan.n_rest:
        outside = graph("Sub", graph.sum(graph.square(centred)), graph.sum(graph.square(Z)))
        rest = graph.times(graph.not_below_zero(outside), plan.rest_weight)
        exponent = graph("Add", exponent, rest)
    logarithm = graph.plus(graph("Neg", exponent), [plan.log_constant])
    n_orders = plan.products.n_orders(plan.rotation.shape[1])
    axes = np.flatnonzero(n_orders > 1)
    rank = np.zeros(len(n_orders) + 1, np.intp)
    rank[axes] = np.arange(len(axes))
    table = _hermite_ratios(graph, Z, plan, axes, int(n_orders.max(initial=1)))
    pairs = plan.products.orders * len(axes) + rank[plan.products.axes]
    levels = Levels(plan.products, plan.columns, pairs)
    return _products(graph, logarithm, table, levels, normalize)


def _hermite_ratios(graph: Graph, Z: str, plan: GaussianPlan, axes: Any, highest: int) -> str:
    """Write all orders of all axes with more than one, as columns; nothing if there are none."""
    if not len(axes):
        return ""
    up, down = recurrence(plan.gamma, plan.ratios[axes], highest)
    z = graph.take(Z, axes)
    steps = [graph.filled(z, 1.0)]
    for n in range(highest - 1):
        following = graph("Mul", graph.times(z, up[:, n]), steps[-1])
        if n:
            following = graph("Sub", following, graph.times(steps[-2], down[:, n]))
        steps.append(following)
    return graph.concatenate(steps)


def _union(graph: Graph, x: str, plan: UnionPlan) -> str:
    parts = [_gaussian(graph, x, part, False) for part in plan.plans if part.width]
    features, join = graph.concatenate(parts), graph.constant(plan.join)
    return graph("Mul" if plan.join.ndim == 1 else "MatMul", features, join)


def _separable(graph: Graph, x: str, plan: SeparablePlan, normalize: bool) -> str:
    """Write products of numerical eigenfunctions along the columns."""
    products = plan.products
    n_orders = products.n_orders(len(plan.marginals))
    tables, logarithms = [], []
    for axis, (marginal, count) in enumerate(zip(plan.marginals, n_orders, strict=True)):
        differences = graph.plus(graph.take(x, [axis]), -marginal.nodes)
        profile = log_profile(graph, graph("Abs", differences), marginal.kernel)
        top = graph.largest(profile)
        scaled = graph("Exp", graph("Sub", profile, top))
        values = graph.product(scaled, marginal.coefficients[:, :count])
        ground = graph.take(values, [0])
        tables.append(graph("Div", values, ground))
        logarithms.append(graph("Add", top, graph("Log", ground)))
    pairs = products.positions(np.concatenate([[0], np.cumsum(n_orders)]))
    levels = Levels(products, None, pairs)
    logarithm = graph.sum(graph.concatenate(logarithms))
    return _products(graph, logarithm, graph.concatenate(tables), levels, normalize)


def _products(graph: Graph, logarithm: str, table: str, levels: Levels, normalize: bool) -> str:
    """Write the products of the entries of a table; the constant one is ``exp(logarithm)``."""
    near = graph("GreaterOrEqual", logarithm, graph.constant([_FAR]))
    zeros = graph.times(logarithm, 0.0)
    values = [graph("Exp", zeros if normalize else logarithm)]
    for parents, pairs in levels.steps:
        above = graph.take(values[-1], parents)
        values.append(graph("Mul", above, graph.take(table, pairs)))
    features = graph.take(graph.concatenate(values), levels.columns)
    return graph("Where", near, features, graph.constant([0.0]))
