"""Fitted feature maps as ONNX operators.

A function here adds the nodes of one map to a graph and returns the name of the result. What a
map computes in float64 inside, or would lose too much in float32 (distances, Hermite functions,
harmonics), is computed in float64 in the graph too, whatever the rows are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.kernel_approximation import Nystroem, RBFSampler

from bochner.fourier.features import FourierFeatures
from bochner.fourier.landmarks import LandmarkSimilarities
from bochner.fourier.posterior_features import PosteriorFourierFeatures
from bochner.kernels import Gaussian
from bochner.margin.features import MarginFourierFeatures
from bochner.margin.sphere.features import MarginHarmonicFeatures
from bochner.margin.sphere.harmonics import recursion_plan
from bochner.mercer.features import MercerFeatures
from bochner.mercer.hermite import recurrence
from bochner.mercer.plan import GaussianPlan, Levels
from bochner.mercer.separable import SeparablePlan
from bochner.mercer.union import UnionPlan

_FAR = -600.0  # below this logarithm of the constant product the ratios may overflow


class Graph:
    """Nodes that are added one after another, by name.

    Parameters
    ----------
    scope, container : of skl2onnx
        Where names come from, and where nodes go.
    dtype : numpy dtype
        float32 or float64: of the numbers that enter the map and leave it.
    """

    def __init__(self, scope: Any, container: Any, dtype: Any) -> None:
        self.scope, self.container, self.dtype = scope, container, np.dtype(dtype)

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one result, and return its name."""
        name = self.scope.get_unique_variable_name(operator.lower())
        domain = attributes.pop("domain", "")
        self.container.add_node(
            operator,
            list(inputs),
            [name],
            name=self.scope.get_unique_operator_name(operator),
            op_domain=domain,
            **attributes,
        )
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add an array; numbers in the dtype of the graph unless another is given."""
        from onnx import numpy_helper

        array = np.ascontiguousarray(values, self.dtype if dtype is None else dtype)
        name = self.scope.get_unique_variable_name("constant")
        if array.dtype == object:
            from onnx import TensorProto

            strings = [str(value).encode() for value in array.ravel()]
            self.container.add_initializer(name, TensorProto.STRING, array.shape, strings)
        else:
            self.container.add_initializer(name, None, None, numpy_helper.from_array(array))
        return name

    def integers(self, values: Any) -> str:
        return self.constant(values, np.int64)

    def cast(self, x: str, dtype: Any) -> str:
        from onnx import helper

        return self("Cast", x, to=int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))

    def wide(self) -> Graph:
        """The same graph for float64 numbers."""
        return Graph(self.scope, self.container, np.float64)

    def take(self, x: str, columns: Any) -> str:
        return self("Gather", x, self.integers(columns), axis=1)

    def beside(self, parts: list[str]) -> str:
        return parts[0] if len(parts) == 1 else self("Concat", *parts, axis=1)

    def sum(self, x: str, axis: int = 1, keepdims: bool = True) -> str:
        return self("ReduceSum", x, self.integers([axis]), keepdims=int(keepdims))

    def square(self, x: str) -> str:
        return self("Mul", x, x)

    def times(self, x: str, values: Any) -> str:
        return self("Mul", x, self.constant(values))

    def plus(self, x: str, values: Any) -> str:
        return self("Add", x, self.constant(values))

    def unit_rows(self, x: str) -> str:
        """Rows divided by their length; zero rows stay zero."""
        length = self("Sqrt", self.sum(self.square(x)))
        zero = self("Equal", length, self.constant([0.0]))
        return self("Div", x, self("Where", zero, self.constant([1.0]), length))


def _in_float64(graph: Graph, x: str, write: Callable[[Graph, str], str]) -> str:
    """What `write` adds for float64 rows, between two casts where these are float32."""
    if graph.dtype == np.float64:
        return write(graph, x)
    return graph.cast(write(graph.wide(), graph.cast(x, np.float64)), graph.dtype)


@singledispatch
def write_map(model: Any, graph: Graph, x: str) -> str:
    """Add the nodes of a fitted map to a graph.

    Parameters
    ----------
    model : fitted map
    graph : Graph
    x : str
        Name of the rows, of the dtype of the graph.

    Returns
    -------
    str
        Name of the features.
    """
    raise cannot(type(model).__name__)


def cannot(what: str) -> NotImplementedError:
    """The error for what has no ONNX form here."""
    return NotImplementedError(
        f"{what} cannot be written as ONNX. These maps can: "
        f"{', '.join(sorted(kind.__name__ for kind in MAPS))}."
    )


def _waves(graph: Graph, x: str, W: Any, scale: Any) -> str:
    phases = graph("MatMul", x, graph.constant(W))
    parts = [graph.times(graph(wave, phases), scale) for wave in ("Cos", "Sin")]
    return graph.beside(parts)


def _offset_waves(graph: Graph, x: str, W: Any, offsets: Any) -> str:
    phases = graph.plus(graph("MatMul", x, graph.constant(W)), offsets)
    return graph.times(graph("Cos", phases), (2 / W.shape[1]) ** 0.5)


@write_map.register
def _(model: FourierFeatures, graph: Graph, x: str) -> str:
    W = model.frequencies_
    if model.offsets_ is not None:
        return _offset_waves(graph, x, W, model.offsets_)
    return _waves(graph, x, W, W.shape[1] ** -0.5)


@write_map.register
def _(model: PosteriorFourierFeatures, graph: Graph, x: str) -> str:
    return _waves(graph, x, model.frequencies_, np.sqrt(model.weights_))


@write_map.register
def _(model: MarginFourierFeatures, graph: Graph, x: str) -> str:
    W = model.frequencies_
    return _waves(graph, x, W, W.shape[1] ** -0.5)


@write_map.register
def _(model: RBFSampler, graph: Graph, x: str) -> str:
    return _offset_waves(graph, x, model.random_weights_, model.random_offset_)


@write_map.register
def _(model: LandmarkSimilarities, graph: Graph, x: str) -> str:
    if model.posterior is None:
        landmarks = _dense(model.landmarks_)
        return _in_float64(
            graph, x, lambda wide, rows: write_kernel(wide, rows, landmarks, model.kernel_)
        )
    W = np.hstack([block for _, block in model._candidates.blocks(graph.dtype)])
    c = model._coefficients
    phases = graph("MatMul", x, graph.constant(W))
    waves = graph(
        "Add", graph.times(graph("Cos", phases), c.real), graph.times(graph("Sin", phases), c.imag)
    )
    size = int(model.n_frequencies)
    groups = graph("Reshape", waves, graph.integers([-1, len(c) // size, size]))
    return graph.sum(groups, axis=2, keepdims=False)


@write_map.register
def _(model: Nystroem, graph: Graph, x: str) -> str:
    if model.kernel != "rbf":
        raise cannot(f"Nystroem with kernel={model.kernel!r} (only 'rbf' is known)")
    components = _dense(model.components_)
    gamma = 1 / components.shape[1] if model.gamma is None else float(model.gamma)

    def write(wide: Graph, rows: str) -> str:
        values = write_kernel(wide, rows, components, Gaussian(gamma=gamma))
        return wide("MatMul", values, wide.constant(model.normalization_.T))

    return _in_float64(graph, x, write)


@write_map.register
def _(model: MercerFeatures, graph: Graph, x: str) -> str:
    def write(wide: Graph, rows: str) -> str:
        plan = model._plan
        if isinstance(plan, UnionPlan):
            values = _union(wide, rows, plan)
        elif isinstance(plan, SeparablePlan):
            values = _separable(wide, rows, plan, model.normalize)
        else:
            values = _gaussian(wide, rows, plan, model.normalize)
        return wide.unit_rows(values) if model.normalize else values

    return _in_float64(graph, x, write)


@write_map.register
def _(model: MarginHarmonicFeatures, graph: Graph, x: str) -> str:
    def write(wide: Graph, rows: str) -> str:
        if model.normalize:
            largest = wide("ReduceMax", wide("Abs", rows), wide.integers([1]), keepdims=1)
            rows = wide.unit_rows(wide("Div", rows, largest))
        if hasattr(model, "orders_"):
            values = _harmonics(wide, rows, model.orders_)
        else:
            values = _zonal(wide, rows, model.directions_, model.degrees_)
        return wide.times(values, np.sqrt(model.weights_) * model._scales)

    return _in_float64(graph, x, write)


MAPS: tuple[type, ...] = tuple(kind for kind in write_map.registry if kind is not object)


def write_kernel(graph: Graph, x: str, points: NDArray[Any], kernel: Any) -> str:
    """The kernel between rows and fixed points.

    Parameters
    ----------
    graph : Graph
        Of float64 numbers.
    x : str
        Name of the rows.
    points : array of shape (m, d)
    kernel : kernel object

    Returns
    -------
    str
        Name of the values, of shape (n, m).
    """
    if getattr(kernel, "gaussian", False):
        return graph("Exp", graph.times(_squared_distances(graph, x, points), -kernel.width))
    if getattr(kernel, "isotropic", False):
        distances = graph("Sqrt", _squared_distances(graph, x, points))
        return graph("Exp", _log_profile(graph, distances, kernel))
    if getattr(kernel, "product", False):
        apart = graph("Sub", graph("Unsqueeze", x, graph.integers([1])), graph.constant(points))
        logarithms = _log_profile(graph, graph("Abs", apart), kernel)
        return graph("Exp", graph.sum(logarithms, axis=2, keepdims=False))
    raise cannot(f"the kernel {kernel!r}")


def _squared_distances(graph: Graph, x: str, points: NDArray[Any]) -> str:
    products = graph.times(graph("MatMul", x, graph.constant(points.T)), -2.0)
    lengths = np.einsum("ij,ij->i", points, points, dtype=np.float64)
    squares = graph.plus(graph("Add", products, graph.sum(graph.square(x))), lengths)
    return graph("Max", squares, graph.constant([0.0]))


def _log_profile(graph: Graph, distances: str, kernel: Any) -> str:
    """The logarithm of a kernel at distances, see :class:`bochner.kernels.Profile`."""
    profile = getattr(kernel, "profile", None)
    if profile is None:
        raise cannot(f"the kernel {kernel!r}")
    parts = []
    if any(profile.outer):
        parts.append(graph("Neg", _quadratic(graph, distances, profile.outer)))
    if profile.multiple:
        inner = graph.plus(_quadratic(graph, distances, profile.inner), [1.0])
        parts.append(graph.times(graph("Log", inner), profile.multiple))
    return parts[0] if len(parts) == 1 else graph("Add", *parts)


def _quadratic(graph: Graph, t: str, coefficients: tuple[float, float]) -> str:
    """``a t + b t^2``, of which one may be zero."""
    a, b = coefficients
    terms = ([graph.times(t, a)] if a else []) + ([graph.times(graph.square(t), b)] if b else [])
    return terms[0] if len(terms) == 1 else graph("Add", *terms)


def _gaussian(graph: Graph, x: str, plan: GaussianPlan, normalize: bool) -> str:
    """Features of a gaussian density: Hermite ratios, then one multiplication a feature."""
    centred = graph.plus(x, -plan.mean)
    Z = graph("MatMul", centred, graph.constant(plan.rotation))
    weights = plan.gamma * (1.0 - plan.ratios)
    taken = graph.sum(graph.times(graph.square(Z), weights))
    if plan.n_rest:
        outside = graph("Sub", graph.sum(graph.square(centred)), graph.sum(graph.square(Z)))
        outside = graph("Max", outside, graph.constant([0.0]))
        taken = graph("Add", taken, graph.times(outside, plan.rest_weight))
    logarithm = graph.plus(graph("Neg", taken), [plan.log_constant])
    n_orders = plan.products.n_orders(plan.rotation.shape[1])
    axes, highest = np.flatnonzero(n_orders > 1), int(n_orders.max(initial=1))
    rank = np.zeros(len(n_orders) + 1, np.intp)
    rank[axes] = np.arange(len(axes))
    if not len(axes):
        table = ""
    else:
        up, down = recurrence(plan.gamma, plan.ratios[axes], highest)
        z = graph.take(Z, axes)
        steps = [graph.plus(graph.times(z, 0.0), [1.0])]
        for n in range(highest - 1):
            following = graph("Mul", graph.times(z, up[:, n]), steps[-1])
            if n:
                following = graph("Sub", following, graph.times(steps[-2], down[:, n]))
            steps.append(following)
        table = graph.beside(steps)
    pairs = plan.products.orders * len(axes) + rank[plan.products.axes]
    return _products(graph, logarithm, table, Levels(plan, pairs), normalize)


def _union(graph: Graph, x: str, plan: UnionPlan) -> str:
    parts = [_gaussian(graph, x, part, False) for part in plan.plans if part.width]
    features, join = graph.beside(parts), graph.constant(plan.join)
    return graph("Mul" if plan.join.ndim == 1 else "MatMul", features, join)


def _separable(graph: Graph, x: str, plan: SeparablePlan, normalize: bool) -> str:
    """Products of numerical eigenfunctions along the columns."""
    products = plan.products
    n_orders = products.n_orders(len(plan.marginals))
    tables, logarithms = [], []
    for axis, (marginal, count) in enumerate(zip(plan.marginals, n_orders, strict=True)):
        apart = graph.plus(graph.take(x, [axis]), -marginal.nodes)
        profile = _log_profile(graph, graph("Abs", apart), marginal.kernel)
        top = graph("ReduceMax", profile, graph.integers([1]), keepdims=1)
        scaled = graph("Exp", graph("Sub", profile, top))
        values = graph("MatMul", scaled, graph.constant(marginal.coefficients[:, :count]))
        ground = graph.take(values, [0])
        tables.append(graph("Div", values, ground))
        logarithms.append(graph("Add", top, graph("Log", ground)))
    starts = np.concatenate([[0], np.cumsum(n_orders)])
    pairs = np.where(products.axes >= 0, starts[products.axes] + products.orders, 0)
    levels = Levels(SimpleNamespace(products=products, columns=None), pairs)  # type: ignore[arg-type]
    logarithm = graph.sum(graph.beside(logarithms))
    return _products(graph, logarithm, graph.beside(tables), levels, normalize)


def _products(graph: Graph, logarithm: str, table: str, levels: Levels, normalize: bool) -> str:
    """The products of the entries of a table; the constant one is ``exp(logarithm)``."""
    near = graph("GreaterOrEqual", logarithm, graph.constant([_FAR]))
    zeros = graph.times(logarithm, 0.0)
    values = [graph("Exp", zeros if normalize else logarithm)]
    for parents, pairs in levels.steps:
        above = graph.take(values[-1], parents)
        values.append(graph("Mul", above, graph.take(table, pairs)))
    features = graph.take(graph.beside(values), levels.columns)
    return graph("Where", near, features, graph.constant([0.0]))


def _harmonics(graph: Graph, x: str, orders: NDArray[Any]) -> str:
    """Real harmonics, a factor a dimension; see :mod:`bochner.margin.sphere.harmonics`."""
    plan = recursion_plan(np.asarray(orders, np.int64))
    first, second = graph.take(x, [0]), graph.take(x, [1])
    zeros = graph.times(first, 0.0)
    real, imaginary = [graph.plus(zeros, [1.0])], [zeros]
    for _ in range(plan.highest):
        c, s = real[-1], imaginary[-1]
        real.append(graph("Sub", graph("Mul", c, first), graph("Mul", s, second)))
        imaginary.append(graph("Add", graph("Mul", s, first), graph("Mul", c, second)))
    values = graph.times(graph.take(graph.beside(real + imaginary), plan.powers), plan.factors.T)
    square = graph("Add", graph.square(first), graph.square(second))
    for axis, level in enumerate(plan.levels, start=2):
        column = graph.take(x, [axis])
        square = graph("Add", square, graph.square(column))
        current = previous = graph.plus(zeros, level.first.T)
        found = [current]
        for a, b in level.steps:
            active = np.arange(b.shape[0])
            following = graph("Mul", column, graph.take(current, active))
            if a is not None:
                back = graph("Mul", graph.take(previous, active), square)
                following = graph("Sub", following, graph.times(back, a.T))
            previous, current = current, graph.times(following, 1 / b.T)
            found.append(current)
        polynomials = graph.take(graph.beside(found), level.pairs)
        values = graph("Mul", polynomials, graph.take(values, level.parents))
    return values


def _zonal(graph: Graph, x: str, directions: NDArray[Any], degrees: NDArray[Any]) -> str:
    """Legendre polynomials of dimension d of the products with the directions."""
    d, width = directions.shape
    t = graph("MatMul", x, graph.constant(directions))
    found = [graph.plus(graph.times(t, 0.0), [1.0]), t]
    for degree in range(1, int(degrees.max(initial=1))):
        up, back = (2 * degree + d - 2) / (degree + d - 2), degree / (degree + d - 2)
        following = graph("Mul", graph.times(t, up), found[-1])
        found.append(graph("Sub", following, graph.times(found[-2], back)))
    return graph.take(graph.beside(found), np.asarray(degrees) * width + np.arange(width))


def _dense(points: Any) -> NDArray[np.float64]:
    return np.asarray(points.toarray() if sparse.issparse(points) else points, np.float64)
