"""Mergeable moments against the formulas on all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf

from bochner.mercer.moments import moments
from tests.places import PLACES


def check(ours, X, error=1e-12):
    c = X - X.mean(axis=0)
    squares = np.sum(c**2, axis=1)
    assert ours.count == len(X)
    for one, other in [
        (ours.mean, X.mean(axis=0)),
        (ours.scatter, c.T @ c),
        (ours.third, squares @ c),
        (ours.fourth, squares @ squares),
        (ours.variance(), X.var()),
    ]:
        np.testing.assert_allclose(one, other, rtol=error, atol=error * np.abs(other).max())


@pytest.mark.parametrize("place", PLACES)
def test_every_place(place, rng):
    X = rng.normal(size=(50, 4)) * [1, 2, 0.1, 3] + [0, 1, 0, -5]
    check(moments(PLACES[place](X)), X)


@given(cuts=st.sets(st.integers(1, 39)), offset=st.floats(-1e3, 1e3), seed=st.integers(0, 9))
def test_parts_merge_to_the_whole(cuts, offset, seed):
    X = np.random.default_rng(seed).exponential(size=(40, 3)) + offset
    parts = [moments(part) for part in np.split(X, sorted(cuts))]
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    check(total, X, error=1e-9)


def test_large_arrays_go_in_batches(rng, monkeypatch):
    monkeypatch.setattr("bochner.mercer.moments._BATCH_BYTES", 1000)
    X = rng.normal(size=(333, 4))
    check(moments(X), X)


def test_empty_blocks_of_a_dask_array(rng):
    da = pytest.importorskip("dask.array")
    X = rng.normal(size=(30, 3))
    lazy = da.from_array(X, chunks=(10, 3))
    some = lazy[lazy[:, 0] > 0]  # lengths of blocks not known
    check(moments(some), X[X[:, 0] > 0])
    none = lazy[lazy[:, 0] > 100]
    with pytest.raises(ValueError, match="no rows"):
        moments(none)


@pytest.mark.parametrize("shape", [(20, 40), (200, 5), (2, 3)])
def test_ledoit_wolf_is_scikit_learns(shape, rng):
    X = rng.normal(size=shape) * np.linspace(0.5, 2, shape[1])
    covariance, shrinkage = ledoit_wolf(X)
    ours = moments(X)
    assert ours.ledoit_wolf() == pytest.approx(shrinkage, rel=1e-10)
    few = shape[0] < shape[1]
    expected = covariance if few else np.cov(X.T, bias=True)
    np.testing.assert_allclose(ours.covariance("auto"), expected, atol=1e-12)
    np.testing.assert_allclose(ours.covariance(None), np.cov(X.T, bias=True), atol=1e-12)
    half = ours.covariance(0.5)
    assert np.trace(half) == pytest.approx(np.trace(expected))
    np.testing.assert_allclose(half[0, 1:], 0.5 * np.cov(X.T, bias=True)[0, 1:], atol=1e-12)


def test_one_row():
    ours = moments(np.array([[1.0, 2.0]]))
    assert ours.ledoit_wolf() == 0.0
    np.testing.assert_array_equal(ours.covariance("auto"), np.zeros((2, 2)))
