"""Which line is recommended, and why."""

import numpy as np
import pytest

from bochner.compare.advice import counting_rows, guess_score, noise_of, recommend
from tests.compare.cells import EXACT, line

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
        (
            [line("FourierFeatures", 8, 80.0), line("FourierFeatures", 8, 96.0, metric="auto")],
            ("FourierFeatures after a metric", 8),
            "plain random features (FourierFeatures) of the same width have 80.0",
        ),
        (
            [line("FourierFeatures", 8, 96.0), line("FourierFeatures", 8, 80.0, metric="auto")],
            ("FourierFeatures", 8),
            "does not pay",
        ),
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
