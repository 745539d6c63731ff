import re

import numpy as np
import pytest

from bochner.papers.letarte import common, svm, tuned_landmarks
from bochner.papers.letarte.common import landmark_map, load_split
from bochner.papers.letarte.landmarks import FIGURE2, FIGURE6, METHODS
from bochner.papers.study import Request
from bochner.records.cells import Result
from bochner.records.sections import as_text
from tests.papers.letarte import anew, cell, result


@pytest.mark.parametrize("method", METHODS)
def test_landmarks_learn(method):
    measured = FIGURE2.measure(cell(method, study="landmarks", gamma=1e-5, percent=10))
    assert measured.score > 0.85  # always guessing the larger class: 0.63


@pytest.mark.parametrize("method", ["PB-R", "PB-C"])
def test_learned_landmarks_are_those_of_the_map_itself(method, monkeypatch):
    monkeypatch.setattr(tuned_landmarks, "WAVES", np.float64)
    of = cell(method, study="landmarks", gamma=1e-5, percent=10)
    plain = common.measure_landmarks(of, load_split("breast", 0, 5000), 0.1)
    measured = FIGURE2.measure(of)
    assert measured.score == plain.score
    assert measured.details == plain.details


@pytest.mark.parametrize("method", METHODS)
def test_on_a_device(method):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    asked = cell(method, study="landmarks", gamma=1e-5, percent=10)
    there, here = FIGURE2.measure(asked, device="cpu:0"), FIGURE2.measure(asked)
    assert there.score == pytest.approx(here.score, abs=1.5 / 143)


def test_the_widest_data_has_fewer_splits():
    planned = []

    def run(cells):
        planned.extend(cells)
        details = {"C": 1.0, "valid error": 0.0}
        return [Result(c, 0.5, 0, 0, details | {"gamma": c.setting("gamma")}) for c in cells]

    FIGURE6.collect(Request(("breast", "farm"), 5, widths=(1,)), run)
    splits = {(c.task, c.seed) for c in planned if c.study == "landmarks"}
    assert splits == {*(("breast", seed) for seed in range(5)), ("farm", 0), ("farm", 1)}


def test_landmarks_are_as_many_as_asked_for_and_of_the_kind():
    shapes = {}
    for method in METHODS:
        split = load_split("breast", 0, 5000)
        fitted = landmark_map(cell(method, gamma=1e-5), 0.05, 64)
        fitted.fit(split.X_train, split.y_train)
        shapes[method] = fitted.landmarks_.shape[0], bool(fitted.in_sample_.all())
        assert (fitted.posterior is None) == method.startswith("RBF")
    assert shapes == {
        "RBF-R": (17, True),
        "RBF-C": (17, False),
        "PB-R": (17, True),
        "PB-C": (17, False),
    }


def test_the_study(monkeypatch):
    monkeypatch.setattr(svm, "GAMMAS", (1e-6, 1e-5))
    run = anew(FIGURE2)
    request = Request(("breast",), 2, widths=(1, 5))
    results = FIGURE2.collect(request, run)
    assert len(results) == 2 * 2 * 4
    gamma = svm.choose_gamma(request, run)["breast"]["gamma"]
    assert {r.cell.setting("gamma") for r in results} == {gamma}
    text = as_text(FIGURE2.sections(results))
    assert re.search(r"percent +RBF-R +RBF-C +PB-R +PB-C\n1 +\d", text)
    assert "learned landmarks (PB) err less than plain ones" in text
    assert "centroids vary less from split to split" in text


def test_claims_about_landmarks():
    def study(errors):
        return as_text(
            FIGURE2.sections(
                [
                    result(
                        method=method,
                        seed=seed,
                        error=(error + spread * (-1) ** seed) / 100,
                        study="landmarks",
                        percent=percent,
                    )
                    for method, (error, spread) in errors.items()
                    for percent in (1, 5)
                    for seed in range(2)
                ]
            )
        )

    text = study({"RBF-R": (9, 0.3), "RBF-C": (9.5, 0.2), "PB-R": (8, 0.3), "PB-C": (7, 0.4)})
    assert (
        "confirmed: learned landmarks (PB) err less than plain ones (RBF) on the average of the"
        " shares (2 of 2)" in text
    )
    assert "confirmed: rows at random and centroids are within 1 percent on average" in text
    assert (
        "not confirmed: centroids vary less from split to split than rows at random (1 of 2; "
        "not at breast PB-C: 0.40 against 0.30)" in text
    )
