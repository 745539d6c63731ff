"""Maps to cosines and sines, and similarities to landmarks.

Frequencies are rounded to the dtype of the rows, as in the maps themselves; phases and waves are
float64: in float32, a phase in the thousands would be uncertain by more than the waves resolve.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.models.onnx.graph import Graph, dense, in_float64
from bochner.models.onnx.kernels import write_kernel


@in_float64
def _paired(graph: Graph, x: str, frequencies_and_scale: Any) -> str:
    W, scale = frequencies_and_scale
    phases = graph.product(x, W)
    return graph.concatenate([graph.times(graph(f, phases), scale) for f in ("Cos", "Sin")])


@in_float64
def _offset(graph: Graph, x: str, frequencies_and_offsets: Any) -> str:
    W, offsets = frequencies_and_offsets
    phases = graph.plus(graph.product(x, W), offsets)
    return graph.times(graph("Cos", phases), (2 / W.shape[1]) ** 0.5)


def write_unweighted(graph: Graph, x: str, model: Any) -> str:
    W = model.frequencies_.astype(graph.dtype)
    if getattr(model, "offsets_", None) is not None:
        return _offset(graph, x, (W, model.offsets_))
    return _paired(graph, x, (W, W.shape[1] ** -0.5))


def write_weighted(graph: Graph, x: str, model: Any) -> str:
    return _paired(graph, x, (model.frequencies_.astype(graph.dtype), np.sqrt(model.weights_)))


def write_rbf_sampler(graph: Graph, x: str, model: Any) -> str:
    return _offset(graph, x, (model.random_weights_, model.random_offset_))


def write_landmarks(graph: Graph, x: str, model: Any) -> str:
    """Write the plain kernel, with waves of a pool added, or sums of each landmark's own waves."""
    c = model._coefficients
    if c is None:
        return _plain_similarities(graph, x, model)
    candidates = model._posteriors.candidates
    W = np.hstack([block for _, block in candidates.blocks(graph.dtype)])
    if c.ndim == 1:
        return _sums_of_waves(graph, x, (W, c, int(candidates.multiple)))
    return _with_mixed_waves(graph, x, (W, c, model))


@in_float64
def _sums_of_waves(graph: Graph, x: str, waves: Any) -> str:
    W, c, size = waves
    phases = graph.product(x, W)
    cosines, sines = graph("Cos", phases), graph("Sin", phases)
    weighted = graph("Add", graph.times(cosines, c.real), graph.times(sines, c.imag))
    groups = graph("Reshape", weighted, graph.integers([-1, len(c) // size, size]))
    return graph.sum(groups, axis=2, keepdims=False)


@in_float64
def _with_mixed_waves(graph: Graph, x: str, pool: Any) -> str:
    W, c, model = pool
    phases = graph.product(x, W)
    waves = graph.concatenate([graph("Cos", phases), graph("Sin", phases)])
    mixed = graph.product(waves, np.vstack([c.real, c.imag]))
    return graph("Add", write_kernel(graph, x, dense(model.landmarks_), model.kernel_), mixed)


@in_float64
def _plain_similarities(graph: Graph, x: str, model: Any) -> str:
    return write_kernel(graph, x, dense(model.landmarks_), model.kernel_)
