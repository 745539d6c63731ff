"""Models after a map: linear models, and kernel ridge regression instead of map and head."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler

from bochner.kernels import Gaussian
from bochner.models.onnx.graph import Graph, dense, in_float64, not_convertible
from bochner.models.onnx.kernels import kernel_of, write_kernel


def are_integers(classes: Any) -> bool:
    return np.asarray(classes).dtype.kind in "iub"


def write_linear_regressor(graph: Graph, x: str, model: Any) -> str:
    """Write the predicted numbers, one column per target."""
    return graph.plus(graph.product(x, np.atleast_2d(model.coef_).T), np.ravel(model.intercept_))


def write_linear_classifier(graph: Graph, x: str, model: Any) -> list[str]:
    """Write the label of the largest score, and the scores."""
    scores = graph.plus(graph.product(x, np.atleast_2d(model.coef_).T), model.intercept_)
    classes = model.classes_
    if len(classes) == 2:
        positive = graph("Greater", scores, graph.constant([0.0]))
        index = graph.cast(graph("Reshape", positive, graph.integers([-1])), np.int64)
    else:
        index = graph("ArgMax", scores, axis=1, keepdims=0)
    labels = graph.integers(classes) if are_integers(classes) else graph.strings(classes)
    return [graph("Gather", labels, index, axis=0), scores]


def check_scaled_target(model: Any) -> None:
    parts = (model.regressor, model.transformer)
    if tuple(map(type, parts)) != (KernelRidge, StandardScaler):
        raise not_convertible(f"TransformedTargetRegressor of {parts[0]!r} and {parts[1]!r}")
    kernel_of(model.regressor)


@in_float64
def write_kernel_ridge(graph: Graph, x: str, model: Any) -> str:
    """Write kernel ridge regression, of a scaled target if there is one."""
    ridge, scaler = getattr(model, "regressor_", model), getattr(model, "transformer_", None)
    points = dense(ridge.X_fit_)
    values = write_kernel(graph, x, points, kernel_of(ridge, points.shape[1]))
    weights = np.reshape(ridge.dual_coef_, (len(points), -1))
    if scaler is None:
        return graph.product(values, weights)
    # The scale goes into the weights: onnxruntime would make it a float32 factor of the product.
    return graph.plus(graph.product(values, weights * scaler.scale_), scaler.mean_)


@in_float64
def write_gaussian_ridge(graph: Graph, x: str, model: Any) -> str:
    """Write this package's kernel ridge regression, which has an intercept."""
    points = dense(model.X_fit_)
    values = write_kernel(graph, x, points, Gaussian(gamma=float(model.gamma)))
    weights = np.reshape(model.dual_coef_, (len(points), -1))
    return graph.plus(graph.product(values, weights), np.ravel(model.intercept_))
