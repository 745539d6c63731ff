import numpy as np
import pytest

from bochner.models import limits
from bochner.models.limits import count_splits, may_be_exact


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_splits"),
    [
        (3, 2, 3),
        (100, 5, 5),
        (1000, 5, 5),
        (1250, 199, 4),
        (2500, 5, 2),
        (2501, 5, 1),
        (1250, 500, 2),
    ],
)
def test_few_rows_have_several_splits(n_rows, n_columns, n_splits):
    assert count_splits(np.empty((n_rows, n_columns)), 0.2) == n_splits


def test_splits_hold_out_the_fraction():
    assert count_splits(np.empty((100, 2)), 0.5) == 2
    assert count_splits(np.empty((100, 2)), 0.9) == 2
    assert count_splits(np.empty((100, 2)), 0.1) == 10


def test_many_rows_have_one_split(monkeypatch):
    monkeypatch.setattr(limits, "MANY_ROWS", 50)
    assert count_splits(np.empty((100, 2)), 0.2) == 1


def test_all_rows_are_landmarks_where_memory_and_time_allow(monkeypatch):
    X = np.empty((1, 2))
    monkeypatch.setattr(limits, "memory_limit", lambda: None)
    assert may_be_exact(X, 40_000)
    assert not may_be_exact(X, 40_001)
    assert may_be_exact(X, 20_000, hurried=True)
    assert not may_be_exact(X, 20_001, hurried=True)
    monkeypatch.setattr(limits, "memory_limit", lambda: 16 * 10**9)
    assert may_be_exact(X, 25_000)
    assert not may_be_exact(X, 26_000)


def test_more_rows_are_landmarks_on_a_device_that_has_the_memory(monkeypatch):
    X = np.empty((1, 2))
    monkeypatch.setattr(limits, "on_cuda", lambda X: True)
    monkeypatch.setattr(limits, "device_memory", lambda X: 80 * 10**9)
    monkeypatch.setattr(limits, "memory_limit", lambda: 10**9)  # of the host
    assert may_be_exact(X, 40_000)
    assert not may_be_exact(X, 41_000)
    monkeypatch.setattr(limits, "device_memory", lambda X: 10**13)
    assert not may_be_exact(X, 100_001)


def test_blocks_of_rows_have_pairs_where_all_of_them_choose(monkeypatch):
    X = pytest.importorskip("dask.array").zeros((1, 2))
    monkeypatch.setattr(limits, "memory_limit", lambda: None)
    assert may_be_exact(X, 20_000)
    assert not may_be_exact(X, 20_001)
