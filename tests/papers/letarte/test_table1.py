import re
from dataclasses import replace

import pytest

from bochner.data.local import load_local
from bochner.papers.letarte import svm, table1, tuned_landmarks
from bochner.papers.letarte.common import authors_split
from bochner.papers.letarte.table1 import TABLE1, TABLE1_AUTHORS
from bochner.papers.study import Request
from bochner.records.sections import as_text
from tests.papers.letarte import anew, cell, result


@pytest.mark.parametrize(
    ("study", "solver", "seeds", "methods"),
    [
        (TABLE1, "optimum", 2, ("RBF", "PB", "shared")),
        (TABLE1_AUTHORS, "authors", 1, ("RBF", "PB")),
    ],
)
def test_cells(study, solver, seeds, methods, monkeypatch):
    monkeypatch.setattr(svm, "GAMMAS", (1e-6, 1e-5))
    monkeypatch.setattr(tuned_landmarks, "FREQUENCIES", (8, 64))
    monkeypatch.setattr(tuned_landmarks, "BETAS", (0.1, 1.0))
    monkeypatch.setattr(table1, "AUTHORS_SPLITS", 1)
    results = study.collect(Request(("breast",), 2), anew(study))
    found = [(r.cell.method, r.cell.setting("solver"), r.cell.seed) for r in results]
    assert found == [
        *(("SVM", None, seed) for seed in range(2)),
        *((method, solver, seed) for seed in range(seeds) for method in methods),
    ]
    assert all(0.85 < r.score <= 1 for r in results)
    split = authors_split(load_local("breast"), 42)
    gamma = svm.tune_svm(split, svm.GAMMAS).gamma
    assert {r.details["gamma"] for r in results} == {gamma}


def family(task, seed, *errors):
    """A result with an error for each of its columns."""
    measured = result(task, "PB", seed, errors[0])
    columns = zip(tuned_landmarks.COLUMNS, errors, strict=True)
    return replace(
        measured, details=measured.details | {f"{name} error": error for name, error in columns}
    )


def test_report():
    errors = {"SVM": (0.04, 0.06), "RBF": (0.05, 0.07), "shared": (0.02, 0.03)}
    results = [
        result(method=method, seed=seed, error=pair[seed])
        for method, pair in errors.items()
        for seed in range(2)
    ]
    for seed in range(2):
        results.append(family("breast", seed, 0.03 + seed / 50, 0.04, 0.05, 0.01))
        results.append(family("mnist56", seed, 0.2, 0.2, 0.2, 0.2))
    results += [result("mnist56", method, seed) for method in errors for seed in range(2)]
    text = as_text(TABLE1.sections(results))
    row = (
        r"breast +0.01 +5.00 ± 1.00 +4.90 +6.00 ± 1.00 +6.99 +4.00 ± 1.00 +3.50 +4.00 ± 0.00 +3.50"
        r" +5.00 ± 0.00 +2.80 +1.00 ± 0.00 +2.50 ± 0.50 +2"
    )
    assert re.search(row, text)
    assert "confirmed: shared frequencies err no more than plain landmarks" in text
    assert "shared frequencies err less than plain landmarks (ours) (1 of 2" in text
    assert "learned landmarks with D and beta tuned (PB) err less than plain ones" in text
    assert "The SVM errs less than RBF and PB on 0 of 2 (paper: 1)" in text
    assert "over 2 splits" in text
    assert "Linear model: squared hinge at its optimum" in text
    assert "once, on the authors' split" in text
    text = as_text(TABLE1_AUTHORS.sections(results))
    assert "stopped where the authors' program stops" in text
    assert "shared" not in text


def test_report_of_what_is_done_so_far():
    """A study that was interrupted has methods and seeds missing."""
    text = as_text(TABLE1.sections([result()]))
    assert re.search(
        r"breast +0.01 +10.00 +4.90 +- +6.99 +- +3.50 +- +3.50 +- +2.80 +- +- +1", text
    )


@pytest.mark.parametrize("method", ["RBF", "shared"])
def test_landmarks_learn(method):
    measured = TABLE1.measure(cell(method, gamma=1e-5))
    assert measured.score > 0.85  # always guessing the larger class: 0.63
