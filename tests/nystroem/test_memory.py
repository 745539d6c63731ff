"""Memory of landmarks, features and a linear model on them: flat in the number of rows."""

import tracemalloc

import numpy as np
import pytest

from bochner import NystroemFeatures
from bochner.engine import summaries
from bochner.linear import RidgeRegressor

COLUMNS, FEW, MANY = 80, 4_000, 12_000


def on_disk(path, n):
    X = np.lib.format.open_memmap(path / f"{n}.npy", "w+", np.float64, (n, COLUMNS))
    X[:] = np.random.default_rng(0).normal(size=X.shape)
    X.flush()
    return np.load(path / f"{n}.npy", mmap_mode="r")


def lazily(path, n):
    da = pytest.importorskip("dask.array")

    def block(block_info=None):
        seed = block_info[None]["chunk-location"][0]
        return np.random.default_rng(seed).normal(size=(1000, COLUMNS))

    chunks = ((1000,) * (n // 1000), (COLUMNS,))
    return da.map_blocks(block, chunks=chunks, dtype=np.float64, meta=np.empty((0, 0)))


@pytest.mark.parametrize("make", [on_disk, lazily])
@pytest.mark.parametrize("landmarks", ["random", "kmeans", "leverage"])
def test_memory_does_not_grow_with_the_rows(make, landmarks, tmp_path, monkeypatch):
    """A tenth of what more rows take, at most: the targets are as long."""
    if make is lazily:
        dask = pytest.importorskip("dask")
    monkeypatch.setattr(summaries, "_BATCH_ENTRIES", 1000 * COLUMNS)  # what is held at most
    monkeypatch.setattr("bochner.nystroem.landmarks._KMEANS_ROWS", 1000)
    monkeypatch.setattr("bochner.nystroem.landmarks._LEVERAGE_ROWS", 1000)
    phi = NystroemFeatures(n_components=30, landmarks=landmarks, random_state=0)

    def peak(n):
        X, y = make(tmp_path, n), np.arange(n) % 7.0
        tracemalloc.start()
        if make is lazily:
            with dask.config.set(scheduler="synchronous"):
                head = RidgeRegressor(C=1.0).fit_map(phi.fit(X), X, y)
        else:
            head = RidgeRegressor(C=1.0).fit_map(phi.fit(X), X, y)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert head.coef_.shape == (30,)
        return found

    peak(1000)  # compiles
    assert peak(MANY) - peak(FEW) < 0.1 * 8 * COLUMNS * (MANY - FEW)
