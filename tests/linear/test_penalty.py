"""A path of penalties ends when it gets worse, but not before it has said anything."""

import numpy as np

from bochner.linear import RidgeRegressor, SquaredHingeClassifier
from bochner.linear.penalty import choose_penalty
from bochner.linear.scoring import MEASURES


def test_strong_penalties_that_fit_noise_do_not_end_the_path():
    """A loud column without meaning is fitted first, a quiet one that decides all comes last."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 200)
    X = np.column_stack([rng.normal(size=(400, 1)), 1e-3 * y])
    rows = rng.permutation(400)
    kept, held = rows[:40], rows[40:]
    measure = MEASURES["accuracy"]
    found = choose_penalty(SquaredHingeClassifier(), X[kept], y[kept], X[held], y[held], measure)
    assert found.score == 1
    assert len(found.scores) > found.position >= 5


def test_the_path_ends_when_two_penalties_did_worse():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 40))
    y = 4 * X[:, 0] + rng.normal(size=120)
    head, rows = RidgeRegressor(), (X[:60], y[:60], X[60:], y[60:])
    whole = choose_penalty(head, *rows, MEASURES["R2"], patience=None)
    found = choose_penalty(head, *rows, MEASURES["R2"])
    assert len(whole.scores) == len(head.default_Cs(60))
    assert found.position == whole.position
    assert len(found.scores) == found.position + 3
