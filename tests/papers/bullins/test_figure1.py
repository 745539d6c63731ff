import re

import numpy as np
import pytest

from bochner.papers.bullins import checkerboard, common, windmill
from bochner.papers.bullins.checkerboard import ARCCOSINE_SVM, RBF_SVM
from bochner.papers.bullins.common import GAMMA, OURS, RANDOM, measure_features, rows_of
from bochner.papers.bullins.figure1 import FIGURE1
from bochner.papers.bullins.windmill import RBF_MEDIAN, RBF_QUARTER
from bochner.papers.study import Request
from bochner.records.cells import Cell
from bochner.records.sections import as_text
from tests.papers.bullins import cheap, result


def test_the_windmill_counts_frequencies():
    planned = []
    FIGURE1.collect(Request(("W2",), 1), lambda cells: planned.extend(cells) or [])
    assert {cell.width for cell in planned} == {60, 200, 600, 2000, None}


def test_windmill_is_a_matter_of_bandwidth(monkeypatch):
    monkeypatch.setattr(common, "SYNTHETIC_ROWS", (1000, 2000))
    median, quarter = (
        FIGURE1.measure(Cell("windmill", "W2", method, None, 0)).score
        for method in (RBF_MEDIAN, RBF_QUARTER)
    )
    tuned = FIGURE1.measure(Cell("windmill", "W2", RANDOM, 100, 0))
    assert quarter > median + 0.03
    assert tuned.score > median + 0.03
    assert tuned.details[GAMMA] > 1


def test_learned_frequencies_have_their_band_chosen():
    measured = measure_features(
        cheap(windmill.EXPERIMENT), Cell("windmill", "W2", OURS, 40, 0, max_train=200)
    )
    assert measured.details["band"] in windmill.EXPERIMENT.bands


def test_seeds_draw_other_rows():
    first, second = (
        rows_of(windmill.EXPERIMENT, Cell("windmill", "W4", OURS, 4, seed)) for seed in (0, 1)
    )
    assert not np.array_equal(first.X_train, second.X_train)


@pytest.mark.parametrize("method", [RBF_SVM, ARCCOSINE_SVM])
def test_checkerboard_svms(method, monkeypatch):
    monkeypatch.setattr(common, "SYNTHETIC_ROWS", (600, 400))
    monkeypatch.setattr(checkerboard, "PENALTIES", (10.0, 1000.0))
    measured = FIGURE1.measure(Cell("checkerboard", "sphere", method, None, 0))
    assert measured.score > 0.75
    assert (GAMMA in measured.details) == (method == RBF_SVM)


def test_checkerboard_counts_columns():
    measured = measure_features(
        cheap(checkerboard.EXPERIMENT), Cell("checkerboard", "sphere", OURS, 40, 0)
    )
    assert measured.details["columns"] == 40


def test_harmonics_learn_the_checkerboard(monkeypatch):
    monkeypatch.setattr(common, "SYNTHETIC_ROWS", (800, 1000))
    measured = FIGURE1.measure(Cell("checkerboard", "sphere", OURS, 60, 0))
    assert measured.score > 0.93
    assert 5 < measured.details["columns"] < 60


def test_reports():
    results = [
        result("W2", method, width, seed, 0.98 + seed / 100, study="windmill")
        for method, width in ((RANDOM, 200), (OURS, 200), (RBF_MEDIAN, None), (RBF_QUARTER, None))
        for seed in range(2)
    ]
    sections = FIGURE1.sections(results)
    text = as_text(sections)
    assert re.search(r"W2 +ours +98.50 ± 0.50\n", text)
    assert re.search(r"paper +ours +98.6\n", text)
    assert "has 98.50 ± 0.50 with the median distance" in text
    assert "baseline of 92.1" in text
    assert sections[-1].chart.series[0].x == (100,)

    results = [
        result("sphere", OURS, 100, seed, 0.99, study="checkerboard", columns=28 + seed)
        for seed in range(2)
    ] + [result("sphere", ARCCOSINE_SVM, None, 0, 0.95, study="checkerboard")]
    text = as_text(FIGURE1.sections(results))
    assert re.search(r"ours +99.00 ± 0.00 +28.5 ± 0.5 +1.00 ± 0.00 +99.1 +29\n", text)
    assert re.search(r"arc-cosine SVM +95.00 +1.00 +95.1\n", text)


def test_pictures_of_the_plane_and_the_sphere(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(windmill, "STAGES", (2, 4))
    monkeypatch.setattr(checkerboard, "HARMONICS", 20)
    monkeypatch.setattr(common, "PICTURE_ROWS", 200)
    monkeypatch.setattr(common, "RESOLUTION", 12)
    figure = windmill.picture("W2", 0)
    titles = [axis.get_title() for axis in figure.axes]
    assert [title for title in titles if "frequencies" in title] == [
        "2 frequencies",
        "4 frequencies",
    ]
    figure = checkerboard.picture(0)
    titles = [axis.get_title() for axis in figure.axes]
    assert {"decision", "feature 1", "feature 3"} <= set(titles)
