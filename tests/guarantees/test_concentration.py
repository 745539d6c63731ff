"""Bounds on a mean: by hand, their order, and how often they fail."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.guarantees import (
    chernoff_bound,
    empirical_bernstein_bound,
    hoeffding_bound,
    residual_bound,
)
from tests.guarantees.simulation import allowed

BOUNDS = (hoeffding_bound, chernoff_bound, empirical_bernstein_bound, residual_bound)


def test_bounds_by_hand():
    v = [0.0, 0.2, 0.4, 0.6]
    assert hoeffding_bound(v, 0.5) == pytest.approx(0.3 + np.sqrt(np.log(2) / 8))
    variance, logarithm = 0.2 / 3, np.log(20)
    by_hand = 3.0 + np.sqrt(200 * variance * logarithm / 4) + 70 * logarithm / 9
    assert empirical_bernstein_bound(10 * np.array(v), 0.1, limit=10) == min(10, by_hand)
    many = np.tile(v, 500)
    by_hand = 0.3 + np.sqrt(2 * many.var(ddof=1) * logarithm / 2000) + 7 * logarithm / (3 * 1999)
    assert empirical_bernstein_bound(many, 0.1) == pytest.approx(by_hand)
    # No event in m trials: (1 - p)^m = delta.
    assert chernoff_bound(np.zeros(50), 0.05) == pytest.approx(1 - 0.05 ** (1 / 50))
    assert residual_bound([0.3], 0.1) == chernoff_bound([0.3], 0.05)
    expected = min(chernoff_bound(many, 0.05), empirical_bernstein_bound(many, 0.05))
    assert residual_bound(many, 0.1) == expected


@settings(deadline=None, max_examples=40)
@given(
    values=st.lists(st.floats(0, 1), min_size=2, max_size=60),
    delta=st.floats(1e-6, 0.999),
    limit=st.floats(1e-3, 1e3),
)
def test_bounds_are_ordered_and_scale(values, delta, limit):
    v = np.array(values)
    for bound in BOUNDS:
        value = bound(v, delta)
        assert v.mean() - 1e-12 <= value <= 1
        assert bound(v, delta / 2) >= value - 1e-12
        assert bound(limit * v, delta, limit=limit) == pytest.approx(limit * value, rel=1e-6)
    assert chernoff_bound(v, delta) <= hoeffding_bound(v, delta) + 1e-12


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("shape", [(0.05, 2.0), (1.0, 1.0), (20.0, 300.0)])
def test_coverage(bound, shape, rng):
    m, delta, repetitions = 60, 0.2, 200
    truth = shape[0] / sum(shape)
    draws = rng.beta(*shape, size=(repetitions, m))
    failures = np.mean([bound(v, delta) < truth for v in draws])
    assert failures <= allowed(repetitions, delta)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hoeffding_bound([], 0.1), r"values must have shape \(m,\) .* got \(0,\)"),
        (lambda: hoeffding_bound([2.0], 0.1), r"values must lie in \[0, 1\], got"),
        (lambda: hoeffding_bound([0.1], 0.0), "delta must be .* got 0.0"),
        (lambda: hoeffding_bound([0.1], 0.1, limit=-1), "limit must be .* got -1"),
        (lambda: empirical_bernstein_bound([0.1], 0.1), "number of values must be .* least 2"),
        (lambda: residual_bound([0.1], 1.0), "delta must be .* got 1.0"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
