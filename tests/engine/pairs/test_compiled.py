"""The compiled passes against the library's exponential."""

import numpy as np
import pytest

from bochner.engine.pairs.compiled import (
    absolute_products,
    axes_tile,
    radial_tile,
    slope_tile,
    squares_tile,
    sums_tile,
)

# Of the exponential itself; the argument's own rounding comes on top.
RELATIVE = {np.float64: 4e-16, np.float32: 2e-7}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exponential_is_exact_to_rounding(dtype):
    u = np.concatenate([np.linspace(0, 80, 40_001), np.logspace(-30, 0, 999)]).astype(dtype)
    values = u[None].copy()
    radial_tile(values, *map(dtype, (1, 0, 0, 0, -1)))
    exact = np.exp(-u.astype(np.longdouble))
    np.testing.assert_allclose(values[0], exact, rtol=RELATIVE[dtype])
    assert values[0, 0] == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_far_out_the_exponential_is_zero(dtype):
    values = np.array([[700, 1e4, 1e30, np.finfo(dtype).max]], dtype)
    radial_tile(values, *map(dtype, (1, 0, 0, 0, -2)))
    np.testing.assert_array_equal(values, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_profiles_of_the_distance(dtype):
    squares = np.random.default_rng(0).exponential(size=(7, 33)).astype(dtype)
    values = squares.copy()
    radial_tile(values, *map(dtype, (1, 0.5, 0.25, -1.5, -0.125)))
    t = np.sqrt(squares.astype(np.float64))
    expected = (1 + 0.5 * t + 0.25 * t**2) * np.exp(-1.5 * t - 0.125 * t**2)
    np.testing.assert_allclose(values, expected, rtol=10 * RELATIVE[dtype])


def test_squares_that_are_not_known_are_flagged():
    lengths = np.ones(3)
    products = np.array([[-2.0, -1.0, 0.0], [-1.0, 0.5, 1.0]])
    flags = np.empty(2, np.bool_)
    squares_tile(products, np.ones(2), lengths, 1e-6, flags)
    np.testing.assert_array_equal(products, [[0, 1, 2], [1, 2.5, 3]])
    assert flags.tolist() == [True, False]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("inner", [(0.0, 0.0), (0.25, 0.5)])
def test_products_over_the_axes(dtype, inner):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(5, 4)).astype(dtype), rng.normal(size=(4, 9)).astype(dtype)
    exponent, factor, out = np.empty(9, dtype), np.empty(9, dtype), np.empty((5, 9), dtype)
    axes_tile(X, Z, *map(dtype, (*inner, -0.5, -0.25 * any(inner))), exponent, factor, out)
    t = np.abs(X[:, :, None] - Z.astype(np.float64))
    expected = np.exp(-0.5 * t - 0.25 * any(inner) * t**2) / (1 + inner[0] * t + inner[1] * t**2)
    np.testing.assert_allclose(out, expected.prod(axis=1), rtol=20 * RELATIVE[dtype])


@pytest.mark.parametrize("d", [1, 3, 4, 9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_absolute_differences_of_many_landmarks(dtype, d):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(5, d)).astype(dtype), rng.normal(size=(d, 2100)).astype(dtype)
    apart = np.abs(X[:, :, None].astype(np.float64) - Z)
    sums = np.empty((5, 2100), dtype)
    sums_tile(X, Z, sums)
    np.testing.assert_allclose(sums, apart.sum(axis=1), rtol=20 * RELATIVE[dtype])
    products, found = rng.normal(size=(5, 2100)).astype(dtype), np.ones(d)
    absolute_products(products, X, Z, found)
    expected = 1 + np.einsum("ij,icj->c", products, apart)
    atol = 1000 * RELATIVE[dtype] * np.abs(apart).sum() / 2100
    np.testing.assert_allclose(found, expected, atol=atol)


@pytest.mark.parametrize("numbers", [(-0.5, 0, 0, 0, -1, 0), (0, 0.3, 0, 0.1, 0, -0.5)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_slopes_with_and_without_roots(dtype, numbers):
    squares = np.random.default_rng(0).exponential(size=(3, 33)).astype(dtype)
    products = np.full_like(squares, 2)
    slope_tile(products, squares, *map(dtype, numbers))
    t, (p, q, r, s, c, e) = np.sqrt(squares.astype(np.float64)), numbers
    expected = 2 * (p / t + q + r * t + s * t**2) * np.exp(c * t + e * t**2)
    np.testing.assert_allclose(products, expected, rtol=20 * RELATIVE[dtype])
