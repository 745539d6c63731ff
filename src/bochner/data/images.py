"""Rows that are images: their shapes, and how they are flattened.

A shape is height, width and channels. A flat row holds an image row by row, with the channels of
a pixel side by side.
"""

from __future__ import annotations

import math
import re
from typing import Any, Literal

import numpy as np

from bochner.data.errors import TableError

Shape = tuple[int, int, int]
ImageShape = Shape | Literal["auto"] | None

_SMALLEST_SIDE = 4  # below it, an array with more dimensions is not taken for images
_COLOURS = (1, 3, 4)  # channels: grey, three colours, and opacity


def parse_image_shape(text: str | None) -> ImageShape:
    """Parse a shape given by a user: ``28x28``, ``32x32x3``, ``none``; None means ``"auto"``.

    >>> parse_image_shape("28x28"), parse_image_shape("32 x 32 x 3"), parse_image_shape("none")
    ((28, 28, 1), (32, 32, 3), None)
    """
    if text is None or text.strip().lower() == "auto":
        return "auto"
    if text.strip().lower() == "none":
        return None
    if not re.fullmatch(r"\s*\d+(\s*[x×*,]\s*\d+){1,2}\s*", text.lower()):  # noqa: RUF001
        raise TableError(
            "the image shape must be HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS, such as 28x28 or "
            f"32x32x3, or none; got {text!r}."
        )
    height, width, *channels = (int(number) for number in re.findall(r"\d+", text))
    shape = height, width, channels[0] if channels else 1
    if min(shape) < 1:
        raise TableError(f"the sides of an image must be at least 1, got {text!r}.")
    return shape


def shape_text(shape: Shape) -> str:
    """Format a shape as people write it.

    >>> shape_text((28, 28, 1)), shape_text((32, 32, 3))
    ('28 x 28', '32 x 32 x 3')
    """
    return " x ".join(map(str, shape if shape[2] > 1 else shape[:2]))


def flatten_images(X: Any, wanted: ImageShape = "auto") -> tuple[Any, Shape | None]:
    """Flatten arrays of more than two dimensions to rows; also return the shape of the images.

    Arrays with three dimensions are grey images. With four dimensions, channels come last, or
    right after the number of the image if only that makes sense: they are then moved to the end,
    unless `wanted` says otherwise. The shape is None if these are not images: with another number
    of dimensions, a side below 4, or a `wanted` of None.

    >>> rows, shape = flatten_images(np.zeros((10, 3, 8, 6), np.uint8))
    >>> rows.shape, shape
    ((10, 144), (8, 6, 3))
    """
    shape = None
    if X.ndim in (3, 4) and wanted is not None:
        shape = (*X.shape[1:], 1) if X.ndim == 3 else X.shape[1:]
        first = shape[0] in _COLOURS and shape[2] not in _COLOURS
        if X.ndim == 4 and first and shape != wanted:
            X = np.moveaxis(X, 1, 3)
            shape = X.shape[1:]
        if min(shape[:2]) < _SMALLEST_SIDE:
            shape = None
    return X.reshape(len(X), math.prod(X.shape[1:])), shape


def check_image_shape(X: Any, shape: Shape, name: str) -> Any:
    """Return the rows if they are numbers, one per entry of an image; else raise a TableError.

    A sparse matrix may be narrower: columns missing at the end are zero.
    """
    wanted, n_columns = math.prod(shape), X.shape[1]
    if hasattr(X, "toarray") and n_columns < wanted:
        X = X.copy()
        X.resize(X.shape[0], wanted)
        return X
    if wanted != n_columns:
        raise TableError(
            f"images of {shape_text(shape)} have {wanted} numbers, but {name} has {n_columns} "
            "columns."
        )
    if hasattr(X, "iloc"):
        from pandas.api.types import is_numeric_dtype

        other = [str(column) for column in X.columns if not is_numeric_dtype(X[column].dtype)]
        if other:
            raise TableError(
                f"the columns of images must hold numbers, but {other[0]!r} of {name} holds text."
            )
    return X
