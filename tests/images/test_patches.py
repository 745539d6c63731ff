import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.images.patches import (
    extract_patches,
    gradients,
    normalize_patches,
    pool,
    pooling_matrix,
)
from tests.images import naive
from tests.places import PLACES, on_host

sizes = st.integers(2, 7)


def images(n, height, width, channels, seed=0):
    return np.random.default_rng(seed).normal(size=(n, height, width, channels))


@settings(max_examples=30, deadline=None)
@given(sizes, sizes, st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_patches_are_those_of_the_loops(height, width, channels, side, center):
    side = min(side, height, width)
    maps = images(2, height, width, channels)
    patches = extract_patches(maps, side)
    assert patches.shape == (2, height - side + 1, width - side + 1, side**2 * channels)
    directions, norms = normalize_patches(
        patches.reshape(-1, side**2 * channels), channels, center=center
    )
    directions, norms = directions.reshape(patches.shape), norms.reshape(patches.shape[:3])
    for n, row, column in np.ndindex(norms.shape):
        u, r = naive.patch_at(maps[n], row, column, side, center)
        np.testing.assert_allclose(directions[n, row, column], u, atol=1e-12)
        np.testing.assert_allclose(norms[n, row, column], r, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, 0.1, 200.7, 3e5, 1e-7])
def test_constant_patches_are_exactly_zero(dtype, value):
    patches = np.full((3, 5 * 5 * 3), value, dtype)
    directions, norms = normalize_patches(patches, 3, center=True)
    assert not directions.any()
    assert not norms.any()
    assert directions.dtype == norms.dtype == dtype


def test_patches_just_above_the_threshold_count():
    directions, norms = normalize_patches(np.array([[2e-6, 0.0], [9e-7, 0.0]]), 1, center=False)
    np.testing.assert_array_equal(directions, [[1, 0], [0, 0]])
    np.testing.assert_array_equal(norms, [2e-6, 0])


def pool_by(maps, stride):
    down, across = (pooling_matrix(size, stride) for size in maps.shape[1:3])
    return pool(maps, down, across)


@settings(max_examples=30, deadline=None)
@given(sizes, sizes, st.integers(1, 4))
def test_pooling_is_the_weighted_sum(height, width, stride):
    maps = images(2, height, width, 3)
    found = pool_by(maps, stride)
    assert found.shape == (2, -(-height // stride), -(-width // stride), 3)
    expected = np.zeros_like(found)
    for a, b in np.ndindex(found.shape[1:3]):
        for i, j in np.ndindex(height, width):
            down, across = i - a * stride, j - b * stride
            if max(abs(down), abs(across)) <= stride:
                weight = np.exp(-(down**2 + across**2) / stride**2)
                expected[:, a, b] += weight * maps[:, i, j]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_fine_pooling_is_the_gaussian_kernel_of_positions():
    """The quadrature of the documentation, away from the border."""
    width = 2.0
    A = pooling_matrix(60, 1, width, 20)
    middle = np.arange(20, 40)
    exact = np.exp(-((middle[:, None] - middle) ** 2) / (2 * width**2))
    found = (A.T @ A)[np.ix_(middle, middle)] / (width * np.sqrt(np.pi / 2))
    # the sum differs from the integral by the first harmonic, 2 exp(-pi^2 width^2 / 2)
    assert np.abs(found - exact).max() <= 2.01 * np.exp(-(np.pi**2) * width**2 / 2)


def test_gradients_are_those_of_numpy():
    maps = images(2, 5, 6, 3)
    found = gradients(maps).reshape(2, 5, 6, 3, 2)
    down, across = np.gradient(maps, axis=(1, 2))
    np.testing.assert_allclose(found[..., 0], down, atol=1e-14)
    np.testing.assert_allclose(found[..., 1], across, atol=1e-14)


@pytest.mark.parametrize("place", ["torch", "strict"])
def test_places_agree(place):
    maps = images(2, 5, 6, 3)
    there = PLACES[place](maps)
    flat = maps.reshape(-1, 3)
    for function in (
        lambda x: extract_patches(x, 2),
        lambda x: pool_by(x, 2),
        gradients,
    ):
        np.testing.assert_allclose(on_host(function(there)), function(maps), atol=1e-13)
    for found, expected in zip(
        normalize_patches(PLACES[place](flat), 1, center=True),
        normalize_patches(flat, 1, center=True),
        strict=True,
    ):
        np.testing.assert_allclose(on_host(found), expected, atol=1e-13)
