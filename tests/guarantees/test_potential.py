"""Rows for the potential: by hand, by simulation, and where the printed number is too small."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.guarantees import potential_deviation, potential_sample_size
from tests.guarantees.simulation import allowed, waves

LENGTH = st.floats(0, 1e3)
DELTA = st.floats(1e-6, 0.999)
DIMENSION = st.integers(1, 1000)


def transform_of_uniform(w, low, high):
    """The mean of exp(1j w x) for x uniform in an interval."""
    return np.exp(0.5j * w * (low + high)) * np.sinc(w * (high - low) / (2 * np.pi))


def deviations(rng, n, w, repetitions):
    """Largest |v / n^2 - v_ideal| over `w`: 85 % of the rows in [0, 1], the others in [-1, .5]."""
    ideal = (
        np.abs(0.85 * transform_of_uniform(w, 0, 1) - 0.15 * transform_of_uniform(w, -1, 0.5)) ** 2
    )
    found = []
    for _ in range(repetitions):
        y = np.where(rng.uniform(size=n) < 0.85, 1, -1)
        x = np.where(y > 0, rng.uniform(0, 1, n), rng.uniform(-1, 0.5, n))
        v = np.abs(y @ waves(x[:, None], w[None])) ** 2
        found.append(np.abs(v / n**2 - ideal).max())
    return np.array(found)


def test_coverage_of_the_potential(rng):
    eps, delta, repetitions = 0.3, 0.1, 200
    w = np.linspace(0, 5, 41)
    n = potential_sample_size(eps, delta, 1, 5.0, 1.0)
    assert np.mean(deviations(rng, n, w, repetitions) > eps) <= allowed(repetitions, delta)
    # The simulation can tell when there are too few rows.
    few = np.mean(deviations(rng, n // 60, w, repetitions) > eps)
    assert few > allowed(repetitions, delta)


def test_the_printed_sample_size_is_too_small_for_low_frequencies(rng):
    eps, delta, band, repetitions = 0.1, 0.05, 0.1, 400
    w = np.linspace(0, band, 5)
    # The logarithm of the net is left out where it would be negative.
    net = max(0.0, np.log(2 * band / eps))
    printed = int(np.ceil(8 * band**2 * (net + np.log(1 / delta)) / eps**2))
    assert np.mean(deviations(rng, printed, w, repetitions) > eps) > 5 * allowed(
        repetitions, delta
    )
    n = potential_sample_size(eps, delta, 1, band, 1.0)
    assert np.mean(deviations(rng, n, w, repetitions) > eps) <= allowed(repetitions, delta)


def test_the_mean_of_the_potential_is_not_the_ideal(rng):
    n, repetitions, w = 5, 20000, np.array([0.7])
    y = np.where(rng.uniform(size=(repetitions, n)) < 0.85, 1, -1)
    x = np.where(y > 0, rng.uniform(0, 1, y.shape), rng.uniform(-1, 0.5, y.shape))
    v = np.abs((y * np.exp(1j * w * x)).mean(axis=1)) ** 2
    ideal = (
        abs(0.85 * transform_of_uniform(w, 0, 1) - 0.15 * transform_of_uniform(w, -1, 0.5)) ** 2
    )
    error = v.std() / np.sqrt(repetitions)
    assert abs(v.mean() - (ideal + (1 - ideal) / n)) <= 4 * error
    assert abs(v.mean() - ideal) > 10 * error


def test_sample_size_by_hand():
    near = 1 - np.sqrt(1 - 0.19)  # 0.1
    assert near == pytest.approx(0.1)
    # At the frequency 0 only a mean of labels has to be learned.
    by_contraction = (2 + np.sqrt(2 * np.log(20))) ** 2 / 0.01
    assert potential_sample_size(0.19, 0.05, 3, 0.0, 1.0) <= np.ceil(by_contraction)
    s = 0.1
    by_net = np.log(16 / 0.05) + 2 * np.log(1 + 4 * 30 / (s * near))
    by_net *= 2 / (np.cos(np.pi / 16) * (1 - s) * near) ** 2
    assert 0.9 * by_net <= potential_sample_size(0.19, 0.05, 2, 30.0, 1.0) <= by_net
    wide = (2 * (np.pi + 30) + np.sqrt(2 * np.log(20))) ** 2 / 0.01
    assert potential_sample_size(0.19, 0.05, 10**4, 30.0, 1.0) == np.ceil(wide)


@settings(deadline=None)
@given(eps=st.floats(1e-3, 0.9), delta=DELTA, d=DIMENSION, band=LENGTH, radius=LENGTH)
def test_sample_size_is_monotone_and_the_deviation_its_inverse(eps, delta, d, band, radius):
    n = potential_sample_size(eps, delta, d, band, radius)
    assert n >= potential_sample_size(1.1 * eps, delta, d, band, radius)
    assert n <= potential_sample_size(eps, delta / 2, d, band, radius)
    assert n <= potential_sample_size(eps, delta, d + 1, band, radius)
    assert n <= potential_sample_size(eps, delta, d, 2 * band, radius)
    assert n == potential_sample_size(eps, delta, d, radius, band)
    deviation = potential_deviation(n, delta, d, band, radius)
    assert deviation <= eps * (1 + 1e-9)
    assert deviation >= potential_deviation(2 * n, delta, d, band, radius)
    assert potential_sample_size(deviation, delta, d, band, radius) <= n
    if n > 1:
        assert potential_deviation(n - 1, delta, d, band, radius) >= eps * (1 - 1e-9)


def test_too_few_rows_leave_the_deviation_at_one():
    assert potential_deviation(1, 0.05, 2, 10.0, 1.0) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: potential_sample_size(1.0, 0.1, 1, 1, 1), "eps must be .* got 1.0"),
        (lambda: potential_sample_size(0.1, 0, 1, 1, 1), "delta must be .* got 0"),
        (lambda: potential_deviation(0, 0.1, 1, 1, 1), "n must be an integer of at least 1"),
        (lambda: potential_deviation(1, 0.1, 1.5, 1, 1), "d must be an integer"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
