"""Divergences by hand, and the inverse of the binary one to rounding."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import special
from scipy.optimize import brentq

from bochner.guarantees import kl_to_uniform, power_divergence
from bochner.guarantees.divergences import inverse_binary_kl


def binary_kl(q, p):
    """By its definition, in fifty digits."""
    with localcontext() as context:
        context.prec = 50
        pairs = [(Decimal(q), Decimal(p)), (1 - Decimal(q), 1 - Decimal(p))]
        return float(sum(a * (a / b).ln() for a, b in pairs if a > 0))


def test_divergences_by_hand():
    assert kl_to_uniform([0.25] * 4) == pytest.approx(0, abs=1e-15)
    assert kl_to_uniform([0, 1, 0, 0]) == pytest.approx(np.log(4))
    assert kl_to_uniform([0.75, 0.25]) == pytest.approx(
        np.log(2) + 0.75 * np.log(0.75) + 0.25 * np.log(0.25)
    )
    assert power_divergence([0.75, 0.25]) == pytest.approx(2 * (9 / 16 + 1 / 16) - 1)
    assert power_divergence([0.75, 0.25], 3) == pytest.approx(4 * (27 + 1) / 64 - 1)
    rows = np.array([[0.5, 0.5, 0], [0, 0, 1]])
    assert_allclose(kl_to_uniform(rows), [np.log(1.5), np.log(3)])
    assert_allclose(power_divergence(rows, 4), [27 * 2 / 16 - 1, 26])


@settings(deadline=None)
@given(q=st.floats(0, 1), budget=st.floats(1e-13, 50))
def test_inverse_round_trip(q, budget):
    p = inverse_binary_kl(q, budget)
    assert q <= p <= 1
    if p < 1 - 1e-6:
        # p is exact to rounding, so kl is exact to rounding times its slope at p.
        slope = (p - q) / (p * (1 - p))
        assert binary_kl(q, p) == pytest.approx(budget, rel=1e-9, abs=4e-16 * slope)


def test_inverse_against_an_independent_root_finder():
    for q in (0.0, 1e-9, 0.01, 0.3, 0.9):
        for budget in (1e-3, 0.1, 2.0):

            def excess(p, q=q, budget=budget):
                return special.rel_entr(q, p) + special.rel_entr(1 - q, 1 - p) - budget

            exact = brentq(excess, q + 1e-15, 1 - 1e-16, xtol=1e-15, rtol=1e-15)
            assert inverse_binary_kl(q, budget) == pytest.approx(exact, abs=1e-12)


def test_inverse_at_the_ends():
    assert inverse_binary_kl(0.3, 0) == 0.3
    assert_allclose(inverse_binary_kl([0.0, 0.5, 1.0], [[np.inf], [1e4]]), np.ones((2, 3)))
    assert inverse_binary_kl(1, 0.1) == 1
    assert inverse_binary_kl(0, 0.25) == pytest.approx(1 - np.exp(-0.25), abs=1e-15)
    # Near 1/2 with a tiny budget, kl is 2 d^2.
    assert inverse_binary_kl(0.5, 2e-14) - 0.5 == pytest.approx(1e-7, abs=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power_divergence([0.5, 0.5], 1), "mu must be .* got 1"),
        (lambda: kl_to_uniform([0.5, 0.6]), "weights must sum to 1, got a sum of"),
        (lambda: kl_to_uniform([1.5, -0.5]), "weights must lie in"),
        (lambda: kl_to_uniform(np.ones((1, 1, 1))), r"weights must have shape \(N,\)"),
        (lambda: kl_to_uniform([]), r"weights must have shape \(N,\)"),
        (lambda: inverse_binary_kl(0.5, -1), "budget must be zero or more"),
        (lambda: inverse_binary_kl(0.5, np.nan), "budget must be zero or more"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
