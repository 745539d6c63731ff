import math

import pytest

from bochner.datasets import load_bundled
from bochner.experiments import comparison
from bochner.experiments.comparison import EXACT, METHODS, Cell, Measurement


@pytest.fixture(scope="module")
def wine():
    return load_bundled("wine")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns(method, wine):
    cell = Cell(method, None if method == EXACT else 100, seed=0)
    measurement = comparison.measure(cell, wine)
    assert measurement.cell is cell
    assert measurement.accuracy > 0.9  # always guessing the largest class: 0.4
    assert measurement.fit > 0
    assert measurement.transform > 0


def test_a_cell_is_the_same_every_time(wine):
    cell = Cell("FourierFeatures", 20, seed=1)
    first, second = (comparison.measure(cell, wine).accuracy for _ in range(2))
    assert first == second


def test_plan():
    cells, left_out = comparison.plan([*METHODS], [10, 200], n_seeds=2, shape=(178, 13))
    assert len(cells) == 2 * (2 * (len(METHODS) - 1) + 1 - 4)
    assert left_out == [
        *(
            f"{method} with 200 columns needs as many training rows, there are 134"
            for method in ("LandmarkSimilarities", "LandmarkSimilarities, plain")
        ),
        "MarginHarmonicFeatures with 200 columns would take a search for each, in 13 dimensions; "
        "the most is 64",
        "Nystroem with 200 columns needs as many training rows, there are 134",
    ]
    assert len(comparison.plan(["MarginHarmonicFeatures"], [200], 1, (178, 10))[0]) == 1
    assert Cell("Nystroem", 200, 0) not in cells
    assert cells.count(Cell(EXACT, None, 1)) == 1


def test_summary():
    def measurement(width, seed, accuracy):
        return Measurement(Cell("m", width, seed), accuracy, fit=1.0 + seed, transform=2.0)

    summaries = comparison.summarise(
        [measurement(4, 0, 0.5), measurement(8, 0, 0.75), measurement(4, 1, 0.7)]
    )
    assert [(s.width, s.seeds) for s in summaries] == [(4, 2), (8, 1)]
    assert summaries[0].accuracy == pytest.approx(0.6)
    assert summaries[0].standard_error == pytest.approx(0.1)
    assert summaries[0].fit == 1.5
    assert math.isnan(summaries[1].standard_error)
