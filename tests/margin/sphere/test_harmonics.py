import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import roots_gegenbauer, sph_harm_y

from bochner.margin.sphere.harmonics import (
    harmonic_orders,
    harmonics_at,
    largest_degree,
    n_harmonics,
    sphere_area,
)
from tests.places import PLACES, on_host


def sphere(rng, n, d):
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def harmonics(X, max_degree, **options):
    """All harmonics up to a degree."""
    return harmonics_at(X, harmonic_orders(X.shape[1], max_degree), **options)


def naive_legendre(t, degree, d):
    """The Legendre polynomial of dimension d, from its recursion."""
    before, value = np.ones_like(t), t
    if degree == 0:
        return before
    for k in range(1, degree):
        following = ((2 * k + d - 2) * t * value - k * before) / (k + d - 2)
        before, value = value, following
    return value


def quadrature(d, degree):
    """Points and weights on the sphere, exact for polynomials up to a degree.

    A ring of equidistant points in the plane; then, for x_j = t, the sphere of one dimension
    less shrinks to sqrt(1 - t^2) and its area element carries (1 - t^2)^((j - 3) / 2).
    """
    angles = 2 * np.pi * np.arange(degree + 1) / (degree + 1)
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    weights = np.full(degree + 1, 2 * np.pi / (degree + 1))
    for j in range(3, d + 1):
        t, w = roots_gegenbauer(degree // 2 + 1, (j - 2) / 2)
        shrunk = np.sqrt(1 - t**2)[:, None, None] * points
        height = np.broadcast_to(t[:, None, None], (len(t), len(points), 1))
        points = np.concatenate([shrunk, height], axis=2).reshape(-1, j)
        weights = np.outer(w, weights).ravel()
    return points, weights


def one_harmonic(x, order):
    """The definition, one factor after another, for one point."""
    *degrees, m = order
    z = complex(x[0], x[1]) ** abs(m)
    value = (z.imag if m < 0 else z.real) / math.sqrt(math.pi * (2 if m == 0 else 1))
    k = abs(m)
    for j, degree in enumerate(reversed(degrees), start=3):
        lam, r = k + (j - 2) / 2, math.sqrt(sum(x[:j] ** 2))
        q = [(math.sqrt(math.pi) * math.gamma(lam + 0.5) / math.gamma(lam + 1)) ** -0.5]
        q.append(math.sqrt(2 * (lam + 1)) * x[j - 1] * q[0])

        def a(n, lam=lam):
            return math.sqrt(n * (n - 1 + 2 * lam) / (4 * (n - 1 + lam) * (n + lam)))

        for n in range(1, degree - k):
            q.append((x[j - 1] * q[n] - a(n) * r**2 * q[n - 1]) / a(n + 1))
        value *= q[degree - k]
        k = degree
    return value


class TestNumbers:
    @pytest.mark.parametrize(("d", "degree"), [(2, 5), (3, 6), (4, 4), (6, 3), (10, 2)])
    def test_orders_are_all_there_is(self, d, degree):
        orders = harmonic_orders(d, degree)
        degrees = np.abs(orders[:, 0])
        expected = [n_harmonics(d, k) for k in range(degree + 1)]
        assert np.bincount(degrees).tolist() == expected
        assert len(np.unique(orders, axis=0)) == len(orders)
        sizes = np.abs(orders)
        assert (np.diff(sizes, axis=1) <= 0).all()

    def test_order_of_the_orders(self):
        orders = harmonic_orders(4, 5)
        keys = [(*map(int, o[:-1]), abs(int(o[-1])), o[-1] < 0) for o in orders]
        assert keys == sorted(keys)
        smaller = harmonic_orders(4, 3)
        np.testing.assert_array_equal(orders[: len(smaller)], smaller)

    def test_known_numbers(self):
        assert n_harmonics(2, 0) == 1
        assert n_harmonics(2, 7) == 2
        assert n_harmonics(3, 31) == 63
        assert n_harmonics(784, 2) == 307719
        assert sphere_area(2) == pytest.approx(2 * np.pi)
        assert sphere_area(4) == pytest.approx(2 * np.pi**2)

    @given(st.integers(2, 30), st.integers(1, 3000))
    def test_largest_degree(self, d, budget):
        degree = largest_degree(d, budget)
        count = sum(n_harmonics(d, k) for k in range(degree + 1))
        assert count <= budget < count + n_harmonics(d, degree + 1)


@pytest.mark.parametrize(("d", "degree"), [(2, 12), (3, 12), (4, 5), (5, 4), (10, 1)])
def test_orthonormal(d, degree):
    X, weights = quadrature(d, 2 * degree)
    Y = harmonics(X, degree)
    gram = Y.T @ (weights[:, None] * Y)
    np.testing.assert_allclose(gram, np.eye(len(gram)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", range(3, 11))
def test_orthonormal_by_induction_over_the_dimensions(d):
    """A product rule for degree 4 in ten dimensions would need 5^9 points.

    With x_d = t, a harmonic is a factor in t times one of the sphere below, and so is the
    integral of a product of two. Those that share the harmonic below must have orthonormal
    factors; those that do not are orthogonal because the ones below are. d = 2 is tested above.
    """
    degree = 4
    orders = harmonic_orders(d, degree)
    base = sphere(np.random.default_rng(0), 1, d - 1)
    t, w = roots_gegenbauer(degree + 1, (d - 2) / 2)
    X = np.hstack([np.sqrt(1 - t**2)[:, None] * base, t[:, None]])
    Y, below = harmonics(X, degree), harmonics_at(base, orders[:, 1:])[0]
    for lower in harmonic_orders(d - 1, degree):
        same = (orders[:, 1:] == lower).all(axis=1)
        factors = Y[:, same] / below[same]
        gram = factors.T @ (w[:, None] * factors)
        np.testing.assert_allclose(gram, np.eye(len(gram)), rtol=0, atol=1e-11)


@pytest.mark.parametrize(("d", "degree"), [(2, 40), (3, 100), (4, 20), (5, 10), (10, 4)])
def test_addition_theorem(d, degree, rng):
    X = sphere(rng, 8, d)
    X[0], X[1] = np.eye(d)[-1], -np.eye(d)[0]
    Y, degrees = harmonics(X, degree), np.abs(harmonic_orders(d, degree)[:, 0])
    t = X @ X.T
    np.fill_diagonal(t, 1)  # P_l is steep at 1: a rounded product would be the larger error
    for k in range(degree + 1):
        own = Y[:, degrees == k]
        expected = n_harmonics(d, k) / sphere_area(d) * naive_legendre(t, k, d)
        scale = n_harmonics(d, k) / sphere_area(d)
        np.testing.assert_allclose(own @ own.T / scale, expected / scale, rtol=0, atol=1e-12)


def test_against_scipy_in_three_dimensions(rng):
    X = sphere(rng, 30, 3)
    theta, phi = np.arccos(X[:, 2]), np.arctan2(X[:, 1], X[:, 0])
    orders = harmonic_orders(3, 40)
    for (degree, m), column in zip(orders, harmonics_at(X, orders).T, strict=True):
        value = sph_harm_y(degree, abs(m), theta, phi)
        value = value.imag if m < 0 else value.real
        # SciPy's carry the sign (-1)^m, and a real pair shares the mass of two complex ones
        expected = (-1) ** abs(m) * (math.sqrt(2) if m else 1) * value
        np.testing.assert_allclose(column, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("d", "degree"), [(2, 6), (3, 6), (4, 4), (6, 3)])
def test_against_the_definition(d, degree, rng):
    X, orders = sphere(rng, 4, d), harmonic_orders(d, degree)
    expected = [[one_harmonic(x, tuple(map(int, order))) for order in orders] for x in X]
    np.testing.assert_allclose(harmonics(X, degree), expected, rtol=0, atol=1e-12)


class TestSubset:
    @given(st.integers(2, 6), st.integers(0, 2**31 - 1))
    def test_is_a_part_of_all(self, d, seed):
        rng = np.random.default_rng(seed)
        X, orders = sphere(rng, 5, d), harmonic_orders(d, 4)
        index = rng.integers(len(orders), size=7)  # in any order, with repeats
        expected = harmonics(X, 4)[:, index]
        np.testing.assert_allclose(harmonics_at(X, orders[index]), expected, rtol=0, atol=1e-13)

    @pytest.mark.parametrize(
        "wrong", [[[1]], [[1, 2]], [[-1, 0]], [[1.0, 0.0]], np.empty((0, 2), int), [1, 0]]
    )
    def test_mistakes(self, wrong):
        with pytest.raises(ValueError, match="orders must be"):
            harmonics_at(np.eye(3), wrong)


def test_poles():
    X = np.vstack([np.eye(4), -np.eye(4)])
    Y = harmonics(X, 60)
    assert np.isfinite(Y).all()
    square = (Y[:, -n_harmonics(4, 60) :] ** 2).sum(axis=1)
    np.testing.assert_allclose(square, n_harmonics(4, 60) / sphere_area(4), rtol=1e-12)


@pytest.mark.parametrize("place", [name for name in PLACES if not name.startswith("dask")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_places(place, dtype, rng):
    X = sphere(rng, 50, 4).astype(dtype)
    expected = harmonics(X.astype(np.float64), 9)
    result = harmonics(PLACES[place](X), 9)
    assert str(result.dtype).endswith(np.dtype(dtype).name)
    np.testing.assert_allclose(
        on_host(result), expected, atol=1e-12 if dtype is np.float64 else 2e-6
    )


def test_float32_at_degree_100_is_rounded_only_once(rng):
    X = sphere(rng, 20, 3).astype(np.float32)
    exact = harmonics(X.astype(np.float64), 100)
    np.testing.assert_allclose(harmonics(X, 100), exact, rtol=0, atol=1e-6)


def test_blocks_and_threads_do_not_matter(rng):
    X = sphere(rng, 200, 3)
    expected = harmonics(X, 8)
    for options in ({"memory_budget": 1}, {"n_threads": 2}, {"n_threads": 2, "memory_budget": 1}):
        np.testing.assert_array_equal(harmonics(X, 8, **options), expected)
    torch = pytest.importorskip("torch")
    parts = harmonics(torch.from_numpy(X), 8, memory_budget=1)
    np.testing.assert_allclose(parts.numpy(), expected, atol=1e-13)


def test_sparse_rows(rng):
    X = sphere(rng, 30, 5)
    np.testing.assert_array_equal(harmonics(sparse.csr_array(X), 3), harmonics(X, 3))
