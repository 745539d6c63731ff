"""Which lines are measured on further splits."""

import dataclasses

import numpy as np

from bochner.compare.race import BY_ROW, measured_once, read, worth_measuring, written
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
