"""Certificates for classifiers: exact values, and how often they fail."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from sklearn.linear_model import LogisticRegression

from bochner.guarantees import certify, clopper_pearson, linear_pac_bayes
from bochner.guarantees.divergences import inverse_binary_kl
from tests.guarantees.simulation import allowed


def test_clopper_pearson_by_hand():
    assert clopper_pearson(0, 50, 0.05) == pytest.approx(1 - 0.05 ** (1 / 50))
    assert clopper_pearson(50, 50, 0.05) == 1
    assert clopper_pearson(49, 50, 0.05) == pytest.approx(0.95 ** (1 / 50))
    assert clopper_pearson(0, 50, 1e-30) == pytest.approx(1 - 1e-30 ** (1 / 50))


@settings(deadline=None)
@given(n=st.integers(1, 5000), share=st.floats(0, 0.999), delta=st.floats(1e-9, 0.99))
def test_clopper_pearson_leaves_exactly_delta(n, share, delta):
    errors = int(share * n)
    upper = clopper_pearson(errors, n, delta)
    assert upper == pytest.approx(stats.beta.ppf(1 - delta, errors + 1, n - errors), rel=1e-6)
    assert stats.binom.cdf(errors, n, upper) == pytest.approx(delta, rel=1e-6)
    assert clopper_pearson(errors + 1, n, delta) >= upper
    assert clopper_pearson(errors, n + 1, delta) <= upper
    assert clopper_pearson(errors, n, delta / 2) >= upper


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_coverage_of_clopper_pearson(rng, rate, delta):
    n, repetitions = 200, 3000
    upper = np.array([clopper_pearson(k, n, delta) for k in range(n + 1)])
    failures = upper[rng.binomial(n, rate, repetitions)] < rate
    assert failures.mean() <= allowed(repetitions, delta)
    # And exactly, without a simulation.
    assert stats.binom.pmf(np.arange(n + 1), n, rate)[upper < rate].sum() <= delta


def test_certify_counts_errors(rng):
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=400) > 0, "up", "down")
    model = LogisticRegression().fit(X[:200], y[:200])
    found = certify(model, X[200:], y[200:], delta=0.01)
    errors = int((model.predict(X[200:]) != y[200:]).sum())
    assert (found.value, found.delta) == (clopper_pearson(errors, 200, 0.01), 0.01)
    assert (found.observed, found.details) == (errors / 200, {"errors": errors})
    assert "on 200 held-out rows" in found.statement
    assert "probability 0.99" in found.statement


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clopper_pearson(-1, 10), "errors must be .* at least 0, got -1"),
        (lambda: clopper_pearson(11, 10), "errors must be at most n = 10, got 11"),
        (lambda: clopper_pearson(0.5, 10), "errors must be an integer"),
        (lambda: clopper_pearson(0, 0), "n must be .* at least 1, got 0"),
        (lambda: clopper_pearson(0, 10, 1.0), "delta must be .* got 1.0"),
        (lambda: certify(CONSTANT, np.zeros((3, 1)), [[0], [0], [0]]), r"shape \(n,\), got \(3,"),
        (lambda: certify(CONSTANT, np.zeros((3, 1)), [0, 0]), r"got \(2,\) and \(3,\)"),
        (lambda: certify(CONSTANT, np.zeros((0, 1)), []), "n must be .* at least 1, got 0"),
        (lambda: linear_pac_bayes([[1.0]], [0], [1.0]), "labels must be -1 or"),
        (lambda: linear_pac_bayes([[1.0]], [1], [0.0]), "coefficients must be finite and not all"),
        (lambda: linear_pac_bayes([[1.0]], [1], [np.nan]), "coefficients must be finite"),
        (lambda: linear_pac_bayes([[1.0]], [1], [1.0], scales=[0]), "scales must be positive"),
        (lambda: linear_pac_bayes([[1.0]], [1], [1.0], scales=[]), "scales must be positive"),
        (lambda: linear_pac_bayes([[1.0]], [1], [1.0, 2.0]), r"shapes \(n, p\), \(n,\) and"),
        (lambda: linear_pac_bayes([[1.0]], [1], [1.0], delta=0), "delta must be"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


CONSTANT = SimpleNamespace(predict=lambda X: np.zeros(len(X)))


def test_linear_bound_by_hand():
    X, y = np.array([[3.0, 4.0], [-1.0, 0.0], [0.0, 0.0]]), np.array([1, -1, 1])
    bound = linear_pac_bayes(X, y, [2.0, 0.0], 0.05, scales=[2.0])
    risk = (special.ndtr(-1.2) + special.ndtr(-2.0) + 0.5) / 3
    assert bound.details["empirical gibbs"] == pytest.approx(risk)
    assert bound.details["divergence"] == 2
    assert bound.details["gibbs"] == pytest.approx(
        inverse_binary_kl(risk, (2 + np.log(2 * np.sqrt(3) / 0.05)) / 3)
    )
    assert bound.value == 1  # twice more than a half


def test_linear_bound_does_not_depend_on_lengths_and_improves_with_a_grid(rng):
    X = rng.normal(size=(1000, 5))
    y = np.where(X @ np.arange(5) > 0, 1, -1)
    w = np.arange(5.0)
    bound = linear_pac_bayes(X, y, w)
    again = linear_pac_bayes(X * rng.uniform(0.1, 10, (1000, 1)), y, 7 * w)
    assert again.details["gibbs"] == pytest.approx(bound.details["gibbs"])
    assert linear_pac_bayes(X, y, w, scales=[1.0]).value > bound.value
    assert bound.value == pytest.approx(2 * bound.details["gibbs"])
    assert bound.value < 0.5


@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0])
def test_coverage_of_the_linear_bound(rng, shift):
    """Coefficients fitted on the rows, and the scale sought on them, in 5 dimensions.

    x given y is N(y shift e_1, I), so the error of sign <w, x> is Phi(-shift w_1 / |w|). With
    `shift` 0 the labels are noise and every classifier is wrong half of the time.
    """
    repetitions, n, p, delta = 300, 40, 5, 0.2
    # For the true risk of the randomised classifier; its error is small against the gaps.
    y_new = np.repeat([-1, 1], 2000)
    X_new = rng.normal(size=(4000, p))
    X_new[:, 0] += shift * y_new
    X_new /= np.linalg.norm(X_new, axis=1, keepdims=True)
    failures = np.zeros(2)
    for _ in range(repetitions):
        y = np.where(rng.random(n) < 0.5, 1, -1)
        X = rng.normal(size=(n, p))
        X[:, 0] += shift * y
        w = np.linalg.lstsq(X, y, rcond=None)[0]
        u = w / np.linalg.norm(w)
        bound = linear_pac_bayes(X, y, w, delta)
        gibbs = special.ndtr(-bound.details["scale"] * y_new * (X_new @ u)).mean()
        failures += (
            bound.details["gibbs"] < gibbs,
            bound.value < special.ndtr(-shift * u[0]),
        )
    assert (failures / repetitions <= allowed(repetitions, delta)).all(), failures
