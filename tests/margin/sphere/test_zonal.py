import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import eval_chebyt, eval_gegenbauer, eval_legendre

from bochner.margin.sphere.harmonics import harmonic_orders, harmonics_at
from bochner.margin.sphere.zonal import (
    ascend_directions,
    legendre,
    starting_directions,
    zonal_functions,
    zonal_scores,
)
from tests.margin.sphere.test_harmonics import sphere
from tests.places import PLACES, on_host

HERE = [name for name in PLACES if not name.startswith("dask")]


def naive_score(X, direction, degree, A):
    """Sum by sum, with SciPy's polynomials."""
    d = X.shape[1]
    value = eval_gegenbauer(degree, (d - 2) / 2, X @ direction)
    value /= eval_gegenbauer(degree, (d - 2) / 2, 1.0)
    total = 0.0
    for k in range(A.shape[1]):
        total += sum(A[i, k] * value[i] for i in range(len(X))) ** 2
    return total / np.mean(value**2)


class TestLegendre:
    @pytest.mark.parametrize("d", [2, 3, 5, 784])
    def test_values(self, d):
        t = np.linspace(-1, 1, 41)
        for degree, (value, _) in enumerate(legendre(t, 12, d)):
            if d == 2:
                expected = eval_chebyt(degree, t)
            elif d == 3:
                expected = eval_legendre(degree, t)
            else:
                expected = eval_gegenbauer(degree, (d - 2) / 2, t)
                expected /= eval_gegenbauer(degree, (d - 2) / 2, 1.0)
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)

    @given(st.integers(2, 50), st.floats(-0.99, 0.99))
    def test_derivatives(self, d, t):
        step = 1e-5
        above = [float(value) for value, _ in legendre(np.asarray(t + step), 8, d)]
        below = [float(value) for value, _ in legendre(np.asarray(t - step), 8, d)]
        slopes = [float(slope) for _, slope in legendre(np.asarray(t), 8, d)]
        np.testing.assert_allclose(
            slopes, np.subtract(above, below) / (2 * step), rtol=1e-5, atol=1e-5
        )

    def test_number_of_degrees(self):
        assert len(list(legendre(np.zeros(2), 0, 3))) == 1
        assert len(list(legendre(np.zeros(2), 5, 3))) == 6


def test_a_zonal_function_is_a_harmonic(rng):
    """Around the last axis, it is the harmonic of order (l, 0, .., 0) up to a factor."""
    X, degree = sphere(rng, 20, 4), 5
    order = np.array([[degree, 0, 0]])
    assert order.tolist()[0] in harmonic_orders(4, degree).tolist()
    pole = np.eye(4)[:, -1:]
    harmonic = harmonics_at(X, order) / harmonics_at(pole.T, order)
    np.testing.assert_allclose(zonal_functions(X, pole, [degree]), harmonic, atol=1e-12)


