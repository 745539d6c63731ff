"""Which line is recommended, and why."""

import numpy as np
import pytest

from bochner.compare.advice import (
    counting_rows,
    guess_score,
    noise_of,
    recommend,
    still_rising,
)
from bochner.compare.document import make_document
from bochner.compare.measure import Measurer
from bochner.compare.plan import Setup
from bochner.data.tables import Table
from bochner.linear.scoring import choose_measure
from bochner.records.statistics import mean_and_error
from tests.compare.cells import EXACT, cell, line

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
            [line("Nystroem", 32, 96.0, seconds=11), line("FourierFeatures", 32, 95.5)],
            ("FourierFeatures", 32),
            "and much faster",
        ),
        (
            [line("Nystroem", 32, 96.0, seconds=9), line("FourierFeatures", 32, 95.5)],
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
    of_rows = line("Nystroem", 8, 0.5, 0.1) | {"error_over": "rows"}
    assert "0.100, the standard error over the test rows" in noise_of(of_rows, r2, 100)[1]

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


def test_ties_are_by_paired_differences():
    """Splits differ by much, the lines on each of them do not."""
    scores = np.array([80.0, 90.0, 85.0])
    wide = line("FourierFeatures", 32, 85.0, 2.9, scores=scores)
    behind = line("Nystroem", 8, 83.0, 2.9, scores=scores - [2, 1.9, 2.1])
    tied = line("Nystroem", 8, 84.0, 2.9, scores=scores - [5, -4, 2])
    for narrow, width in ((behind, 32), (tied, 8)):
        found = recommend([wide, narrow], PERCENT, 200, guess=50.0, overlap=1 / 3)
        assert found["width"] == width
    # less than one test row is no difference
    close = line("Nystroem", 8, 84.6, 2.9, scores=scores - 0.4)
    assert recommend([wide, close], PERCENT, 200, overlap=1 / 3)["width"] == 8


def test_what_is_tied_must_be_better_than_guessing_too():
    lines = [
        line("FourierFeatures", 32, 70.0, 1.0, scores=[66.0, 74.0]),
        line("Nystroem", 8, 67.0, 1.0, scores=[72.0, 62.0]),
    ]
    found = recommend(lines, PERCENT, 100, guess=58.0, overlap=1 / 3)
    assert found["width"] == 32
    assert recommend(lines, PERCENT, 100, guess=40.0, overlap=1 / 3)["width"] == 8


def test_a_line_that_varies_much_is_not_tied_for_that():
    """Its differences have an error of 10 %; that of the best is 1 %."""
    scores = np.array([95.0, 96.0, 94.0])
    best = line("FourierFeatures", 32, 95.0, 0.5, scores=scores)
    erratic = line("Nystroem", 8, 91.0, 6.0, scores=scores - [20, -8, 0])
    for n_test, width in ((400, 32), (10, 8)):  # the noise of the best is 1 %, or 7 %
        assert recommend([best, erratic], PERCENT, n_test, overlap=1 / 3)["width"] == width


def test_the_recommended_score_is_a_selected_one():
    lines = [line("Nystroem", 8, 93.0), line("FourierFeatures", 32, 96.0)]
    reason = recommend(lines, PERCENT, 100, guess=50.0)["reason"]
    assert "selected among 2 lines by these test rows, so expect somewhat less" in reason
    assert "uses the same test rows again" in reason
    assert "selected" not in recommend(lines[:1], PERCENT, 100, guess=50.0)["reason"]


def random_summaries(rng, *, numbers, n_splits, n_lines=10, n_rows=150):
    """Lines whose predictions know nothing of the target, the same on all splits in part."""
    n_test = n_rows // 4
    y = rng.standard_normal(n_rows)
    tests = [rng.permutation(n_rows)[:n_test] for _ in range(n_splits)]
    lines = []
    for width in range(1, n_lines + 1):
        common, size = rng.standard_normal(n_rows), rng.uniform(0, 0.5)
        scores = []
        for rows in tests:
            guess = size * (common[rows] + rng.standard_normal(n_test))
            target = y[rows] - y[rows].mean()
            r2 = 1 - np.sum((target - guess) ** 2) / np.sum(target**2)
            scores.append(r2 if numbers else 100 * np.mean((guess > 0) == (y[rows] > 0)))
        mean, error = mean_and_error(scores, n_test / (n_rows - n_test))
        error = None if np.isnan(error) else error
        lines.append(line("FourierFeatures", width, mean, error, scores=scores))
    largest = 100 * max(np.mean(y > 0), np.mean(y <= 0))
    return lines, n_test, 0.0 if numbers else largest


@pytest.mark.parametrize("n_splits", [1, 3])
@pytest.mark.parametrize("numbers", [False, True])
def test_noise_is_not_recommended(numbers, n_splits):
    """The best of ten lines is often ahead of a guess by one standard error, or by two."""
    rng = np.random.default_rng(0)
    measure = {"name": "R2", "unit": ""} if numbers else PERCENT
    found = 0
    for _ in range(200):
        lines, n_test, guess = random_summaries(rng, numbers=numbers, n_splits=n_splits)
        advice = recommend(lines, measure, n_test, guess, overlap=1 / 3)
        found += advice["sentence"].startswith("Use ")
    assert found / 200 <= 0.05


@pytest.mark.parametrize("kind", ["equal", "unequal", "three", "numbers"])
def test_noise_tables_get_no_recommendation(kind):
    """Measured, not simulated: six tables of each kind, on one split."""
    found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 3))
        y = {
            "equal": rng.integers(2, size=150),
            "unequal": (rng.random(150) < 0.15).astype(int),
            "three": rng.integers(3, size=150),
            "numbers": rng.normal(size=150),
        }[kind]
        task = "regression" if kind == "numbers" else "classification"
        setup = Setup(Table("noise", X, y, task, None, 150), choose_measure(y, task))
        measurer = Measurer(setup)
        results = [measurer(cell(name, 8)) for name in ("FourierFeatures", "Nystroem")]
        document = make_document(setup, results, command="", seconds=1.0)
        found += document["recommendation"]["sentence"].startswith("Use ")
    assert found == 0


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


