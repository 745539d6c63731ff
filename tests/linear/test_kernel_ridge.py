import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge

from bochner import FourierFeatures, NystroemFeatures
from bochner.kernels import Exponential, Gaussian
from bochner.linear.kernel_ridge import KernelEquations, ridge_equations
from bochner.linear.normal_equations import NormalEquations
from tests.linear.naive import kernel_ridge
from tests.places import PLACES, on_host


def table(seed=0, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.c_[np.sin(X[:, 0]) + 5, X[:, 1] * X[:, 2]], rng.random(n)


def equations_of(K, Y, weights=None, put=np.array):
    """Equations of a kernel matrix; `put` makes an array of its own."""
    return KernelEquations(lambda single: put(K.astype("f4" if single else "f8")), Y, weights)


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
    a, b = equations_of(K, Y, weights).solve(alpha)
    # the rows of the Cholesky factor are features of the kernel
    Phi = np.linalg.cholesky(K + 1e-12 * np.eye(n))
    w, c = NormalEquations.from_rows(Phi, Y, weights).solve(alpha)
    np.testing.assert_allclose(K @ a + b, Phi @ w + c, atol=1e-6)
    np.testing.assert_allclose(a.sum(axis=0), 0, atol=1e-6)
    if weights is not None:
        np.testing.assert_array_equal(a[weights == 0], 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_they_are_kernel_ridge(weighted):
    X, Y, weights = table()
    K, w = Exponential(gamma=0.5)(X), weights if weighted else None
    for ours, expected in zip(
        equations_of(K, Y, w).solve(0.3), kernel_ridge(K, Y, w, 0.3), strict=True
    ):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-10)


def test_without_a_mean_it_is_kernel_ridge():
    X, Y, _ = table()
    K = Exponential(gamma=0.5)(X)
    a, b = equations_of(K, Y).solve(0.3)
    theirs = KernelRidge(alpha=0.3, kernel="precomputed").fit(K, Y - b)
    np.testing.assert_allclose(a, theirs.dual_coef_, rtol=1e-9, atol=1e-10)


def test_targets_on_another_scale():
    X, Y, weights = table()
    equations = equations_of(Exponential(gamma=0.5)(X), Y, weights)
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

    some = equations_of(K[first, first], Y[first], part(first), put).settled(0.1)
    a, b = some.with_rows(put(K[rest].copy()), Y[rest], part(rest)).solve()
    expected = kernel_ridge(K, Y, w, 0.1)
    np.testing.assert_allclose(on_host(a), expected[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(on_host(b), expected[1], rtol=1e-9)


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sums", [False, True])
def test_slopes_are_differences_of_solutions(place, weighted, sums):
    X, Y, weights = table()
    weights = np.where(weights < 0.2, 0, weights) if weighted else None
    put, alpha, step = PLACES[place], 0.1, 1e-4
    if sums:
        equations = NormalEquations.from_rows(put(X), Y, weights)
    else:
        equations = equations_of(Exponential(gamma=0.5)(X), Y, weights, put)

    def solved(alpha):
        return equations.settled(alpha).solve_with_slope(alpha)

    solution, slopes = solved(alpha)
    expected = equations.solve(alpha)
    after, before = (solved(alpha * float(np.exp(sign * step)))[0] for sign in (1, -1))
    for part in (0, 1):
        difference = (on_host(after[part]) - on_host(before[part])) / (2 * step)
        np.testing.assert_allclose(on_host(slopes[part]), difference, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(on_host(solution[part]), on_host(expected[part]), rtol=1e-12)


@pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict"])
def test_of_a_map_that_expands_rows(place):
    X, Y, weights = table()
    X[np.abs(X) < 0.1] = 0
    put = PLACES[place]
    kernel = Exponential(gamma=0.5)
    expansion = NystroemFeatures(kernel=kernel, landmarks="all", orthogonal=False).fit(put(X))
    a, b = ridge_equations(expansion, put(X), Y, weights).solve(0.1)
    expected = kernel_ridge(kernel(X), Y, weights, 0.1)
    np.testing.assert_allclose(on_host(a), expected[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(on_host(b), expected[1], rtol=1e-9)


class TestSinglePrecision:
    """float32 is for many rows, where it does not matter."""

    @pytest.fixture(autouse=True)
    def rows_are_many(self, monkeypatch):
        monkeypatch.setattr("bochner.linear.kernel_ridge.SINGLE_ROWS", 100)

    @staticmethod
    def error(kernel, X, found, expected):
        """Of values for other rows, relative to their residuals."""
        new, targets, _ = table(seed=1, n=200)
        K, (a, b) = kernel(new, X), (on_host(part) for part in found)
        values = K @ expected[0] + expected[1]
        left = values - targets
        return np.sqrt(np.mean((K @ a + b - values) ** 2) / np.mean((left - left.mean(0)) ** 2))

    @pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize(
        ("kernel", "alpha", "dtype"),
        [
            (Gaussian(gamma=0.5), 3e-3, "float32"),
            (Gaussian(gamma=0.5), 1e-6, "float64"),
            # nearly constant: what is left without the mean is small
            (Gaussian(gamma=0.01), 3e-3, "float32"),
            (Gaussian(gamma=0.01), 1e-7, "float64"),
            # rough: no penalty is too weak
            (Exponential(gamma=0.5), 1e-2, "float32"),
            (Exponential(gamma=0.5), 1e-6, "float32"),
        ],
    )
    def test_it_is_used_where_it_will_do(self, kernel, alpha, dtype, weighted, place):
        X, Y, weights = table(n=400)
        w, Y = 0.5 + weights if weighted else None, Y + 1e6  # an offset takes no digits
        K = kernel(X)
        equations = equations_of(K, Y, w, PLACES[place])
        assert str(equations.settled(alpha).dtype).endswith(dtype)
        last = equations.settled(alpha, last=True)
        expected = kernel_ridge(K, Y, w, alpha)
        for found in (equations.solve(alpha), last.solve()):
            assert str(found[0].dtype).endswith("float64")
            assert self.error(kernel, X, found, expected) < 0.01

    def test_not_for_few_rows(self):
        X, Y, _ = table(n=50)
        assert equations_of(Exponential(gamma=0.5)(X), Y).settled(1.0).dtype == np.float64

    def test_rows_that_are_there_twice(self):
        X, Y, _ = table(n=400)
        X[1] = X[0]
        K = Exponential(gamma=0.5)(X)
        settled = equations_of(K, Y).settled(1e-7)
        assert settled.dtype == np.float32
        expected = kernel_ridge(K, Y, None, 1e-7)
        assert self.error(Exponential(gamma=0.5), X, settled.solve(), expected) < 0.01

    @pytest.mark.parametrize("kernel", [Gaussian(gamma=0.5), Exponential(gamma=0.5)])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_more_rows(self, kernel, weighted):
        X, Y, weights = table(n=400)
        w, K = 0.5 + weights if weighted else None, kernel(X)
        some = equations_of(K[:300, :300], Y[:300], None if w is None else w[:300])
        rest = K[300:].astype(np.float32), Y[300:], None if w is None else w[300:]
        grown = some.settled(3e-3).with_rows(*rest)
        assert grown.dtype == np.float32
        assert grown.will_do
        assert self.error(kernel, X, grown.solve(), kernel_ridge(K, Y, w, 3e-3)) < 0.01

    def test_more_rows_may_be_too_much_for_it(self):
        X, Y, _ = table(n=400)
        X[300:] = X[:100]  # every one is there twice
        K = Exponential(gamma=0.5)(X)
        some = equations_of(K[:300, :300], Y[:300]).settled(1e-6)
        assert some.will_do
        try:
            grown = some.with_rows(K[300:].astype(np.float32), Y[300:])
        except np.linalg.LinAlgError:
            return
        assert not grown.will_do

    def test_a_penalty_that_it_did_not_bear_is_not_tried_again(self):
        X, Y, _ = table(n=400)
        K, asked = Gaussian(gamma=0.5)(X), []

        def kernel(single):
            asked.append(single)
            return K.astype("f4" if single else "f8")

        equations = KernelEquations(kernel, Y)
        for alpha in (1e-6, 1e-7, 1e-6):
            equations.settled(alpha)
        assert asked == [True, False]
        equations.settled(1.0)
        assert asked == [True, False, True]


def test_features_are_added_up():
    X, Y, _ = table()
    equations = ridge_equations(FourierFeatures(n_components=6, random_state=0).fit(X), X, Y)
    assert isinstance(equations, NormalEquations)
    assert equations.n_features == 6
