import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgError

from bochner.linear.growing import GrowingFactor
from tests.places import PLACES, on_host


def positive(rng, size):
    root = rng.normal(size=(size, size))
    return root @ root.T + np.eye(size)


@settings(deadline=None, max_examples=50)
@given(
    widths=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    columns=st.integers(1, 3),
    seed=st.integers(0, 10**6),
)
def test_a_factor_that_grew_is_the_factor(widths, columns, seed):
    rng = np.random.default_rng(seed)
    A, B = positive(rng, sum(widths)), rng.normal(size=(sum(widths), columns))
    factor, size = GrowingFactor(A[: widths[0], : widths[0]]), widths[0]
    for width in widths[1:]:
        factor.append(A[: size + width, size : size + width])
        size += width
        np.testing.assert_allclose(factor.lower, np.linalg.cholesky(A[:size, :size]), atol=1e-9)
    np.testing.assert_allclose(factor.solve(B), np.linalg.solve(A, B), atol=1e-7)


@pytest.mark.parametrize("place", ["torch", "strict"])
def test_the_same_in_every_place(place, rng):
    A, B, put = positive(rng, 9), rng.normal(size=(9, 2)), PLACES[place]
    factor = GrowingFactor(put(A[:4, :4])).append(put(A[:6, 4:6])).append(put(A[:, 6:]))
    assert type(factor.lower) is type(put(A))
    np.testing.assert_allclose(on_host(factor.lower), np.linalg.cholesky(A), atol=1e-9)
    np.testing.assert_allclose(on_host(factor.solve(put(B))), np.linalg.solve(A, B), atol=1e-9)


def test_what_is_not_positive_definite_changes_nothing():
    factor = GrowingFactor(np.array([[1.0]]))
    with pytest.raises(LinAlgError):
        factor.append(np.array([[2.0], [1.0]]))
    np.testing.assert_array_equal(factor.lower, [[1.0]])
