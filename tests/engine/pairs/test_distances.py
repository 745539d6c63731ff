"""Kernels of distances that are kept, against the formula of plain.py."""

import numpy as np
import pytest

from bochner.engine import plain
from bochner.engine.pairs import host
from bochner.engine.pairs.distances import Distances
from bochner.engine.uncompiled import few_rows
from bochner.kernels import Cauchy, Exponential, Gaussian, Laplacian, Matern

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
