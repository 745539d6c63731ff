import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bochner.fourier.posterior import (
    draw_with_replacement,
    draw_without_replacement,
    effective_size,
    gibbs_log_weights,
    gibbs_posterior,
    heaviest,
    power_log_weights,
    power_posterior,
)


def divergence(weights, mu=2.0):
    return len(weights) ** (mu - 1) * (weights**mu).sum() - 1


class TestGibbs:
    def test_is_the_formula(self, rng):
        losses = rng.uniform(0.3, 0.6, size=50)
        weights = np.exp(-2.0 * np.sqrt(400) * losses)
        np.testing.assert_allclose(gibbs_posterior(losses, 2.0, 400), weights / weights.sum())

    def test_rows_are_independent(self, rng):
        losses = rng.uniform(size=(3, 10))
        rows = [gibbs_posterior(row, 1.5, 100) for row in losses]
        np.testing.assert_allclose(gibbs_posterior(losses, 1.5, 100), rows)

    def test_extreme_strength_does_not_overflow(self):
        np.testing.assert_array_equal(gibbs_posterior([0.4, 0.5], 1e9, 10**6), [1, 0])

    @pytest.mark.parametrize("beta", [0, -1, np.nan, np.inf])
    def test_beta(self, beta):
        with pytest.raises(ValueError, match="beta must be a positive"):
            gibbs_posterior([0.1, 0.2], beta, 10)


class TestPower:
    @settings(deadline=None, max_examples=60)
    @given(
        n=st.integers(2, 8),
        rho=st.floats(0.001, 6),
        mu=st.sampled_from([2.0, 1.3, 3.0]),
        ties=st.booleans(),
        seed=st.integers(0, 1000),
    )
    def test_nothing_better_is_allowed(self, n, rho, mu, ties, seed):
        """Against a generic solver, started from many points."""
        rng = np.random.default_rng(seed)
        losses = rng.uniform(size=n)
        if ties:
            losses[0] = losses[-1]
        ours = power_posterior(losses, rho, mu)
        assert ours.min() >= 0
        assert ours.sum() == pytest.approx(1, abs=1e-12)
        assert divergence(ours, mu) <= rho * (1 + 1e-9) + 1e-12
        solution = minimize(
            lambda q: q @ losses,
            np.full(n, 1 / n),
            jac=lambda q: losses,
            bounds=[(0, 1)] * n,
            constraints=[
                {"type": "eq", "fun": lambda q: q.sum() - 1, "jac": lambda q: np.ones(n)},
                {
                    "type": "ineq",
                    "fun": lambda q: rho - divergence(np.maximum(q, 0), mu),
                    "jac": lambda q: -(n ** (mu - 1)) * mu * np.maximum(q, 0) ** (mu - 1),
                },
            ],
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-15},
        )
        theirs = np.maximum(solution.x, 0)
        theirs /= theirs.sum()
        if solution.success and divergence(theirs, mu) <= rho + 1e-9:
            assert ours @ losses <= theirs @ losses + 1e-9

    @pytest.mark.parametrize("rho", [1e-6, 0.01, 0.3, 2.0, 30.0])
    def test_chi_square_satisfies_the_optimality_conditions(self, rho, rng):
        """Exact, not only as good as a solver: Q_i = max(0, (tau - L_i) / c), distance = rho."""
        losses = rng.normal(size=200)
        weights = power_posterior(losses, rho)
        assert divergence(weights) == pytest.approx(rho, rel=1e-9)
        active = weights > 0
        slope, intercept = np.polyfit(losses[active], weights[active], 1)
        np.testing.assert_allclose(
            weights, np.maximum(intercept + slope * losses, 0), rtol=0, atol=1e-9
        )
        assert slope < 0

    def test_general_order_agrees_with_the_exact_one_at_two(self, rng):
        from bochner.fourier.posterior import _general

        losses = rng.uniform(size=100)
        u = losses - losses.min()
        for rho in (0.01, 1.0, 20.0):
            np.testing.assert_allclose(
                _general(u, rho, 2.0), power_posterior(losses, rho), rtol=0, atol=1e-9
            )

    def test_the_ends(self):
        losses = np.array([0.1, 0.1, 0.3, 0.5])
        np.testing.assert_array_equal(power_posterior(losses, 0.0), 0.25)
        np.testing.assert_array_equal(power_posterior(losses, 1.0), [0.5, 0.5, 0, 0])
        np.testing.assert_array_equal(power_posterior(losses, 100.0), [0.5, 0.5, 0, 0])
        np.testing.assert_array_equal(power_posterior(np.ones(4), 2.0), 0.25)
        np.testing.assert_array_equal(power_posterior(losses, 50.0, mu=3.0), [0.5, 0.5, 0, 0])

    def test_a_million_candidates(self):
        losses = np.random.default_rng(0).normal(size=10**6)
        start = time.perf_counter()
        weights = power_posterior(losses, 5.0)
        # a guard against a quadratic step, not a benchmark: it takes a third of a second
        assert time.perf_counter() - start < 5
        assert divergence(weights) == pytest.approx(5.0, rel=1e-9)

    @pytest.mark.parametrize(
        "wrong", [{"rho": -1}, {"rho": np.nan}, {"mu": 1.0}, {"mu": np.inf}, {"losses": [np.nan]}]
    )
    def test_bad_arguments(self, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            power_posterior(**{"losses": [0.1, 0.2], "rho": 0.5, "mu": 2.0} | wrong)


class TestDraws:
    def test_without_replacement_has_the_right_first_candidate_law(self):
        weights = np.array([0.5, 0.3, 0.2])
        counts = np.zeros(3)
        n = 4000
        for seed in range(n):
            counts[draw_without_replacement(np.log(weights), 1, np.random.RandomState(seed))] += 1
        error = np.sqrt(weights * (1 - weights) / n)
        assert (np.abs(counts / n - weights) < 5 * error).all()

    def test_without_replacement_does_not_repeat(self):
        logarithms = gibbs_log_weights(np.linspace(0.1, 0.9, 50), 1e6, 10**6)
        index = draw_without_replacement(logarithms, 10, np.random.RandomState(0))
        # so concentrated that it must be the ten best, though their weights underflow
        assert sorted(index) == list(range(10))

    def test_candidates_of_weight_zero_come_last_by_loss(self):
        losses = np.array([0.1, 0.9, 0.5, 0.3])
        weights = power_posterior(losses, 100.0)
        logarithms = power_log_weights(weights, losses)
        index = draw_without_replacement(logarithms, 3, np.random.RandomState(0))
        assert set(index) == {0, 3, 2}

    def test_with_replacement_merges_repeats(self):
        index, share = draw_with_replacement(
            np.array([0.98, 0.01, 0.01]), 50, np.random.RandomState(0)
        )
        assert len(np.unique(index)) == len(index) < 50
        assert share.sum() == pytest.approx(1)

    def test_heaviest(self):
        index, share = heaviest(np.array([0.1, 0.5, 0.4]), 2)
        assert index.tolist() == [1, 2]
        np.testing.assert_allclose(share, [5 / 9, 4 / 9])

    def test_effective_size(self):
        assert effective_size(np.full(7, 1 / 7)) == pytest.approx(7)


def test_numbers_that_are_too_long_for_numpy():
    losses = [0.1, 0.2, 0.9]
    np.testing.assert_array_equal(gibbs_posterior(losses, 10**30, 400), [1, 0, 0])
    np.testing.assert_array_equal(power_posterior(losses, 10**30), [1, 0, 0])
