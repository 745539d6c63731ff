"""The theorems of Letarte et al.: by hand, and where Theorem 4 fails as printed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.guarantees import (
    corollary_2,
    corollary_5,
    power_divergence,
    theorem_1,
    theorem_3,
    theorem_4,
    variance_bound,
)
from tests.guarantees.simulation import allowed, coins

DELTA = 0.05


def theorem_4_as_printed(empirical_loss, divergence, n, delta, mu):
    r"""Theorem 4 as printed, which is wrong for :math:`\mu > 2`.

    .. math:: \hat L + (D_\mu + 1)^{1/\mu} \, \delta^{-(1 - 1/\mu)} \times
              \begin{cases} (2 \sqrt{n})^{-(\mu - 1)} & 1 < \mu \le 2 \\
              (4 n)^{-(1 - 1/\mu)} & \mu > 2 \end{cases}

    Its proof takes the moment of order :math:`\mu` where Hoelder's inequality needs the conjugate
    :math:`\mu / (\mu - 1)`.
    """
    size = (4 * n) ** (-(mu - 1) / 2) if mu <= 2 else (4 * n) ** -(1 - 1 / mu)
    bound = empirical_loss + size * delta ** -(1 - 1 / mu) * (divergence + 1) ** (1 / mu)
    return np.minimum(bound, 1.0)


def test_bounds_by_hand():
    delta = np.exp(-3)
    assert theorem_1(0.1, 1, 101, delta, 20) == pytest.approx(0.1 + (1 + 2 + 3) / 20)
    assert corollary_2(0.1, 1, 1001, delta, 100) == pytest.approx(
        0.1 + 2 / 100 * (1 + 5 + 3 + np.log(1002))
    )
    assert theorem_3(0.1, 1, 100, delta, 20) == pytest.approx(0.1 + (1 + 2 + 3) / 20)
    v = variance_bound(1000)
    assert corollary_5(0.1, 1, 1000, 0.05) == pytest.approx(0.1 + np.sqrt(v * 2 / 0.05))
    assert theorem_4(0.1, 1, 1000, 0.05, 1.5) == pytest.approx(
        0.1 + (v / 0.05) ** (1 / 3) * 2 ** (2 / 3)
    )
    assert theorem_4(0.1, 1, 1000, 0.05, 4) == pytest.approx(0.1 + np.sqrt(v) * 20**0.75 * 2**0.25)
    assert theorem_4(0.1, 1, 1000, 0.05, 4, binary=False) == pytest.approx(
        0.1 + np.sqrt(1 / 2000) * 20**0.75 * 2**0.25
    )
    assert theorem_4_as_printed(0.1, 1, 1000, 0.05, 4) == pytest.approx(
        0.1 + (20 / 4000) ** 0.75 * 2**0.25
    )
    assert theorem_4_as_printed(0.1, 1, 1000, 0.05, 1.5) == pytest.approx(
        0.1 + (1 / np.sqrt(4000)) ** 0.5 * 2 ** (2 / 3) * 20 ** (1 / 3)
    )


def test_both_cases_of_theorem_4_meet_at_two():
    assert theorem_4(0.1, 0.5, 1000, 0.05, 2) == corollary_5(0.1, 0.5, 1000, 0.05)
    assert theorem_4(0.1, 0.5, 1000, 0.05, 2 + 1e-9) == pytest.approx(
        theorem_4(0.1, 0.5, 1000, 0.05, 2), abs=1e-8
    )


def test_an_overflowing_divergence_gives_the_bound_one():
    weights = np.zeros(10**4)
    weights[0] = 1
    divergence = power_divergence(weights, 200)
    assert divergence == np.inf
    assert theorem_4(0.1, divergence, 1000, 0.05, 200) == 1


@settings(deadline=None)
@given(divergence=st.floats(0, 5), mu=st.floats(1.01, 1.99), n=st.integers(50, 10**6))
def test_the_correction_is_smaller_below_two_and_larger_above(divergence, mu, n):
    # Lemma 6 has 1/(4n) for v_n, which is a little more.
    slack = (variance_bound(n) * 4 * n) ** (1 - 1 / mu) * (1 + 1e-12)
    printed = theorem_4_as_printed(0, divergence, n, 0.3, mu)
    assert theorem_4(0, divergence, n, 0.3, mu) <= printed * slack
    above = mu + 1
    printed = theorem_4_as_printed(0, divergence, n, 0.3, above)
    assert theorem_4(0, divergence, n, 0.3, above) >= printed


@pytest.mark.parametrize(("mu", "expected"), [(4, 0.117), (10, 0.296)])
def test_theorem_4_as_printed_fails_with_one_candidate(rng, mu, expected):
    repetitions, n = 4000, 1000
    losses, true = coins(rng, repetitions, n, 1)
    printed = np.mean(theorem_4_as_printed(losses[:, 0], 0.0, n, DELTA, mu) < true)
    corrected = np.mean(theorem_4(losses[:, 0], 0.0, n, DELTA, mu) < true)
    assert printed > allowed(repetitions, DELTA)
    # The gap over the standard deviation, through the normal law.
    assert printed == pytest.approx(expected, abs=0.03)
    assert corrected <= allowed(repetitions, DELTA)


def test_theorem_4_as_printed_fails_most_of_the_time_for_an_adversary(rng):
    repetitions, n, mu = 1000, 10_000, 10
    losses, true = coins(rng, repetitions, n, 8)
    weights = np.where(losses <= np.median(losses, axis=1, keepdims=True), 0.25, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    loss, divergence = (weights * losses).sum(axis=1), power_divergence(weights, mu)
    assert np.mean(theorem_4_as_printed(loss, divergence, n, DELTA, mu) < true) > 0.7
    assert np.mean(theorem_4(loss, divergence, n, DELTA, mu) < true) <= allowed(repetitions, DELTA)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theorem_1(0.2, 1, 1, 0.05, 1), "n must be an integer of at least 2, got 1"),
        (lambda: theorem_3(0.2, 1, 10.5, 0.05, 1), "n must be an integer .* got 10.5"),
        (lambda: corollary_2(0.2, 1, 0, 0.05, 1), "n must be .* got 0"),
        (lambda: corollary_5(0.2, 1, 1, 0.05), "n must be .* got 1"),
        (lambda: theorem_1(0.2, 1, 10, 0.05, 0), "t must be .* greater than 0, got 0"),
        (lambda: theorem_4(0.2, 1, 10, 0.05, 1), "mu must be .* greater than 1, got 1"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
