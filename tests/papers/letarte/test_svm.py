import re

import pytest
from sklearn.svm import SVC

from bochner.papers.letarte import svm
from bochner.papers.letarte.common import authors_split
from bochner.papers.letarte.svm import GAMMAS, SVM, choose_gamma, tune_svm
from bochner.papers.study import Request
from bochner.records.sections import as_text
from tests.papers.letarte import anew


def test_machine_on_breast_is_the_published_one(breast):
    machine = tune_svm(authors_split(breast, 42), GAMMAS)
    assert f"{100 * machine.test_error:.2f}" == "4.90"
    assert machine.gamma == 1e-5


def test_machine_is_the_one_without_shortcuts(breast):
    split = authors_split(breast, 42)
    machine = tune_svm(split, gammas=[1e-4], penalties=[10.0])
    plain = SVC(C=10.0, gamma=1e-4).fit(split.X_train, split.y_train)
    assert machine.test_error == pytest.approx(1 - plain.score(split.X_test, split.y_test))
    assert machine.valid_error == pytest.approx(1 - plain.score(split.X_valid, split.y_valid))


def test_of_equal_pairs_the_smallest_C_then_gamma(breast):
    # So small a C that every machine votes for the larger class.
    machine = tune_svm(authors_split(breast, 42), gammas=[1e-6, 1e-5], penalties=[1e-9, 1e-8])
    assert (machine.C, machine.gamma) == (1e-9, 1e-6)


def test_the_study(monkeypatch):
    monkeypatch.setattr(svm, "GAMMAS", (1e-5,))
    run = anew(SVM)
    results = SVM.collect(Request(("breast",), 1), run)
    text = as_text(SVM.sections(results))
    assert "split by seed 42" in text
    assert re.search(r"breast +340 +143 +1e-05 +1000 +4.90 +4.90", text)
    assert choose_gamma(Request(("breast",), 7), run) == {"breast": {"gamma": 1e-5}}
    assert len(run.planned) == 1  # the same cell


def test_gammas_are_cells_of_one_choice(breast, monkeypatch):
    monkeypatch.setattr(svm, "GAMMAS", (1e-7, 1e-6, 1e-5))
    run = anew(SVM)
    (chosen,) = SVM.collect(Request(("breast",), 1), run)
    together = tune_svm(authors_split(breast, 42), svm.GAMMAS)
    assert len(run.planned) == 3
    assert (chosen.details["gamma"], chosen.details["C"]) == (together.gamma, together.C)
    assert chosen.score == 1 - together.test_error


def test_nothing_is_chosen_from_a_part_of_the_gammas(monkeypatch):
    monkeypatch.setattr(svm, "GAMMAS", (1e-6, 1e-5))

    def first_only(cells):
        return anew(SVM)(cells[:1])

    assert SVM.collect(Request(("breast",), 1), first_only) == []


def test_a_cut_is_noted():
    (result,) = SVM.collect(Request(("breast",), 1, quick=True), anew(SVM))
    assert result.cell.max_train == 500
    result.details["n_train"] = 200
    assert "200 of 340 training rows" in as_text(SVM.sections([result]))


def test_what_fails_is_not_chosen_for(monkeypatch):
    run = anew(SVM)
    assert choose_gamma(Request(("nowhere",), 1), run) == {}
    assert "unknown dataset 'nowhere'" in next(iter(run.failures.values()))
