"""The bounds by hand, their order, and how often they fail on distributions that are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import special

from bochner.guarantees import (
    catoni,
    corollary_2,
    corollary_5,
    effective_pairs,
    kl_to_uniform,
    landmark_pairs,
    pac_bayes_kl,
    power_divergence,
    sharp,
    smallest_over_t,
    theorem_1,
    theorem_3,
    theorem_4,
    tightest_global_bound,
    tightest_landmark_bounds,
    variance_bound,
)
from bochner.guarantees.divergences import inverse_binary_kl
from tests.guarantees.simulation import allowed, coins

LOSS = st.floats(0, 1)
DIVERGENCE = st.floats(0, 30)
SIZE = st.integers(2, 10**6)
DELTA = st.floats(1e-6, 0.999)

# Every bound with the parameters it shares; t and mu fixed, as they must be.
BOUNDS = {
    "theorem_1": lambda e, d, n, delta: theorem_1(e, d, n, delta, 2 * n**0.5),
    "corollary_2": lambda e, d, n, delta: corollary_2(e, d, n, delta, 2 * n**0.5),
    "theorem_3": lambda e, d, n, delta: theorem_3(e, d, n, delta, 2 * n**0.5),
    "theorem_4, mu=1.5": lambda e, d, n, delta: theorem_4(e, d, n, delta, 1.5),
    "theorem_4, mu=4": lambda e, d, n, delta: theorem_4(e, d, n, delta, 4),
    "corollary_5": corollary_5,
    "pac_bayes_kl": pac_bayes_kl,
    "sharp": lambda e, d, n, delta: sharp(e, d, n, delta, 3 * n**0.5),
    "catoni": lambda e, d, n, delta: catoni(e, d, n, delta, 3 * n**0.5),
    "catoni on a grid": lambda e, d, n, delta: smallest_over_t(catoni, e, d, n, delta),
}


@pytest.mark.parametrize("name", BOUNDS)
@settings(deadline=None, max_examples=40)
@given(loss=LOSS, divergence=DIVERGENCE, n=SIZE, delta=DELTA, other=DELTA)
def test_bounds_are_monotone(name, loss, divergence, n, delta, other):
    bound = BOUNDS[name]
    value = bound(loss, divergence, n, delta)
    slack = 1e-12
    assert loss - slack <= value <= 1
    smaller, larger = sorted([delta, other])
    assert bound(loss, divergence, n, smaller) >= bound(loss, divergence, n, larger) - slack
    assert bound(loss, divergence + 1, n, delta) >= value - slack
    assert bound(min(1.0, loss + 0.1), divergence, n, delta) >= value - slack
    assert bound(loss, divergence, 4 * n, delta) <= value + slack


@settings(deadline=None)
@given(loss=LOSS, divergence=DIVERGENCE, n=SIZE, delta=DELTA, t=st.floats(1e-2, 1e5))
def test_sharper_bounds_are_smaller(loss, divergence, n, delta, t):
    slack = 1e-12
    m = effective_pairs(n)
    assert sharp(loss, divergence, m, delta, t) <= theorem_3(loss, divergence, n, delta, t) + slack
    assert theorem_3(loss, divergence, n, delta, t) <= (
        corollary_2(loss, divergence, n, delta, t) + slack
    )
    assert catoni(loss, divergence, m, delta, t) <= sharp(loss, divergence, m, delta, t) + slack
    landmark = landmark_pairs(n)
    assert sharp(loss, divergence, landmark, delta, t) <= (
        theorem_1(loss, divergence, n, delta, t) + slack
    )
    # At its best t, Catoni's bound is kl^-1 without the price of 2 sqrt(m).
    least = inverse_binary_kl(loss, (divergence - np.log(delta)) / m)
    assert least <= catoni(loss, divergence, m, delta, t) + 1e-9


def test_the_global_bound_is_pac_bayes_kl_with_the_selection_paid_for():
    weights, losses = np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.2, 0.5])
    bound = tightest_global_bound(weights, losses, 501, 0.05)
    assert bound.observed == pytest.approx(0.17)
    assert bound.details == {"divergence": kl_to_uniform(weights)}
    assert bound.value == pac_bayes_kl(weights @ losses, kl_to_uniform(weights), 250, 0.05)
    selected = tightest_global_bound(weights, losses, 501, 0.05, n_settings=10)
    assert selected.value == pac_bayes_kl(weights @ losses, kl_to_uniform(weights), 250, 0.005)
    assert selected.delta == bound.delta == 0.05


def test_the_level_is_what_a_constant_reaches():
    bound = tightest_global_bound([1.0], [0.2], 1000, 0.05, shares=[0.9, 0.1])
    assert bound.uninformative == pytest.approx(0.18)
    assert not bound.informative
    assert tightest_global_bound([1.0], [0.2], 1000, 0.05).uninformative == 0.5
    assert tightest_global_bound([1.0], [0.2], 1000, 0.05, shares=[0.2] * 5).informative
    landmarks = tightest_landmark_bounds([[1.0]] * 2, [[0.2]] * 2, 1000, 0.05, shares=[0.9, 0.4])
    assert [bound.uninformative for bound in landmarks] == pytest.approx([0.1, 0.4])


def test_landmark_bounds_pay_for_their_number(rng):
    weights, losses = rng.dirichlet(np.ones(5), size=3), rng.uniform(size=(3, 5))
    loss, kl = (weights * losses).sum(axis=1), kl_to_uniform(weights)

    def values(**options):
        return [b.value for b in tightest_landmark_bounds(weights, losses, 99, 0.06, **options)]

    assert_allclose(values(), pac_bayes_kl(loss, kl, 99, 0.02))
    assert_allclose(values(n_settings=2), pac_bayes_kl(loss, kl, 99, 0.01))
    assert_allclose(values(chosen_among=100), pac_bayes_kl(loss, kl, 99, 0.0006))


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, float("nan")])
def test_delta_is_checked(name, delta):
    with pytest.raises(ValueError, match=r"delta must be .* between 0 and 1.*got"):
        BOUNDS[name](0.2, 1, 100, delta)


@pytest.mark.parametrize("name", BOUNDS)
def test_losses_and_divergences_are_checked(name):
    for loss in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"empirical_loss must lie in \[0, 1\], got"):
            BOUNDS[name](loss, 1, 100, 0.05)
    with pytest.raises(ValueError, match="divergence must be zero or more, got"):
        BOUNDS[name](0.2, -1, 100, 0.05)
    # Rounding is forgiven.
    assert BOUNDS[name](-1e-12, -1e-12, 100, 0.05) == BOUNDS[name](0, 0, 100, 0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tightest_global_bound([0.5, 0.5], [0.1], 10, 0.05),
            r"weights and losses must both have shape \(N,\), got \(2,\) and \(1,\)",
        ),
        (
            lambda: tightest_global_bound([0.5, 0.5], [0.1, 0.1], 10, 0.05, n_settings=0),
            "n_settings must be .* got 0",
        ),
        (
            lambda: tightest_landmark_bounds([0.5, 0.5], [0.1, 0.1], 10, 0.05),
            r"shape \(n_landmarks, D\)",
        ),
        (
            lambda: tightest_landmark_bounds(np.eye(2), np.eye(2), 10, 0.05, chosen_among=1),
            "chosen_among must be .* at least 2, got 1",
        ),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


FAILS = 0.05


def kl_posterior(losses, beta, n):
    return special.softmax(-beta * np.sqrt(n) * losses, axis=-1)


def lowest(losses):
    """All the weight on the candidate that looks best: the worst for a bound."""
    weights = np.zeros(losses.shape)
    np.put_along_axis(weights, losses.argmin(axis=-1)[..., None], 1.0, axis=-1)
    return weights


def gaussian_mixture(rng, repetitions, n, share=0.7, centre=1.0):
    """Samples with y = 1 for a share of the rows and x given y normal around y * centre."""
    y = np.where(rng.random((repetitions, n)) < share, 1, -1)
    return y * centre + rng.standard_normal((repetitions, n)), y


def gaussian_mixture_mean(w, share=0.7, centre=1.0):
    """The expectation of y exp(i w x), in closed form."""
    turn = np.exp(1j * w * centre)
    return np.exp(-(w**2) / 2) * (share * turn - (1 - share) * turn.conj())


def empirical_losses(x, y, w):
    n = x.shape[1]
    F = np.stack([(y * np.exp(1j * frequency * x)).sum(axis=1) for frequency in w], axis=1)
    return 0.5 - (np.abs(F) ** 2 - n) / (2 * n * (n - 1))


def global_bounds(weights, losses, n, delta):
    """Every valid bound on the global loss, for one Q a row."""
    loss, kl, m = (weights * losses).sum(axis=1), kl_to_uniform(weights), effective_pairs(n)
    t = 4 * np.sqrt(n)
    return {
        "pac_bayes_kl": pac_bayes_kl(loss, kl, m, delta),
        "sharp": sharp(loss, kl, m, delta, t),
        "catoni": catoni(loss, kl, m, delta, t),
        "catoni on a grid": smallest_over_t(catoni, loss, kl, m, delta),
        "theorem_3": theorem_3(loss, kl, n, delta, t),
        "corollary_2": corollary_2(loss, kl, n, delta, t),
        "corollary_5": corollary_5(loss, power_divergence(weights), n, delta),
        **{
            f"theorem_4, mu={mu}": theorem_4(loss, power_divergence(weights, mu), n, delta, mu)
            for mu in (1.2, 1.5, 4, 10)
        },
    }


def violation_rates(bounds, true):
    return {name: float(np.mean(value < true)) for name, value in bounds.items()}


@pytest.mark.parametrize("delta", [0.05, 0.5])
@pytest.mark.parametrize("posterior", ["kl", "adversarial", "uniform"])
def test_coverage_of_global_bounds_on_a_gaussian_mixture(rng, posterior, delta):
    repetitions, n = 400, 60
    w = rng.normal(size=30)
    true = 0.5 - np.abs(gaussian_mixture_mean(w)) ** 2 / 2
    losses = empirical_losses(*gaussian_mixture(rng, repetitions, n), w)
    # The two formulas belong together: unbiased, to five standard errors.
    error = losses.std(axis=0) / np.sqrt(repetitions)
    assert (np.abs(losses.mean(axis=0) - true) < 5 * error).all()
    weights = {
        "kl": kl_posterior(losses, 2.0, n),
        "adversarial": lowest(losses),
        "uniform": np.full(losses.shape, 1 / len(w)),
    }[posterior]
    rates = violation_rates(global_bounds(weights, losses, n, delta), weights @ true)
    assert max(rates.values()) <= allowed(repetitions, delta), rates


@pytest.mark.parametrize("delta", [0.05, 0.5])
@pytest.mark.parametrize("candidates", [1, 2, 20, 500])
@pytest.mark.parametrize("n", [3, 20, 1000])
def test_coverage_of_global_bounds_at_the_largest_variance(rng, n, candidates, delta):
    repetitions = 1000
    losses, true = coins(rng, repetitions, n, candidates)
    assert losses[:, 0].var() == pytest.approx(variance_bound(n), rel=0.3)
    for weights in (kl_posterior(losses, 4.0, n), lowest(losses)):
        rates = violation_rates(global_bounds(weights, losses, n, delta), true)
        assert max(rates.values()) <= allowed(repetitions, delta), rates


def test_coverage_of_landmark_bounds_together(rng):
    """The landmarks are the first rows of each sample, each with its own candidates."""
    repetitions, n, n_landmarks, D = 400, 60, 5, 20
    x, y = gaussian_mixture(rng, repetitions, n)
    t = 4 * np.sqrt(n)
    failed = {}
    for landmark in range(n_landmarks):
        w = rng.normal(size=D)
        # lambda cos(w (x_l - x)) is the real part of this times y exp(i w x).
        own = y[:, landmark, None] * np.exp(-1j * x[:, landmark, None] * w)
        true = 0.5 - (own * gaussian_mixture_mean(w)).real / 2
        sums = np.stack([(y * np.exp(1j * f * x)).sum(axis=1) for f in w], axis=1)
        losses = 0.5 - ((own * sums).real - 1) / (2 * (n - 1))
        error = (losses - true).std(axis=0) / np.sqrt(repetitions)
        assert (np.abs((losses - true).mean(axis=0)) < 5 * error).all()
        for kind, Q in (("kl", kl_posterior(losses, 2.0, n)), ("adversarial", lowest(losses))):
            loss, kl, m = (Q * losses).sum(axis=1), kl_to_uniform(Q), landmark_pairs(n)
            truth = (Q * true).sum(axis=1)
            share = FAILS / n_landmarks
            bounds = {
                "printed": theorem_1(loss, kl, n, share, t),
                "kl": pac_bayes_kl(loss, kl, m, share),
                "sharp": sharp(loss, kl, m, share, t),
                "catoni": catoni(loss, kl, m, share, t),
            }
            for name, value in bounds.items():
                failed.setdefault((kind, name), np.zeros(repetitions, bool))
                failed[kind, name] |= value < truth
    rates = {name: any_failed.mean() for name, any_failed in failed.items()}
    assert max(rates.values()) <= allowed(repetitions, FAILS), rates


def test_the_simulation_sees_other_mistakes(rng):
    """Pairs counted as independent, and an adversary who does not pay for his choice."""
    repetitions, n = 1000, 200
    losses, true = coins(rng, repetitions, n, 200)
    pairs = n * (n - 1) // 2
    one = losses[:, 0]
    assert np.mean(pac_bayes_kl(one, 0.0, pairs, FAILS) < true) > allowed(repetitions, FAILS)
    best = losses.min(axis=1)
    m = effective_pairs(n)
    t = np.sqrt(8 * m * np.log(1 / FAILS))
    assert np.mean(catoni(best, 0.0, m, FAILS, t) < true) > allowed(repetitions, FAILS)
    paid = catoni(best, np.log(200), m, FAILS, t)
    assert np.mean(paid < true) <= allowed(repetitions, FAILS)
