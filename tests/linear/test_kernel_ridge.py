import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge

from bochner import FourierFeatures, NystroemFeatures
from bochner.kernels import Exponential
from bochner.linear.kernel_ridge import KernelEquations, ridge_equations
from bochner.linear.normal_equations import NormalEquations
from tests.places import PLACES, on_host


def table(seed=0, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.c_[np.sin(X[:, 0]) + 5, X[:, 1] * X[:, 2]], rng.random(n)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    alpha=st.floats(1e-4, 10),
    weighted=st.booleans(),
)
def test_it_is_ridge_regression_on_features_of_the_kernel(seed, n, alpha, weighted):
    X, Y, weights = table(seed, n)
    weights = np.where(weights < 0.2, 0, weights) if weighted else None
    if weights is not None and not weights.any():
        weights[0] = 1.0
    K = Exponential(gamma=0.5)(X)
    a, b = KernelEquations(K, Y, weights).solve(alpha)
    # the rows of the Cholesky factor are features of the kernel
    Phi = np.linalg.cholesky(K + 1e-12 * np.eye(n))
    w, c = NormalEquations.from_rows(Phi, Y, weights).solve(alpha)
    np.testing.assert_allclose(K @ a + b, Phi @ w + c, atol=1e-6)
    np.testing.assert_allclose(a.sum(axis=0), 0, atol=1e-6)
    if weights is not None:
        np.testing.assert_array_equal(a[weights == 0], 0)


def test_without_a_mean_it_is_kernel_ridge():
    X, Y, _ = table()
    K = Exponential(gamma=0.5)(X)
    a, b = KernelEquations(K, Y).solve(0.3)
    theirs = KernelRidge(alpha=0.3, kernel="precomputed").fit(K, Y - b)
    np.testing.assert_allclose(a, theirs.dual_coef_, rtol=1e-9, atol=1e-10)


def test_targets_on_another_scale():
    X, Y, weights = table()
    equations = KernelEquations(Exponential(gamma=0.5)(X), Y, weights)
    scale, shift = np.array([2.0, 3.0]), np.array([-1.0, 4.0])
    a, b = equations.solve(0.1)
    other_a, other_b = equations.settled(0.1).with_targets(scale, shift).solve()
    np.testing.assert_allclose(other_a, scale * a, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(other_b, scale * b + shift, rtol=1e-9)
    assert equations.weight == weights.sum()


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
@pytest.mark.parametrize("weighted", [False, True])
def test_more_rows(place, weighted):
    X, Y, weights = table()
    put, K = PLACES[place], Exponential(gamma=0.5)(X)
    w, first, rest = weights if weighted else None, slice(0, 25), slice(25, None)

    def part(rows):
        return None if w is None else w[rows]

    some = KernelEquations(put(K[first, first]), Y[first], part(first)).settled(0.1)
    a, b = some.with_rows(put(K[rest]), Y[rest], part(rest)).solve()
    expected = KernelEquations(K, Y, w).solve(0.1)
    np.testing.assert_allclose(on_host(a), expected[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(on_host(b), expected[1], rtol=1e-9)


@pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict"])
def test_of_a_map_that_expands_rows(place):
    X, Y, weights = table()
    X[np.abs(X) < 0.1] = 0
    put = PLACES[place]
    kernel = Exponential(gamma=0.5)
    expansion = NystroemFeatures(kernel=kernel, landmarks="all", orthogonal=False).fit(put(X))
    a, b = ridge_equations(expansion, put(X), Y, weights).solve(0.1)
    expected = KernelEquations(kernel(X), Y, weights).solve(0.1)
    np.testing.assert_allclose(on_host(a), expected[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(on_host(b), expected[1], rtol=1e-9)


def test_float32_rows_keep_the_digits_of_weak_penalties():
    X, Y, _ = table(n=200)
    X = X.astype(np.float32)
    expansion = NystroemFeatures(gamma=0.01, landmarks="all", orthogonal=False).fit(X)
    equations = ridge_equations(expansion, X, Y)
    assert equations.kernel.dtype == np.float64
    a, b = equations.solve(1e-7)
    fitted = expansion.linear(X, a) + b
    np.testing.assert_allclose(fitted, equations.kernel @ a + b, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gamma", [0.01, 0.5])
def test_float32_is_for_many_rows_and_penalties_beyond_its_rounding(gamma, weighted, monkeypatch):
    monkeypatch.setattr("bochner.linear.kernel_ridge._SINGLE_ROWS", 100)
    X, Y, weights = table(n=400)
    w, alpha, Y = weights if weighted else None, 2e-3, Y + 1e6  # an offset takes no digits
    expansion = NystroemFeatures(gamma=gamma, landmarks="all", orthogonal=False).fit(X)
    exact = ridge_equations(expansion, X, Y, w)
    single = ridge_equations(expansion, X, Y, w, alpha)
    assert (exact.kernel.dtype, single.kernel.dtype) == (np.float64, np.float32)
    assert ridge_equations(expansion, X, Y, w, alpha / 2).kernel.dtype == np.float64
    assert ridge_equations(expansion, X[:50], Y[:50], None, 1.0).kernel.dtype == np.float64
    some = ridge_equations(expansion, X[:300], Y[:300], None if w is None else w[:300], alpha)
    # kernel values at all rows: those of some rows are the first columns
    some = KernelEquations(some.kernel[:, :300], some.targets, some.weights, some.epsilon)
    grown = some.settled(alpha).with_rows(
        single.kernel[300:], Y[300:], None if w is None else w[300:]
    )
    assert grown.dtype == np.float32
    a, b = exact.solve(alpha)
    expected = exact.kernel @ a + b
    residual = np.sqrt(np.mean((expected - Y) ** 2))
    for ours, intercept in (single.solve(alpha), grown.solve()):
        assert ours.dtype == np.float64
        error = np.sqrt(np.mean((exact.kernel @ ours + intercept - expected) ** 2))
        assert error < 0.005 * residual


@pytest.mark.parametrize("place", ["numpy", "torch"])
@pytest.mark.parametrize("weighted", [False, True])
def test_penalties_are_compared_in_float32_where_they_bear_it(place, weighted):
    X, Y, weights = table(n=400)
    put, kernel = PLACES[place], Exponential(gamma=0.3)
    equations = KernelEquations(put(kernel(X)), put(Y), put(weights) if weighted else None)
    before = on_host(equations.kernel).copy()
    for alpha, dtype in ((2e-3, "float32"), (1.0, "float32"), (1e-3, "float64")):
        rough = equations.settled(alpha, roughly=True)
        assert str(rough.dtype).endswith(dtype)
        (a, b), (expected, mean) = rough.solve(), equations.settled(alpha).solve()
        fitted = on_host(equations.kernel @ a + b)
        exact = on_host(equations.kernel @ expected + mean)
        error = np.sqrt(np.mean((fitted - exact) ** 2))
        assert error <= 0.005 * np.sqrt(np.mean((exact - Y) ** 2))
    np.testing.assert_array_equal(on_host(equations.kernel), before)


def test_features_are_added_up():
    X, Y, _ = table()
    equations = ridge_equations(FourierFeatures(n_components=6, random_state=0).fit(X), X, Y)
    assert isinstance(equations, NormalEquations)
    assert equations.n_features == 6
