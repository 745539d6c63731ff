"""Kernels between rows and fixed points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.kernels import KERNELS
from bochner.models.onnx.graph import Graph, dense, in_float64, not_convertible


def write_kernel(graph: Graph, x: str, points: NDArray[Any], kernel: Any) -> str:
    """Write the kernel between rows and points, of shape (n, m), in a graph of float64."""
    if getattr(kernel, "gaussian", False):
        return graph("Exp", graph.times(_squared_distances(graph, x, points), -kernel.width))
    if getattr(kernel, "isotropic", False):
        distances = graph("Sqrt", _squared_distances(graph, x, points))
        return graph("Exp", log_profile(graph, distances, kernel))
    differences = graph("Sub", graph("Unsqueeze", x, graph.integers([1])), graph.constant(points))
    logarithms = log_profile(graph, graph("Abs", differences), kernel)
    return graph("Exp", graph.sum(logarithms, axis=2, keepdims=False))


def log_profile(graph: Graph, distances: str, kernel: Any) -> str:
    """Write the logarithm of a kernel at distances, see :class:`bochner.kernels.Profile`."""
    profile = getattr(kernel, "profile", None)
    if profile is None:
        raise not_convertible(f"the kernel {kernel!r}")
    parts = []
    if any(profile.outer):
        parts.append(graph("Neg", _quadratic(graph, distances, profile.outer)))
    if profile.multiple:
        inner = graph.plus(_quadratic(graph, distances, profile.inner), [1.0])
        parts.append(graph.times(graph("Log", inner), profile.multiple))
    return parts[0] if len(parts) == 1 else graph("Add", *parts)


def _quadratic(graph: Graph, t: str, coefficients: tuple[float, float]) -> str:
    """Write ``a t + b t^2``, where one of `a` and `b` may be zero."""
    a, b = coefficients
    terms = ([graph.times(t, a)] if a else []) + ([graph.times(graph.square(t), b)] if b else [])
    return terms[0] if len(terms) == 1 else graph("Add", *terms)


def _squared_distances(graph: Graph, x: str, points: NDArray[Any]) -> str:
    center = points.mean(axis=0)
    x, points = graph.plus(x, -center), points - center  # or digits of near rows would be lost
    products = graph.times(graph.product(x, points.T), -2.0)
    lengths = np.einsum("ij,ij->i", points, points, dtype=np.float64)
    squares = graph.plus(graph("Add", products, graph.sum(graph.square(x))), lengths)
    return graph.not_below_zero(squares)


def kernel_of(model: Any, n_features: int = 1) -> Any:
    """Return the kernel of a scikit-learn estimator, if it is one of this package's kernels."""
    kind = KERNELS.get(model.kernel) if isinstance(model.kernel, str) else None
    if kind is None:
        raise not_convertible(f"{type(model).__name__} with kernel={model.kernel!r}")
    return kind(gamma=1 / n_features if model.gamma is None else float(model.gamma))


@in_float64
def write_nystroem(graph: Graph, x: str, model: Any) -> str:
    points = dense(model.components_)
    values = write_kernel(graph, x, points, kernel_of(model, points.shape[1]))
    return graph.product(values, model.normalization_.T)


@in_float64
def write_nystroem_features(graph: Graph, x: str, model: Any) -> str:
    values = write_kernel(graph, x, dense(model.landmarks_), model.kernel_)
    if model.normalization_ is None:
        return values
    return graph.product(values, model.normalization_)
