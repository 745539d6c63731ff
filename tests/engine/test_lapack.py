"""LAPACK without Python's global lock, against SciPy's own functions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from bochner.engine import lapack

DTYPES = (np.float32, np.float64)


def positive_definite(n: int, dtype: type, seed: int = 0) -> np.ndarray:
    root = np.random.default_rng(seed).normal(size=(n, n))
    return (root @ root.T / n + np.eye(n)).astype(dtype)


def tolerance(dtype: type) -> float:
    return 100 * float(np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 70])
def test_factor_agrees_with_scipy_and_takes_the_place_of_the_matrix(n, dtype):
    A = positive_definite(n, dtype)
    expected = linalg.cholesky(A, lower=True)
    found = lapack.cholesky(A)
    assert found.dtype == dtype
    assert np.shares_memory(found, A)
    np.testing.assert_allclose(found, expected, atol=tolerance(dtype))
    assert not np.triu(found, 1).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(40,), (40, 1), (40, 7)])
def test_triangular_systems_agree_with_scipy(dtype, order, transposed, shape):
    lower = np.array(linalg.cholesky(positive_definite(40, dtype), lower=True), order=order)
    B = np.random.default_rng(1).normal(size=shape).astype(dtype)
    before = B.copy()
    found = lapack.solve_triangular(lower, B, transposed=transposed)
    expected = linalg.solve_triangular(lower, B, lower=True, trans=int(transposed))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, atol=tolerance(dtype))
    np.testing.assert_array_equal(B, before)


@pytest.mark.parametrize("routine", ["as it is", None])
def test_what_is_no_factor_raises(routine, monkeypatch):
    if routine is None:  # as where SciPy's LAPACK takes other whole numbers
        monkeypatch.setattr(lapack, "_routine", lambda name: None)
    with pytest.raises(np.linalg.LinAlgError):
        lapack.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError):
        lapack.solve_triangular(np.array([[1.0, 0.0], [1.0, 0.0]]), np.ones(2))


def test_without_the_routines_scipy_does_it(monkeypatch):
    A, B = positive_definite(5, np.float64), np.arange(5.0)
    monkeypatch.setattr(lapack, "_routine", lambda name: None)
    lower = lapack.cholesky(A.copy())
    np.testing.assert_allclose(lower @ lower.T, A)
    np.testing.assert_allclose(lower @ lapack.solve_triangular(lower, B), B)


def test_other_memory_and_dtypes():
    A = positive_definite(6, np.float64)
    lower = linalg.cholesky(A, lower=True)
    apart = np.zeros((12, 12))[::2, ::2]
    apart[...] = lower
    for triangle, B in ((apart, np.ones(6)), (lower, np.ones(6, np.float32)), (lower, np.ones(6))):
        found = lapack.solve_triangular(triangle, B)
        np.testing.assert_allclose(lower @ found, np.ones(6))
    assert lapack.solve_triangular(lower, np.ones((6, 0))).shape == (6, 0)


@pytest.mark.parametrize(
    ("lower", "B"),
    [(np.eye(3), np.ones(2)), (np.eye(3), np.ones((4, 2))), (np.ones((3, 2)), np.ones(3))],
)
def test_shapes_that_do_not_fit_raise_before_memory_is_touched(lower, B):
    with pytest.raises(ValueError):
        lapack.solve_triangular(lower, B)


def test_what_is_not_square_has_no_factor():
    with pytest.raises(ValueError):
        lapack.cholesky(np.ones((2, 3)))


def test_the_routines_are_there():
    """On the machines we test on; elsewhere threads would wait for each other."""
    assert all(lapack._routine(name) for name in ("spotrf", "dpotrf", "strtrs", "dtrtrs"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [60, 64, 65, 100])
def test_large_factors_are_computed_by_blocks(n, dtype, monkeypatch):
    monkeypatch.setattr(lapack, "_LARGE", 59 * np.dtype(dtype).itemsize)
    monkeypatch.setattr(lapack, "_BLOCK", 32)
    A = positive_definite(n, dtype)
    expected = linalg.cholesky(A, lower=True)
    found = lapack.cholesky(A.copy())
    np.testing.assert_allclose(found, expected, atol=tolerance(dtype))
    assert not np.triu(found, 1).any()
    A[n - 3, n - 3] = -1.0
    with pytest.raises(linalg.LinAlgError, match=f"{n - 2}-th leading minor"):
        lapack.cholesky(A)
