"""What only the CPU engine promises: bits, memory, files."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from bochner import engine
from bochner.engine import cpu, plain


def large_problem(dtype=np.float32, n=9001, d=11, N=2500):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d)).astype(dtype)
    return X, rng.normal(size=(d, N)).astype(dtype), rng.normal(size=(n, 2)).astype(dtype)


@pytest.fixture
def small_tiles(monkeypatch):
    """Fewer rows and frequencies are then as many tasks, of as many tiles."""
    for name, value in {"_TILE": 2**18, "_WIDEST": 512, "_CHUNK_WORK": 2**21}.items():
        monkeypatch.setattr(cpu, name, value)


SMALL = {"n": 3001, "N": 800}


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_threads_do_not_change_a_bit(dtype, container):
    X, W, A = large_problem(dtype, **SMALL)
    X = container(X)
    for operation in (
        lambda **o: engine.features(X, W, **o),
        lambda **o: engine.fourier_sums(X, W, A, **o),
        lambda **o: engine.potential_and_gradient(X, W[:, :300], A, **o)[1],
        lambda **o: engine.potential_and_gradient(X, W[:, :300], A, memory_budget=1, **o)[1],
    ):
        alone = operation(n_threads=1)
        for n_threads in (2, 5):
            np.testing.assert_array_equal(operation(n_threads=n_threads), alone)


def test_many_tiles_agree_with_the_formula(small_tiles):
    """Several tiles along rows and columns, with short ones at the ends."""
    X, W, A = large_problem(np.float64, **SMALL)
    np.testing.assert_allclose(
        engine.features(X, W), plain.features(X, W, W.shape[1] ** -0.5), rtol=0, atol=1e-14
    )
    np.testing.assert_allclose(
        engine.fourier_sums(X, W, A), plain.fourier_sums(X, W, A), rtol=0, atol=1e-10
    )


def test_float32_sums_are_accumulated_in_float64():
    """A million equal terms: added up in float32 alone, the total would be off by 1e-3."""
    X = np.zeros((1_000_000, 1), np.float32)
    sums = engine.fourier_sums(X, np.ones((1, 1), np.float32), np.full(len(X), 0.1, np.float32))
    np.testing.assert_allclose(sums, 1e6 * np.float64(np.float32(0.1)), rtol=1e-6)


@pytest.mark.parametrize("budget", [2**20, 2**24])
def test_sums_stay_within_the_budget(budget):
    X, W, A = large_problem()
    engine.potential_and_gradient(X[:100], W, A[:100])  # compiled before the memory is watched
    tracemalloc.start()
    try:
        engine.fourier_sums(X, W, A, n_threads=2, memory_budget=budget)
        sums_peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        engine.potential_and_gradient(X, W, A, n_threads=2, memory_budget=budget)
        gradient_peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # three tiles of scratch a thread, which no budget can shrink, and the results themselves
    scratch = 2 * 3.5 * 2**21
    results = 3 * (W.size + A.shape[1] * W.shape[1] * 2) * 8
    assert sums_peak < budget + scratch + results
    assert gradient_peak < budget + scratch + results
    assert X.shape[0] * W.shape[1] * 4 > 4 * max(sums_peak, gradient_peak) - 4 * budget


def test_memory_mapped_rows(tmp_path):
    X, W, A = large_problem()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(engine.fourier_sums(mapped, W, A), engine.fourier_sums(X, W, A))
    np.testing.assert_array_equal(engine.features(mapped, W), engine.features(X, W))


class TestOut:
    def test_result_goes_to_a_file(self, tmp_path):
        X, W, _ = large_problem()
        X, W = X[:50], W[:, :30]
        out = np.lib.format.open_memmap(tmp_path / "f.npy", "w+", X.dtype, (50, 60))
        assert engine.features(X, W, out=out) is out
        np.testing.assert_array_equal(np.load(tmp_path / "f.npy"), engine.features(X, W))

    @pytest.mark.parametrize(
        "out",
        [
            np.empty((50, 59), np.float32),
            np.empty((50, 60), np.float64),
            np.empty((50, 60), np.float32, order="F"),
        ],
    )
    def test_wrong_array(self, out):
        X, W, _ = large_problem()
        with pytest.raises(ValueError, match="out must be a C-contiguous float32 array"):
            engine.features(X[:50], W[:, :30], out=out)


def test_only_a_few_large_phases(small_tiles):
    """One row in float64 must not disturb its neighbours in the same tile."""
    X, W, _ = large_problem(**SMALL)
    X[1321] *= 1e5
    expected = plain.features(X, W)
    np.testing.assert_allclose(engine.features(X, W, scale=1.0), expected, rtol=0, atol=1e-5)


def test_large_phases_of_wide_sparse_rows():
    X = sparse.random(40, 5000, 0.01, format="csr", dtype=np.float32, random_state=0) * 1e5
    W = np.random.default_rng(0).normal(size=(5000, 12)).astype(np.float32)
    expected = plain.features(X, W)
    np.testing.assert_allclose(engine.features(X, W, scale=1.0), expected, rtol=0, atol=1e-5)


def test_no_rows_and_no_frequencies():
    W = np.ones((3, 4))
    assert engine.features(np.empty((0, 3)), W).shape == (0, 8)
    assert engine.features(np.ones((2, 3)), W[:, :0]).shape == (2, 0)
    np.testing.assert_array_equal(engine.fourier_sums(np.empty((0, 3)), W, np.empty(0)), 0)
