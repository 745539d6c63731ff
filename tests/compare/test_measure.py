"""Methods side by side: what is chosen, measured, guaranteed and recommended."""

import dataclasses
import json
import math
import os
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC

from bochner.compare import measure as comparison
from bochner.compare.advice import (
    counting_rows,
    guess_score,
    noise_of,
    recommend,
)
from bochner.compare.document import make_document, summarise
from bochner.compare.guarantees import balanced_error
from bochner.compare.measure import Measurer, Setup, fingerprint, measure_for, plan, split
from bochner.compare.pictures.plane import RESOLUTION, plane
from bochner.data.tables import Table, read_table
from bochner.guarantees import clopper_pearson
from bochner.models import selection as comparison_tuning
from bochner.models.comparison_machines import (
    balanced_hinge_path,
    balanced_ridge_path,
    machine_for,
)
from bochner.models.methods import EXACT, METHODS, make_model
from bochner.models.selection import Problem, choose, climb, learn, tune_model
from bochner.records.cells import Cell, Result
from bochner.records.run import Failure, measure_all


@pytest.fixture(scope="module")
def wine():
    return Setup(read_table("wine"), "accuracy")


@pytest.fixture(scope="module")
def two():
    """Two classes, one of them rare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(np.hypot(*X.T) < 0.55, "inside", "outside")
    return Setup(Table("disc", X, y, "classification", None, 400), "balanced-accuracy")


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = 40 + 7 * np.sin(2 * X[:, 0]) + rng.normal(size=300)
    return Setup(Table("sine", X, y, "regression", None, 300), "R2")


def cell(method, width=40, seed=0):
    return Cell("x", "task", method, None if method == EXACT else width, seed)


FOR_TABLES = [name for name, method in METHODS.items() if not method.images]


# ------------------------------------------------------------------------------- measuring


@pytest.mark.parametrize("method", FOR_TABLES)
def test_every_method_learns(method, wine, numbers):
    for setup, width, enough in ((wine, 40, 0.85), (numbers, 120, 0.3)):
        if setup is numbers and method == "MarginHarmonicFeatures":
            width, enough = 20, -1.0  # the lengths of the rows are lost to it
        result = Measurer(setup)(cell(method, width))
        assert result.score > enough
        assert min(result.fit, result.seconds, result.details["transform"]) > 0


def test_a_cell_is_the_same_every_time(two):
    first, second = (Measurer(two)(cell("PosteriorFourierFeatures", 8)) for _ in range(2))
    assert first.score == second.score
    assert first.details["chosen"] == second.details["chosen"]


@pytest.mark.parametrize(
    "method", ["MarginFourierFeatures", "PosteriorFourierFeatures", "Nystroem", EXACT]
)
def test_what_was_chosen_makes_the_same_model(method, wine, two, numbers):
    """`make_model` with a cell's choices decides as the cell did."""
    for setup in (wine, two, numbers):
        measurer = Measurer(setup)
        learned, rows = measurer.learn(cell(method, 16))
        chosen = {**learned.chosen.settings, "C": learned.C}
        X, y, task = setup.table.X, setup.table.y, setup.table.task
        model = make_model(
            method,
            X[rows.training],
            y[rows.training],
            task,
            width=16,
            balanced=setup.balanced,
            **chosen,
        ).fit(X[rows.training], y[rows.training])
        predicted, decisions = model.predict(X[rows.test]), learned.decide(rows.X_test)
        if task == "regression":
            np.testing.assert_allclose(predicted, decisions[:, 0], rtol=1e-5)
            continue
        classes = np.unique(y)
        index = decisions.argmax(axis=1) if len(classes) > 2 else (decisions[:, 0] > 0) * 1
        # liblinear penalises the intercept a little: a row on the border may differ
        assert np.mean(predicted == classes[index]) > 0.97


