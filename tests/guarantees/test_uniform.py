"""The uniform bound of random Fourier features: its order, its published form, its coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.guarantees import fourier_uniform_bound
from tests.guarantees.simulation import allowed


@settings(deadline=None, max_examples=40)
@given(
    N=st.integers(1, 10**6),
    d=st.integers(1, 100),
    diameter=st.floats(1e-2, 1e2),
    spread=st.floats(1e-2, 1e2),
    delta=st.floats(1e-6, 0.9),
)
def test_uniform_bound_is_monotone(N, d, diameter, spread, delta):
    bound = fourier_uniform_bound(N, d, diameter, spread, delta)
    assert 0 < bound <= 2
    slack = 1e-6
    assert fourier_uniform_bound(2 * N, d, diameter, spread, delta) <= bound + slack
    assert fourier_uniform_bound(N, d + 1, diameter, spread, delta) >= bound - slack
    assert fourier_uniform_bound(N, d, 2 * diameter, spread, delta) >= bound - 0.01
    assert fourier_uniform_bound(N, d, diameter, spread, delta / 2) >= bound - slack


def test_uniform_bound_near_the_published_form():
    """Sutherland and Schneider's closed form, with a cover of (4 l / s)^d balls and slope 4."""
    N, d, diameter, spread, delta = 5000, 3, 4.0, 2.0, 0.05
    eps = fourier_uniform_bound(N, d, diameter, spread, delta)
    constant = (d / 2) ** (-d / (d + 2)) + (d / 2) ** (2 / (d + 2))
    constant *= 2 ** ((8 * d + 2) / (d + 2))
    closed = constant * (spread * diameter / eps) ** (2 * d / (d + 2))
    closed *= np.exp(-2 * N * eps**2 / (8 * (d + 2)))
    assert delta <= closed <= 30 * delta


def test_uniform_bound_holds(rng):
    N, d, delta, repetitions = 60, 1, 0.2, 300
    gaps = np.linspace(0, 2, 200)
    failures = 0
    bound = fourier_uniform_bound(N, d, 2.0, np.sqrt(2 * 0.5), delta)
    assert bound < 1.5
    for _ in range(repetitions):
        waves = np.cos(np.outer(gaps, rng.normal(size=N))).mean(axis=1)
        failures += np.abs(waves - np.exp(-0.5 * gaps**2)).max() > bound
    assert failures / repetitions <= allowed(repetitions, delta)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fourier_uniform_bound(0, 1, 1.0, 1.0), "n_frequencies must be .* got 0"),
        (lambda: fourier_uniform_bound(1, 1, 0.0, 1.0), "diameter must be .* got 0"),
        (lambda: fourier_uniform_bound(1, 1, 1.0, np.inf), "spread must be a finite number"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
