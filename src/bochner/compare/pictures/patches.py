"""Pictures of a comparison of images: the patterns that the methods learned to look for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compare.pictures.plane import best_of_first_split
from bochner.compare.plan import METRIC, Setup
from bochner.engine.places import to_numpy
from bochner.mercer.features import MercerFeatures
from bochner.models.methods import METHODS
from bochner.records.cells import Cell, Result

MOST_PICTURES = 24
ALIKE = 0.95  # cosine of two frequencies that look the same
_MOST_PIXELS = 64 * 64  # of a picture

Patterns = tuple[NDArray[Any], str]  # images of shape (n, height, width, channels), and a caption


def draw_patches(setup: Setup, cell: Cell, model: Any, split: Any) -> dict[str, Any] | None:
    """Draw what a model learned from images, in grey, where 0.5 is zero, with a caption.

    None if rows are not images, or the method has no patterns.
    """
    shape, kind = setup.table.image_shape, METHODS[cell.method].patterns
    if shape is None or kind is None or cell.setting(METRIC) is not None:
        return None
    found, caption = _PATTERNS[kind](model, shape)
    if shape[2] > 1:
        caption += " The mean over the channels: a pattern of colour alone is all grey."
    return {
        "caption": f"With {cell.width} columns. {caption}",
        "images": [grey(one).round(3).tolist() for one in found],
    }


def patches(setup: Setup, results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return what the methods learned from images, each at its best width on the first split.

    One dict per method, with `method`, `width`, `caption` and `images`.
    """
    drawn = {one.cell: one.details.get("patches") or {} for one in results}
    best = best_of_first_split([one for one in results if "images" in drawn[one.cell]])
    return [
        {"method": name, "width": best[name].cell.width, **drawn[best[name].cell]}
        for name in METHODS
        if name in best
    ]


def grey(pattern: NDArray[Any]) -> NDArray[Any]:
    """Return the mean of a pattern over the channels, in shades from 0 to 1, where 0.5 is zero.

    Large patterns are made smaller by leaving out rows and columns.
    """
    values = pattern.mean(axis=2)
    step = int(np.ceil(np.sqrt(max(1.0, values.size / _MOST_PIXELS))))
    values = values[::step, ::step]
    largest = np.abs(pattern).max()
    return 0.5 + 0.5 * values / largest if largest > 0 else np.full(values.shape, 0.5)


_STRIPES = (
    "Each picture is one frequency: where it is bright, a brighter pixel moves the cosine's phase "
    "forward, where it is dark, backward; grey is zero"
)


def _in_order(model: Any, shape: tuple[int, int, int]) -> Patterns:
    """Return the first frequencies, which were the highest peaks of the potential."""
    frequencies = different(to_numpy(model.feature_map.frequencies_))
    caption = f"{_STRIPES}. The first that were found, without those that look like another."
    return _images(frequencies, shape), caption


def _by_weight(model: Any, shape: tuple[int, int, int]) -> Patterns:
    """Return the frequencies that the linear model relies on; they are drawn in no order."""
    frequencies = to_numpy(model.feature_map.frequencies_)
    coefficients = np.atleast_2d(model.head.coef_)
    n = frequencies.shape[1]
    squares = np.square(coefficients).sum(axis=0)
    order = np.argsort(-(squares[:n] + squares[n:]), kind="stable")
    caption = (
        f"{_STRIPES}. Those with the largest weights in the linear model on top. They are random "
        "draws, which the posterior picks from but does not change, so that most look like noise."
    )
    return _images(different(frequencies[:, order]), shape), caption


def _patch_directions(model: Any, shape: tuple[int, int, int]) -> Patterns:
    """Return the axes of the density of patches, along which the eigenfunctions vary."""
    network = model.feature_map
    mercer, side = network.approximations_[0], network.layers[0].patch
    assert isinstance(mercer, MercerFeatures)
    variances = np.asarray(to_numpy(mercer.variances_))
    # No patch varies along the last axes: the mean of every channel was subtracted.
    some = np.flatnonzero(variances > 1e-6 * variances.max())
    shown = some[:MOST_PICTURES]
    share = variances[shown].sum() / variances.sum()
    caption = (
        f"What its layer looks at: the principal directions of the {side} x {side} patches, "
        "largest variance first"
        + (f", the {len(shown)} with {share:.0%} of it" if len(shown) < len(some) else "")
        + "; grey is zero."
    )
    return _images(
        np.asarray(to_numpy(mercer.rotation_))[:, shown], (side, side, shape[2])
    ), caption


def different(frequencies: NDArray[Any], most: int = MOST_PICTURES) -> NDArray[Any]:
    """Return the first columns that have neither the direction of one before nor its opposite."""
    lengths = np.linalg.norm(frequencies, axis=0)
    directions = frequencies / np.where(lengths > 0, lengths, 1.0)
    kept: list[int] = []
    for column in range(frequencies.shape[1]):
        if len(kept) == most:
            break
        near = np.abs(directions[:, kept].T @ directions[:, column])
        if not (near > ALIKE).any():
            kept.append(column)
    return frequencies[:, kept]


def _images(columns: NDArray[Any], shape: tuple[int, int, int]) -> NDArray[Any]:
    """Return columns as images. Their sign means nothing: the largest entry is made positive."""
    columns = np.asarray(columns, dtype=np.float64)
    largest = np.abs(columns).argmax(axis=0)
    signs = np.where(columns[largest, np.arange(columns.shape[1])] < 0, -1.0, 1.0)
    return (columns * signs).T.reshape(-1, *shape)


_PATTERNS: dict[str | None, Callable[[Any, tuple[int, int, int]], Patterns]] = {
    "found": _in_order,
    "weighted": _by_weight,
    "patches": _patch_directions,
}
