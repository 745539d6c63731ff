"""Two processes that add up the rows of arrays and of files, and die on the way."""

import os
import threading
import time

import numpy as np
import pandas as pd
import pytest

from bochner.data.tables import read_table
from bochner.linear import RidgeClassifier, SquaredHingeClassifier
from bochner.models.cluster import connected
from bochner.models.preparation import make_preparation
from bochner.models.streaming import RowStream
from tests.engine.clusters import two_workers

HEADS = (RidgeClassifier(C=3.0), SquaredHingeClassifier(C=3.0, tol=1e-11))


@pytest.fixture
def frame(rng):
    X = rng.normal(size=(2400, 6))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    return pd.DataFrame(X, columns=list("abcdef")).assign(y=y)


def slow(block, seconds):
    time.sleep(seconds)
    return block


class SlowPreparation:
    """Of a file; the time is for the worker to die in."""

    def __init__(self, prepare, seconds):
        self.prepare, self.seconds = prepare, seconds

    def transform(self, X):
        return slow(self.prepare.transform(X), self.seconds)


def kill_soon(client):
    client.wait_for_workers(2)
    victim = next(iter(client.run(os.getpid).values()))
    killer = threading.Timer(0.3, os.kill, (victim, 9))
    killer.start()
    return killer


def test_a_worker_that_dies_changes_nothing(tmp_path, frame):
    """The coefficients of one array, of blocks of an array and of files, to 1e-8.

    The worker dies in the one pass of the ridge regression; the next joins that of the squared
    hinge.
    """
    da = pytest.importorskip("dask.array")
    for part in range(8):
        frame[part::8].to_parquet(tmp_path / f"{part}.parquet")
    table = read_table(tmp_path, "y", max_rows=100)
    prepare = make_preparation(table.X, standardize=False).fit(table.X)
    X, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    expected = [head.fit(X, y).coef_.copy() for head in HEADS]
    lazy, found = da.from_array(X, chunks=(300, 6)), []
    with two_workers() as client, connected(client.scheduler.address) as cluster:
        killers = [kill_soon(client)]
        for head, seconds in zip(HEADS, (0.2, 0), strict=True):
            blocks = lazy.map_blocks(slow, seconds, dtype=X.dtype, meta=X[:0])
            found.append(head.fit(blocks, y).coef_.copy())
        killers.append(kill_soon(client))
        for head, seconds in zip(HEADS, (0.2, 0), strict=True):
            slowly = SlowPreparation(prepare, seconds)
            stream = RowStream.of(table, cluster=cluster).prepared_by(slowly)
            found.append(head.fit_blocks(stream, classes=[0, 1]).coef_.copy())
            assert stream.count.n_used == 2400
            assert all(killer.finished.is_set() for killer in killers)
    for coefficients, exact in zip(found, expected * 2, strict=True):
        assert np.abs(coefficients - exact).max() <= 1e-8 * np.abs(exact).max()
