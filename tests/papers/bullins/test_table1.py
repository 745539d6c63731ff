import re
from itertools import product

import pytest

from bochner.data import PAIRS
from bochner.papers.bullins import table1
from bochner.papers.bullins.common import GAMMA, LKRF, OURS, RANDOM, measure_features
from bochner.papers.bullins.table1 import EXPERIMENT, TABLE1, published
from bochner.papers.study import Request
from bochner.records.cells import Cell
from bochner.records.sections import as_text
from tests.papers.bullins import cheap, result


def test_published_numbers():
    assert set(table1.PUBLISHED) == set(product(PAIRS, table1.PUBLISHED_COLUMNS))
    assert {len(numbers) for numbers in table1.PUBLISHED.values()} == {5}
    assert published("mnist49", "ours", 100) == 93.02
    assert published("cifar_auto_deer", "LKRF", 2000) == 92.65
    assert published("cifar_dog_frog", "RBF-RF", 5000) == 82.95
    assert published("mnist49", "ours", 200) is None


def cells(request):
    planned = []
    TABLE1.collect(request, lambda cells: planned.extend(cells) or [])
    return planned


def test_cells():
    widths = (100, 500, 1000, 2000, 5000)
    assert [(cell.method, cell.width) for cell in cells(Request(("mnist49",), 1))] == [
        (method, width) for method in (RANDOM, LKRF, OURS) for width in widths
    ]
    full = cells(Request(TABLE1.tasks, TABLE1.full.seeds))
    assert len(full) == 8 * (10 * 9 + 3 * 6)
    assert {cell.seed for cell in full if cell.width == 1000} == set(range(10))
    assert {cell.seed for cell in full if cell.width == 2000} == {0, 1, 2}
    assert {cell.max_train for cell in full} == {None}
    chosen = cells(Request(("mnist49",), 1, widths=(10, 20)))
    assert [cell.width for cell in chosen] == [10, 20] * 3


@pytest.mark.parametrize("method", [RANDOM, LKRF, OURS])
@pytest.mark.parametrize("task", ["mnist17", "cifar_plane_bird"])
def test_pairs(task, method, folder):
    measured = measure_features(cheap(EXPERIMENT), Cell("table1", task, method, 20, seed=0))
    assert measured.score > 0.9
    assert measured.details["C"] in EXPERIMENT.head.default_Cs(120)
    assert (GAMMA in measured.details) == (method != OURS)
    assert measured.fit <= measured.seconds


@pytest.mark.parametrize("method", [RANDOM, LKRF, OURS])
def test_on_a_device(method, folder):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    cell = Cell("table1", "mnist17", method, 20, seed=0)
    measured = measure_features(cheap(EXPERIMENT), cell, device="cpu:0")
    assert measured.score > 0.9
    assert TABLE1.on_devices


def test_measuring_again_gives_the_same(folder):
    cell = Cell("table1", "mnist49", OURS, 20, seed=1, max_train=60)
    first, second = (measure_features(cheap(EXPERIMENT), cell) for _ in range(2))
    assert (first.score, first.details) == (second.score, second.details)


def test_unknown_method(folder):
    for width in (10, None):
        with pytest.raises(
            ValueError, match="there is no map 'best'; there are ours, random, LKRF"
        ):
            TABLE1.measure(Cell("table1", "mnist49", "best", width, 0))


def test_report():
    results = [
        result(task, method, width, seed, score, fit=0.5)
        for task, scores in {"mnist49": (0.99, 0.97), "mnist17": (0.98, 0.9)}.items()
        for method, width, score in (
            (RANDOM, 100, 0.93),
            (RANDOM, 5000, 0.985),
            (OURS, 100, scores[0]),
            (OURS, 500, scores[1]),
        )
        for seed in range(2)
    ]
    sections = TABLE1.sections(results)
    text = as_text(sections)
    assert "mean ± standard error over 2 seeds\n" in text
    assert re.search(
        r"mnist49 +100 +93.00 ± 0.00 +- +99.00 ± 0.00 +0.00 +0.50 ± 0.00 +87.72 +88.42 +93.02\n",
        text,
    )
    assert re.search(r"mnist49 +5000 +98.50 ± 0.00 +- +- +- +- +98.08 +97.76 +99.01\n", text)
    assert (
        "Tasks of 2 on which ours is at or above the published learned features: "
        "1 with 100 columns, 1 with 500 columns, 1 with each of these." in text
    )
    assert "published random features with 5000 on 1 of 2 tasks (the paper's own: 0)" in text
    assert "our own tuned random features with 5000 on 1 of 2 tasks" in text
    series = {curve.name: curve for curve in sections[1].chart.series}
    assert series["paper ours"].published
    assert series["paper ours"].subject == series["ours"].subject


def test_a_mean_that_prints_as_the_published_number_has_reached_it():
    for score, reached in ((0.9302 - 1e-9, 1), (0.9301, 0)):
        text = as_text(TABLE1.sections([result("mnist49", OURS, 100, score=score)]))
        assert f"{reached} with 100 columns" in text


def test_report_without_ours():
    text = as_text(TABLE1.sections([result("mnist49", RANDOM, 300)]))
    assert re.search(r"mnist49 +300 +90.00 +- +- +- +- +- +- +-\n", text)
    assert "learned features:" not in text