BOOSTING, LINEAR = "HistGradientBoosting", "linear"


def test_the_advice_may_be_not_to_use_a_kernel():
    lines = [
        line("KernelClassifier", None, 90.0),
        line(BOOSTING, None, 96.0),
        line("FourierFeatures", 32, 92.0),
        line("FourierFeatures", 32, 93.0, metric="auto"),
    ]
    found = recommend(lines, PERCENT, n_test=2000)
    assert found["sentence"] == (
        "Use gradient boosting (scikit-learn's HistGradientBoosting), not a kernel: "
        "96.0 ± 1.0 % accuracy."
    )
    assert (found["method"], found["width"]) == (BOOSTING, None)
    assert (
        "the best kernel is FourierFeatures after a metric with 32 columns (93.0 ± 1.0 %), which "
        "bochner fit --method FourierFeatures --width 32 --metric auto makes"
    ) in found["reason"]
    lines[0] = line("KernelClassifier", None, 94.0)
    assert "(94.0 ± 1.0 %), which bochner fit makes" in recommend(lines, PERCENT, 2000)["reason"]
    # within the noise a kernel is preferred, as its width is known
    tied = [line(BOOSTING, None, 96.0), line("FourierFeatures", 32, 95.5)]
    assert recommend(tied, PERCENT, 2000)["method"] == "FourierFeatures"


def test_a_linear_model_within_the_noise_is_enough():
    lines = [line(LINEAR, None, 95.5), line("FourierFeatures", 8, 96.0)]
    found = recommend(lines, PERCENT, n_test=100)
    assert found["sentence"].startswith("Use a plain linear model, not a kernel")
    assert "It is the simplest within the noise of the best" in found["reason"]


def test_what_was_far_behind_on_one_split_is_not_recommended():
    lines = [line("FourierFeatures", 32, 96.0), line("Nystroem", 8, 97.0, None)]
    lines[1]["set_aside"] = True
    found = recommend(lines, PERCENT, n_test=100)
    assert found["method"] == "FourierFeatures"
    assert "among 2 lines" in found["reason"]


def test_a_curve_that_still_rises_is_told():
    scores = np.array([80.0, 90.0, 85.0])
    wide = line("FourierFeatures", 64, 85.0, 2.9, scores=scores)
    rising = line("FourierFeatures", 32, 83.0, 2.9, scores=scores - [2, 1.9, 2.1])
    flat = line("FourierFeatures", 32, 84.9, 2.9, scores=scores - [2, -1.9, 0.1])
    assert still_rising([wide, rising], PERCENT, 200) == (wide, rising)
    assert still_rising([wide, flat], PERCENT, 200) is None
    assert still_rising([wide], PERCENT, 200) is None
    assert still_rising([line(EXACT, None, 99.0)], PERCENT, 200) is None
    better = line("Nystroem", 32, 95.0, 1.0, scores=scores + 10)
    assert still_rising([wide, rising, better], PERCENT, 200) is None
    reason = recommend([wide, rising], PERCENT, 200, guess=50.0)["reason"]
    assert "still gets better with the width" in reason
    assert "--widths 128 is worth a try" in reason
