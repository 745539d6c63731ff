"""Networks of one layer with a given number of columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.images.single_layer import make_network, one_layer


@pytest.mark.parametrize(
    ("shape", "width", "layer"),
    [
        ((8, 8, 1), 32, (3, 8, 3)),
        ((12, 12, 1), 128, (3, 32, 5)),
        ((16, 16, 1), 128, (3, 8, 4)),
        ((28, 28, 1), 512, (5, 32, 6)),
        ((32, 32, 3), 512, (5, 32, 7)),
    ],
)
def test_layers(shape, width, layer):
    made = one_layer(width, shape)
    assert (made.patch, made.maps, made.stride) == layer


@settings(deadline=None, max_examples=25)
@given(
    height=st.integers(3, 40),
    width=st.integers(3, 40),
    channels=st.sampled_from([1, 3]),
    maps=st.integers(4, 6),
)
def test_the_columns_are_as_many_as_were_asked_for(height, width, channels, maps):
    shape = height, width, channels
    n_positions = next(n for n in range(1, 17) if _possible(4 * n, shape))
    network = make_network(n_components=maps * n_positions, image_shape=shape, random_state=0)
    rows = np.random.RandomState(0).uniform(size=(3, height * width * channels))
    assert network.fit_transform(rows).shape == (3, maps * n_positions)
    rows, columns, _ = network.shapes_[1]
    assert max(rows, columns) == (4 if max(height, width) > 12 else min(2, max(rows, columns)))


def _possible(n_components, shape):
    try:
        one_layer(n_components, shape)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("shape", "width", "message"),
    [
        ((8, 8, 1), 12, "12 columns are shared by a grid of 2 x 2: a multiple of 4 is needed"),
        ((8, 8, 1), 34, "from 16 on"),
        ((28, 28, 1), 32, "a multiple of 16 is needed, from 64 on"),
        ((2, 30, 1), 32, "images of 2 x 30 pixels have no patches"),
    ],
)
def test_mistakes(shape, width, message):
    with pytest.raises(ValueError, match=message):
        one_layer(width, shape)
