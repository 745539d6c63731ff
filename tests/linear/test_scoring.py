"""What is reported, and what choices are made by."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from bochner.data.tables import read_table
from bochner.linear.scoring import MEASURES, choose_measure


def test_balanced_scores():
    y = np.array([1, 1, 1, -1])
    decisions = np.array([1.0, 1.0, -1.0, -0.5])
    measure, classes = MEASURES["balanced-accuracy"], np.array([-1, 1])
    assert measure.score(y, np.sign(decisions)) == pytest.approx((2 / 3 + 1) / 2)
    assert measure.judge(y, decisions, classes) == pytest.approx(-(2 / 3 + 0.5) / 2)


@pytest.mark.parametrize("labels", [np.arange(3), np.arange(3.0), np.array(["a", "b", "cc"])])
@pytest.mark.parametrize("weighted", [False, True])
def test_accuracy_is_that_of_scikit_learn(labels, weighted, rng):
    y, predictions = labels[rng.integers(3, size=(2, 50))]
    weights = rng.random(50) if weighted else None
    for target in (y, y.astype(object)):
        found = MEASURES["accuracy"].score(target, predictions, weights)
        assert found == accuracy_score(y, predictions, sample_weight=weights)


def test_two_classes_are_judged_by_their_hinge():
    y, classes = np.array(["b", "a", "b"]), np.array(["a", "b"])
    decisions = np.array([2.0, -1.0, 0.5])
    assert MEASURES["accuracy"].judge(y, decisions, classes) == pytest.approx(-0.5 / 3)


def test_more_classes_and_numbers_are_judged_by_their_score():
    decisions = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, -1.0]])
    measure = MEASURES["accuracy"]
    assert measure.judge(np.array([2, 1]), decisions, np.arange(3)) == 0.5
    y = np.array([2.0, -1.0, 0.5])
    assert MEASURES["R2"].judge(y, y, None) == 1
    assert MEASURES["R2"].judge(y, np.full(3, 0.5), None) == pytest.approx(0)


def test_the_measure_suits_the_target():
    def chosen(y, name="auto"):
        return choose_measure(np.array(y), "classification", name).name

    assert chosen([0] * 50 + [1] * 50) == "accuracy"
    assert chosen([0] * 95 + [1] * 5) == "balanced-accuracy"
    assert chosen([0] * 95 + [1] * 5, "accuracy") == "accuracy"
    assert chosen(read_table("digits").y) == "accuracy"
    assert choose_measure(np.array([0.5, 1.0]), "regression").name == "R2"
    with pytest.raises(ValueError, match="measure must be one of auto, accuracy, balanced-acc"):
        chosen([0, 1], "luck")
    with pytest.raises(ValueError, match="measure 'accuracy' is for classes"):
        choose_measure(np.array([0.5, 1.0]), "regression", "accuracy")
    with pytest.raises(ValueError, match="measure 'R2' is for numbers"):
        chosen([0, 1], "R2")


def test_least_squares_are_judged_by_the_square_of_the_hinge():
    """Within the margin the hinge would praise decisions for being large, right or wrong."""
    y, classes = np.array([0, 0, 1, 1]), np.array([0, 1])
    decisions = np.array([-0.9, 0.3, 0.8, -0.4])
    accuracy = MEASURES["accuracy"]
    losses = np.array([0.1, 1.3, 0.2, 1.4])
    assert accuracy.judge(y, decisions, classes) == pytest.approx(-losses.mean())
    found = accuracy.judge(y, decisions, classes, squares=True)
    assert found == pytest.approx(-np.mean(losses**2))


@pytest.mark.parametrize("name", ["accuracy", "balanced-accuracy", "R2"])
def test_the_score_is_the_mean_over_rows(name, rng):
    y = (rng.uniform(size=400) < 0.2).astype(int)
    predictions = np.where(rng.uniform(size=400) < 0.15, 1 - y, y)
    if name == "R2":
        y, predictions = rng.normal(size=(2, 400))
    measure = MEASURES[name]
    by_row = measure.by_row(y, predictions)
    assert by_row.mean() == pytest.approx(measure.score(y, predictions))
    assert np.all(by_row[y == predictions] > 0)
    assert np.isfinite(measure.by_row(np.ones(5), np.arange(5.0))).all()  # nothing to predict


@pytest.mark.parametrize("squares", [False, True])
@pytest.mark.parametrize("name", ["accuracy", "balanced-accuracy"])
def test_no_constant_decision_has_skill_and_no_error_has_all_of_it(name, squares):
    y, classes, measure = np.array([0, 0, 0, 1]), np.array([0, 1]), MEASURES[name]
    constants = [
        measure.judge(y, np.full(4, c), classes, squares=squares) for c in np.linspace(-2, 2, 41)
    ]
    skills = [measure.skill(judged, y, classes, squares=squares) for judged in constants]
    assert max(skills) == pytest.approx(0, abs=1e-12)
    assert measure.skill(0.0, y, classes, squares=squares) == 1


def test_skill_of_more_classes_and_of_numbers():
    y = np.array([0, 0, 1, 2])
    assert MEASURES["accuracy"].skill(0.75, y, np.arange(3)) == pytest.approx(0.5)
    assert MEASURES["R2"].skill(0.25, np.array([1.0, 2.0, 4.0]), None) == pytest.approx(0.25)
    assert MEASURES["accuracy"].skill(1.0, np.zeros(4), np.arange(3)) == 0  # nothing to know
