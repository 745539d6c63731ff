"""Kernels between rows and fixed points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.kernels import STANDARD, Cauchy, Gaussian, Laplacian, Matern
from bochner.mercer.marginals import ProductMatern
from bochner.models.onnx.graph import Graph, dense, in_float64, not_convertible


def write_kernel(graph: Graph, x: str, points: NDArray[Any], kernel: Any) -> str:
    """The kernel between rows and points, of shape (n, m); the graph is one of float64."""
    if type(kernel) in RADIAL:
        squares = _squared_distances(graph, x, points)
        return graph("Exp", RADIAL[type(kernel)](graph, squares, kernel))
    differences = graph("Sub", graph("Unsqueeze", x, graph.integers([1])), graph.constant(points))
    logarithms = log_profile(graph, differences, kernel)
    return graph("Exp", graph.sum(logarithms, axis=2, keepdims=False))


def log_profile(graph: Graph, differences: str, kernel: Any) -> str:
    """The logarithm of a kernel along one axis, of differences."""
    if type(kernel) not in PROFILES:
        raise not_convertible(f"the kernel {kernel!r}")
    return PROFILES[type(kernel)](graph, differences, kernel)


def _gaussian(graph: Graph, squares: str, kernel: Any) -> str:
    return graph.times(squares, -kernel.width)


def _laplacian(graph: Graph, differences: str, kernel: Any) -> str:
    return graph.times(graph("Abs", differences), -kernel.width)


def _cauchy(graph: Graph, differences: str, kernel: Any) -> str:
    inner = graph.times(graph.square(differences), kernel.width)
    return graph("Neg", graph("Log", graph.plus(inner, [1.0])))


def _matern(graph: Graph, distances: str, kernel: Any) -> str:
    if kernel.nu not in (0.5, 1.5, 2.5):  # the others are no polynomial times an exponential
        raise not_convertible(f"the kernel {kernel!r}")
    r = graph.times(distances, np.sqrt(4 * kernel.nu * kernel.width))
    if kernel.nu == 0.5:
        return graph("Neg", r)
    polynomial = graph.plus(r, [1.0])
    if kernel.nu == 2.5:
        polynomial = graph("Add", polynomial, graph.times(graph.square(r), 1 / 3))
    return graph("Sub", graph("Log", polynomial), r)


def _matern_of_differences(graph: Graph, differences: str, kernel: Any) -> str:
    return _matern(graph, graph("Abs", differences), kernel)


Logarithm = Callable[[Graph, str, Any], str]
# The logarithm of a kernel, of squared distances or else of differences along one axis.
RADIAL: dict[type, Logarithm] = {
    Gaussian: _gaussian,
    Matern: lambda graph, squares, kernel: _matern(graph, graph("Sqrt", squares), kernel),
}
PROFILES: dict[type, Logarithm] = {
    Gaussian: lambda graph, x, kernel: _gaussian(graph, graph.square(x), kernel),
    Laplacian: _laplacian,
    Cauchy: _cauchy,
    Matern: _matern_of_differences,
    ProductMatern: _matern_of_differences,
}


def _squared_distances(graph: Graph, x: str, points: NDArray[Any]) -> str:
    products = graph.times(graph.product(x, points.T), -2.0)
    lengths = np.einsum("ij,ij->i", points, points, dtype=np.float64)
    squares = graph.plus(graph("Add", products, graph.sum(graph.square(x))), lengths)
    return graph.not_below_zero(squares)


def kernel_of(model: Any, n_features: int = 1) -> Any:
    """The kernel of an estimator of scikit-learn, if it is one of ours."""
    kind = STANDARD.get(model.kernel) if isinstance(model.kernel, str) else None
    if kind is None:
        raise not_convertible(f"{type(model).__name__} with kernel={model.kernel!r}")
    return kind(gamma=1 / n_features if model.gamma is None else float(model.gamma))


@in_float64
def write_nystroem(graph: Graph, x: str, model: Any) -> str:
    points = dense(model.components_)
    values = write_kernel(graph, x, points, kernel_of(model, points.shape[1]))
    return graph.product(values, model.normalization_.T)
