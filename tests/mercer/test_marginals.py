"""Numerical eigenfunctions along an axis, and products of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import eigsh
from sklearn.kernel_approximation import Nystroem

from bochner import FourierFeatures
from bochner.kernels import Cauchy, Gaussian, Laplacian, Matern
from bochner.mercer.evaluate import plan_features
from bochner.mercer.hermite import ratio
from bochner.mercer.marginals import (
    eigenfunctions,
    fit_marginals,
    marginal_costs,
    quantile_nodes,
)
from bochner.mercer.mixtures import order_matrix
from bochner.mercer.separable import fit_separable
from tests.mercer.naive import marginal_features, products_of_tables
from tests.places import PLACES, on_host

KERNELS = [
    Gaussian(gamma=0.3),
    Laplacian(gamma=0.3),
    Cauchy(gamma=0.3),
    Matern(nu=0.5, gamma=0.3),
    Matern(nu=1.5, gamma=0.3),
    Matern(nu=2.5, gamma=0.3),
    Matern(nu=0.8, gamma=0.3),
    Matern(nu=7.0, gamma=0.3),
]


def plain_features(X, plan):
    orders = order_matrix(plan.products, len(plan.marginals))
    values = np.ones((len(X), plan.width))
    for j, axis in enumerate(plan.marginals):
        values *= marginal_features(axis, X[:, j])[:, orders[:, j]]
    return values


class TestNodes:
    def test_quantiles(self):
        nodes, weights = quantile_nodes(np.arange(1000.0), 4)
        np.testing.assert_allclose(nodes, [124.875, 374.625, 624.375, 874.125])
        np.testing.assert_allclose(weights, 0.25)

    def test_equal_values_are_one_node(self):
        nodes, weights = quantile_nodes(np.repeat([3.0, 1.0], [300, 100]), 40)
        np.testing.assert_array_equal(nodes, [1, 3])
        np.testing.assert_allclose(weights, [0.25, 0.75])


class TestEigenfunctions:
    @pytest.mark.parametrize("kernel", KERNELS, ids=repr)
    def test_orthonormal_eigenfunctions(self, kernel):
        x = np.random.default_rng(1).normal(size=60)
        nodes, weights = quantile_nodes(x, 100)
        axis = eigenfunctions(kernel, nodes, weights)
        # Second moments under the nodes are the eigenvalues, to rounding over the square root of
        # the smallest, 1e-10.
        f = marginal_features(axis, nodes)
        np.testing.assert_allclose((f.T * weights) @ f, np.diag(axis.values), atol=1e-10)
        # and in the Hilbert space they are orthonormal
        K = np.exp(kernel.log_profile(np.subtract.outer(nodes, nodes)))
        gram = axis.coefficients.T @ K @ axis.coefficients
        np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-5)
        few = axis.values > 1e-4 * axis.values[0]
        np.testing.assert_allclose(gram[few][:, few], np.eye(few.sum()), atol=1e-11)
        assert axis.values.sum() == pytest.approx(1, abs=1e-7)

    def test_gaussian_under_a_gaussian_density_has_the_known_eigenvalues(self):
        # trapezoidal nodes, exact to rounding for so smooth an integrand
        nodes = np.linspace(-9, 9, 200)
        weights = np.exp(-0.5 * nodes**2)
        axis = eigenfunctions(Gaussian(gamma=0.5), nodes, weights / weights.sum())
        B = ratio(0.5, 1.0)
        np.testing.assert_allclose(axis.values[:10], (1 - B) * B ** np.arange(10), rtol=1e-8)

    @pytest.mark.parametrize("kernel", KERNELS, ids=repr)
    def test_ratios_far_out(self, kernel):
        x = np.random.default_rng(2).normal(size=50)
        axis = eigenfunctions(kernel, *quantile_nodes(x, 100))
        log_ground, ratios = axis.ratios(np.array([0.3, 1e4]), 5)
        assert np.isfinite(log_ground).all()
        assert np.isfinite(ratios).all()
        assert ratios.shape == (2, 5)
        np.testing.assert_allclose(ratios[:, 0], 1)

    @pytest.mark.parametrize("weights", [(0.5, 0.5), (0.7, 0.3), (0.4, 0.2, 0.4)])
    def test_parts_too_far_apart_to_be_coupled(self, weights):
        nodes = 1e4 * np.arange(len(weights))
        axis = eigenfunctions(Laplacian(gamma=1.0), nodes, np.array(weights))
        f = marginal_features(axis, nodes)
        np.testing.assert_allclose(f @ f.T, np.eye(len(nodes)), atol=1e-12)
        assert (axis.ratios(nodes)[0] <= 1e-12).all()

    def test_costs(self):
        axis = eigenfunctions(Laplacian(gamma=1.0), [0.0, 1e4], [0.5, 0.5])
        (costs,), base = marginal_costs([axis])
        assert costs[0] > 0  # equal eigenvalues, but the search wants an increasing cost
        assert base == pytest.approx(np.log(0.5))
        constant = eigenfunctions(Laplacian(gamma=1.0), [3.0], [1.0])
        (costs,), base = marginal_costs([constant])
        assert costs.shape == (0,)
        assert base == 0


class TestSeparable:
    @pytest.mark.parametrize("kernel", KERNELS, ids=repr)
    def test_against_plain_products(self, kernel):
        X = np.random.default_rng(3).normal(size=(80, 3))
        plan = fit_separable(X, kernel, 60)
        np.testing.assert_allclose(plan_features(X, plan), plain_features(X, plan), atol=1e-13)

    @settings(max_examples=25, deadline=None)
    @given(
        seed=st.integers(0, 2**31),
        d=st.integers(1, 4),
        which=st.integers(0, len(KERNELS) - 1),
        scale=st.sampled_from([0.01, 1.0, 30.0, 1e4]),
        count=st.integers(1, 60),
        decimals=st.integers(0, 3),
    )
    def test_certificate_is_never_violated(self, seed, d, which, scale, count, decimals):
        rng = np.random.default_rng(seed)
        X = scale * rng.normal(size=(30, d)).round(decimals)  # with equal values in a column
        kernel = KERNELS[which]
        phi = plan_features(X, fit_separable(X[:20], kernel, count))
        error = kernel.over_axes()(X) - phi @ phi.T
        r = np.diag(error)
        assert r.min() > -1e-6  # rounding over the smallest eigenvalue kept
        assert np.linalg.eigvalsh(error).min() > -1e-6

    def test_far_rows_in_logarithms(self):
        # every ground state vanishes at one of the two values of its column
        X = 1e4 * np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
        kernel = Laplacian(gamma=1.0)
        phi = plan_features(X, fit_separable(X, kernel, 4))
        np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=1e-12)
        unit = plan_features(X, fit_separable(X, kernel, 4), normalize=True)
        np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)

    def test_normalize(self):
        X = np.random.default_rng(4).normal(size=(50, 2))
        plan = fit_separable(X, Cauchy(gamma=2.0), 20)
        phi = plan_features(X, plan)
        expected = phi / np.linalg.norm(phi, axis=1, keepdims=True)
        np.testing.assert_allclose(plan_features(X, plan, normalize=True), expected, atol=1e-13)
        far = plan_features(1e5 + X, fit_separable(X, Gaussian(gamma=1.0), 20), normalize=True)
        np.testing.assert_allclose(np.linalg.norm(far, axis=1), 1)

    @pytest.mark.parametrize("place", PLACES)
    def test_places_agree(self, place):
        X = np.random.default_rng(5).normal(size=(40, 3))
        plan = fit_separable(X, Laplacian(gamma=0.5), 30)
        there = plan_features(PLACES[place](X), plan)
        np.testing.assert_allclose(on_host(there), plan_features(X, plan), atol=1e-13)

    def test_constant_columns_and_few_values(self):
        X = np.column_stack([np.ones(20), np.arange(20) % 2.0])
        plan = fit_separable(X, Laplacian(gamma=0.5), 10)
        assert plan.width == 2  # all there are
        phi = plan_features(X, plan)
        np.testing.assert_allclose(phi @ phi.T, Laplacian(gamma=0.5)(X), atol=1e-13)

    def test_one_axis_with_many_orders(self):
        X = np.random.default_rng(6).uniform(size=(2000, 1))
        phi = plan_features(X, fit_separable(X, Laplacian(gamma=1.0), 200))
        assert phi.shape == (2000, 200)
        assert (1 - np.sum(phi**2, axis=1)).max() < 0.02

    def test_products_by_the_plain_loop(self):
        X = np.random.default_rng(7).normal(size=(30, 2))
        plan = fit_separable(X, Laplacian(gamma=1.0), 25)
        pairs = [axis.ratios(X[:, j]) for j, axis in enumerate(plan.marginals)]
        ground = np.exp(sum(pair[0] for pair in pairs))
        expected = products_of_tables(plan.products, [pair[1] for pair in pairs])
        np.testing.assert_allclose(plan_features(X, plan), ground[:, None] * expected, atol=1e-13)


@pytest.mark.parametrize("count", [40, 160])
def test_independent_axes_beat_landmarks_and_random_frequencies(count):
    X = np.random.default_rng(8).uniform(-1, 1, (800, 10))
    kernel = Laplacian(gamma=0.1)
    K = kernel(X)

    def error(phi):
        return abs(eigsh(K - phi @ phi.T, 1, return_eigenvectors=False, tol=1e-3)[0])

    ours = error(plan_features(X, fit_separable(X, kernel, count)))
    landmarks = Nystroem(kernel="laplacian", gamma=0.1, n_components=count, random_state=0)
    random = FourierFeatures(kernel=kernel, n_components=count, random_state=0)
    assert ours < 0.5 * error(landmarks.fit_transform(X))
    assert ours < 0.1 * error(random.fit_transform(X))


def test_axes_are_fitted_one_by_one():
    X = np.random.default_rng(9).normal(size=(50, 2))
    first, second = fit_marginals(X, Laplacian(gamma=1.0), 20)
    np.testing.assert_allclose(first.nodes, quantile_nodes(X[:, 0], 20)[0])
    np.testing.assert_allclose(second.nodes, quantile_nodes(X[:, 1], 20)[0])
