"""Shapes of images: as given, as needed by the layers, and as four-dimensional maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from bochner.engine.places import (
    as_float,
    check_entries,
    float_dtype,
    is_real,
    largest_squared,
    namespace,
)
from bochner.engine.rowwise import row_slices
from bochner.images.forward import patch_side
from bochner.images.layers import GradientLayer, Layer

Shape = tuple[int, int, int]  # height, width, channels


def shape_of_rows(image_shape: Sequence[int] | None, n_features: int) -> Shape:
    """Return the shape of images that are given as rows of `n_features` numbers.

    >>> shape_of_rows((8, -1), 64)
    (8, 8, 1)
    """
    if image_shape is None:
        raise ValueError(
            f"X has rows of {n_features} numbers and image_shape=None: give image_shape="
            "(height, width) or (height, width, channels), or X of shape (n, height, width) "
            "or (n, height, width, channels)."
        )
    shape = _given(image_shape)
    known = math.prod(size for size in shape if size != -1)
    if -1 in shape and n_features % known == 0:
        shape = tuple(n_features // known if size == -1 else size for size in shape)
    if math.prod(shape) != n_features:
        raise ValueError(
            f"image_shape={image_shape!r} does not fit the rows of X, which have "
            f"{n_features} numbers."
        )
    return shape[0], shape[1], shape[2]


def shape_of_images(image_shape: Sequence[int] | None, shape: tuple[int, ...]) -> Shape:
    """Return the shape of images in an array of three or four dimensions, checked if given."""
    actual = with_channels(shape)
    if image_shape is not None:
        given = _given(image_shape)
        if any(size not in (-1, own) for size, own in zip(given, actual, strict=True)):
            raise ValueError(
                f"image_shape={image_shape!r}, but X has images of shape {tuple(shape[1:])}."
            )
    return actual


def _given(image_shape: Sequence[int]) -> tuple[int, ...]:
    given: tuple[Any, ...] = tuple(image_shape)
    whole = all(isinstance(size, Integral) and (size == -1 or int(size) > 0) for size in given)
    if len(given) not in (2, 3) or not whole or given.count(-1) > 1:
        raise ValueError(
            f"image_shape={image_shape!r} must be (height, width) or (height, width, "
            "channels), whole numbers above 0; one of them may be -1."
        )
    return given if len(given) == 3 else (*given, 1)


def with_channels(shape: tuple[int, ...]) -> Shape:
    """Return height, width and channels of an array of images."""
    return int(shape[1]), int(shape[2]), int(shape[3]) if len(shape) == 4 else 1


def as_maps(images: Any, shape: Shape) -> Any:
    """Return images as a four-dimensional array of floating dtype."""
    maps = as_float(images, images=True)
    return namespace(maps).reshape(maps, (maps.shape[0], *shape))


def check_values(X: Any, shape: Shape, memory_budget: int) -> None:
    """Check that the values are real and finite, a few images at a time."""
    if X.shape[0] == 0 or 0 in shape:
        raise ValueError(f"X has shape {tuple(X.shape)}: at least one image is required.")
    if not is_real(X):
        raise ValueError(f"X must hold real numbers, got dtype {X.dtype}.")
    largest = largest_squared(float_dtype(X, images=True))
    for part in row_slices(X.shape[0], memory_budget // (16 * math.prod(shape))):
        check_entries(X[part, ...], largest)


def check_fits(layers: Sequence[Layer], shape: Shape) -> None:
    """Raise an error where a patch is larger than the map it is cut from."""
    height, width, _ = shape
    for index, layer in enumerate(layers):
        least = 2 if isinstance(layer, GradientLayer) else layer.patch
        if min(height, width) < least:
            what = "a gradient" if isinstance(layer, GradientLayer) else f"patch={least}"
            raise ValueError(
                f"layers[{index}]: {what} does not fit in its input of {height} x {width} "
                f"positions (images of {shape[0]} x {shape[1]}): use a smaller patch, smaller "
                "strides before it, or larger images."
            )
        side = patch_side(layer)
        height = -(-(height - side + 1) // layer.stride)
        width = -(-(width - side + 1) // layer.stride)
