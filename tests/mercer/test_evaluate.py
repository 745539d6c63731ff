"""Products and Gaussian features: compiled, on devices and in logarithms, against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bochner.mercer.compiled import product_tile
from bochner.mercer.evaluate import plan_features, plan_residuals
from bochner.mercer.gaussian import gaussian_plan, principal_axes, rerank, second_moments, shell
from bochner.mercer.hermite import hermite_log_ratios, log_ground, ratio
from bochner.mercer.plan import GaussianPlan
from bochner.mercer.products import geometric_costs, select_products
from tests.mercer.naive import hermite_features, products_of_tables
from tests.places import PLACES, on_host


def plain_features(X, plan):
    """Products of one-dimensional features along every axis, one product after another."""
    centred = np.asarray(X, float) - plan.mean
    Z = centred @ plan.rotation
    n_orders = plan.products.n_orders(Z.shape[1])
    rest = np.sum(centred**2, axis=1) - np.sum(Z**2, axis=1)
    constant = (1 - plan.rest_ratio**2) ** (plan.n_rest / 4) * np.exp(-plan.rest_weight * rest)
    columns = []
    for index in plan.orders():
        orders = dict(index)
        column = constant.copy()
        for axis in range(Z.shape[1]):
            table = hermite_features(Z[:, axis], plan.gamma, plan.ratios[axis], n_orders[axis])
            column *= table[:, orders.get(axis, 0)]
        columns.append(column)
    return np.stack(columns, axis=1)


def make_plan(rng, d=5, count=60, gamma=0.3, scale=1.0):
    covariance = np.cov(rng.normal(size=(40, d)) * scale, rowvar=False)
    return gaussian_plan(gamma, rng.normal(size=d), *principal_axes(covariance), count)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_tables(dtype, rng):
    products = select_products(geometric_costs(np.array([0.5, 0.45, 0.2])), 0.0, 50)
    n_orders = products.n_orders(3)
    tables = [rng.normal(size=(9, n)).astype(dtype) for n in n_orders]
    pairs = products.positions(np.concatenate([[0], np.cumsum(n_orders)]))
    result = np.empty((9, 50), dtype)
    indices = products.parents.astype(np.int32), pairs.astype(np.int32)
    product_tile(np.concatenate(tables, axis=1), *indices, result)
    expected = products_of_tables(products, tables)
    np.testing.assert_allclose(result, expected, rtol=1e-5 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-14), (np.float32, 2e-6)])
def test_every_place_against_the_plain_loop(place, dtype, error, rng):
    plan = make_plan(rng)
    X = (rng.normal(size=(25, 5)) * 1.5).astype(dtype)
    there = PLACES[place](X)
    result = on_host(plan_features(there, plan))
    assert result.dtype == dtype
    np.testing.assert_allclose(result, plain_features(X, plan), atol=error)
    left = on_host(plan_residuals(there, plan))
    expected = 1 - np.sum(plain_features(X, plan) ** 2, axis=1)
    np.testing.assert_allclose(left, expected, atol=1e-13)


@pytest.mark.parametrize("place", ["numpy", "csr", "torch", "dask"])
def test_axes_that_share_a_ratio(place, rng):
    variances = np.concatenate([[3.0, 1.0], np.full(28, 1e-3), np.zeros(10)])
    rotation = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    plan = gaussian_plan(0.2, rng.normal(size=40), variances, rotation, 50)
    assert 2 <= plan.rotation.shape[1] < 40
    X = plan.mean + rng.normal(size=(30, 40)) * np.sqrt(variances) @ rotation.T
    far = plan.mean + rng.normal(size=(30, 40))  # outside of the span of the density, too
    one_by_one = GaussianPlan(0.2, plan.mean, rotation, ratio(0.2, variances), 0.0, plan.products)
    for rows in (X, far):
        result = on_host(plan_features(PLACES[place](rows), plan))
        np.testing.assert_allclose(result, plain_features(rows, plan), atol=1e-13)
    exact = plain_features(X, one_by_one)
    loss = np.mean(np.sum(exact**2 - plain_features(X, plan) ** 2, axis=1))
    assert abs(loss) < 1e-4  # 1e-5 of the expectation, and 30 rows


def test_no_axis_is_shared_where_that_would_cost_accuracy():
    plan = gaussian_plan(1.0, np.zeros(40), np.geomspace(10, 0.1, 40), np.eye(40), 2)
    assert plan.rotation.shape[1] == 40


@pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict", "dask"])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_far_out(place, normalize, dtype, rng):
    """log F from 0 to -1e6: the features are right, and none is NaN or too large."""
    plan = make_plan(rng, d=3, count=80, gamma=0.5)
    direction = rng.normal(size=3)
    lengths = np.array([0.0, 1.0, 5.0, 9.0, 12.0, 20.0, 40.0, 100.0, 1e3, 1e5])
    X = (lengths[:, None] * direction / np.linalg.norm(direction)).astype(dtype)
    X[-1, 1] *= 1.01
    result = on_host(plan_features(PLACES[place](X), plan, normalize=normalize))
    # the same sums of logarithms, for every row
    Z = (X.astype(float) - plan.mean) @ plan.rotation
    n = int(plan.products.n_orders(3).max())
    logs, signs = hermite_log_ratios(Z, plan.gamma, plan.ratios, n)
    root = log_ground(Z, plan.gamma, plan.ratios).sum(axis=1) * (not normalize)
    log = np.stack([root + sum((logs[:, a, k] for a, k in i), 0.0) for i in plan.orders()], 1)
    sign = np.stack(
        [np.prod([signs[:, a, k] for a, k in i] or [np.ones(len(X))], 0) for i in plan.orders()], 1
    )
    if normalize:
        log = log - log.max(axis=1, keepdims=True)
    expected = sign * np.exp(log)
    if normalize:
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(np.linalg.norm(result, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(result, expected, atol=1e-11 if dtype == np.float64 else 1e-5)


def test_float32_keeps_small_features_of_narrow_kernels(rng):
    """A product of size one is right although the constant one is below 1e-38."""
    plan = gaussian_plan(1.0, np.zeros(1), np.array([16.0]), np.eye(1), 1000)
    X = np.array([[4.0], [9.7], [13.0], [24.0]])
    log_f = log_ground(X, plan.gamma, plan.ratios)
    assert log_f.min() < -87
    single = plan_features(X.astype(np.float32), plan)
    double = plan_features(X.astype(np.float32).astype(float), plan)
    assert np.abs(double[-1]).max() > 0.1
    np.testing.assert_allclose(single, double, atol=2e-5)


def test_a_row_whose_features_are_all_zero_stays_so():
    products, columns = select_products([[1.0, 2.0]], 0.0, 3).restrict(np.array([1]))
    plan = GaussianPlan(1.0, np.zeros(1), np.eye(1), np.array([0.5]), 0.0, products, columns)
    for place in ("numpy", "torch", "strict"):
        result = on_host(
            plan_features(PLACES[place](np.array([[0.0], [2.0]])), plan, normalize=True)
        )
        np.testing.assert_array_equal(result, [[0.0], [1.0]])


@pytest.mark.parametrize("place", ["numpy", "torch"])
def test_rows_beyond_one_task_and_one_chunk(place, rng):
    plan = make_plan(rng, count=30)
    X = rng.normal(size=(3000, 5))
    result = plan_features(PLACES[place](X), plan, memory_budget=10_000, n_threads=2)
    np.testing.assert_allclose(on_host(result), plain_features(X, plan), atol=1e-14)


def test_rerank_keeps_the_largest_mean_squares(rng):
    plan = make_plan(rng, count=80)
    X = rng.laplace(size=(300, 5))
    everything = plain_features(X, plan)
    squares = np.mean(everything**2, axis=0)
    np.testing.assert_allclose(second_moments(plan, X), squares, rtol=1e-12)
    fewer = rerank(plan, X, 20)
    best = np.sort(np.argsort(-squares)[:20])
    assert fewer.orders() == [plan.orders()[k] for k in best]
    np.testing.assert_allclose(fewer.log_values, plan.log_values[best])
    for rows in (X, sparse.csr_matrix(X)):
        np.testing.assert_allclose(plan_features(rows, fewer), everything[:, best], atol=1e-14)


class TestShell:
    def cut(self, ratios, count):
        ratios = np.asarray(ratios)
        return shell(ratios, select_products(geometric_costs(ratios), 0.0, count + 1), count)

    def test_equal_axes(self):
        assert self.cut([0.1] * 10, 40) == (11, 66)
        assert self.cut([0.1] * 10, 66) is None
        assert self.cut([0.1] * 10, 11) is None
        assert self.cut([0.1] * 10, 5) == (1, 11)
        assert self.cut([0.1] * 10, 1) is None

    def test_nearly_equal_axes(self, rng):
        assert self.cut(np.sort(rng.uniform(0.095, 0.105, 10))[::-1], 40) == (11, 66)

    def test_different_axes(self):
        assert self.cut([0.5, 0.3, 0.2, 0.1], 40) is None
        assert self.cut(0.5 * np.arange(1, 50) ** -1.1, 333) is None

    def test_exact_ties_of_a_few(self):
        assert self.cut([0.5, 0.3, 0.3], 3) == (2, 4)
        assert self.cut([0.5, 0.3, 0.3], 4) is None
        assert self.cut([0.5] + [0.3] * 40, 5) == (2, None)

    def test_nothing_varies(self):
        assert self.cut([0.0, 0.0], 1) is None


@settings(deadline=None)
@given(
    d=st.integers(1, 4),
    gamma=st.floats(1e-3, 1e2),
    scale=st.floats(1e-3, 1e3),
    rank=st.integers(0, 4),
    count=st.integers(1, 80),
    seed=st.integers(0, 5),
)
def test_the_error_is_a_positive_kernel_and_residuals_bound_it(d, gamma, scale, rank, count, seed):
    """Any mean, covariance (singular ones too) and rotation, and rows from anywhere."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, min(rank, d))) * scale
    plan = gaussian_plan(gamma, rng.normal(size=d), *principal_axes(A @ A.T), count)
    X = rng.standard_t(2, size=(20, d)) * scale
    phi, r = plan_features(X, plan), plan_residuals(X, plan)
    kernel = np.exp(-gamma * np.sum((X[:, None] - X) ** 2, axis=2))
    error = kernel - phi @ phi.T
    assert np.linalg.eigvalsh(error).min() > -1e-12
    assert (r >= 0).all()
    assert (r <= 1).all()
    r = r + 1e-14  # residuals are known to rounding, of which the bound takes the root
    assert (np.abs(error) <= np.sqrt(np.outer(r, r))).all()
    assert np.linalg.norm(error, 2) <= r.sum() + 1e-12
