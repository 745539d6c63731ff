"""One cell: a method at a width on a split."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from bochner import GradientMetric
from bochner.compare.measure import Measurer, make_split
from bochner.compare.plan import Setup, plan_cells
from bochner.data.tables import Table
from bochner.linear.scoring import MEASURES
from bochner.models.folding import fold_pipeline
from bochner.models.methods import METHODS
from bochner.models.pipelines import make_model
from tests.compare.cells import EXACT, FOR_CLASSES, FOR_TABLES, cell, events_of


@pytest.mark.parametrize("method", FOR_TABLES)
def test_every_method_learns(method, wine, numbers):
    for setup, width, enough in ((wine, 40, 0.85), (numbers, 120, 0.3)):
        if setup.table.task not in METHODS[method].tasks:
            continue
        if setup is numbers and method == "MarginHarmonicFeatures":
            width, enough = 20, -1.0  # the lengths of the rows are lost to it
        if setup is numbers and METHODS[method].simplest:
            enough = 0.1
        result = Measurer(setup)(cell(method, width))
        assert result.score > enough
        assert min(result.fit, result.seconds, result.details["transform"]) > 0


def test_a_cell_is_the_same_every_time(two):
    first, second = (Measurer(two)(cell("PosteriorFourierFeatures", 8)) for _ in range(2))
    assert first.score == second.score
    assert first.details["chosen"] == second.details["chosen"]


@pytest.mark.parametrize("method", FOR_TABLES)
def test_what_is_measured_is_what_fit_writes(method, wine, two, numbers):
    """The pipeline of a cell's choices decides every row as the cell did."""
    for setup in (wine, two, numbers):
        if setup.table.task not in METHODS[method].tasks:
            continue
        width = 8 if METHODS[method].cost > 8 else 16
        model, split = Measurer(setup).learn(cell(method, width))
        X, y, task = setup.table.X, setup.table.y, setup.table.task
        pipeline = make_model(
            method,
            X[split.training],
            y[split.training],
            task,
            width=width,
            balanced=setup.measure.balanced,
            **({} if METHODS[method].whole else model.settings),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # widths that cut a shell of eigenvalues
            pipeline.fit(X[split.training], y[split.training])
        predicted = fold_pipeline(pipeline).predict(X[split.test])  # as `predict` does
        rows = split.test_rows(cell(method))
        np.testing.assert_array_equal(predicted, model.predict(rows))


@pytest.mark.parametrize("method", ["FourierFeatures", EXACT])
def test_after_a_metric_it_is_what_fit_writes_too(method, two, numbers):
    for setup in (two, numbers):
        X, y, task = setup.table.X, setup.table.y, setup.table.task
        measurer = Measurer(dataclasses.replace(setup, metric="diagonal"))
        model, split = measurer.learn(cell(method, 16, metric="diagonal"))
        pipeline = make_model(
            method,
            X[split.training],
            y[split.training],
            task,
            width=16,
            balanced=setup.measure.balanced,
            metric="diagonal",
            **model.settings,
        ).fit(X[split.training], y[split.training])
        assert list(pipeline.named_steps) == ["prepare", "metric", "map", "head"]
        np.testing.assert_array_equal(pipeline.predict(X[split.test]), model.predict(split.X_test))


def test_a_metric_is_learned_once_for_all_methods(numbers, monkeypatch):
    fits = []
    original = GradientMetric.fit
    monkeypatch.setattr(
        GradientMetric, "fit", lambda self, X, y: fits.append(len(y)) or original(self, X, y)
    )
    measurer = Measurer(dataclasses.replace(numbers, metric="diagonal"))
    plain, turned = (measurer(cell("FourierFeatures", 60, metric=m)) for m in (None, "diagonal"))
    assert fits == [168, 225]  # without the held-out rows, then all training rows
    metrics = measurer._split[1].with_metric.metrics.values()
    assert turned.fit > sum(one.seconds for one in metrics) > 0  # its time is part of the fit's
    measurer(cell(EXACT, metric="diagonal"))
    assert fits == [168, 225]
    assert turned.score > plain.score + 0.05
    found = turned.details["metric"]
    assert found["mode"] == "diagonal"
    assert found["importances"][0][0] == "x0"
    assert found["directions"][0][0] == ("x0", pytest.approx(1, abs=0.05))
    assert "metric" not in plain.details


def test_test_rows_do_not_matter_for_what_is_chosen(numbers):
    table = numbers.table
    rows = make_split(numbers, 0)
    X, y = table.X.copy(), table.y.copy()
    X[rows.test] *= 100
    y[rows.test] = -5
    poisoned = dataclasses.replace(numbers, table=dataclasses.replace(table, X=X, y=y))
    for method in ("PosteriorFourierFeatures", EXACT):
        before, after = (Measurer(setup).learn(cell(method))[0] for setup in (numbers, poisoned))
        assert before.settings == after.settings
        np.testing.assert_array_equal(before.predict(rows.X_test), after.predict(rows.X_test))


def test_a_gamma_that_is_given_is_used(numbers):
    given = dataclasses.replace(numbers, gamma=0.123)
    for method in ("FourierFeatures", EXACT, "MarginFourierFeatures"):
        assert Measurer(given)(cell(method)).details["chosen"]["gamma"] == 0.123


def test_rows_of_every_kind():
    rng = np.random.default_rng(2)
    y = np.array(["no", "yes"])[(rng.uniform(size=200) < 0.5) * 1]
    frame = pd.DataFrame({"word": np.where(y == "yes", "u", "v"), "x": rng.normal(size=200)})
    frame.loc[:20, "x"] = np.nan
    rows = sparse.csr_matrix(np.column_stack([y == "yes", rng.normal(size=200)]).astype(float))
    for X in (frame, rows):
        setup = Setup(Table("t", X, y, "classification", "y", 200), MEASURES["accuracy"])
        cells, left_out = plan_cells(setup, FOR_CLASSES, [8], 1)
        assert not left_out
        measurer = Measurer(setup)
        for each in cells:
            assert measurer(each).score > 0.9, each.method


def test_on_a_device(wine):
    """Maps work on tensors; the head gets what they give."""
    pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    there = dataclasses.replace(wine, device="cpu:0")  # PyTorch's
    for method in (name for name in FOR_CLASSES if METHODS[name].main):
        here, away = (Measurer(setup)(cell(method, 30)) for setup in (wine, there))
        assert away.score == pytest.approx(here.score, abs=0.1)


def test_a_score_that_is_no_number_is_a_failure(numbers):
    """R2 where all test rows have the same number."""
    table = numbers.table
    y = table.y.copy()
    y[make_split(numbers, 0).test] = 3.0
    same = dataclasses.replace(numbers, table=dataclasses.replace(table, y=y))
    _, failure = events_of([cell("FourierFeatures")], Measurer(same))
    assert "the score of the test rows is not a finite number" in failure.message
