"""The operations on PyTorch rows that require gradients, in formulas that autograd can follow.

:mod:`bochner.engine.device` writes its results in place, a chunk of rows at a time, which autograd
forbids. Here nothing is written in place, phases and distances are float64, and all intermediate
results are held until the gradient has been computed. The operations that `fit` needs have no
gradient: maps learn from detached rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.engine.device import fourier_sums as fourier_sums
from bochner.engine.device import gradient_outer_product as gradient_outer_product
from bochner.engine.device import potential_and_gradient as potential_and_gradient
from bochner.engine.pairs.forms import Form, form_of
from bochner.engine.places import cast, convert, dense, namespace, result_dtype, wide_dtype


def features(
    X: Any, W: Any, *, scale: Any, offset: Any, out: None, n_threads: Any, memory_budget: Any
) -> Any:
    xp, phases = namespace(X), _phases(X, W)
    scale = convert(np.asarray(scale, np.float64), phases)
    if offset is not None:
        return cast(scale * xp.cos(phases + convert(offset, phases)), result_dtype(X))
    waves = xp.concat([scale * xp.cos(phases), scale * xp.sin(phases)], axis=1)
    return cast(waves, result_dtype(X))


def grouped_waves(
    X: Any, W: Any, coefficients: Any, size: int, *, n_threads: Any, memory_budget: Any
) -> Any:
    xp, phases = namespace(X), _phases(X, W)
    real, imaginary = (convert(c, phases) for c in (coefficients.real, coefficients.imag))
    mixed = xp.cos(phases) * real + xp.sin(phases) * imaginary
    groups = xp.reshape(mixed, (X.shape[0], -1, size))
    return cast(xp.sum(groups, axis=2), result_dtype(X))


def mixed_waves(X: Any, W: Any, coefficients: Any, *, n_threads: Any, memory_budget: Any) -> Any:
    xp, phases = namespace(X), _phases(X, W)
    real, imaginary = (convert(c, phases) for c in (coefficients.real, coefficients.imag))
    return cast(xp.cos(phases) @ real + xp.sin(phases) @ imaginary, result_dtype(X))


def kernel_rows(
    X: Any, Z: Any, kernel: Any, *, normalization: Any, n_threads: Any, memory_budget: Any
) -> Any:
    form = form_of(kernel)
    if form is None:
        raise ValueError(
            f"X asks for gradients, but the engine has no formula of {kernel!r}, which is called "
            "on the host: use X.detach(), or one of the kernels of bochner.kernels."
        )
    rows = cast(X, wide_dtype(X))
    points = convert(dense(Z), rows)
    values = (_of_distances if form.radial else _over_axes)(form, rows, points)
    if normalization is not None:
        values = values @ convert(normalization, values)
    # a copy: callers may add to kernel values in place, but their gradient needs the originals
    return cast(values, result_dtype(X)) + 0.0


def _phases(X: Any, W: Any) -> Any:
    rows = cast(X, wide_dtype(X))
    # frequencies are rounded to the dtype of the rows, as in every place
    return rows @ cast(convert(W, X, result_dtype(X)), rows.dtype)


def _of_distances(form: Form, rows: Any, points: Any) -> Any:
    import torch

    # from the differences, without an array of them; the gradient at distance 0 is 0
    t = torch.cdist(rows, points, compute_mode="donot_use_mm_for_euclid_dist")
    (a, b), (c, e) = form.inner, form.outer
    return (1 + t * (a + b * t)) * torch.exp(t * (c + e * t))


def _over_axes(form: Form, rows: Any, points: Any) -> Any:
    xp = namespace(rows)
    (a, b), (c, e) = form.inner, form.outer
    values: Any = 1.0
    for axis in range(rows.shape[1]):
        t = xp.abs(rows[:, axis : axis + 1] - points[None, :, axis])
        values = values * xp.exp(t * (c + e * t)) / (1 + t * (a + b * t))
    return values
