"""Functions on the unit sphere: harmonics, and zonal functions of learned directions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.margin.sphere.harmonics import recursion_plan
from bochner.models.onnx.graph import Graph, in_float64


@in_float64
def write_harmonic(graph: Graph, x: str, model: Any) -> str:
    largest = graph.largest(graph("Abs", x))
    zero = graph("Equal", largest, graph.constant([0.0]))
    if model._normalize:
        divisor = graph("Where", zero, graph.constant([1.0]), largest)
        x = graph.unit_rows(graph("Div", x, divisor))
    if model._harmonics:
        values = _harmonics(graph, x, model.orders_)
    else:
        values = _zonal(graph, x, model.directions_, model.degrees_)
    values = graph.times(values, np.sqrt(model.weights_) * model._scales)
    return graph("Where", zero, graph.constant([0.0]), values)


def _harmonics(graph: Graph, x: str, orders: NDArray[Any]) -> str:
    """Write real harmonics, with one factor per dimension.

    See :mod:`bochner.margin.sphere.harmonics`.
    """
    plan = recursion_plan(np.asarray(orders, np.int64))
    first, second = graph.take(x, [0]), graph.take(x, [1])
    zeros = graph.times(first, 0.0)
    real, imaginary = [graph.plus(zeros, [1.0])], [zeros]
    for _ in range(plan.highest):
        c, s = real[-1], imaginary[-1]
        real.append(graph("Sub", graph("Mul", c, first), graph("Mul", s, second)))
        imaginary.append(graph("Add", graph("Mul", s, first), graph("Mul", c, second)))
    powers = graph.take(graph.concatenate(real + imaginary), plan.powers)
    values = graph.times(powers, plan.factors.T)
    square = graph("Add", graph.square(first), graph.square(second))
    for axis, level in enumerate(plan.levels, start=2):
        column = graph.take(x, [axis])
        square = graph("Add", square, graph.square(column))
        polynomials = _polynomials(graph, level, graph.plus(zeros, level.first.T), column, square)
        values = graph("Mul", polynomials, graph.take(values, level.parents))
    return values


def _polynomials(graph: Graph, level: Any, first: str, column: str, square: str) -> str:
    """Write the factors of one dimension, by their recurrence in the degree."""
    current = previous = first
    found = [current]
    for a, b in level.steps:
        active = np.arange(b.shape[0])
        following = graph("Mul", column, graph.take(current, active))
        if a is not None:
            back = graph("Mul", graph.take(previous, active), square)
            following = graph("Sub", following, graph.times(back, a.T))
        previous, current = current, graph.times(following, 1 / b.T)
        found.append(current)
    return graph.take(graph.concatenate(found), level.pairs)


def _zonal(graph: Graph, x: str, directions: NDArray[Any], degrees: NDArray[Any]) -> str:
    """Write Legendre polynomials of dimension d of the products with the directions."""
    d, width = directions.shape
    t = graph.product(x, directions)
    found = [graph.filled(t, 1.0), t]
    for degree in range(1, int(degrees.max(initial=1))):
        up, back = (2 * degree + d - 2) / (degree + d - 2), degree / (degree + d - 2)
        following = graph("Mul", graph.times(t, up), found[-1])
        found.append(graph("Sub", following, graph.times(found[-2], back)))
    return graph.take(graph.concatenate(found), np.asarray(degrees) * width + np.arange(width))