def test_test_rows_do_not_matter_for_what_is_chosen(numbers):
    table = numbers.table
    rows = split(numbers, 0)
    X, y = table.X.copy(), table.y.copy()
    X[rows.test] *= 100
    y[rows.test] = -5
    poisoned = dataclasses.replace(numbers, table=dataclasses.replace(table, X=X, y=y))
    for method in ("PosteriorFourierFeatures", EXACT):
        before, after = (Measurer(setup).learn(cell(method))[0] for setup in (numbers, poisoned))
        assert before.chosen == after.chosen
        np.testing.assert_array_equal(before.decide(rows.X_test), after.decide(rows.X_test))


def test_maps_do_not_see_the_rows_they_are_judged_on(wine, monkeypatch):
    seen = []

    class Spy:
        def __init__(self, **_):
            pass

        def fit(self, X, y):
            seen.append(X[:, 0].copy())
            return self

        def transform(self, X):
            if len(seen) == 1:
                self.judged = X[:, 0].copy()
                overlaps.append(np.isin(X[:, 0], seen[0]).all())
            return X

    overlaps = []
    problem = split(wine, 0).problem
    # the first column says which row it is
    X = np.column_stack([np.arange(len(problem.y)), problem.X])
    monkeypatch.setattr(comparison_tuning, "make_map", lambda *_, **settings: Spy(**settings))
    choose(METHODS["MercerFeatures"], 10, dataclasses.replace(problem, X=X, gamma=1.0))
    assert len(seen) == 1
    assert len(seen[0]) == pytest.approx(0.75 * len(X), abs=1)
    assert overlaps == [True, False]  # kept rows, then held-out ones


def test_settings_are_chosen_with_fewer_rows_where_there_are_many(numbers, monkeypatch):
    monkeypatch.setattr(comparison_tuning, "CHOOSING_ROWS", 60)
    sizes = []
    original = comparison_tuning.make_map

    def recording(*arguments, **settings):
        made = original(*arguments, **settings)
        fit = made.fit
        made.fit = lambda X, y=None: (sizes.append(len(X)), fit(X, y))[1]
        return made

    monkeypatch.setattr(comparison_tuning, "make_map", recording)
    problem = split(numbers, 0).problem
    learn("FourierFeatures", 20, problem)
    n = len(problem.y)
    assert sizes[:-2] == [45] * (len(sizes) - 2)  # gammas
    assert sizes[-2] == pytest.approx(0.75 * n, abs=1)  # C
    assert sizes[-1] == n


def test_a_gamma_that_is_given_is_used(numbers):
    given = dataclasses.replace(numbers, gamma=0.123)
    for method in ("FourierFeatures", EXACT, "MarginFourierFeatures"):
        assert Measurer(given)(cell(method)).details["chosen"]["gamma"] == 0.123


def test_gamma_is_found_from_far_away(rng):
    """A kernel much narrower than the scale rule's: seven waves over the rows."""
    X = rng.uniform(-1, 1, size=(400, 1))
    y = np.sin(20 * X[:, 0])
    problem = Problem(X / X.std(), y, "regression", None)
    chosen = choose(METHODS[EXACT], None, problem)
    assert chosen.settings["gamma"] > 10
    assert chosen.score > 0.99


def test_climb():
    asked = []

    def score(value):
        asked.append(value)
        return -abs(value - 9)

    assert climb([1, 2, 4, 8, 16], 2, score) == 8
    assert asked == [2, 4, 8, 16]
    assert climb([1, 2, 4], 4, lambda value: -value) == 1
    assert climb([1, 2, 4], 2, lambda value: 0.0) == 2  # nothing better: stay


def test_tuned_model(two):
    X, y = two.table.X, two.table.y
    model, chosen, score = tune_model(
        "PosteriorFourierFeatures", X, y, "classification", width=20, balanced=True
    )
    assert set(chosen) == {"gamma", "beta", "C"}
    assert score > 0.8
    assert model.named_steps["machine"].class_weight == "balanced"
    assert model.fit(X, y).score(X, y) > 0.8


