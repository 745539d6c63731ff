"""Probabilities out of scores."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from bochner.models.calibration import fit_calibration, probabilities


def test_probabilities_are_those_of_logistic_regression():
    rng = np.random.default_rng(0)
    for width, classes in ((1, ["a", "b"]), (3, ["a", "b", "c"])):
        y = np.array(classes)[np.arange(200) % len(classes)]
        scores = rng.normal(size=(200, width)) + (np.arange(200) % len(classes))[:, None]
        expected = LogisticRegression(C=10.0, max_iter=1000).fit(scores, y).predict_proba(scores)
        scores = scores[:, 0] if width == 1 else scores
        calibration = fit_calibration(scores, y, classes)
        np.testing.assert_allclose(probabilities(scores, calibration), expected, atol=1e-12)


def test_true_shares_are_found():
    """Scores whose logistic function is the truth: the shares differ by chance only."""
    rng = np.random.default_rng(1)
    scores = rng.uniform(-3, 3, size=20_000)
    truth = 1 / (1 + np.exp(-2 * scores))
    y = (rng.random(len(scores)) < truth).astype(int)
    found = probabilities(scores, fit_calibration(scores, y, [0, 1]))[:, 1]
    for low in range(-3, 3):
        part = (scores >= low) & (scores < low + 1)
        error = np.sqrt((truth[part] * (1 - truth[part])).sum()) / part.sum()
        assert abs(found[part].mean() - truth[part].mean()) < 5 * error


def test_a_class_without_rows_has_no_calibration():
    assert fit_calibration(np.arange(4.0), np.array([0, 0, 1, 1]), [0, 1, 2]) is None
