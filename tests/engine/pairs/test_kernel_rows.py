"""Kernel rows, in every place, against the formula of plain.py."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from bochner import engine
from bochner.engine import plain
from bochner.engine.pairs import host
from bochner.kernels import Cauchy, Exponential, Gaussian, Laplacian, Matern, ProductMatern
from tests.places import PLACES, on_host

KERNELS = [
    Gaussian(gamma=0.1),
    Exponential(gamma=0.3),
    Matern(nu=1.5, gamma=0.1),
    Matern(nu=2.5, gamma=0.1),
    Matern(nu=0.8, gamma=0.1),  # no closed form: called
    Laplacian(gamma=0.2),
    Cauchy(gamma=0.2),
    ProductMatern(nu=1.5, gamma=0.1),
]
TOLERANCE = {np.float64: 2e-14, np.float32: 5e-6}


def problem(dtype=np.float64, n=101, d=7, m=13):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)).astype(dtype)
    R = np.triu(rng.normal(size=(m, m))) / m
    R[:, -3:] = 0
    return X, X[:m].copy(), R


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("place", PLACES)
def test_every_place(place, dtype, kernel):
    X, Z, R = problem(dtype)
    there = PLACES[place](X)
    # scikit-learn's Euclidean distances of equal rows, which a kernel that is called relies on
    slack = TOLERANCE[dtype] if kernel != KERNELS[4] else 5e-4 if dtype is np.float32 else 1e-7
    for landmarks in (Z, sparse.csr_matrix(Z)):
        for factor in (None, R, R[:, :1]):
            result = engine.kernel_rows(there, landmarks, kernel, normalization=factor)
            expected = plain.kernel_rows(X, Z, kernel, factor)
            assert on_host(result).dtype == dtype
            np.testing.assert_allclose(on_host(result), expected, atol=slack)


@pytest.mark.parametrize("budget", [1, 5000])
def test_budget_of_a_device(budget):
    X, Z, R = problem()
    result = engine.kernel_rows(
        PLACES["torch"](X), Z, KERNELS[1], normalization=R, memory_budget=budget
    )
    np.testing.assert_allclose(result, plain.kernel_rows(X, Z, KERNELS[1], R), atol=2e-14)


@pytest.mark.parametrize("place", ["numpy", "csr", "torch"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_near_each_other_and_far_from_the_origin(dtype, place):
    """The squared lengths are a thousand million times the squared distances."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(40, 5)) * 2.0**-7 + 256).astype(dtype)
    X[20:] = X[:20]
    kernel = Exponential(gamma=50.0)
    result = on_host(engine.kernel_rows(PLACES[place](X), X[:20], kernel))
    expected = plain.kernel_rows(X, X[:20], kernel)
    np.testing.assert_allclose(result, expected, atol=1e-12 if dtype is np.float64 else 1e-6)
    np.testing.assert_array_equal(np.diagonal(result), 1)


def test_clusters_far_apart_in_single_precision():
    """Rows of one cluster are near each other, and the centre of all is far from both."""
    rng = np.random.default_rng(0)
    X = np.repeat([[-100.0], [100.0]], 30, axis=0) + rng.normal(size=(60, 4)) * 0.5
    X = X.astype(np.float32)
    for kernel in (Gaussian(gamma=0.5), Exponential(gamma=1.0)):
        result = engine.kernel_rows(X, X[::2], kernel)
        np.testing.assert_allclose(result, plain.kernel_rows(X, X[::2], kernel), atol=2e-5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_threads_do_not_change_a_bit(container):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(3001, 9)), rng.normal(size=(700, 9))
    R = np.triu(rng.normal(size=(700, 700)))
    for kernel in KERNELS[1], KERNELS[5]:
        rows = container(X)
        alone = engine.kernel_rows(rows, Z, kernel, normalization=R, n_threads=1)
        for n_threads in (2, 5):
            result = engine.kernel_rows(rows, Z, kernel, normalization=R, n_threads=n_threads)
            np.testing.assert_array_equal(result, alone)
    expected = plain.kernel_rows(X[:50], Z, KERNELS[5], R)
    np.testing.assert_allclose(alone[:50], expected, atol=1e-11)


def test_memory_is_that_of_a_few_tiles(tmp_path):
    rng = np.random.default_rng(0)
    file = np.lib.format.open_memmap(tmp_path / "rows.npy", "w+", np.float32, (60_000, 8))
    file[:] = rng.normal(size=file.shape)
    Z, w = rng.normal(size=(512, 8)), rng.normal(size=(512, 1))
    engine.kernel_rows(file[:10], Z, KERNELS[0], normalization=w)
    tracemalloc.start()
    try:
        engine.kernel_rows(file, Z, KERNELS[0], normalization=w, n_threads=2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8e6  # of 123e6 kernel values


def test_landmarks_that_are_sparse_wide_and_many(monkeypatch):
    X, Z, R = problem()
    expected = plain.kernel_rows(X, Z, KERNELS[1], R)
    monkeypatch.setattr(host, "_DENSE_LANDMARKS", 1)
    rows, points = sparse.csr_matrix(X), sparse.csr_matrix(Z)
    result = engine.kernel_rows(rows, points, KERNELS[1], normalization=R)
    np.testing.assert_allclose(result, expected, atol=2e-14)


class Cosine:
    """A kernel of somebody's own, which can only be called."""

    def __call__(self, X, Y=None):
        return np.cos(np.subtract.outer(X[:, 0], (X if Y is None else Y)[:, 0]))


@pytest.mark.parametrize("place", ["numpy", "torch", "strict", "dask"])
def test_a_kernel_of_ones_own(place):
    X, Z, R = problem()
    result = engine.kernel_rows(PLACES[place](X), Z, Cosine(), normalization=R)
    np.testing.assert_allclose(on_host(result), Cosine()(X, Z) @ R, atol=1e-14)


def test_a_kernel_of_a_wrong_shape():
    X, Z, _ = problem()
    with pytest.raises(ValueError, match=r"each of the \d+ rows and 13 landmarks, got shape"):
        engine.kernel_rows(X, Z, lambda X, Z: np.ones(3))


def test_shapes():
    X, Z, R = problem()
    with pytest.raises(ValueError, match="X has 7 columns but Z has 5"):
        engine.kernel_rows(X, Z[:, :5], KERNELS[0])
    with pytest.raises(ValueError, match="Z must have two dimensions"):
        engine.kernel_rows(X, Z[0], KERNELS[0])
    with pytest.raises(ValueError, match="one row for each of the 13 landmarks"):
        engine.kernel_rows(X, Z, KERNELS[0], normalization=R[:5])
    assert engine.kernel_rows(X[:0], Z, KERNELS[0], normalization=R).shape == (0, 13)


@pytest.mark.parametrize("place", ["numpy", "csr", "torch", "dask"])
@pytest.mark.parametrize(
    "kernel", [Gaussian(gamma=1e60), Matern(gamma=1e60), Laplacian(gamma=1e30)]
)
def test_float32_rows_whose_squares_underflow(kernel, place, rng):
    """A kernel of their size does not fit in float32 either."""
    X = (rng.normal(size=(12, 3)) * 1e-30).astype(np.float32)
    found = engine.kernel_rows(PLACES[place](X), X[:4], kernel)
    assert found.dtype == PLACES[place](X).dtype
    expected = plain.kernel_rows(X, X[:4], kernel)
    assert 0 < expected.min() < 0.9
    np.testing.assert_allclose(on_host(found), expected, rtol=0, atol=1e-6)
