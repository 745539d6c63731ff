"""What a comparison found, as one document."""

import json
import math

import numpy as np
import pytest

from bochner.compare.document import make_document, summarise, wider_cells
from bochner.compare.measure import Measurer
from bochner.compare.pictures.plane import plane
from bochner.compare.race import BY_ROW, written
from bochner.guarantees import clopper_pearson
from tests.compare.cells import EXACT, cell, result


def test_summary(wine):
    results = [
        result("Nystroem", 8, 0, 0.75),
        result("FourierFeatures", 4, 0, 0.5, fit=1.0),
        result("FourierFeatures", 4, 1, 0.7, fit=2.0),
    ]
    first, second = summarise(wine, results)
    assert (first["method"], first["width"], first["seeds"]) == ("FourierFeatures", 4, 2)
    assert first["score"] == pytest.approx(60)
    # two splits with 100 of 178 rows to test on, which overlap
    assert first["standard_error"] == pytest.approx(np.sqrt(200) * np.sqrt(1 / 2 + 100 / 78))
    assert first["scores"] == {"0": 50.0, "1": pytest.approx(70)}
    assert (first["fit"], first["transform"]) == (1.5, 0.5)
    assert first["chosen"] == {"gamma": 1.5, "C": 2.0}
    assert first["guarantee"]["value"] == clopper_pearson(50, 100, 0.025)  # two lines
    assert not first["baseline"]
    assert second["baseline"]
    assert second["standard_error"] is None
    assert (first["error_over"], second["error_over"]) == ("splits", None)


def by_rows(method, right):
    one = result(method, 8, 0, float(np.mean(right)))
    one.details[BY_ROW] = written(right)
    return one


def test_the_error_of_one_split_is_over_its_rows(wine):
    right = np.r_[np.ones(75), np.zeros(25)]
    (summary,) = summarise(wine, [by_rows("NystroemFeatures", right)])
    assert summary["standard_error"] == pytest.approx(100 * np.sqrt(0.75 * 0.25 / 99))
    assert summary["error_over"] == "rows"


def test_what_one_split_has_decided_is_not_tied(wine):
    """Line by line the noise is 1.3 %; on the same rows one is ahead by five standard errors."""
    right = np.r_[np.zeros(200), np.ones(800)]
    wrong = right.copy()
    wrong[200:210] = 0  # 1 % more
    results = [by_rows("exact", right), by_rows("linear", wrong)]
    first, second = sorted(summarise(wine, results), key=lambda one: -one["score"])
    assert (first["set_aside"], second["set_aside"]) == (False, True)
    found = make_document(wine, results, command="", seconds=1.0)["recommendation"]
    assert found["method"] == "exact"


def test_document_is_plain_json(two, numbers):
    for setup in (two, numbers):
        measurer = Measurer(setup)
        results = [
            measurer(cell(method, 8, seed))
            for seed in range(2)
            for method in ("MarginFourierFeatures", "MercerFeatures", EXACT)
        ]
        pictures = plane(setup, results)
        document = make_document(
            setup, results, command="bochner", seconds=1.0, pictures={"plane": pictures}
        )
        assert json.loads(json.dumps(document, allow_nan=False)) == document
        assert len(document["summaries"]) == 3
        assert len(document["cells"]) == 6
        assert document["data"]["task"] == setup.table.task
        assert document["versions"]["bochner"]
        assert (pictures is None) == (setup is numbers)  # three columns


def test_nothing_that_json_lacks(wine):
    odd = result("Nystroem", 8, 0, 0.5)
    odd.details.update(errors=None, chosen={"gamma": np.float64(2), "C": math.inf})
    document = make_document(wine, [odd], command="", seconds=math.nan)
    assert document["cells"][0]["chosen"] == {"gamma": 2.0, "C": None}
    assert document["seconds"] is None
    json.dumps(document, allow_nan=False)


def test_twice_the_width_where_the_best_still_rises(wine):
    scores = {8: (0.8, 0.82, 0.81), 16: (0.9, 0.92, 0.91)}
    results = [
        result("FourierFeatures", width, seed, score)
        for width, found in scores.items()
        for seed, score in enumerate(found)
    ]
    wider = wider_cells(wine, results)
    assert [(one.method, one.width, one.seed) for one in wider] == [
        ("FourierFeatures", 32, seed) for seed in range(3)
    ]
    flat = [result("FourierFeatures", 32, seed, scores[16][seed] - 0.001) for seed in range(3)]
    assert wider_cells(wine, [*results, *flat]) == []
    full = [result("NystroemFeatures", w, s, w / 100) for s in (0, 1) for w in (40, 80)]
    assert wider_cells(wine, full) == []  # there are not so many rows
