"""The margin bound: by hand, by simulation, and where the printed one fails."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.guarantees import margin_bound, wave_norm
from tests.guarantees.simulation import allowed, waves

LENGTH = st.floats(0, 1e3)
DELTA = st.floats(1e-6, 0.999)
DIMENSION = st.integers(1, 1000)

SCORES = {"scores": [0.5, -0.5], "y": [1, -1], "norm": 1.0, "R_w": 1.0, "R_x": 1.0}


def total(bound):
    """What the value is the sum of, not cut at 1."""
    return sum(bound.details[part] for part in ("margin loss", "complexity", "confidence"))


def test_margin_bound_by_hand():
    scores, y = np.array([0.5, -0.1, 0.4, -0.3]), np.array([1, -1, -1, -1])
    bound = margin_bound(
        scores, y, norm=0.25, mass=4.0, intercept=-0.5, R_w=0, R_x=1, grid=[0.2], delta=0.05
    )
    assert bound.details == pytest.approx(
        {
            "margin": 0.2,
            "margin loss": (0 + 0.5 + 1 + 0) / 4,
            "complexity": 2 / 0.2 * 1 / 2,
            "confidence": np.sqrt(np.log(20) / 8),
        }
    )
    assert bound.value == 1
    assert not bound.informative


def test_what_the_choices_cost():
    scores, y = np.full(5000, 0.9), np.ones(5000)
    given = {"norm": 1.0, "R_w": 0.1, "R_x": 1.0, "grid": [0.3, 0.9]}
    bound = margin_bound(scores, y, **given)
    assert bound.value == pytest.approx(total(bound))
    assert bound.informative
    assert bound.details["margin"] == 0.9
    assert bound.details["confidence"] == pytest.approx(np.sqrt(np.log(2 / 0.05) / 10000))
    several = margin_bound(scores, y, n_settings=3, **given)
    assert several.details["confidence"] == pytest.approx(np.sqrt(np.log(6 / 0.05) / 10000))
    measured = margin_bound(scores, y, radius_from_rows=True, **given)
    assert measured.details["confidence"] == pytest.approx(3 * np.sqrt(np.log(4 / 0.05) / 10000))
    assert measured.details["complexity"] == bound.details["complexity"]


def test_only_the_ratio_of_scores_and_norm_matters(rng):
    y, scores = rng.choice([-1, 1], 500), rng.uniform(-1, 1, 500)
    given = {"R_w": 1.0, "R_x": 1.0, "d": 3}
    bound = margin_bound(scores, y, norm=2.0, **given)
    scaled = margin_bound(7 * scores, y, norm=14.0, **given)
    heavier = margin_bound(scores, y, norm=1.0, mass=4.0, **given)
    assert scaled.value == pytest.approx(bound.value)
    assert scaled.details["margin"] == pytest.approx(7 * bound.details["margin"])
    assert heavier == bound


def test_a_classifier_that_is_zero_is_always_wrong():
    bound = margin_bound(np.zeros(10**6), np.ones(10**6), norm=0.0, R_w=1.0, R_x=1.0)
    assert bound.details["margin loss"] == 1
    assert not bound.informative


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**31), delta=DELTA, band=LENGTH, d=st.none() | DIMENSION)
def test_margin_bound_is_monotone(seed, delta, band, d):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 2000))
    y, scores = rng.choice([-1, 1], n), rng.uniform(-1, 1, n)

    def value(scores=scores, norm=1.0, delta=delta, band=band):
        bound = margin_bound(scores, y, norm=norm, R_w=band, R_x=1.0, d=d, delta=delta)
        return total(bound)

    slack = 1e-9
    assert value() <= value(norm=1.5) + slack
    assert value() <= value(delta=delta / 2) + slack
    assert value() <= value(band=2 * band) + slack
    assert value(scores=np.clip(scores + 0.1 * y, -1, 1)) <= value() + slack


def boosted(x, y, frequencies, rounds):
    """A convex combination of waves with margins as large as can be: scores and coefficients."""
    E = waves(x[:, None], frequencies[None])
    weights, scores = np.full(len(x), 1 / len(x)), np.zeros(len(x))
    coefficients, total = np.zeros(len(frequencies), complex), 0.0
    for _ in range(rounds):
        sums = (weights * y) @ E
        best = np.argmax(np.abs(sums))
        step = abs(sums[best])
        wave = (E[:, best] * sums[best].conj()).real / step
        scores += step * wave
        coefficients[best] += sums[best]
        total += step
        weights *= np.exp(-step * y * wave)
        weights /= weights.sum()
    return scores / total, np.concatenate([coefficients.real, coefficients.imag]) / total


def without_complexity(scores, y, delta):
    n = len(y)
    losses = [np.clip(1 - y * scores / t, 0, 1).mean() for t in np.geomspace(2 / n**0.5, 1, 16)]
    return min(losses) + np.sqrt(np.log(16 / delta) / (2 * n))


def as_printed(scores, y, delta, R_w, R_x, mass=1.0):
    """Theorem 4.3 word for word: nothing is said of the norm, and any theta will do."""
    margins, n = np.sort(y * scores), len(y)
    theta = margins[margins > 0]
    share = (margins[:, None] < theta).mean(axis=0)  # just below each theta
    complexity = 6 * R_w * R_x / theta * np.sqrt(mass / n)
    return min(1.0, (share + complexity).min() + 3 * np.sqrt(np.log(2 / delta) / n))


def test_coverage_where_there_is_nothing_to_learn(rng):
    """Labels are coins, so every classifier errs on half of the new rows, however well it fits."""
    n, repetitions, delta, band = 300, 60, 0.05, 1000.0
    frequencies = np.linspace(0, band, 1200)
    values, dropped, printed = [], [], []
    for _ in range(repetitions):
        x, y = rng.uniform(-1, 1, n), rng.choice([-1, 1], n)
        scores, coefficients = boosted(x, y, frequencies, rounds=100)
        norm = wave_norm(coefficients)
        assert norm <= 1 + 1e-12
        bound = margin_bound(scores, y, norm=norm, R_w=band, R_x=0.58, d=1, delta=delta)
        values.append(bound.value)
        dropped.append(without_complexity(scores, y, delta))
        printed.append(as_printed(1e6 * scores, y, delta, band, 0.58))
    assert np.mean(np.array(values) < 0.5) <= allowed(repetitions, delta)
    # The simulation can tell: without the complexity, or without the norm, the bound always fails.
    assert max(dropped) < 0.5
    assert max(printed) < 0.5


def test_coverage_where_there_is_something_to_learn(rng):
    n, repetitions, delta, band = 4000, 100, 0.05, 8.0
    frequencies = np.linspace(0, band, 33)
    grid = np.linspace(-1, 1, 20001)
    phases = grid[:, None] * frequencies
    cosines, sines = np.cos(phases), np.sin(phases)
    up = np.where(np.cos(6 * grid) > 0, 0.95, 0.05)  # probability of +1
    failures, values = [], []
    for _ in range(repetitions):
        x = rng.uniform(-1, 1, n)
        y = np.where(rng.uniform(size=n) < np.where(np.cos(6 * x) > 0, 0.95, 0.05), 1, -1)
        scores, c = boosted(x, y, frequencies, rounds=3)
        bound = margin_bound(scores, y, norm=wave_norm(c), R_w=band, R_x=0.58, d=1, delta=delta)
        predicted = cosines @ c[:33] + sines @ c[33:]
        error = np.where(predicted > 0, 1 - up, up).mean()
        failures.append(error > bound.value)
        values.append(bound.value)
    assert np.mean(failures) <= allowed(repetitions, delta)
    assert max(values) < 0.6  # and it says something


def test_wave_norm_is_below_any_norm_times_root_mass(rng):
    coefficients, scale = rng.normal(size=20), rng.uniform(0.1, 1, 10)
    norm = wave_norm(coefficients, scale=scale, intercept=-0.3)
    amplitudes = scale * np.hypot(coefficients[:10], coefficients[10:])
    assert norm == pytest.approx(amplitudes.sum() + 0.3)
    assert norm <= np.linalg.norm(coefficients) * np.linalg.norm(scale) + 0.3
    # Attained by the kernel whose weights are the amplitudes.
    best = np.linalg.norm(amplitudes / np.sqrt(amplitudes)) * np.sqrt(amplitudes.sum())
    assert norm == pytest.approx(best + 0.3)
    x = rng.normal(size=1000)
    phases = np.outer(x, rng.normal(size=10))
    scores = np.hstack([np.cos(phases), np.sin(phases)]) @ (np.tile(scale, 2) * coefficients) - 0.3
    assert np.abs(scores).max() <= norm


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: margin_bound(**SCORES | {"y": [1, 0]}), "y must be -1 or .1, got"),
        (lambda: margin_bound(**SCORES | {"y": [[1], [1]]}), r"shape \(n,\), got \(2,\) and \(2,"),
        (lambda: margin_bound(**SCORES | {"scores": [], "y": []}), r"scores and y must both"),
        (lambda: margin_bound(**SCORES | {"norm": 0.4}), "largest score, 0.5, got 0.4"),
        (lambda: margin_bound(**SCORES | {"norm": -1.0}), "norm must be .* at least 0, got -1"),
        (lambda: margin_bound(**SCORES | {"scores": [0.5, np.nan]}), "largest score, nan"),
        (lambda: margin_bound(**SCORES, mass=0), "mass must be .* greater than 0, got 0"),
        (lambda: margin_bound(**SCORES, delta=1.0), "delta must be .* got 1.0"),
        (lambda: margin_bound(**SCORES, grid=[]), r"grid must have values in \(0, 1\], got"),
        (lambda: margin_bound(**SCORES, grid=[0.1, 2]), r"grid must have values in \(0, 1\], got"),
        (lambda: margin_bound(**SCORES, n_settings=0), "n_settings must be .* at least 1, got 0"),
        (lambda: margin_bound(**SCORES | {"R_w": -1}), "R_w must be .* at least 0, got -1"),
        (lambda: margin_bound(**SCORES | {"R_x": np.inf}), "R_x must be a finite number"),
        (lambda: margin_bound(**SCORES, d=0), "d must be an integer of at least 1, got 0"),
        (lambda: wave_norm([1.0, 2.0, 3.0]), r"coefficients must have shape \(2 N,\), .* \(3,\)"),
        (
            lambda: wave_norm([1.0, 2.0], scale=[1, 2]),
            r"scale must .* shape \(1,\), got .* \(2,\)",
        ),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
