import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from bochner.linear import GrowingRidge
from bochner.linear.normal_equations import NormalEquations
from tests.places import PLACES, on_host


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 30),
    widths=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    k=st.integers(1, 3),
    penalty=st.sampled_from([1e-3, 1.0, 100.0]),
    fit_intercept=st.booleans(),
    capacity=st.sampled_from([None, 1, 7, 100]),
    seed=st.integers(0, 10**6),
)
def test_agrees_with_scikit_learn(n, widths, k, penalty, fit_intercept, capacity, seed):
    rng = np.random.default_rng(seed)
    features, targets = rng.normal(2, 1, size=(n, sum(widths))), rng.normal(5, 1, size=(n, k))
    ridge = GrowingRidge(targets, fit_intercept=fit_intercept, capacity=capacity)
    first = 0
    for width in widths:
        ridge.append(features[:, first : first + width])
        first += width
        expected = Ridge(alpha=penalty, fit_intercept=fit_intercept, solver="svd")
        expected.fit(features[:, :first], targets)
        coefficients, intercepts = ridge.solve(penalty)
        np.testing.assert_allclose(coefficients, expected.coef_.reshape(k, -1).T, atol=1e-7)
        np.testing.assert_allclose(intercepts - expected.intercept_, 0, atol=1e-7)
    np.testing.assert_array_equal(ridge.features, features)
    np.testing.assert_allclose(
        ridge.residuals(penalty), targets - expected.predict(features).reshape(n, k), atol=1e-7
    )


def test_one_target(rng):
    features, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    coefficients, intercepts = GrowingRidge(y).append(features).solve(0.5)
    expected = Ridge(alpha=0.5).fit(features, y)
    np.testing.assert_allclose(coefficients[:, 0], expected.coef_)
    np.testing.assert_allclose(intercepts, [expected.intercept_])


def test_the_square_is_that_of_the_coefficients(rng):
    ridge = GrowingRidge(rng.normal(size=(20, 2))).append(rng.normal(size=(20, 3)))
    residuals, square = ridge.residuals_and_square(0.5)
    np.testing.assert_array_equal(residuals, ridge.residuals(0.5))
    np.testing.assert_allclose(square, np.sum(ridge.solve(0.5)[0] ** 2))


