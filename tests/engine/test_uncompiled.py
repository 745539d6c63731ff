"""Loops in NumPy against the formulas, and against the compiled loops."""

import numpy as np
import pytest
from scipy import sparse

from bochner import engine
from bochner.engine import plain
from bochner.engine.uncompiled import few_rows, pair_loops, wave_loops
from bochner.kernels import Exponential, Gaussian, Matern

RNG = np.random.default_rng(0)
TOLERANCE = {np.float64: 2e-14, np.float32: 5e-6}


def test_they_are_used_within_the_context_alone():
    compiled = wave_loops(), pair_loops()
    with few_rows():
        assert wave_loops() is pair_loops()
        assert not hasattr(wave_loops().sincos_tile, "signatures")
        with few_rows(False):
            assert (wave_loops(), pair_loops()) == compiled


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [None, 0.3])
def test_waves(dtype, offset):
    X, W = RNG.normal(size=(30, 4)).astype(dtype), RNG.normal(size=(4, 9)).astype(dtype)
    X[3] *= 1e5  # phases that are computed again
    X = X.astype(dtype)
    offsets = None if offset is None else np.full(9, offset, dtype)
    compiled = engine.features(X, W, offset=offsets)
    with few_rows():
        found = engine.features(X, W, offset=offsets, n_threads=2)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, compiled, atol=TOLERANCE[dtype])
    expected = plain.features(X, W, 1 / 3, offsets)
    np.testing.assert_allclose(found, expected, atol=1e-9 if dtype is np.float64 else 1e-5)


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.1), Exponential(gamma=0.3), Matern(nu=1.5)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_kernels(kernel, dtype, container):
    X = RNG.normal(size=(40, 5)).astype(dtype)
    Z = X[:11] + np.repeat([0, 1e-5], [6, 5])[:, None].astype(dtype)  # equal and near ones
    kernel = kernel.with_gamma(0.2)
    with few_rows():
        found = engine.kernel_rows(container(X), Z, kernel, n_threads=2)
    expected = plain.kernel_rows(X, Z, kernel)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE[dtype])
    np.testing.assert_allclose(found, engine.kernel_rows(container(X), Z, kernel), atol=5e-6)
    assert (np.diag(found)[:6] == 1).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_phases_are_not_trusted(dtype):
    phases = np.array([[1.0, -2.0], [3.0, -1e9], [np.nan, 0.0]], dtype)
    found = []
    for few in (True, False):
        out, flags = np.empty((3, 4), dtype), np.empty(3, bool)
        with few_rows(few):
            wave_loops().sincos_tile(phases, np.ones(2, dtype), out, 0, 0, 2, flags)
        found.append(flags)
    assert (found[0] == found[1]).all()
    assert found[0].tolist() == [False, True, True]
