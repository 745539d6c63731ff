"""The cluster engine: laziness, unknown lengths, and workers that are small and die."""

import os
import threading
import time

import numpy as np
import pytest

from bochner import engine
from bochner.engine import plain
from tests.engine.clusters import two_workers

da = pytest.importorskip("dask.array")


def problem(n=90, d=5, N=8, k=2):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=(d, N)), rng.normal(size=(n, k))


def test_features_are_lazy():
    computed = []

    def block(x):
        computed.append(len(x))
        return x

    X, W, _ = problem()
    rows = da.from_array(X, chunks=(30, 5)).map_blocks(block, dtype=X.dtype, meta=X[:0])
    result = engine.features(rows, W)
    assert not computed
    assert result.chunks == ((30, 30, 30), (16,))
    np.testing.assert_allclose(result.compute(), engine.features(X, W), atol=1e-14)
    assert computed


@pytest.mark.parametrize("coefficients", ["numpy", "same blocks", "other blocks"])
def test_coefficients_are_cut_like_the_rows(coefficients):
    X, W, A = problem()
    there = {
        "numpy": A,
        "same blocks": da.from_array(A, chunks=(30, 2)),
        "other blocks": da.from_array(A, chunks=(41, 1)),
    }[coefficients]
    rows = da.from_array(X, chunks=(30, 5))
    np.testing.assert_allclose(
        engine.fourier_sums(rows, W, there), plain.fourier_sums(X, W, A), atol=1e-12
    )


def test_rows_of_unknown_number():
    X, W, A = problem()
    rows, weights = (da.from_array(M, chunks=(30, -1)) for M in (X, A))
    some = rows[:, 0] > 0
    rows, weights = rows[some], weights[some]
    chosen = X[:, 0] > 0
    expected = plain.fourier_sums(X[chosen], W, A[chosen])
    np.testing.assert_allclose(engine.fourier_sums(rows, W, weights), expected, atol=1e-12)
    np.testing.assert_allclose(
        engine.features(rows, W).compute(), engine.features(X[chosen], W), atol=1e-14
    )
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        engine.fourier_sums(rows, W, A[chosen])


def test_more_data_than_memory_and_a_worker_that_dies():
    """Two workers of 1 GiB sum over 2.5 GiB of rows; one is killed half-way.

    Block b is a fixed block shifted by b * step, so that the exact answer is known:
    F(w) = F_0(w) sum_b exp(i b <w, step>).
    """
    n_blocks, rows, d, N = 40, 2**18, 64, 4
    rng = np.random.default_rng(0)
    W = rng.normal(size=(d, N)) / 8
    step = np.full(d, 0.01)

    def make_block(block_info=None):
        b = block_info[None]["chunk-location"][0]
        # few rows, repeated: most of the time would be drawing them
        few = np.random.default_rng(1).standard_normal((2**12, d), np.float32)
        return np.tile(few + (b * step).astype(np.float32), (rows // len(few), 1))

    X = da.map_blocks(
        make_block,
        chunks=((rows,) * n_blocks, (d,)),
        dtype=np.float32,
        meta=np.empty((0, 0), np.float32),
    )
    assert X.nbytes == 2.5 * 2**30

    with two_workers(memory_limit="1GiB") as client:
        victim = next(iter(client.run(os.getpid).values()))
        killed = threading.Event()

        def kill_when_half_way():
            while not killed.is_set():
                done = sum(client.run_on_scheduler(_finished_blocks).values())
                if done >= n_blocks // 2:
                    os.kill(victim, 9)
                    killed.set()
                time.sleep(0.05)

        killer = threading.Thread(target=kill_when_half_way, daemon=True)
        killer.start()
        sums = engine.fourier_sums(X, W, da.ones((X.shape[0], 1), chunks=(rows, 1)))
        assert killed.is_set(), "the work was over before the worker was killed"
        killer.join()
        assert victim not in client.run(os.getpid).values()

    few = np.random.default_rng(1).standard_normal((2**12, d), np.float32)
    expected = plain.fourier_sums(few, W, np.full((len(few), 1), rows / len(few)))
    expected = expected * np.exp(1j * np.outer(step @ W, np.arange(n_blocks))).sum(1)[:, None]
    # float32 rows: each is rounded to 2e-7, the phases to a few of these
    np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-6 * rows * n_blocks)
    assert np.abs(expected).max() > 1e-3 * rows * n_blocks


def _finished_blocks(dask_scheduler):
    return {
        prefix.name: sum(
            prefix.state_counts[state] for state in ("memory", "released", "forgotten")
        )
        for prefix in dask_scheduler.task_prefixes.values()
        if "block_sums" in prefix.name
    }
