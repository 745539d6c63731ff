"""The complexity by hand, by simulation, and where the printed one is too small."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.guarantees.complexity import fourier_complexity
from tests.guarantees.simulation import waves

SIZE = st.integers(1, 10**6)
LENGTH = st.floats(0, 1e3)
DIMENSION = st.integers(1, 1000)


@pytest.mark.parametrize(("d", "band"), [(1, 0.0), (1, 0.2), (1, 3.0), (1, 100.0), (2, 5.0)])
def test_the_complexity_bounds_the_best_fit_to_random_signs(rng, d, band):
    n, repetitions = 60, 400
    X = rng.uniform(-1, 1, (n, d))
    radius = np.sqrt((X**2).sum(axis=1).mean())
    if d == 1:
        W = np.linspace(0, band, 1500)[None]
    else:
        axis = np.linspace(-band, band, 41)
        W = np.stack(np.meshgrid(axis, axis)).reshape(2, -1)
        W = W[:, np.linalg.norm(W, axis=0) <= band]
    signs = rng.choice([-1.0, 1.0], (repetitions, n))
    fits = np.abs(signs @ waves(X, W)).max(axis=1) / np.sqrt(n)
    mean, error = fits.mean(), fits.std() / np.sqrt(repetitions)
    for dimension in (None, d):
        assert mean - 3 * error <= fourier_complexity(n, band, radius, dimension)
    # The net is within a factor of five of the truth, the other may be far off.
    assert fourier_complexity(n, band, radius, d) <= 5 * mean
    if band * radius < 0.25:
        assert mean - 3 * error > 3 * band * radius  # as printed: too small


def test_complexity_by_hand():
    assert fourier_complexity(100, 0, 7) == 1
    assert fourier_complexity(100, 0.5, 1) == 2.5
    assert fourier_complexity(100, 4, 2) == pytest.approx(np.pi + 8)
    step = 0.01  # of a net in the plane
    net = np.log(16) + 2 * np.log1p(2 * 50 / step)
    by_hand = np.sqrt(2 * net) / np.cos(np.pi / 16) + np.sqrt(1000) * step
    assert by_hand - 0.1 <= fourier_complexity(1000, 50, 1, 2) <= by_hand + 0.01


@settings(deadline=None)
@given(n=SIZE, band=LENGTH, radius=LENGTH, d=DIMENSION)
def test_complexity_is_monotone(n, band, radius, d):
    c = fourier_complexity(n, band, radius, d)
    assert 1 <= c <= fourier_complexity(n, band, radius)
    assert c <= fourier_complexity(2 * n, band, radius, d) * (1 + 1e-12)
    assert c <= fourier_complexity(n, 2 * band, radius, d) * (1 + 1e-12)
    assert c <= fourier_complexity(n, band, radius, d + 1) * (1 + 1e-12)
    assert c == pytest.approx(fourier_complexity(n, radius, band, d))
