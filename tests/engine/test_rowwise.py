import numpy as np
import pytest

from bochner.engine.places import is_dask
from bochner.engine.rowwise import (
    columns_in_one_block,
    concat_columns,
    map_batches,
    map_rows,
    reduce_rows,
    with_known_lengths,
)
from tests.places import PLACES, on_host

da = pytest.importorskip("dask.array")


def product(X, W, n_threads=None):
    return X @ W


def options_of(X, W, n_threads):
    return np.full((X.shape[0], 1), n_threads)


class TestMapRows:
    @pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict", "dask", "dask_sparse"])
    def test_is_the_function_of_the_rows(self, place, rng):
        X, W = rng.normal(size=(10, 4)), rng.normal(size=(4, 3))
        there = PLACES[place](X)
        sent = PLACES[place](W) if place in ("torch", "strict") else W
        result = map_rows(product, there, 3, shared={"W": sent})
        assert is_dask(result) == is_dask(there)
        np.testing.assert_allclose(on_host(result), X @ W)

    @pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
    def test_declares_dtype_and_shape(self, dtype):
        X = da.ones((10, 4), dtype=dtype, chunks=(4, 2))
        result = map_rows(product, X, 3, shared={"W": np.ones((4, 3))})
        assert result.dtype == ("float64" if dtype == "int64" else "float32")
        assert result.chunks == ((4, 4, 2), (3,))
        assert result._meta.shape == (0, 0)

    def test_one_number_per_row(self, rng):
        X = rng.normal(size=(10, 4))
        result = map_rows(lambda rows: rows.sum(axis=1), PLACES["dask"](X), None, dtype="float64")
        assert result.shape == (10,)
        np.testing.assert_allclose(result.compute(), X.sum(axis=1))

    def test_blocks_use_one_thread(self):
        X, W = np.ones((4, 2)), np.ones((2, 1))
        for there, expected in ((X, 7), (PLACES["dask"](X), 1)):
            result = map_rows(options_of, there, 1, shared={"W": W}, n_threads=7)
            assert (on_host(result) == expected).all()

    def test_what_is_shared_is_in_the_graph_once(self):
        W = np.ones((4, 1000))
        X = da.ones((64, 4), chunks=(1, 4))
        graph = map_rows(product, X, 1000, shared={"W": W}).__dask_graph__()
        arrays = [part for part in _parts(dict(graph)) if isinstance(part, np.ndarray)]
        assert sum(array.nbytes for array in arrays) < 2 * W.nbytes


def _parts(value, seen=None):
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    if isinstance(value, dict):
        value = value.values()
    elif hasattr(value, "args"):
        value = [*value.args, *getattr(value, "kwargs", {}).values()]
    elif hasattr(value, "value"):
        value = [value.value]
    elif not isinstance(value, list | tuple):
        return
    for part in value:
        yield from _parts(part, seen)


class TestReduceRows:
    @pytest.mark.parametrize("height", [1, 3, 30])
    @pytest.mark.parametrize("cut", ["numpy", "the same", "otherwise"])
    def test_sum_over_blocks(self, height, cut, rng):
        X, A = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
        blocks = {"the same": (height, -1), "otherwise": (7, 1)}.get(cut)
        there = da.from_array(X, chunks=(height, 2))
        aligned = A if blocks is None else da.from_array(A, chunks=blocks)
        result = reduce_rows(lambda rows, a: rows.T @ a, there, aligned)
        np.testing.assert_allclose(result, X.T @ A, atol=1e-13)
        np.testing.assert_allclose(reduce_rows(lambda rows, a: rows.T @ a, X, A), X.T @ A)

    def test_another_way_to_merge(self, rng):
        X = rng.normal(size=(30, 4))
        largest = reduce_rows(np.max, da.from_array(X, chunks=(2, 4)), merge=max)
        assert largest == X.max()


def test_columns_in_one_block():
    X = da.ones((6, 4), chunks=(2, 2))
    assert columns_in_one_block(X).chunks == ((2, 2, 2), (4,))
    whole = da.ones((6, 4), chunks=(2, 4))
    assert columns_in_one_block(whole) is whole
    rows = np.ones((2, 2))
    assert columns_in_one_block(rows) is rows


def test_with_known_lengths():
    X = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(2, 2))
    assert with_known_lengths(X) is X
    some = X[X[:, 0] > 3]
    assert np.isnan(some.shape[0])
    assert with_known_lengths(some).shape == (4, 2)
    rows = np.ones((2, 2))
    assert with_known_lengths(rows) is rows


@pytest.mark.parametrize("place", ["numpy", "torch", "strict", "csr"])
@pytest.mark.parametrize("height", [0, 1, 4, 100])
def test_map_batches(place, height, rng):
    X = rng.normal(size=(9, 3))
    heights = []

    def dense(rows):
        heights.append(rows.shape[0])
        return rows.toarray() if place == "csr" else 1.0 * rows

    np.testing.assert_array_equal(on_host(map_batches(dense, PLACES[place](X), height)), X)
    assert max(heights) <= max(height, 1)


def test_map_batches_of_no_rows():
    assert map_batches(lambda rows: rows[:, :1], np.empty((0, 3)), 4).shape == (0, 1)


@pytest.mark.parametrize("place", ["numpy", "torch", "strict", "dask"])
@pytest.mark.parametrize("count", [1, 3])
def test_concat_columns(place, count, rng):
    parts = [rng.normal(size=(6, 2)) for _ in range(count)]
    result = concat_columns([PLACES[place](part) for part in parts])
    np.testing.assert_array_equal(on_host(result), np.hstack(parts))
    if place == "dask" and count > 1:
        assert result.numblocks[1] == 1
