"""Kernels of distances that are kept, against the formula of plain.py."""

import numpy as np
import pytest

from bochner.engine import plain
from bochner.engine.pairs import host
from bochner.engine.pairs.distances import Distances
from bochner.engine.uncompiled import few_rows
from bochner.kernels import Cauchy, Exponential, Gaussian, Laplacian, Matern
from tests.places import PLACES, on_host

KERNELS = [
    Gaussian(gamma=0.1),
    Gaussian(gamma=2.0),
    Exponential(gamma=0.3),
    Matern(nu=1.5, gamma=0.1),
    Laplacian(gamma=0.2),
    Laplacian(gamma=3.0),
    Cauchy(gamma=0.2),  # no function of one distance
    Matern(nu=2.5, gamma=1e17),  # beyond float32, except at distance zero
]
TOLERANCE = {np.float64: 2e-14, np.float32: 5e-6}


def problem(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(101, 7)).astype(dtype)
    return X, np.concatenate([X[:9], rng.normal(size=(8, 7)).astype(dtype)])


@pytest.mark.parametrize("n_threads", [1, 2, None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_kernel(dtype, n_threads):
    X, Z = problem(dtype)
    pairs = Distances(X, Z, n_threads)
    for kernel in [*KERNELS, *KERNELS]:  # those that are known do not change
        found = pairs.kernel_rows(kernel)
        assert found.dtype == dtype
        np.testing.assert_allclose(
            found, plain.kernel_rows(X, Z, kernel), atol=TOLERANCE[dtype], err_msg=str(kernel)
        )
        found[:] = 7.0  # an array of its own


def test_without_compiled_loops():
    X, Z = problem(np.float64)
    with few_rows():
        found = Distances(X, Z).kernel_rows(KERNELS[3])
    np.testing.assert_allclose(found, plain.kernel_rows(X, Z, KERNELS[3]), atol=2e-14)


def test_distances_are_computed_once(monkeypatch):
    calls = []
    compute = host.distances_between
    monkeypatch.setattr(host, "distances_between", lambda *a: calls.append(a) or compute(*a))
    pairs = Distances(*problem(np.float32))
    for kernel in KERNELS[:6]:
        pairs.kernel_rows(kernel)
    assert len(calls) == 2  # Euclidean, and along the axes


def numerical_slopes(X, Z, kernel, left, right, size=1e-5):
    """Central differences of the weighted sum of kernel values, column by column."""
    X, Z = X.astype(np.float64), Z.astype(np.float64)

    def total(column, sign):
        weights = np.ones(X.shape[1])
        weights[column] = np.exp(sign * size)
        return np.sum((left @ right.T) * plain.kernel_rows(X * weights, Z * weights, kernel))

    return [(total(c, 1) - total(c, -1)) / (2 * size) for c in range(X.shape[1])]


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS[:6], ids=str)
def test_slopes_along_the_columns(kernel, dtype, place):
    X, Z = problem(dtype)  # with rows that are landmarks, where exponential kernels have a cusp
    rng = np.random.default_rng(1)
    left, right = rng.normal(size=(len(X), 3)), rng.normal(size=(len(Z), 3))
    there = PLACES[place]
    pairs = Distances(there(X), there(Z))
    found = on_host(
        pairs.axis_slopes(kernel, there(left.astype(dtype)), there(right.astype(dtype)))
    )
    expected = numerical_slopes(X, Z, kernel, left, right)
    # what is rounded: squares of the columns, times the kernel's slopes
    values = np.abs(left @ right.T) * plain.kernel_rows(X, Z, kernel)
    size = max(1.0, kernel.gamma) * np.max(X**2) * np.sum(values)
    tolerance = {np.float64: 1e-10, np.float32: 3e-7}[dtype]
    np.testing.assert_allclose(found, expected, atol=tolerance * size)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_slopes_of_many_rows_are_sums_over_tiles(n_threads):
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(3000, 6)), rng.normal(size=(200, 6))
    left, right = rng.normal(size=(3000, 1)), rng.normal(size=(200, 1))
    for kernel in (Exponential(gamma=0.5), Laplacian(gamma=0.2)):
        found = Distances(X, Z, n_threads).axis_slopes(kernel, left, right)
        parts = [
            Distances(X[rows], Z, 1).axis_slopes(kernel, left[rows], right)
            for rows in (slice(0, 1000), slice(1000, 3000))
        ]
        np.testing.assert_allclose(found, np.sum(parts, axis=0), rtol=1e-10, atol=1e-10)


def test_kernels_of_several_distances_have_no_slopes():
    with pytest.raises(ValueError, match="no function of one distance"):
        Distances(*problem(np.float64)).axis_slopes(
            KERNELS[6], np.ones((101, 1)), np.ones((17, 1))
        )
