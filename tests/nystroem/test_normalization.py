import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.nystroem.normalization import normalize

EPSILON = float(np.finfo(np.float64).eps)


def gram(X, gamma=0.5):
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))


def test_all_directions_give_a_triangle():
    K = gram(np.random.default_rng(0).normal(size=(30, 6)))
    found = normalize(K, EPSILON)
    np.testing.assert_array_equal(np.tril(found.matrix, -1), 0)
    np.testing.assert_allclose(found.matrix @ found.matrix.T @ K, np.eye(30), atol=1e-11)
    values = np.linalg.eigvalsh(K)
    np.testing.assert_allclose([found.least, found.largest], values[[0, -1]], rtol=0.02)
    assert found.largest <= values[-1] * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    repeats=st.integers(0, 6),
    gamma=st.floats(1e-4, 10),
)
def test_it_is_the_root_of_the_inverse_on_what_is_kept(seed, n, repeats, gamma):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = gram(np.vstack([X, X[rng.integers(0, n, repeats)]]), gamma)
    found = normalize(K, 1e-10)
    values = np.linalg.eigvalsh(K)
    floor = 1e-10 * len(K) * values[-1]
    # no more directions than eigenvalues above rounding, and what they miss is rounding as well
    assert found.matrix.shape[1] <= np.sum(values > floor)
    assert found.matrix.shape[1] == len(K) or found.matrix.shape[1] >= np.sum(values > 1e4 * floor)
    features = K @ found.matrix
    np.testing.assert_allclose(features @ features.T, K, atol=1e-5)
    kept = np.flatnonzero(found.matrix.any(axis=1))
    np.testing.assert_allclose((found.matrix.T @ K @ found.matrix), np.eye(len(kept)), atol=1e-6)
    # a trapezoid: zeros below the diagonal that ends in the last corner
    assert np.tril(found.matrix, -(len(K) - len(kept)) - 1).any() == np.False_


def test_of_equal_landmarks_one_is_kept():
    X = np.repeat(np.random.default_rng(0).normal(size=(7, 3)), 3, axis=0)
    found = normalize(gram(X), EPSILON)
    assert found.matrix.shape == (21, 7)
    kept = np.flatnonzero(found.matrix.any(axis=1))
    assert len(np.unique(kept // 3)) == 7


def test_one_landmark():
    np.testing.assert_allclose(normalize(np.array([[4.0]]), EPSILON).matrix, [[0.5]])


def test_nothing_at_all():
    assert normalize(np.zeros((3, 3)), EPSILON).matrix.shape == (3, 0)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            [[1.0, 2.0], [2.0, 1.0]],
            r"not positive semi-definite: of the 2 .* 1 are negative, .* -1 ",
        ),
        ([[1.0, 0.5], [0.2, 1.0]], "is not symmetric"),
        ([[1.0, np.nan], [0.2, 1.0]], "not finite"),
    ],
)
def test_what_is_no_kernel_is_refused(matrix, message):
    with pytest.raises(ValueError, match=f"kernel='mine' .*{message}"):
        normalize(np.array(matrix), EPSILON, "mine")
