import numpy as np
import pytest
from scipy.linalg import subspace_angles

from bochner.margin.subspace import principal_directions
from tests.places import PLACES, on_host


def state():
    return np.random.RandomState(0)


def rows_with_spectrum(rng, singular, n=300):
    """Rows whose singular values are these, with random directions on both sides."""
    d = len(singular)
    left = np.linalg.qr(rng.normal(size=(n, d)))[0]
    right = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (left * singular) @ right.T


def exact(X, q):
    """Leading right singular vectors of the rows as they are, not centred."""
    return np.linalg.svd(X, full_matrices=False)[2][:q].T


def captured(X, Q):
    return ((X @ Q) ** 2).sum()


def test_spans_the_exact_space_where_there_is_a_gap(rng):
    X = rows_with_spectrum(rng, np.r_[np.linspace(10, 5, 6), np.full(34, 0.1)])
    Q = principal_directions(X, 6, state())
    assert Q.shape == (40, 6)
    assert subspace_angles(Q, exact(X, 6)).max() < 1e-6


def test_the_space_is_that_of_rows_not_centred(rng):
    # a mean far away is a direction in which the rows spread most
    X = rng.normal(size=(200, 8)) + 50 * np.eye(8)[2]
    Q = principal_directions(X, 1, state())
    assert abs(Q[2, 0]) > 0.999


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("q", [1, 10, 30])
def test_captures_nearly_as_much_without_a_gap(q, power, rng):
    X = rows_with_spectrum(rng, np.arange(1.0, 101) ** -power)
    Q = principal_directions(X, q, state())
    assert captured(X, Q) > 0.99 * captured(X, exact(X, q))


def test_directions_are_orthonormal_in_the_order_of_their_spread(rng):
    X = rows_with_spectrum(rng, 2.0 ** -np.arange(12))
    Q = principal_directions(X, 5, state())
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-12)
    spread = ((X @ Q) ** 2).sum(axis=0)
    assert (np.diff(spread) < 0).all()
    assert captured(X, Q) > 0.99 * captured(X, exact(X, 5))


def test_more_columns_than_asked_for_make_the_space_exact(rng):
    # ten columns more than the five: the iteration holds the whole space
    X = rows_with_spectrum(rng, 2.0 ** -np.arange(12))
    Q = principal_directions(X, 5, state())
    np.testing.assert_allclose(captured(X, Q), captured(X, exact(X, 5)), rtol=1e-6)


def test_all_directions_are_a_rotation(rng):
    X = rng.normal(size=(50, 7))
    Q = principal_directions(X, 7, state())
    np.testing.assert_allclose(Q @ Q.T, np.eye(7), atol=1e-12)


@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_in_every_place(place, dtype, rng):
    X = rows_with_spectrum(rng, 2.0 ** -np.arange(20))
    there = PLACES[place](X.astype(dtype))
    Q = principal_directions(there, 4, state())
    host = place not in ("torch", "strict")
    assert type(Q) is (np.ndarray if host else type(there))
    assert on_host(Q).dtype == dtype
    tolerance = 1e-3 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(on_host(Q), principal_directions(X, 4, state()), atol=tolerance)


def test_signs_repeat(rng):
    X = rows_with_spectrum(rng, 2.0 ** -np.arange(20))
    one, same = (principal_directions(X, 4, state()) for _ in range(2))
    np.testing.assert_array_equal(one, same)
    # the rows' signs and order do not matter
    flipped = principal_directions(-X[::-1], 4, state())
    np.testing.assert_allclose(flipped, one, atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 3.0])
@pytest.mark.parametrize("place", ["numpy", "csr", "torch", "dask"])
def test_constant_rows_stay_finite(place, value):
    X = np.full((20, 30), value)
    Q = on_host(principal_directions(PLACES[place](X), 5, state()))
    assert np.isfinite(Q).all()
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-9)
    # the one direction there is was found
    np.testing.assert_allclose(captured(X, Q), (X**2).sum())


def test_fewer_rows_than_directions(rng):
    X = rng.normal(size=(3, 40))
    Q = principal_directions(X, 10, state())
    np.testing.assert_allclose(Q.T @ Q, np.eye(10), atol=1e-9)
    np.testing.assert_allclose(captured(X, Q), (X**2).sum())


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_does_not_matter(scale, rng):
    X = rows_with_spectrum(rng, 2.0 ** -np.arange(20))
    Q = principal_directions(scale * X, 4, state())
    np.testing.assert_allclose(Q, principal_directions(X, 4, state()), atol=1e-9)


def test_signs_do_not_depend_on_the_start(rng):
    X = rows_with_spectrum(rng, 2.0 ** -np.arange(12))
    one, other = (principal_directions(X, 5, np.random.RandomState(seed)) for seed in (0, 1))
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert (one.sum(axis=0) > 0).all()
