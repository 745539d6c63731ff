"""The game: bounds hold in small games, and where the printed ones fail."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from sklearn.svm import SVC

from bochner.guarantees import (
    competitive_ratio,
    duality_gap_estimate,
    realised_regret_bound,
    regret_bound,
    regret_step,
)
from bochner.guarantees.regret import gradient_norm_bound
from tests.guarantees.simulation import waves

SIZE = st.integers(1, 10**6)
LENGTH = st.floats(0, 1e3)


def project(alpha, y, C):
    """The nearest point of {0 <= a <= C, <y, a> = 0}."""

    def imbalance(shift):
        return y @ np.clip(alpha - shift * y, 0, C)

    reach = np.abs(alpha).max() + C + 1
    return np.clip(alpha - brentq(imbalance, -reach, reach, xtol=1e-14) * y, 0, C)


def svm_optimum(K, y, C):
    """The largest value of the dual, for the kernel matrix `K`."""
    svm = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, y)
    alpha = np.zeros(len(y))
    alpha[svm.support_] = np.abs(svm.dual_coef_[0])
    return alpha.sum() - (alpha * y) @ K @ (alpha * y) / 2


def play(E, y, C, T, step):
    """Gradient ascent against exact best replies among the columns of `E`, waves at the rows."""
    alpha = project(np.full(len(y), C), y, C)
    rounds = []
    for t in range(1, T + 1):
        sums = (alpha * y) @ E
        best = int(np.argmax(np.abs(sums)))
        gradient = 1 - y * (sums[best].conj() * E[:, best]).real
        rounds.append((best, alpha.sum(), abs(sums[best]) ** 2, np.linalg.norm(gradient)))
        alpha = project(alpha + step(t) * gradient, y, C)
    chosen, totals, peaks, lengths = map(np.array, zip(*rounds, strict=True))
    weights = np.bincount(chosen, minlength=E.shape[1]) / T
    return (E * weights @ E.conj().T).real, totals, peaks, lengths


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("T", [1, 10, 200])
def test_the_regret_bound_holds_in_small_games(rng, C, T):
    n = 12
    X, y = rng.normal(size=(n, 2)), np.repeat([-1, 1], n // 2)
    E = waves(X, 3 * rng.normal(size=(2, 40)))
    for constant in (False, True):
        steps = np.array([regret_step(n, C, T if constant else t) for t in range(1, T + 1)])
        K, totals, peaks, lengths = play(E, y, C, T, lambda t, steps=steps: steps[t - 1])
        best = svm_optimum(K, y, C)
        # No kernel has a game value below the average of the rounds.
        gap = best - (totals - peaks / 2).mean()
        known = realised_regret_bound(steps, lengths, n=n, C=C)
        bound = regret_bound(n, C, T, constant_step=constant)
        assert -1e-6 <= gap <= known * (1 + 1e-6)
        assert known <= bound * (1 + 1e-12)
        assert lengths.max() <= gradient_norm_bound(n, C)
        assert duality_gap_estimate(best, totals, peaks).min() <= gap + 1e-9


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**31), C=st.floats(0.01, 2), size=st.floats(0.01, 100))
def test_the_realised_bound_holds_for_any_steps(seed, C, size):
    rng = np.random.default_rng(seed)
    n, T = 8, 20
    y = np.repeat([-1, 1], n // 2)
    E = waves(rng.normal(size=(n, 2)), 3 * rng.normal(size=(2, 10)))
    steps = np.sort(size * C * rng.uniform(0.1, 1, T))[::-1]
    K, totals, peaks, lengths = play(E, y, C, T, lambda t: steps[t - 1])
    gap = svm_optimum(K, y, C) - (totals - peaks / 2).mean()
    assert gap <= realised_regret_bound(steps, lengths, n=n, C=C) * (1 + 1e-6)


def test_the_gap_is_that_to_the_best_kernel(rng):
    """Two frequencies, so that the best of all kernels can be found by trying them."""
    n, C = 10, 0.5
    X, y = rng.normal(size=(n, 1)), np.repeat([-1, 1], n // 2)
    E = waves(X, np.array([[1.0, 2.5]]))
    kernels = [(E * [p, 1 - p] @ E.conj().T).real for p in np.linspace(0, 1, 201)]
    value = min(svm_optimum(K, y, C) for K in kernels)
    K, totals, peaks, _ = play(E, y, C, 400, lambda t: 0.3 * C / t**0.5)
    best = svm_optimum(K, y, C)
    gap = duality_gap_estimate(best, totals, peaks)
    assert gap.shape == (400,)
    # The grid's value may be above the true one by little, the gap only above the truth.
    assert (gap >= best - value - 1e-6).all()
    assert gap.min() < 0.1 * best
    ratio = competitive_ratio(best, gap.min())
    assert ratio <= np.sqrt(value / best) + 1e-6
    assert ratio > 0.9
    # A peak that was missed makes the estimate too small: it is not a proof.
    assert_allclose(duality_gap_estimate(best, totals, peaks / 2), gap - peaks / 4)


def test_the_gradient_can_be_longer_than_in_print():
    """All terms of the sum point the same way: rows of one class half a wave from the other."""
    n, C = 2000, 1.0
    y = np.repeat([-1, 1], n // 2)
    x = np.where(y > 0, 0, np.pi)
    gradient = 1 - y * ((C * y @ np.exp(1j * x)).conj() * np.exp(1j * x)).real
    length = np.linalg.norm(gradient)
    assert length == pytest.approx((n * C - 1) * np.sqrt(n))
    assert length <= gradient_norm_bound(n, C)
    assert length > 100 * (1 + 2 * C) * np.sqrt(n)


def test_the_printed_regret_bound_fails_and_the_corrected_one_holds():
    """Clusters of rows, each told apart by a frequency of its own: one round, one cluster.

    Frequency `j` is 1 on the rows of cluster `j` times their label and 1j elsewhere, where it
    cancels by balance. While clusters are left out, their weights count in full.
    """
    n, C, clusters, T = 10240, 0.1, 16, 8
    size = n // clusters
    y, cluster = np.tile([-1, 1], n // 2), np.repeat(np.arange(clusters), size)
    E = np.where(cluster[:, None] == np.arange(clusters), y[:, None] + 0j, 1j)

    def optimum(shares):
        """Exact: the sum of weights in each cluster is free up to C * size."""
        with np.errstate(divide="ignore"):
            s = np.minimum(1 / shares, C * size)
        return (s - shares * s**2 / 2).sum()

    for step in (lambda t: C / ((1 + 2 * C) * t**0.5), lambda t: regret_step(n, C, t)):
        alpha, chosen = np.full(n, C), []
        for t in range(1, T + 1):
            sums = (alpha * y) @ E
            best = int(np.argmax(np.abs(sums)))
            chosen.append(best)
            gradient = 1 - y * (sums[best].conj() * E[:, best]).real
            # By symmetry the box is all there is to project on.
            alpha = np.clip(alpha + step(t) * gradient, 0, C)
            assert abs(y @ alpha) < 1e-9
        shares = np.bincount(chosen, minlength=clusters) / T
        gap = optimum(shares) - optimum(np.full(clusters, 1 / clusters))
        assert gap > 3 * n * (C + 2 * C**2) / (4 * T**0.5)
        assert gap <= regret_bound(n, C, T)


@settings(deadline=None)
@given(n=SIZE, C=st.floats(1e-3, 1e3), T=SIZE, error=LENGTH)
def test_regret_bound_is_monotone(n, C, T, error):
    bound = regret_bound(n, C, T, errors=error)
    assert bound == pytest.approx(1.5 * n * C * (1 + n * C) / T**0.5 + error / 2)
    assert bound >= regret_bound(n, C, 2 * T, errors=error)
    assert bound >= regret_bound(n, C, T, errors=error, constant_step=True)
    assert bound <= regret_bound(n + 1, C, T, errors=error)
    assert bound <= regret_bound(n, C, T, errors=2 * error)
    assert regret_step(n, C, T + 1) < regret_step(n, C, T) < C


def test_competitive_ratio_by_hand():
    assert_allclose(competitive_ratio([4.0, 4.0, 4.0], [0.0, 3.0, 5.0]), [1, 0.5, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: regret_bound(0, 1.0, 1), "n must be an integer of at least 1, got 0"),
        (lambda: regret_bound(1, 0.0, 1), "C must be .* greater than 0, got 0.0"),
        (lambda: regret_bound(1, 1.0, 0), "T must be an integer of at least 1, got 0"),
        (lambda: regret_bound(1, 1.0, 2, errors=[1.0]), r"errors must .* \(2,\), got shape \(1,"),
        (lambda: regret_bound(1, 1.0, 2, errors=-1), "errors must be zero or more, got"),
        (lambda: regret_step(1, 1.0, 0), "t must be an integer of at least 1, got 0"),
        (lambda: realised_regret_bound([1, 2], [1, 1], n=1, C=1), "steps must .* not grow, got"),
        (lambda: realised_regret_bound([], [], n=1, C=1), r"steps and .* shape \(T,\), got"),
        (lambda: realised_regret_bound([1], [-1], n=1, C=1), "gradient_norms must be zero or"),
        (lambda: duality_gap_estimate(1.0, 1.0, -1.0), "peak must be zero or more, got"),
        (lambda: competitive_ratio(0.0, 1.0), "svm_optimum must be greater than 0, got"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
