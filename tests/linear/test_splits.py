"""Rows that are held out."""

import warnings

import numpy as np
import pytest

from bochner.linear.splits import count_kept, fold_rows, hold_out


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


@pytest.mark.parametrize("n_folds", [2, 5])
@pytest.mark.parametrize("classes", [True, False])
def test_folds_hold_out_every_row_once(n_folds, classes):
    y = np.repeat([0, 1], [60, 40])
    splits = fold_rows(y, 0, n_folds, classes=classes)
    assert len(splits) == n_folds
    np.testing.assert_array_equal(
        np.sort(np.concatenate([held for _, held in splits])), range(100)
    )
    for kept, held in splits:
        assert not set(kept) & set(held)
        assert len(kept) + len(held) == 100
        assert not np.array_equal(kept, np.sort(kept))
        if classes:
            assert y[held].mean() == pytest.approx(0.4)


def test_folds_of_few_rows_and_rare_classes():
    assert len(fold_rows(np.arange(3.0), 0, 5, classes=False)) == 3
    rare = np.array([0] * 20 + [1])
    assert len(fold_rows(rare, 0, 5, classes=True)) == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fold_rows(np.array([0] * 20 + [1, 1]), 0, 5, classes=True)
