import numpy as np
import pytest

from bochner.models import limits
from bochner.models.limits import count_splits


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
    monkeypatch.setattr(limits, "EXACT_ROWS", 50)
    assert count_splits(np.empty((100, 2)), 0.2) == 1
