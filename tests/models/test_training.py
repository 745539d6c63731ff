"""One model for use: what it chose, and a score that is honest."""

import numpy as np
import pandas as pd
import pytest

from bochner import MarginFourierFeatures
from bochner.data.tables import Table, read_table
from bochner.linear.scoring import MEASURES
from bochner.linear.splits import hold_out
from bochner.models import limits
from bochner.models.calibration import probabilities
from bochner.models.methods import find_method
from bochner.models.preparation import make_preparation
from bochner.models.selection import Problem, fit
from bochner.models.training import train, train_kernel_model

pytestmark = pytest.mark.usefixtures("one_split")


def noise(n=400, seed=0):
    """Labels that have nothing to do with the rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return Table("noise", rng.normal(size=(n, 3)), y, "classification", None, n)


def test_given_settings_are_kept():
    trained = train(read_table("iris"), "FourierFeatures", width=16, gamma=0.3, C=2.0)
    assert (trained.chosen["gamma"], trained.chosen["C"]) == (0.3, 2.0)
    assert trained.pipeline.named_steps["head"].C == 2.0
    assert trained.pipeline.named_steps["map"].n_components == 16


def test_the_score_is_of_rows_that_took_no_part():
    """On noise the accuracy is a coin's, within its standard error, though much was chosen."""
    scores = [train(noise(seed=s), "FourierFeatures", width=64).score for s in range(4)]
    error = np.sqrt(0.25 / (80 * len(scores)))
    assert abs(np.mean(scores) - 0.5) < 4 * error


def test_calibrated_probabilities():
    table = read_table("breast-cancer")
    trained = train(table, "MercerFeatures", width=40)
    scores = trained.pipeline.decision_function(table.X)
    found = probabilities(scores, trained.calibration)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.mean(found.argmax(axis=1) == table.y) > 0.9


def test_regression_and_the_exact_method():
    trained = train(read_table("diabetes"), "exact")
    assert trained.measure == "R2"
    assert trained.score > 0.3
    assert trained.calibration is None
    assert trained.pipeline.named_steps["map"] == "passthrough"


def test_a_rare_class_is_balanced():
    rng = np.random.default_rng(0)
    y = (np.arange(300) % 30 == 0).astype(int)
    table = Table(
        "rare", rng.normal(size=(300, 2)) + 2 * y[:, None], y, "classification", None, 300
    )
    trained = train(table, "FourierFeatures", width=16)
    assert trained.measure == "balanced-accuracy"
    assert trained.pipeline.named_steps["head"].class_weight == "balanced"


def test_mistakes():
    with pytest.raises(ValueError, match="width must be even"):
        train(read_table("iris"), "FourierFeatures", width=7)
    with pytest.raises(ValueError, match="there is no method 'Magic'"):
        train(read_table("iris"), "Magic")
    with pytest.raises(ValueError, match="the most is 10000"):
        train(noise(10_001), "exact")


@pytest.mark.parametrize("name", ["breast-cancer", "wine", "diabetes"])
def test_fit_writes_the_model_that_compare_measures(name):
    """Two classes, many, and numbers: the same rows, seed and settings, the same decisions."""
    table = read_table(name)
    trained = train(table, "PosteriorFourierFeatures", width=16)
    X = make_preparation(table.X).fit_transform(table.X)
    measure = MEASURES[trained.measure]
    model = fit(
        find_method("PosteriorFourierFeatures"),
        16,
        Problem(X, table.y, table.task, measure),
        trained.chosen,
    )
    np.testing.assert_array_equal(trained.pipeline.predict(table.X), model.predict(X))


QUICK = {"width": 64, "kernel": "gaussian", "metric": None}


def test_a_kernel_model_is_flat_and_scales_by_itself():
    table = read_table("breast-cancer")
    trained = train_kernel_model(table, **QUICK)
    assert list(trained.pipeline.named_steps) == ["prepare", "scaling", "map", "head"]
    assert "scale" not in trained.pipeline.named_steps["prepare"].named_steps
    assert trained.pipeline.named_steps["scaling"].scaling == trained.chosen["scaling"]
    assert trained.chosen in trained.tried
    assert trained.score > 0.9
    found = probabilities(trained.pipeline.decision_function(table.X), trained.calibration)
    assert np.mean(found.argmax(axis=1) == table.y) > 0.9


def test_the_score_of_a_kernel_model_is_of_rows_that_took_no_part():
    scores = [train_kernel_model(noise(seed=s), **QUICK).score for s in range(4)]
    assert abs(np.mean(scores) - 0.5) < 4 * np.sqrt(0.25 / (80 * len(scores)))


@pytest.mark.parametrize(("most", "exact"), [(150, True), (149, False)])
def test_all_rows_are_landmarks_if_there_is_room_for_those_set_aside(monkeypatch, most, exact):
    monkeypatch.setattr(limits, "EXACT_ROWS", most)  # of 150, of which 120 are chosen with
    given = {"metric": None, "kernel": "gaussian", "scaling": "standard"}
    trained = train_kernel_model(read_table("iris"), **given)
    assert trained.chosen["all_rows"] == exact


def test_a_category_that_only_the_rows_set_aside_have():
    """The model of all rows has a column more than the one that was scored."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80), "town": rng.choice(["a", "b"], 80)})
    y = (frame["x"] > 0).to_numpy().astype(int)
    held = hold_out(y, 0, classes=True, fraction=0.2)[1]
    frame.loc[held, "town"] = "c"
    trained = train_kernel_model(Table("t", frame, y, "classification", "y", 80), **QUICK)
    assert trained.pipeline.named_steps["scaling"].n_features_in_ == 4
    assert trained.pipeline.predict(frame).shape == (80,)


def test_a_rare_class_is_balanced_in_a_kernel_model():
    rng = np.random.default_rng(0)
    y = (np.arange(300) % 30 == 0).astype(int)
    X = rng.normal(size=(300, 2)) + 1.5 * y[:, None]
    table = Table("rare", X, y, "classification", None, 300)
    trained = train_kernel_model(table, **QUICK)
    assert trained.measure == "balanced-accuracy"
    assert trained.pipeline.predict(X).mean() > 0.06  # of 0.033: as many of either class err


def test_the_model_of_all_rows_goes_on_from_the_game_that_was_judged(monkeypatch):
    seen = []
    original = MarginFourierFeatures.refit
    monkeypatch.setattr(
        MarginFourierFeatures, "refit", lambda m, X, y: seen.append(len(y)) or original(m, X, y)
    )
    trained = train(read_table("wine"), "MarginFourierFeatures", width=8)
    assert seen == [142, 178]
    assert trained.pipeline.named_steps["map"].stop == trained.chosen["stop"]
    assert trained.score > 0.8