class TestScore:
    degrees = np.array([3, 1, 2, 4, 1, 3])  # not sorted

    def case(self, rng, n=60, d=5, k=2):
        X, A = sphere(rng, n, d), rng.normal(size=(n, k))
        return X, sphere(rng, 6, d).T, A

    @pytest.mark.parametrize("k", [1, 3])
    def test_is_the_naive_sum(self, k, rng):
        X, Z, A = self.case(rng, k=k)
        scores, _ = zonal_scores(X, Z, self.degrees, A)
        expected = [naive_score(X, z, m, A) for z, m in zip(Z.T, self.degrees, strict=True)]
        np.testing.assert_allclose(scores, expected, rtol=1e-11)

    def test_gradient_by_differences(self, rng):
        X, Z, A = self.case(rng)
        _, gradient = zonal_scores(X, Z, self.degrees, A)
        step, expected = 1e-6, np.empty_like(gradient)
        for row in range(len(Z)):
            shift = step * np.eye(len(Z))[:, row : row + 1]
            above, _ = zonal_scores(X, Z + shift, self.degrees, A)
            below, _ = zonal_scores(X, Z - shift, self.degrees, A)
            expected[row] = (above - below) / (2 * step)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-5)

    @pytest.mark.parametrize("place", HERE)
    def test_places(self, place, rng):
        X, Z, A = self.case(rng)
        there = PLACES[place](X)
        there = there.tocsr() if sparse.issparse(there) else there
        for found, expected in zip(
            zonal_scores(there, Z, self.degrees, A),
            zonal_scores(X, Z, self.degrees, A),
            strict=True,
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
        values = zonal_functions(there, Z, self.degrees)
        expected = zonal_functions(X, Z, self.degrees)
        np.testing.assert_allclose(on_host(values), expected, atol=1e-13)

    def test_blocks_and_threads(self, rng):
        X, Z, A = self.case(rng, n=500)
        small = {"memory_budget": 1}
        expected = zonal_scores(X, Z, self.degrees, A)
        one = zonal_scores(X, Z, self.degrees, A, n_threads=1, **small)
        two = zonal_scores(X, Z, self.degrees, A, n_threads=2, **small)
        for k in range(2):
            np.testing.assert_allclose(one[k], expected[k], rtol=1e-11, atol=1e-11)
            np.testing.assert_array_equal(one[k], two[k])

    def test_float32(self, rng):
        X, Z, A = self.case(rng)
        scores, gradient = zonal_scores(X.astype(np.float32), Z, self.degrees, A)
        expected = zonal_scores(X, Z, self.degrees, A)
        assert scores.dtype == gradient.dtype == np.float64
        np.testing.assert_allclose(scores, expected[0], rtol=1e-4, atol=1e-3)
        assert zonal_functions(X.astype(np.float32), Z, self.degrees).dtype == np.float32

    def test_a_function_that_vanishes_on_all_rows(self):
        X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        score, gradient = zonal_scores(X, np.eye(3)[:, 2:], [1], [1.0, -1.0])
        assert score == 0
        assert np.isfinite(gradient).all()


class TestAscent:
    def test_no_score_falls_and_each_direction_stays_on_the_sphere(self, rng):
        X, A = sphere(rng, 200, 6), rng.normal(size=(200, 1))
        degrees = np.array([1, 2, 3, 4])
        start = sphere(rng, 4, 6).T
        before, _ = zonal_scores(X, start, degrees, A)
        path = [before]
        for steps in (1, 3, 10):
            z, scores = ascend_directions(
                lambda Z: zonal_scores(X, Z, degrees, A), start, n_steps=steps
            )
            np.testing.assert_allclose(np.linalg.norm(z, axis=0), 1, rtol=1e-14)
            np.testing.assert_allclose(zonal_scores(X, z, degrees, A)[0], scores, rtol=1e-12)
            assert (scores >= path[-1]).all()
            path.append(scores)
        assert (path[-1] > before).all()

    def test_finds_a_hidden_direction(self, rng):
        X, hidden = sphere(rng, 3000, 8), np.eye(8)[:, :1]
        A = zonal_functions(X, hidden, [2])
        A -= A.mean()
        z, scores = ascend_directions(
            lambda Z: zonal_scores(X, Z, np.full(5, 2), A),
            starting_directions(X, A, 5, np.random.RandomState(0)),
            n_steps=40,
        )
        assert np.abs(z[0, np.argmax(scores)]) > 0.999

    def test_nowhere_to_go(self):
        flat = ascend_directions(
            lambda Z: (np.zeros(2), np.zeros_like(Z)), np.eye(3)[:, :2], n_steps=3
        )
        np.testing.assert_array_equal(flat[0], np.eye(3)[:, :2])


class TestStarts:
    @pytest.mark.parametrize("place", HERE)
    def test_places(self, place, rng):
        X, A = sphere(rng, 30, 4), rng.normal(size=(30, 2))
        there = PLACES[place](X)
        there = there.tocsr() if sparse.issparse(there) else there
        expected = starting_directions(X, A, 9, np.random.RandomState(3))
        found = starting_directions(there, A, 9, np.random.RandomState(3))
        assert found.shape == (4, 9)
        np.testing.assert_allclose(np.linalg.norm(found, axis=0), 1, rtol=1e-14)
        np.testing.assert_allclose(found, expected, atol=1e-15)

    def test_differences_are_between_unlike_rows(self, rng):
        X, A = sphere(rng, 6, 3), np.array([[1.0], [1.0], [1.0], [-1.0], [-1.0], [-1.0]])
        found = starting_directions(X, A, 40, np.random.RandomState(0))[:, 20:]
        pairs = (X[:3, None] - X[None, 3:]).reshape(-1, 3)
        pairs /= np.linalg.norm(pairs, axis=1, keepdims=True)
        assert np.abs(found.T[:, None] - pairs).sum(axis=2).min(axis=1).max() < 1e-12

    def test_identical_rows_and_no_coefficients(self):
        X = np.tile([[0.6, 0.8]], (5, 1))
        for A in (np.zeros((5, 1)), np.array([[1.0], [-1.0], [1.0], [-1.0], [0.0]])):
            found = starting_directions(X, A, 6, np.random.RandomState(0))
            np.testing.assert_allclose(found, np.tile([[0.6], [0.8]], (1, 6)))
