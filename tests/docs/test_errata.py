"""Entries of the page of errata that no other test checks."""

import numpy as np

from bochner.data.toys import checkerboard_sphere
from bochner.margin.sphere.harmonics import harmonic_orders, harmonics_at


def test_theorem_4_5_of_bullins_promises_next_to_nothing():
    """Classes N(-m, 1) and N(m, 1) on a line, whose potential is exp(-w^2) sin(m w)^2."""
    m, w = 5.0, np.linspace(0, 6, 600_001)
    v = np.exp(-(w**2)) * np.sin(m * w) ** 2
    is_peak = (v[1:-1] > v[:-2]) & (v[1:-1] > v[2:])
    peaks = v[1:-1][is_peak]
    assert peaks.max() > 0.9
    assert peaks.min() < 1e-14  # what the infimum over the local maxima is, within |w| <= 6
    slope, bend = np.gradient(v, w), np.gradient(np.gradient(v, w), w)
    far = w > 5
    assert np.abs(slope[far]).max() < 1e-8  # every w there is an approximate local maximum
    assert np.abs(bend[far]).max() < 1e-8
    assert v[far].max() < 1e-10


def test_a_chain_over_harmonics_is_worse_than_looking_at_all_of_them():
    """Appendix A.3 of Bullins et al.: a chain that mixes to exp(beta v), on a checkerboard."""
    X, y = checkerboard_sphere(1000, random_state=0)
    orders = harmonic_orders(3, 15)
    v = (np.where(y == y.max(), 1, -1) @ harmonics_at(X, orders)) ** 2
    n, beta = len(v), 20 / v.max()
    exact = np.exp(beta * (v - v.max()))
    exact /= exact.sum()
    assert exact.max() > 0.2  # there is something to find
    distances = []
    for seed in range(20):
        rng = np.random.RandomState(seed)
        here, visits = rng.randint(n), np.zeros(n)
        for _ in range(n):  # as many values of v as there are harmonics
            there = (here + rng.choice((-1, 1))) % n
            here = there if np.log(rng.uniform()) < beta * (v[there] - v[here]) else here
            visits[here] += 1
        distances.append(np.abs(visits / n - exact).sum() / 2)
    assert np.mean(distances) > 0.5