def test_rows_of_every_kind():
    rng = np.random.default_rng(2)
    y = np.array(["no", "yes"])[(rng.uniform(size=200) < 0.5) * 1]
    frame = pd.DataFrame({"word": np.where(y == "yes", "u", "v"), "x": rng.normal(size=200)})
    frame.loc[:20, "x"] = np.nan
    rows = sparse.csr_matrix(np.column_stack([y == "yes", rng.normal(size=200)]).astype(float))
    for X in (frame, rows):
        setup = Setup(Table("t", X, y, "classification", "y", 200), "accuracy")
        cells, left_out = plan(setup, FOR_TABLES, [8], 1)
        assert not left_out
        measurer = Measurer(setup)
        for each in cells:
            assert measurer(each).score > 0.9, each.method


def test_on_a_device(wine):
    """Maps work on tensors; the machine on top gets what they give."""
    pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    there = dataclasses.replace(wine, device="cpu:0")  # PyTorch's
    for method in (name for name in FOR_TABLES if METHODS[name].main):
        here, away = (Measurer(setup)(cell(method, 30)) for setup in (wine, there))
        assert away.score == pytest.approx(here.score, abs=0.1)


# ------------------------------------------------------------------------------- machines


def test_balanced_machines_are_scikit_learns(rng):
    X = rng.normal(size=(120, 3))
    y = np.r_[np.zeros(80, int), np.ones(30, int), np.full(10, 2)]
    X[np.arange(120), y] += 1.5
    columns = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    (linear,) = balanced_ridge_path(X, columns, [0.05])
    theirs = RidgeClassifier(alpha=0.05 * 120, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(linear.coefficients.T, theirs.coef_)
    np.testing.assert_allclose(linear.intercepts, theirs.intercept_)

    signs = np.where(y == 0, 1.0, -1.0)
    _, linear = balanced_hinge_path(X, signs[:, None], [0.01, 0.1])
    svm = LinearSVC(
        C=0.1, dual=False, class_weight="balanced", intercept_scaling=100, tol=1e-8, max_iter=9999
    ).fit(X, signs)
    np.testing.assert_allclose(linear.coefficients[:, 0], svm.coef_[0], rtol=1e-2, atol=1e-3)


def test_balanced_scores():
    y = np.array([1, 1, 1, -1])
    decisions = np.array([[1.0], [1.0], [-1.0], [-0.5]])
    machine = machine_for(2, balanced=True)
    assert machine.score(decisions, y) == pytest.approx((2 / 3 + 1) / 2)
    assert machine.judge(decisions, y) == pytest.approx(-(2 / 3 + 0.5) / 2)


# ------------------------------------------------------------------------------- planning


def test_plan(wine):
    cells, left_out = plan(wine, FOR_TABLES, [10, 200], n_seeds=2)
    assert len(cells) == 2 * (2 * (len(FOR_TABLES) - 1) + 1 - 4)
    assert left_out == [
        "MarginHarmonicFeatures with 200 columns would take a search for each, in 13 dimensions; "
        "the most is 64",
        *(
            f"{method} with 200 columns needs as many training rows, there are 134"
            for method in ("LandmarkSimilarities", "LandmarkSimilarities, plain", "Nystroem")
        ),
    ]
    assert [each.seed for each in cells] == sorted(each.seed for each in cells)
    assert sum(each.method == EXACT for each in cells) == 2


def test_what_is_too_large_is_left_out():
    X, y = np.zeros((20_000, 1)), np.arange(20_000) % 2
    setup = Setup(Table("long", X, y, "classification", None, 20_000), "accuracy")
    cells, left_out = plan(setup, [EXACT], [8], 1)
    assert not cells
    assert "15000; the most is 10000" in left_out[0]
    wide = sparse.csr_matrix((100, 50_000))
    setup = Setup(Table("wide", wide, y[:100], "classification", None, 100), "accuracy")
    cells, left_out = plan(setup, ["MercerFeatures", "LandmarkSimilarities"], [32], 1)
    assert not cells
    assert "covariance of all 50000 columns" in left_out[0]
    assert "64 frequencies for each" in left_out[1]


def test_a_wide_sparse_file_is_not_for_the_dear_methods():
    """Either of these cells would take longer than all others together."""
    table = Table(
        "wide", sparse.csr_matrix((1000, 3000)), np.arange(1000) % 2, "classification", None, 0
    )
    setup = Setup(table, "accuracy")
    cells, left_out = plan(setup, ["MercerFeatures", "LandmarkSimilarities"], [32, 128], 1)
    assert [(each.method, each.width) for each in cells] == [("LandmarkSimilarities", 32)]
    assert len(left_out) == 2


def test_the_cheapest_come_first_and_every_method_before_more(wine):
    cells, _ = plan(wine, FOR_TABLES, [64, 10], n_seeds=2)
    first = cells[: len(FOR_TABLES)]
    assert {each.method for each in first} == set(FOR_TABLES)
    assert {each.width for each in first} == {10, None}
    assert {each.width for each in cells[len(FOR_TABLES) : len(cells) // 2]} == {64}
    names = [each.method for each in first]
    assert names.index("RBFSampler") < names.index("MarginFourierFeatures") < names.index(EXACT)
    assert {name.partition(",")[0] for name in METHODS} == set(comparison._CHEAPEST_FIRST)


def test_measure():
    def table(y):
        return Table("t", np.zeros((len(y), 1)), np.array(y), "classification", None, len(y))

    assert measure_for(table([0] * 50 + [1] * 50)) == "accuracy"
    assert measure_for(table([0] * 95 + [1] * 5)) == "balanced-accuracy"
    assert measure_for(table([0] * 95 + [1] * 5), "accuracy") == "accuracy"
    assert measure_for(read_table("digits")) == "accuracy"
    with pytest.raises(ValueError, match="measure must be one of auto"):
        measure_for(table([0, 1]), "luck")
    with pytest.raises(ValueError, match="is for classes"):
        measure_for(read_table("diabetes"), "accuracy")


def test_fingerprint(wine):
    table = wine.table
    changed = table.X.copy()
    changed[3, 3] += 1e-9
    frame = pd.DataFrame({"a": ["x", None], "b": [1, 2]})
    others = [
        dataclasses.replace(wine, gamma=1.0),
        dataclasses.replace(wine, measure="balanced-accuracy"),
        dataclasses.replace(wine, device="cuda"),
        dataclasses.replace(wine, table=dataclasses.replace(table, X=changed)),
        dataclasses.replace(wine, table=dataclasses.replace(table, y=table.y[::-1])),
        dataclasses.replace(wine, table=dataclasses.replace(table, X=sparse.csr_matrix(table.X))),
        *(
            dataclasses.replace(wine, table=dataclasses.replace(table, X=X))
            for X in (frame, frame.rename(columns={"a": "c"}), frame.assign(a=[None, "x"]))
        ),
    ]
    names = [fingerprint(setup) for setup in (wine, *others)]
    assert len(set(names)) == len(names)
    again = dataclasses.replace(wine, table=read_table("wine"))
    assert fingerprint(again) == names[0]


# ------------------------------------------------------------------------------- running


class Broken(Measurer):
    def __call__(self, cell):
        if cell.method == "RBFSampler":
            raise RuntimeError("no\nluck")
        if cell.width == 13:
            os._exit(1)
        return super().__call__(cell)


def test_a_cell_that_fails_does_not_stop_the_others(wine):
    cells = [cell("RBFSampler"), cell("FourierFeatures")]
    begun, failure, _, result = measure_all(cells, Broken(wine))
    assert begun is cells[0]
    assert failure == Failure(cells[0], "RuntimeError: no luck")
    assert result.cell is cells[1]


def test_no_cell_is_begun_after_the_deadline(wine):
    cells = [cell("FourierFeatures", seed=seed) for seed in range(3)]
    assert not list(measure_all(cells, Measurer(wine), deadline=time.monotonic()))
    events = measure_all(cells, Measurer(wine), deadline=time.monotonic() + 1000)
    assert len(list(events)) == 6


def test_processes_measure_the_same(wine):
    """One of them dies: what it did is lost, with what ran beside it, and the rest is not."""
    cells = [cell(method) for method in ("FourierFeatures", "Nystroem", "RBFSampler")]
    last = [cell("FourierFeatures", 13), *(cell("FourierFeatures", seed=s) for s in (1, 2, 3))]
    found = measure_all([*cells, *last], Broken(wine), n_jobs=2)
    results = {event.cell: event for event in found if isinstance(event, (Result, Failure))}
    assert set(results) == {*cells, *last}
    lost = [each for each in results if "process ended" in getattr(results[each], "message", "")]
    assert last[0] in lost
    assert len(lost) <= 2
    for each in {*cells, *last} - {*lost, cells[2]}:
        assert results[each].score == Measurer(wine)(each).score
    if cells[2] not in lost:
        assert results[cells[2]] == Failure(cells[2], "RuntimeError: no luck")
    assert not list(measure_all(cells, Broken(wine), n_jobs=2, deadline=time.monotonic()))


# ------------------------------------------------------------------------------- guarantees


def test_guarantees_are_there_where_they_exist(wine, two, numbers):
    names = {}
    for setup in (wine, two, numbers):
        for method in ("MercerFeatures", "Nystroem", "PosteriorFourierFeatures", EXACT):
            found = Measurer(setup)(cell(method)).details["guarantee"]
            names[setup.table.name, method] = found and found["name"]
            if found:
                assert 0 < found["value"] <= 1
                assert "ndependent rows" in found["statement"]
    for name in ("wine", "disc", "sine"):
        assert names[name, "MercerFeatures"] == names[name, "Nystroem"] == "kernel residual"
        assert names[name, EXACT] is None
        bounded = None if name == "sine" else "alignment loss"
        assert names[name, "PosteriorFourierFeatures"] == bounded
    refused = Measurer(numbers)(cell("PosteriorFourierFeatures")).details["no_guarantee"]
    assert refused == "numbers are scaled by the rows that the kernel is learned from"
    assert Measurer(wine)(cell("Nystroem", seed=1)).details["guarantee"] is None


def test_the_certificate_is_of_the_balanced_error(two):
    measured = Measurer(two)(cell("FourierFeatures"))
    by_class = np.array(measured.details["class_errors"])
    assert by_class.sum(axis=0).tolist() == [measured.details["errors"], 100]
    assert measured.score == pytest.approx(1 - np.mean(by_class[:, 0] / by_class[:, 1]))
    (summary,) = summarise(two, [measured])
    assert summary["certificate"] == balanced_error(by_class.tolist(), 1).as_dict()
    assert summary["certificate"]["value"] > 1 - measured.score


# ------------------------------------------------------------------------------- documents


def result(method, width, seed, score, fit=1.0):
    details = {
        "transform": 0.5,
        "chosen": {"gamma": 1.0 + seed, "C": 2.0},
        "errors": round(100 * (1 - score)),
        "n_test": 100,
        "guarantee": None,
    }
    return Result(Cell("x", "t", method, width, seed), score, fit, 3.0, details)


def test_summary(wine):
    results = [
        result("Nystroem", 8, 0, 0.75),
        result("FourierFeatures", 4, 0, 0.5, fit=1.0),
        result("FourierFeatures", 4, 1, 0.7, fit=2.0),
    ]
    first, second = summarise(wine, results)
    assert (first["method"], first["width"], first["seeds"]) == ("FourierFeatures", 4, 2)
    assert first["score"] == pytest.approx(60)
    assert first["standard_error"] == pytest.approx(10)
    assert (first["fit"], first["transform"]) == (1.5, 0.5)
    assert first["chosen"] == {"gamma": 1.5, "C": 2.0}
    assert first["guarantee"]["value"] == clopper_pearson(50, 100, 0.025)  # two lines
    assert not first["baseline"]
    assert second["baseline"]
    assert second["standard_error"] is None


def line(method, width, score, error=1.0, seconds=1.0):
    return {
        "method": method,
        "width": width,
        "score": score,
        "standard_error": error,
        "fit": seconds,
        "transform": 0.0,
    }


PERCENT = {"name": "accuracy", "unit": "%"}


@pytest.mark.parametrize(
    ("lines", "chosen", "words"),
    [
        (
            [line("Nystroem", 8, 95.5), line("FourierFeatures", 32, 96.0), line(EXACT, None, 95)],
            ("Nystroem", 8),
            "fewest columns within the noise of the best, FourierFeatures with 32",
        ),
        (
            [line("Nystroem", 32, 96.0, seconds=9), line("FourierFeatures", 32, 95.5)],
            ("FourierFeatures", 32),
            "and much faster",
        ),
        (
            [line("Nystroem", 32, 96.0, seconds=2), line("FourierFeatures", 32, 95.5)],
            ("Nystroem", 32),
            "FourierFeatures) of the same width have 95.5",
        ),
        (
            [line("PosteriorFourierFeatures", 8, 80.0), line("FourierFeatures", 8, 96.0)],
            ("FourierFeatures", 8),
            "does not pay",
        ),
        (
            [
                line("MarginFourierFeatures", 8, 96.0),
                line("FourierFeatures", 8, 80.0),
                line("FourierFeatures", 64, 96.0),
            ],
            ("MarginFourierFeatures", 8),
            "they need 64 for as much",
        ),
        (
            [
                line("MarginFourierFeatures", 8, 96.0),
                line("FourierFeatures", 8, 80.0),
                line("FourierFeatures", 64, 90.0),
            ],
            ("MarginFourierFeatures", 8),
            "with 64 columns they have 90.0",
        ),
        ([line(EXACT, None, 96.0, None)], (EXACT, None), "best that was measured"),
    ],
)
def test_recommendation(lines, chosen, words):
    found = recommend(lines, PERCENT, n_test=100)
    assert (found["method"], found["width"]) == chosen
    assert words in found["reason"]
    assert found["sentence"].startswith("Use ")


def test_one_split_has_the_error_of_a_share():
    lines = [line("Nystroem", 8, 93.5, None), line("FourierFeatures", 32, 96.0, None)]
    assert recommend(lines, PERCENT, n_test=10)["width"] == 8  # 6 % are within its error
    assert recommend(lines, PERCENT, n_test=10_000)["width"] == 32


def test_noise_is_the_larger_of_two_errors(two, wine):
    """Two splits may agree by luck; test rows are as many as they are."""
    assert noise_of(line("Nystroem", 8, 50.0, 0.1), PERCENT, 100)[0] == 5.0
    error, words = noise_of(line("Nystroem", 8, 50.0, 7.0), PERCENT, 100)
    assert error == 7.0
    assert "7.0 %, the standard error over the splits" in words
    lines = [line("Nystroem", 8, 54.0, 0.1)]
    assert "more than its noise" in recommend(lines, PERCENT, 100, guess=50.0)["sentence"]
    r2 = {"name": "R2", "unit": ""}
    assert noise_of(line("Nystroem", 8, 0.5, 0.1), r2, 100)[0] == 0.1
    assert noise_of(line("Nystroem", 8, 0.5, None), r2, 100)[0] == 0.0

    assert counting_rows(wine, 44) == 44
    # simulated: of shares p in classes of these sizes, the balanced mean
    n = np.array([np.sum(two.table.y == name) for name in ("inside", "outside")]) / 4
    spread = np.sqrt(np.mean(0.8 * 0.2 / n) / 2)
    assert np.sqrt(0.8 * 0.2 / counting_rows(two, 100)) == pytest.approx(spread)


@pytest.mark.parametrize("error", [None, 0.5])
def test_one_split_does_not_speak_of_splits(error):
    lines = [line("Nystroem", 8, 93.5, error), line("FourierFeatures", 32, 96.0, error)]
    reason = recommend(lines, PERCENT, n_test=10, guess=50.0)["reason"]
    assert "over the splits" not in reason
    assert "the largest class for every row gives 50.0 %" in reason  # always


def test_one_method_alone_is_not_recommended_when_time_was_up():
    lines = [line("MarginFourierFeatures", width, 95.0) for width in (8, 32)]
    found = recommend(lines, PERCENT, 100, guess=50.0, complete=False)
    assert found["sentence"].startswith("Nothing but MarginFourierFeatures was measured")
    assert "largest class" in found["reason"]
    both = [*lines, line("Nystroem", 8, 90.0)]
    assert recommend(both, PERCENT, 100, complete=False)["sentence"].startswith("Use Margin")
    assert recommend(lines, PERCENT, 100)["sentence"].startswith("Use Margin")  # was asked for


def test_no_better_than_a_guess(two, numbers, wine):
    lines = [line("Nystroem", 8, 60.5, 1.0)]
    found = recommend(lines, PERCENT, 100, guess=60.0)
    assert found["sentence"] == (
        "Nothing that was measured does better than guessing by more than its noise."
    )
    assert "the largest class for every row gives 60.0 %" in found["reason"]
    assert recommend(lines, PERCENT, 100, guess=50.0)["sentence"].startswith("Use Nystroem")
    assert guess_score(two) == 50.0  # balanced
    assert guess_score(numbers) == 0.0
    assert guess_score(wine) == pytest.approx(100 * 71 / 178)


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


def test_a_score_that_is_no_number_is_a_failure(numbers):
    """R2 where all test rows have the same number."""
    table = numbers.table
    y = table.y.copy()
    y[split(numbers, 0).test] = 3.0
    same = dataclasses.replace(numbers, table=dataclasses.replace(table, y=y))
    _, failure = measure_all([cell("FourierFeatures")], Measurer(same))
    assert "the score of the test rows is no number" in failure.message


def test_plane(two):
    measurer = Measurer(two)
    cells = [cell(method, width) for method in ("MarginFourierFeatures",) for width in (4, 24)]
    results = [measurer(each) for each in [*cells, cell("Nystroem", 24)]]
    picture = plane(two, results)
    assert [d["method"] for d in picture["decisions"]] == ["MarginFourierFeatures", "Nystroem"]
    for decision in picture["decisions"]:
        values = np.array(decision["values"])
        assert values.shape == (RESOLUTION, RESOLUTION)
        assert decision["classes"] == ["inside", "outside"]
        grid = np.meshgrid(picture["x"], picture["y"])
        assert np.mean((np.hypot(*grid) > 0.55) == (values == 1)) > 0.8
    potential = picture["potential"]
    values = np.array(potential["values"])
    assert values.shape == (len(potential["frequency_y"]), len(potential["frequency_x"]))
    assert 0 <= values.min() <= values.max() <= 1
    assert values == pytest.approx(values[::-1, ::-1], abs=1e-6)  # v(-w) = v(w)
    assert len(potential["chosen"]["x"]) in (2, 12)


def test_plane_of_a_table(two):
    frame = pd.DataFrame(two.table.X, columns=["east", "north"])
    setup = dataclasses.replace(two, table=dataclasses.replace(two.table, X=frame))
    picture = plane(setup, [Measurer(setup)(cell("FourierFeatures", 8))])
    assert picture["names"] == ["east", "north"]
    frame = frame.assign(north="a")
    setup = dataclasses.replace(two, table=dataclasses.replace(two.table, X=frame))
    assert plane(setup, []) is None


def test_constants_agree_with_the_maps():
    from bochner import LandmarkSimilarities, PosteriorFourierFeatures

    assert LandmarkSimilarities().n_frequencies == comparison.LANDMARK_FREQUENCIES
    assert PosteriorFourierFeatures().n_candidates == comparison_tuning.N_CANDIDATES
