"""Shapes of images: as people write them, and as arrays have them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bochner.data.errors import TableError
from bochner.data.images import (
    check_image_shape,
    flatten_images,
    parse_image_shape,
    shape_text,
)

SIDES = st.integers(1, 500)


@given(shape=st.tuples(SIDES, SIDES, SIDES))
def test_what_is_written_is_read(shape):
    assert parse_image_shape(shape_text(shape)) == shape
    assert parse_image_shape("x".join(map(str, shape))) == shape


@pytest.mark.parametrize(("text", "shape"), [(None, "auto"), ("auto", "auto"), ("None", None)])
def test_words(text, shape):
    assert parse_image_shape(text) == shape


@pytest.mark.parametrize("text", ["", "28", "28x", "28x28x3x1", "-2x3", "axb", "2.5x2", "0x3"])
def test_mistakes(text):
    with pytest.raises(TableError, match="image"):
        parse_image_shape(text)


@pytest.mark.parametrize(
    ("given_shape", "wanted", "found"),
    [
        ((8,), "auto", None),
        ((8, 6), "auto", (8, 6, 1)),
        ((8, 6, 3), "auto", (8, 6, 3)),
        ((3, 8, 6), "auto", (8, 6, 3)),
        ((1, 8, 6), (8, 6, 1), (8, 6, 1)),
        ((4, 8, 6), (4, 8, 6), (4, 8, 6)),  # as the user says
        ((3, 8, 3), "auto", None),  # not even that is clear
        ((8, 2), "auto", None),
        ((5, 5, 5, 5), "auto", None),
        ((8, 6), None, None),
    ],
)
def test_arrays(given_shape, wanted, found):
    X = np.arange(2 * np.prod(given_shape)).reshape(2, *given_shape)
    rows, shape = flatten_images(X, wanted)
    assert shape == found
    assert rows.shape == (2, np.prod(given_shape))
    moved = shape is not None and shape[:2] != X.shape[1:3]
    np.testing.assert_array_equal(rows.ravel(), (np.moveaxis(X, 1, 3) if moved else X).ravel())


def test_no_rows():
    rows, _ = flatten_images(np.empty((0, 8, 8)))
    assert check_image_shape(rows, (8, 8, 1), "nothing").shape == (0, 64)
