"""Which lines are measured on further splits."""

import dataclasses

import numpy as np
import pytest

from bochner.compare.race import (
    BY_ROW,
    error_by_rows,
    is_decided,
    measured_once,
    read,
    set_aside,
    worth_measuring,
    written,
)
from tests.compare.cells import result


def measured(method, right, seed=0):
    one = result(method, 8, seed, float(np.mean(right)))
    return dataclasses.replace(one, details=one.details | {BY_ROW: written(right)})


def test_what_is_far_behind_needs_no_other_split():
    """By the same rows: lines that err together are told apart by few of them."""
    right = np.ones(1000)
    right[:300] = 0
    close, far, unlike = (right.copy() for _ in range(3))
    close[300:303] = 0  # 3 rows worse: 1.7 standard errors
    far[300:305] = 0  # 5 rows worse: 2.2
    unlike[300:340], unlike[:30] = 0, 1  # 10 rows worse, but errs on others: 1.2
    results = [
        measured("Nystroem", right),
        measured("RBFSampler", close),
        measured("exact", unlike),
        measured("linear", far),
    ]
    assert measured_once(results) == {("linear", 8, None)}
    cells = [one.cell for one in results]
    later = [dataclasses.replace(each, seed=1) for each in cells]
    assert worth_measuring([*cells, *later], results) == [*cells, *later[:3]]


def later_cells(results, n_splits=3):
    cells = [dataclasses.replace(one.cell, seed=s) for s in range(n_splits) for one in results]
    return cells, cells[: len(results)]


def test_no_other_split_where_one_line_is_far_ahead_of_all():
    right, wrong = np.ones(1000), np.ones(1000)
    wrong[:100] = 0
    results = [
        measured("exact", right),
        measured("linear", wrong),
        measured("NystroemFeatures", wrong),
        measured("Nystroem", wrong),
    ]
    cells, first = later_cells(results)
    assert is_decided(results)
    assert worth_measuring(cells, results) == first
    # a line that is not known yet, or failed, may be as good
    assert len(worth_measuring(cells, results[:3])) > len(first)


def test_few_test_rows_decide_nothing():
    right, wrong = np.ones(999), np.zeros(999)
    results = [measured("exact", right), measured("linear", wrong)]
    cells, first = later_cells(results)
    assert not is_decided(results)
    assert worth_measuring(cells, results) == [*first, cells[2], cells[4]]


def far_after(n_splits, rows_worse):
    """Two lines on some splits: on each one of them is wrong on so many rows more, of a thousand.

    One is not so on all rows that the other one is: the difference varies from row to row.
    """
    results = []
    for seed in range(n_splits):
        right, worse = np.ones(1000), np.ones(1000)
        right[:20] = 0
        worse[20 : 40 + rows_worse] = 0
        results += [measured("exact", right, seed), measured("linear", worse, seed)]
    return results


def test_what_was_close_is_set_aside_when_more_splits_tell():
    """Ten rows of 50 that differ are 1.4 standard errors, on two splits 2 and on three 2.5.

    Splits share rows: these are the errors of independent ones times 1, 1.12 and 1.22.
    """
    linear = ("linear", 8, None)
    assert set_aside(far_after(1, 10)) == {}
    assert set_aside(far_after(2, 10)) == {}  # 2.0 / 1.12
    assert set_aside(far_after(3, 10)) == {linear: 3}  # 2.5 / 1.22
    assert set_aside(far_after(2, 13)) == {linear: 2}  # 1.79 on one, 2.53 / 1.12 on two
    assert set_aside(far_after(3, 13)) == {linear: 2}
    assert set_aside(far_after(3, 30)) == {linear: 1}
    cells, _ = later_cells(far_after(1, 13))
    assert worth_measuring(cells, far_after(1, 13)) == cells
    decided = far_after(2, 13)
    assert is_decided(decided)
    assert worth_measuring(cells, decided) == cells[:4]
    assert not is_decided(far_after(2, 10))
    assert worth_measuring(cells, far_after(2, 10)) == cells
    # what ran ahead on a third split is of the lines that are left
    third = dataclasses.replace(decided[0], cell=dataclasses.replace(decided[0].cell, seed=2))
    assert set_aside([*decided, third]) == {linear: 2}


def test_the_costliest_of_further_splits_come_first():
    right = np.ones(10)
    results = [measured("linear", right), measured("exact", right), measured("Nystroem", right)]
    results[1] = dataclasses.replace(results[1], seconds=100.0)
    cells, _ = later_cells(results, 2)
    order = [one.method for one in worth_measuring(cells, results)]
    assert order == ["linear", "exact", "Nystroem", "exact", "linear", "Nystroem"]


def test_nothing_is_decided_between_lines_that_are_close_or_alone():
    right, wrong = np.ones(1000), np.zeros(1000)
    alone = [measured("NystroemFeatures", right)]
    assert not is_decided([])
    assert not is_decided(alone)
    assert not is_decided([*alone, measured("Nystroem", right)])  # the same kernel
    assert not is_decided([*alone, measured("exact", right), measured("linear", wrong)])
    cells, _ = later_cells(alone)
    assert worth_measuring(cells, alone) == cells


def test_error_by_rows():
    right = np.r_[np.ones(75), np.zeros(25)]
    assert error_by_rows(measured("exact", right)) == pytest.approx(0.0435, abs=1e-4)
    assert np.isnan(error_by_rows(measured("exact", right[:1])))
    assert np.isnan(error_by_rows(result("exact", 8, 0, 0.9)))


def test_nothing_is_far_behind_unless_the_best_is_known():
    assert measured_once([measured("Nystroem", np.ones(10), seed=1)]) == set()
    assert measured_once([result("Nystroem", 8, 0, 0.9), result("linear", 8, 0, 0.1)]) == set()
    assert measured_once([]) == set()


def test_a_reference_needs_no_other_split_where_its_counterpart_is_there():
    right = np.ones(100)
    alone = [measured("Nystroem", right), measured("RBFSampler", right)]
    assert measured_once(alone) == set()
    both = [*alone, measured("NystroemFeatures", right)]
    assert measured_once(both) == {("Nystroem", 8, None)}
    wider = dataclasses.replace(both[2], cell=dataclasses.replace(both[2].cell, width=16))
    assert measured_once([*alone, wider]) == set()


def test_numbers_of_rows_as_text(rng):
    values = rng.normal(size=100) * 10.0 ** rng.integers(-3, 4, size=100)
    np.testing.assert_allclose(read(written(values)), values, rtol=1e-3, atol=1e-7)
    assert np.isfinite(read(written(np.array([-1e9, 1e9])))).all()
    assert 2000 <= len(read(written(np.ones(9000)))) <= 4000
    assert len(read(written(np.ones(0)))) == 0
