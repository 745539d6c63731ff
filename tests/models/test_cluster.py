"""Two processes that add up the rows of arrays and of files, and die on the way."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bochner import NystroemFeatures
from bochner.data.tables import read_table
from bochner.linear import RidgeClassifier, SquaredHingeClassifier
from bochner.models.cluster import connected
from bochner.models.preparation import make_preparation
from bochner.models.streaming import RowStream
from tests.engine.clusters import kill_soon, slow, two_workers

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

RIDGE, HINGE = RidgeClassifier(C=3.0), SquaredHingeClassifier(C=3.0, tol=1e-11)


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


@pytest.fixture
def frame(rng):
    X = rng.normal(size=(2400, 6))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    return pd.DataFrame(X, columns=list("abcdef")).assign(y=y)


class SlowPreparation:
    """Of a file."""

    def __init__(self, prepare, seconds):
        self.prepare, self.seconds = prepare, seconds

    def transform(self, X):
        return slow(self.prepare.transform(X), self.seconds)


def assert_same(coefficients, exact):
    assert np.abs(coefficients - exact).max() <= 1e-8 * np.abs(exact).max()


@pytest.mark.parametrize("head", [RIDGE, HINGE])
def test_a_worker_that_dies_changes_nothing(tmp_path, frame, client, head):
    """One array, blocks, threads, and two processes of which one dies: the same to 1e-8.

    It dies in a pass over the blocks of an array for the ridge regression, and in the first pass
    over files for the squared hinge loss.
    """
    for part in range(8):
        frame[part::8].to_parquet(tmp_path / f"{part}.parquet")
    table = read_table(tmp_path, "y", max_rows=100)
    prepare = make_preparation(table.X, standardize=False).fit(table.X)
    X, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    exact = clone(head).fit(X, y).coef_
    blocks = [(X[i : i + 300], y[i : i + 300]) for i in range(0, 2400, 300)]
    assert_same(clone(head).fit_blocks(blocks).coef_, exact)
    lazy = da.from_array(X, chunks=(300, 6))
    with dask.config.set(scheduler="threads"):
        assert_same(clone(head).fit(lazy, y).coef_, exact)

    seconds = 0.2 if head is RIDGE else 0.0
    killer = kill_soon(client) if head is RIDGE else None
    slowly = lazy.map_blocks(slow, seconds, dtype=X.dtype, meta=X[:0])
    assert_same(clone(head).fit(slowly, y).coef_, exact)
    with connected(client.scheduler.address) as cluster:
        killer = killer or kill_soon(client)
        slower = SlowPreparation(prepare, 0.2 - seconds)
        stream = RowStream.of(table, cluster=cluster).prepared_by(slower)
        assert_same(clone(head).fit_blocks(stream, classes=[0, 1]).coef_, exact)
    assert stream.count.n_used == 2400
    assert killer.finished.is_set()


def test_nystroem_features_survive_a_worker_that_dies(frame, client):
    X, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    phi = NystroemFeatures(n_components=20, kernel="exponential", random_state=0).fit(X)
    exact = RIDGE.fit_map(phi, X, y).coef_.copy()
    lazy = da.from_array(X, chunks=(300, 6)).map_blocks(slow, 0.2, dtype=X.dtype, meta=X[:0])
    killer = kill_soon(client)
    there = clone(phi).fit(lazy)
    np.testing.assert_array_equal(there.landmarks_, phi.landmarks_)
    assert_same(RIDGE.fit_map(there, lazy, y).coef_, exact)
    assert killer.finished.is_set()
