"""Certificates of nested features: exact where they say so, and how often the others fail."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.kernel_approximation import Nystroem

from bochner import MercerFeatures
from bochner.guarantees import (
    ConditionsNotMet,
    gram_bound,
    mean_squared_kernel_error,
    pointwise_bound,
    predicted_residual,
    relative_gram_bound,
    residual_bound,
    residuals,
)
from bochner.kernels import Gaussian
from tests.guarantees.nested import nested
from tests.guarantees.simulation import allowed


def test_residuals_are_the_schur_complement(rng):
    X, Z = rng.normal(size=(20, 3)), rng.normal(size=(6, 3))
    kernel = Gaussian(gamma=0.3)
    complement = kernel(X) - kernel(X, Z) @ np.linalg.solve(kernel(Z), kernel(Z, X))
    r = residuals(nested(X, Z, 0.3))
    assert_allclose(r, complement.diagonal(), atol=1e-12)
    ours = residuals(Nystroem(n_components=6, gamma=0.3).fit(Z).transform(X))
    assert_allclose(ours, complement.diagonal(), atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**31),
    d=st.integers(1, 6),
    count=st.integers(1, 12),
    gamma=st.floats(1e-3, 1e2),
    repeat=st.booleans(),
)
def test_certificates_are_never_violated(seed, d, count, gamma, repeat):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(count, d))
    if repeat:
        Z = np.vstack([Z, Z])
    X = np.vstack([rng.normal(size=(15, d)), 10 * rng.normal(size=(3, d)), Z[:2]])
    features, K = nested(X, Z, gamma), Gaussian(gamma=gamma)(X)
    r = residuals(features)
    remainder = K - features @ features.T
    # Residuals are known to the relative precision of the smallest eigenvalue divided by, and it
    # is there that rounding enters: a residual of zero stands for anything up to this.
    rounding = 1e-9
    known = r + rounding
    assert (np.abs(remainder) <= pointwise_bound(known[:, None], known)).all()
    norm = np.linalg.norm(remainder, 2)
    assert norm <= gram_bound(r) + rounding
    relative = norm / np.linalg.norm(K, 2)
    assert relative <= relative_gram_bound(features, r) + rounding


def test_gram_bound_is_the_trace_norm(rng):
    X, Z = rng.normal(size=(30, 2)), rng.normal(size=(4, 2))
    features = nested(X, Z, 1.0)
    remainder = Gaussian(gamma=1.0)(X) - features @ features.T
    assert gram_bound(residuals(features)) == pytest.approx(np.linalg.norm(remainder, "nuc"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_relative_gram_bound_needs_no_kernel(dtype, rng):
    features = (0.1 * rng.normal(size=(40, 7))).astype(dtype)
    r = residuals(features)
    by_hand = r.sum() / np.linalg.norm(features.astype(float), 2) ** 2
    assert relative_gram_bound(features, r) == pytest.approx(min(1, by_hand), rel=1e-2)
    # From above: power iteration must not overestimate the denominator.
    assert relative_gram_bound(features, r / 1000) >= by_hand / 1000 * (1 - 1e-5)
    assert relative_gram_bound(features, np.zeros(40)) == 0
    assert relative_gram_bound(np.zeros((3, 2)), np.ones(3)) == 1


def test_mercer_features_nest(rng):
    X = rng.normal(size=(400, 3)) * [1, 2, 0.5]
    mercer = MercerFeatures(n_components=56, gamma=0.1).fit(X[:200])
    features = mercer.transform(X[200:])
    r = residuals(features)
    assert_allclose(r, mercer.residual(X[200:]), atol=1e-12)
    remainder = Gaussian(gamma=0.1)(X[200:]) - features @ features.T
    assert (np.abs(remainder) <= pointwise_bound(r[:, None], r) + 1e-12).all()
    assert np.linalg.eigvalsh(remainder)[0] > -1e-12
    # The rows have the density that is assumed: the prediction is right.
    error = r.std() / np.sqrt(len(r))
    assert abs(r.mean() - predicted_residual(mercer.eigenvalues_)) < 5 * error


def test_rounding_is_forgiven_and_more_is_not():
    assert residuals(np.array([[1 + 1e-8]])) == 0
    assert residuals(np.array([[1 + 1e-6]], dtype=np.float32)) == 0
    assert residuals([[2]], diagonal=[4]) == 0
    with pytest.raises(ConditionsNotMet, match=r"row 1 have .* length 1\.21, .* do not nest"):
        residuals([[0.5], [1.1]])
    with pytest.raises(ConditionsNotMet, match="do not nest"):
        residuals([[np.nan]])


def test_prediction_is_the_tail():
    assert predicted_residual([0.5, 0.25]) == 0.25
    assert predicted_residual([1.0, 1e-12]) == 0
    assert predicted_residual([0.5], total=2.0) == 1.5


def test_residual_bound_covers_features_of_unseen_rows(rng):
    Z, gamma, delta, repetitions = rng.normal(size=(15, 2)), 0.5, 0.1, 150
    truth = residuals(nested(rng.normal(size=(200_000, 2)), Z, gamma)).mean()
    failures = 0
    for _ in range(repetitions):
        r = residuals(nested(rng.normal(size=(100, 2)), Z, gamma))
        failures += residual_bound(r, delta) < truth
    assert failures / repetitions <= allowed(repetitions, delta)


def test_mean_squared_error_of_nested_features_is_at_most_the_residual_squared(rng):
    X, Z = rng.normal(size=(2000, 2)), rng.normal(size=(8, 2))
    features = nested(X, Z, 0.5)
    r = residuals(features)
    estimate = mean_squared_kernel_error(features, Gaussian(gamma=0.5), X)
    assert estimate <= (r.mean() + 4 * r.std() / np.sqrt(len(r))) ** 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: residuals([0.5]), r"features must have shape \(n, D\), got \(1,\)"),
        (lambda: residuals([[0.5]], -1), "diagonal must be zero or more, got"),
        (lambda: pointwise_bound(-0.1, 0.1), "r_x must be zero or more, got"),
        (lambda: pointwise_bound(0.1, np.nan), "r_y must be zero or more, got .*nan"),
        (lambda: gram_bound([0.1, -0.1]), "r must be zero or more"),
        (lambda: relative_gram_bound([0.1], [0.1]), r"features must have shape \(n, D\)"),
        (lambda: predicted_residual([0.7, 0.7]), "sum of at most 1, got .* 1.4"),
        (lambda: predicted_residual([-0.1]), "eigenvalues must be zero or more"),
        (lambda: predicted_residual([0.1], total=0), "total must be .* greater than 0, got 0"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
