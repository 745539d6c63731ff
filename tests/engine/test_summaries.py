"""Products with the rows wherever they are; the other summaries are tested by their users."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState

from bochner.engine.places import dense
from bochner.engine.summaries import sample_rows, second_moment_product, take_part
from tests.places import PLACES, on_host


@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_second_moment_product_is_the_same_in_every_place(place, dtype, rng):
    X, Y = rng.normal(size=(50, 7)).astype(dtype), rng.normal(size=(7, 3)).astype(dtype)
    there = PLACES[place](X)
    device = place in ("torch", "strict")
    product = second_moment_product(there, PLACES[place](Y) if device else Y)
    assert type(product) is (type(there) if device else np.ndarray)
    assert on_host(product).dtype == dtype
    expected = X.astype(np.float64).T @ (X.astype(np.float64) @ Y)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(on_host(product), expected, rtol=tolerance, atol=tolerance)


@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(1, 20),
    d=st.integers(1, 10),
    k=st.integers(1, 4),
    place=st.sampled_from(["csr", "dask", "dask_sparse"]),
    seed=st.integers(0, 10**6),
)
def test_second_moment_product_of_any_shape(n, d, k, place, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.5), rng.normal(size=(d, k))
    product = second_moment_product(PLACES[place](X), Y)
    np.testing.assert_allclose(product, X.T @ X @ Y, atol=1e-10)


def test_second_moment_product_of_blocks_of_unknown_length(rng):
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(4, 2))
    da = pytest.importorskip("dask.array")
    rows = da.from_array(X, chunks=(7, 4))
    rows = rows[da.from_array(np.arange(30) % 3 > 0, chunks=7)]
    kept = X[np.arange(30) % 3 > 0]
    np.testing.assert_allclose(second_moment_product(rows, Y), kept.T @ kept @ Y, atol=1e-12)


def test_a_sample_is_of_all_partitions():
    """Of unknown lengths too: the first rows are not like the others."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"x": np.arange(10_000.0), "y": 1.0})
    parts = dd.from_pandas(frame, npartitions=8)
    X = parts[parts["x"] % 2 == 0].to_dask_array()  # lengths that nobody has counted
    assert np.isnan(X.shape[0])
    sample = sample_rows(X, 400, np.random.RandomState(0))
    assert sample.shape == (400, 2)
    assert np.isnan(X.shape[0])  # the caller's array is as it was
    error = 10_000 / np.sqrt(12 * 400)
    assert abs(sample[:, 0].mean() - 4999) < 4 * error
    assert sample[:, 0].max() > 9000


def test_rows_that_take_part():
    X, y = np.arange(300.0).reshape(100, 3), np.arange(100)
    assert take_part(X, y, RandomState(0))[0] is X
    rows, labels = take_part(X, y, RandomState(0), most_rows=7)
    np.testing.assert_array_equal(rows, X[labels])
    assert len(labels) == 7


@pytest.mark.parametrize("place", ["dask", "dask_sparse"])
def test_rows_of_a_dask_array_that_fit_in_memory(place, monkeypatch):
    X, y = np.arange(1.0, 301.0).reshape(100, 3), np.arange(100)
    there = PLACES[place](X)
    rows, labels = take_part(there, y, RandomState(0))
    np.testing.assert_array_equal(dense(rows), X)
    np.testing.assert_array_equal(labels, y)
    bytes_per_row = 24 if place == "dask" else 3 * 12 + 8
    assert len(take_part(there, y, RandomState(0), memory_budget=1)[1]) == 100  # are not many
    monkeypatch.setattr("bochner.engine.summaries._FEWEST_TAKEN", 2)
    rows, labels = take_part(there, y, RandomState(0), memory_budget=10 * bytes_per_row)
    np.testing.assert_array_equal(dense(rows), X[labels])
    assert len(labels) == 10
    assert np.ptp(labels) > 50  # of all blocks