@pytest.mark.parametrize("place", ["numpy", "fortran", "strided", "torch", "strict"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_in_every_place(place, dtype, rng):
    features, targets = rng.normal(size=(200, 9)), rng.normal(size=(200, 2))
    put = PLACES[place]
    ridge = GrowingRidge(targets)
    for part in (slice(0, 2), slice(2, 3), slice(3, 9)):
        ridge.append(put(features[:, part].astype(dtype)))
    coefficients, intercepts = ridge.solve(1.0)
    residuals = ridge.residuals(1.0)
    assert type(residuals) is type(put(features))
    assert on_host(residuals).dtype == dtype
    expected = Ridge(alpha=1.0).fit(features, targets)
    tolerance = {"atol": 1e-5 if dtype == np.float32 else 1e-12}
    np.testing.assert_allclose(on_host(coefficients), expected.coef_.T, **tolerance)
    np.testing.assert_allclose(on_host(intercepts), expected.intercept_, **tolerance)
    np.testing.assert_allclose(
        on_host(residuals), targets - expected.predict(features), **tolerance
    )


def test_means_cost_single_precision_no_digits(rng):
    # means a hundred times the spread: their squares would swamp the Gram matrix
    features = rng.normal(100, 1, size=(20000, 5))
    targets = features @ rng.normal(size=5) + 1000
    single = features.astype(np.float32)
    coefficients, _ = GrowingRidge(targets).append(single[:, :2]).append(single[:, 2:]).solve(1.0)
    expected = Ridge(alpha=1.0).fit(single.astype(np.float64), targets)
    np.testing.assert_allclose(coefficients[:, 0], expected.coef_, atol=1e-4)


def test_equal_columns_share_their_coefficient(rng):
    column, y = rng.normal(size=(50, 1)).astype(np.float32), rng.normal(size=50)
    ridge = GrowingRidge(y)
    for _ in range(4):
        ridge.append(column)
    coefficients, _ = ridge.solve(1e-2)
    np.testing.assert_allclose(coefficients, coefficients.mean(), rtol=1e-3)


def test_the_gram_matrix_stays_symmetric(rng):
    ridge = GrowingRidge(rng.normal(size=100))
    for width in (3, 1, 4):
        ridge.append(rng.normal(size=(100, width)).astype(np.float32))
    np.testing.assert_array_equal(ridge._gram, ridge._gram.T)


def test_messages_name_the_parameter(rng):
    with pytest.raises(ValueError, match=r"targets must have shape .* got \(\)"):
        GrowingRidge(np.array(1.0))
    with pytest.raises(ValueError, match=r"capacity must be at least 1, got 0"):
        GrowingRidge(np.ones(3), capacity=0)
    ridge = GrowingRidge(np.ones(3))
    with pytest.raises(ValueError, match="no features yet"):
        ridge.solve(1.0)
    with pytest.raises(ValueError, match=r"columns must have shape \(3, p\), got \(2, 2\)"):
        ridge.append(np.ones((2, 2)))
    with pytest.raises(ValueError, match="columns must be float32 or float64, got int64"):
        ridge.append(np.ones((3, 2), dtype=np.int64))
    ridge.append(np.ones((3, 2)))
    with pytest.raises(ValueError, match="columns must have the dtype of those before, float64"):
        ridge.append(np.ones((3, 2), dtype=np.float32))
    with pytest.raises(ValueError, match=r"penalty must be a finite number .* got 0"):
        ridge.solve(0)


@settings(deadline=None, max_examples=40)
@given(
    widths=st.lists(st.integers(1, 6), min_size=2, max_size=6),
    penalties=st.lists(st.sampled_from([1e-3, 1.0]), min_size=6, max_size=6),
    seed=st.integers(0, 10**6),
)
def test_a_factor_that_grew_solves_as_a_fresh_one(widths, penalties, seed):
    rng = np.random.default_rng(seed)
    features, targets = rng.normal(size=(30, sum(widths))), rng.normal(size=(30, 2))
    growing, first = GrowingRidge(targets), 0
    for width, penalty in zip(widths, penalties, strict=False):
        growing.append(features[:, first : first + width])
        first += width
        fresh = GrowingRidge(targets).append(features[:, :first])
        for found, expected in zip(growing.solve(penalty), fresh.solve(penalty), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_factor_that_cannot_grow_is_made_anew(rng):
    """Equal columns, and a penalty that rounding swallows."""
    column, y = rng.normal(size=(50, 1)).astype(np.float32) + 100, rng.normal(size=50)
    ridge = GrowingRidge(y, fit_intercept=False).append(column)
    ridge.solve(1e-12)
    coefficients, _ = ridge.append(np.repeat(column, 3, axis=1)).solve(1e-12)
    assert np.isfinite(coefficients).all()


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
def test_some_of_the_features(place, rng):
    features, targets = rng.normal(size=(40, 6)), rng.normal(size=(40, 2))
    put, some = PLACES[place], np.array([4, 0, 5])
    ridge = GrowingRidge(targets).append(put(features))
    coefficients, intercepts = ridge.solve(0.5, put(some))
    expected = Ridge(alpha=0.5).fit(features[:, some], targets)
    np.testing.assert_allclose(on_host(coefficients), expected.coef_.T, atol=1e-10)
    np.testing.assert_allclose(on_host(intercepts), expected.intercept_, atol=1e-10)


@pytest.mark.parametrize("place", ["torch", "strict"])
def test_several_penalties_at_once_are_each_alone(place, rng):
    features, targets = rng.normal(size=(60, 8)), rng.normal(size=(60, 2))
    put = PLACES[place]
    ridge, penalties = GrowingRidge(put(targets)).append(put(features)), np.array([0.1, 3.0, 40.0])
    solve = ridge.solver(put(np.array([6, 1, 4])))
    coefficients, intercepts = (on_host(part) for part in solve(put(penalties)))
    for k, penalty in enumerate(penalties):
        expected = Ridge(alpha=penalty).fit(features[:, [6, 1, 4]], targets)
        np.testing.assert_allclose(coefficients[k], expected.coef_.T, atol=1e-12)
        np.testing.assert_allclose(intercepts[k], expected.intercept_, atol=1e-12)


def test_products_of_float32_features_lose_less_than_the_weakest_penalty_adds():
    """Features of norm one that are alike, around a constant: as those of a wide kernel."""
    rng = np.random.default_rng(0)
    n, D = 5000, 300
    waves = np.cos(rng.normal(size=(n, 3)) @ rng.normal(size=(3, D)) / 4 + 1)
    features = (waves * D**-0.5).astype(np.float32)
    found = NormalEquations.from_rows(features, rng.normal(size=(n, 1)))
    centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
    wrong = np.linalg.norm(found.gram - centred.T @ centred, 2)
    assert 0 < wrong < 1e-9 * n
