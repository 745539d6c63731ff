import numpy as np
import pytest

from bochner.engine.places import to_numpy
from bochner.linear.cross_validation import cross_validated_ridge, sum_of_squares
from bochner.linear.normal_equations import NormalEquations
from tests.linear.naive import ridge_of_least_criterion
from tests.places import PLACES


def problem(rng, noise, n=40):
    X = rng.normal(size=(n, 6)) * [1, 3, 0.1, 1, 1, 1] + 2
    return X, X[:, :2] @ [[1, 2], [0.1, 0]] + noise * rng.normal(size=(n, 2))


def fit(X, Y, weights=None, columns=None):
    equations = NormalEquations.from_rows(X, Y, weights)
    return cross_validated_ridge(equations, sum_of_squares(Y, weights), columns)


@pytest.mark.parametrize("noise", [0.01, 1, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_is_the_ridge_regression_of_least_criterion(weighted, noise, rng):
    X, Y = problem(rng, noise)
    weights = rng.uniform(0.5, 3, size=len(X)) if weighted else None
    coefficients, intercepts = fit(X, Y, weights)
    expected = ridge_of_least_criterion(X, Y, weights)
    np.testing.assert_allclose(coefficients, expected.coef_.T, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(intercepts, expected.intercept_, rtol=1e-7)


def test_some_columns_are_a_problem_of_their_own(rng):
    X, Y = problem(rng, 1.0)
    some = np.array([4, 0, 1])
    for found, expected in zip(fit(X, Y, columns=some), fit(X[:, some], Y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_weights_are_counts(rng):
    X, Y = problem(rng, 1.0)
    counts = rng.integers(1, 4, size=len(X))
    repeated = fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))
    for found, expected in zip(fit(X, Y, counts.astype(float)), repeated, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_of_the_targets_does_not_matter(scale, rng):
    X, Y = problem(rng, 1.0)
    np.testing.assert_allclose(fit(X, scale * Y)[0], scale * fit(X, Y)[0], rtol=1e-9)


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
def test_sums_may_be_on_a_device(place, rng):
    X, Y = problem(rng, 1.0)
    found = fit(PLACES[place](X), Y)
    assert all(isinstance(part, np.ndarray) for part in found)
    np.testing.assert_allclose(to_numpy(found[0]), fit(X, Y)[0], rtol=1e-9)


def test_constant_features_predict_the_mean():
    coefficients, intercepts = fit(np.ones((5, 2)), np.arange(5.0)[:, None])
    np.testing.assert_array_equal(coefficients, 0)
    assert intercepts == [2.0]


@pytest.mark.parametrize("p", [59, 90])
@pytest.mark.parametrize("scale", [1.0, 1e8])
def test_as_many_features_as_rows_do_not_follow_noise(p, scale):
    """Where every penalty fits the rows, rounding does not decide."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(60, p)), scale * rng.normal(size=(60, 1))
        coefficients, intercepts = fit(X, Y)
        new = rng.normal(size=(1000, p)) @ coefficients + intercepts
        assert (new**2).mean() < (Y**2).mean()
