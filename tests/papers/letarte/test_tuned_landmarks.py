import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from bochner import LandmarkSimilarities
from bochner.papers.letarte import common, tuned_landmarks
from bochner.papers.letarte.tuned_landmarks import COLUMNS, LandmarkFamily, by_column
from bochner.records.cells import Cell, Result

GAMMA, SHARE = 1e-5, 0.05


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200], y[:200]


@pytest.mark.parametrize("n_frequencies", [8, 64])
def test_similarities_are_those_of_the_map_itself(rows, n_frequencies):
    X, y = rows
    family = LandmarkFamily.fit(X, y, SHARE, GAMMA, 3, n_frequencies)
    settings = {"n_components": SHARE, "gamma": GAMMA, "random_state": 3}
    for beta in (0.1, 10.0):
        plain = LandmarkSimilarities(
            **settings, frequencies="own", n_frequencies=n_frequencies, beta=beta
        ).fit(X, y)
        found, again = family.similarities([X, X[:7]], [1.0, beta])
        np.testing.assert_allclose(found[1], plain.transform(X), atol=1e-12)
        np.testing.assert_allclose(again[1], plain.transform(X[:7]), atol=1e-12)


def test_a_quick_version_tries_fewer_among_which_are_those_of_all_columns():
    assert tuned_landmarks.tried(coarse=True) == ((16, 64), (0.01, 1.0, 100.0))


def test_every_column_chooses_from_its_own_settings(monkeypatch):
    monkeypatch.setattr(tuned_landmarks, "FREQUENCIES", (8, 64))
    monkeypatch.setattr(tuned_landmarks, "BETAS", (1e-3, 1.0))
    cells = [
        Cell("table1", "breast", "PB", None, 0, 150, (("gamma", GAMMA), ("D", D))) for D in (8, 64)
    ]
    split = common.load_split("breast", 0, 150)
    few, many = (tuned_landmarks.measure_tuned(cell, split, 0.1) for cell in cells)
    assert few.details["PB beta=1 beta"] == many.details["PB beta=1 beta"] == 1
    assert many.details["own beta"] == 1
    assert not {"PB D=64 error", "own error"} & few.details.keys()
    columns = {result.cell.method: result.score for result in by_column([few, many])}
    assert list(columns) == list(COLUMNS)
    assert columns["own"] == 1 - many.details["own error"]
    best = min((few, many), key=lambda result: result.details["PB valid error"])
    assert columns["PB"] == best.score
    assert min(columns.values()) > 0.8
    assert [result.cell.method for result in by_column([many])] == ["PB D=64", "own"]


def test_of_equally_good_frequencies_the_fewest_are_taken(monkeypatch):
    monkeypatch.setattr(tuned_landmarks, "FREQUENCIES", (8, 16))

    def measured(D, valid_error, error):
        details = {"PB valid error": valid_error, "PB error": error}
        details |= {f"PB beta=1 {name}": 0.5 for name in ("valid error", "error")}
        return Result(Cell("table1", "breast", "PB", None, 0, 150, (("D", D),)), 0, 0, 0, details)

    def found(*results):
        return next(r.score for r in by_column(results) if r.cell.method == "PB")

    assert found(measured(16, 0.1, 0.3), measured(8, 0.1, 0.2)) == 0.8
    assert found(measured(16, 0.1, 0.3), measured(8, 0.2, 0.2)) == 0.7
