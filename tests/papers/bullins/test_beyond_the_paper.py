"""The studies of ten digits and of numbers."""

import re

import numpy as np
import pytest

from bochner.data.local import load_regression
from bochner.papers.bullins import digits, regression
from bochner.papers.bullins.common import OURS, RANDOM, measure_features
from bochner.papers.bullins.digits import DIGITS
from bochner.papers.bullins.regression import REGRESSION
from bochner.papers.study import Request
from bochner.records.cells import Cell
from bochner.records.sections import as_text
from tests.papers.bullins import cheap, result


@pytest.mark.parametrize(
    ("study", "method", "widths"),
    [(DIGITS, RANDOM, {100, 500, 1000, 4000}), (REGRESSION, OURS, {50, 100, 200, 500})],
)
def test_widths(study, method, widths):
    planned = []
    study.collect(Request(study.tasks, 1), lambda cells: planned.extend(cells) or [])
    assert {cell.width for cell in planned if cell.method == method} == widths


@pytest.mark.parametrize("method", [RANDOM, OURS])
def test_digits(method, folder):
    cell = Cell("digits", "mnist", method, 100, seed=0)
    measured = measure_features(cheap(digits.EXPERIMENT), cell)
    assert measured.score > 0.8
    assert measured.details["C"] in digits.EXPERIMENT.head.default_Cs(600)


@pytest.mark.parametrize("method", [RANDOM, OURS])
def test_regression(method, folder):
    cell = Cell("regression", "cadata", method, 50, seed=0)
    measured = measure_features(cheap(regression.EXPERIMENT), cell)
    assert measured.score > 0.5
    data = load_regression("cadata", random_state=0)
    expected = np.sqrt(1 - measured.score) * np.std(data.y_test)
    assert measured.details["RMSE"] == pytest.approx(expected)


def test_reports():
    text = as_text(DIGITS.sections([result("mnist", RANDOM, 4000), result("mnist", OURS, 200)]))
    assert re.search(r"200 +- +90.00 +1.00\n4000 +90.00 +- +-\n", text)
    text = as_text(REGRESSION.sections([result("cadata", OURS, 50, score=0.7, RMSE=60000.4)]))
    assert re.search(r"cadata +50 +- +0.7000 +- +60000 +1.00\n", text)
