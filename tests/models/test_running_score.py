"""Scores of predictions in pieces are those of scikit-learn for all rows."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score

from bochner.linear.scoring import MEASURES, Measure
from bochner.models.running_score import running_score


def in_pieces(score, truth, predicted, sizes=(1, 0, 40, 7)):
    first = 0
    for size in (*sizes, len(truth) - sum(sizes)):
        score.add(truth[first : first + size], predicted[first : first + size])
        first += size
    return score


@pytest.mark.parametrize(
    ("measure", "theirs"),
    [("accuracy", accuracy_score), ("balanced-accuracy", balanced_accuracy_score)],
)
def test_classes(rng, measure, theirs):
    truth, predicted = rng.choice(3, p=[0.7, 0.2, 0.1], size=(2, 300))
    score = in_pieces(running_score(MEASURES[measure], [0, 1, 2]), truth, predicted)
    assert score.value() == pytest.approx(theirs(truth, predicted), rel=1e-12)
    assert score.n_rows == 300
    assert score.notes() == []


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_numbers(rng, offset):
    truth = rng.normal(size=300) + offset
    predicted = truth + rng.normal(scale=0.3, size=300)
    score = in_pieces(running_score(MEASURES["R2"]), truth, predicted)
    assert score.value() == pytest.approx(r2_score(truth, predicted), abs=1e-9)


@pytest.mark.parametrize("name", ["accuracy", "R2"])
def test_scores_of_two_parts_add_up(rng, name):
    truth, predicted = rng.integers(0, 3, size=(2, 90))
    whole, *parts, none = (running_score(MEASURES[name], [0, 1, 2]) for _ in range(4))
    whole.add(truth, predicted)
    for part, rows in zip(parts, (slice(0, 20), slice(20, 90)), strict=True):
        part.add(truth[rows], predicted[rows])
    both = none + parts[0] + parts[1] + none
    assert both.value() == pytest.approx(whole.value(), rel=1e-12)
    assert (both.n_rows, both.notes()) == (90, [])


def test_no_score():
    assert running_score(MEASURES["R2"]).value() is None
    assert running_score(MEASURES["accuracy"], [0, 1]).value() is None
    whole = Measure("median", "", classes=False, score=lambda y, predicted: 0.0)
    assert running_score(whole) is None
    constant = running_score(MEASURES["R2"])
    constant.add(np.full(3, 0.1), np.zeros(3))
    assert constant.value() is None
    text = running_score(MEASURES["R2"])
    text.add(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    text.add(np.array(["x"], object), np.array([1.0]))
    assert text.value() is None
    assert "does not hold numbers" in text.notes()[0]
