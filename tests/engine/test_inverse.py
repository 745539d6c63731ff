import numpy as np
import pytest
from scipy.linalg import LinAlgError

from bochner.engine.inverse import inverse, inverse_or_none
from tests.places import PLACES, on_host


@pytest.fixture(params=["numpy", "torch", "strict"])
def put(request):
    return PLACES[request.param]


class TestInverse:
    @pytest.mark.parametrize("columns", [1, 4])
    def test_solves(self, columns, put, rng):
        root = rng.normal(size=(6, 6))
        H, B = root @ root.T + np.eye(6), rng.normal(size=(6, columns))
        solve = inverse(put(H))
        # the factorisation is made once and used again
        for right in (B, 2 * B):
            result = solve(put(right))
            assert type(result) is type(put(right))
            np.testing.assert_allclose(on_host(result), np.linalg.solve(H, right), atol=1e-9)

    def test_numpy_solves_one_vector(self, rng):
        root = rng.normal(size=(6, 6))
        H, b = root @ root.T + np.eye(6), rng.normal(size=6)
        np.testing.assert_allclose(inverse(H)(b), np.linalg.solve(H, b), atol=1e-9)

    def test_the_matrix_is_left_alone(self, put, rng):
        root = rng.normal(size=(4, 4))
        H = root @ root.T + np.eye(4)
        there = put(H)
        inverse(there)(put(np.ones((4, 1))))
        np.testing.assert_array_equal(on_host(there), root @ root.T + np.eye(4))

    @pytest.mark.parametrize("solver", [inverse, inverse_or_none])
    def test_with_a_ridge(self, solver, put, rng):
        root = rng.normal(size=(6, 3))
        H, B = root @ root.T, rng.normal(size=(6, 2))
        expected = np.linalg.solve(H + 0.5 * np.eye(6), B)
        np.testing.assert_allclose(on_host(solver(put(H), 0.5)(put(B))), expected, atol=1e-9)
        # of NumPy's only one triangle counts
        upper = np.triu(H) + np.tril(np.full((6, 6), np.nan), -1)
        np.testing.assert_allclose(solver(upper, 0.5, overwrite=True)(B), expected, atol=1e-9)

    @pytest.mark.parametrize("place", ["numpy", "torch"])  # other arrays do not say
    def test_none_of_what_is_not_positive_definite(self, place):
        H = PLACES[place](np.diag([1.0, -1.0]))
        assert inverse_or_none(H) is None
        assert inverse_or_none(H, 2.0) is not None

    def test_numpy_says_so_if_it_is_not_positive_definite(self):
        with pytest.raises(LinAlgError):
            inverse(np.diag([1.0, -1.0]))
