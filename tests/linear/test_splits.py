"""Rows that are held out."""

import numpy as np
import pytest

from bochner.linear.splits import count_kept, hold_out


def test_parts_have_every_row_once():
    y = np.repeat([0, 1], [30, 10])
    kept, held = hold_out(y, 0, classes=True)
    assert sorted([*kept, *held]) == list(range(40))
    assert np.bincount(y[held]).tolist() in ([8, 2], [7, 3])
    kept, held = hold_out(y.astype(float), 0, classes=False, max_rows=20)
    assert (len(kept), len(held)) == (15, 5)
    assert len({*kept, *held}) == 20


@pytest.mark.parametrize("classes", [False, True])
def test_how_many_are_kept_is_known_before(classes):
    for n in range(8, 60):
        assert len(hold_out(np.arange(n) % 2, 0, classes=classes)[0]) == count_kept(n)


@pytest.mark.parametrize("y", [[0, 1, 2, 3, 3, 3, 3, 3], np.arange(8)])
def test_classes_that_are_too_small_are_not_kept_in_proportion(y):
    kept, held = hold_out(np.array(y), 0, classes=True)
    assert (len(kept), len(held)) == (6, 2)


def test_the_seed_decides():
    y = np.arange(100) % 2
    first, second, other = (hold_out(y, seed, classes=True)[1] for seed in (1, 1, 2))
    assert first.tolist() == second.tolist() != other.tolist()
