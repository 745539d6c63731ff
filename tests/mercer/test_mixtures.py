"""Mixtures: overlaps against quadrature, Gram matrices, what whitening keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import eigsh
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from bochner.mercer.evaluate import plan_features
from bochner.mercer.gaussian import gaussian_plan
from bochner.mercer.hermite import ratio
from bochner.mercer.mixtures import (
    Mixture,
    fit_mixture,
    ground_overlap,
    order_matrix,
    overlaps,
    share_features,
    union_gram,
    whitening,
)
from bochner.mercer.products import geometric_costs, select_products
from bochner.mercer.union import plan_union
from tests.mercer.naive import hermite_features

B_VALUES = st.floats(0, 0.95)
SHIFTS = st.floats(-6, 6)


def overlaps_by_recurrence(gamma, B1, B2, shift, n_orders, mp):
    """The closed form, in as many digits as it needs: it loses about one an order."""
    b, B1, B2, shift = (mp.mpf(float(value)) for value in (gamma, B1, B2, shift))
    w = 1 - B1 * B2
    root = mp.sqrt((1 - B1**2) * (1 - B2**2))
    A11, A12 = (B2 - B1) / w, root / w
    c1 = shift * mp.sqrt(2 * b * (1 - B1**2)) * (1 - B2) / w
    c2 = -shift * mp.sqrt(2 * b * (1 - B2**2)) * (1 - B1) / w
    table = [[mp.mpf(0)] * n_orders for _ in range(n_orders)]
    table[0][0] = mp.sqrt(root / w) * mp.exp(-b * (1 - B1) * (1 - B2) * shift**2 / w)
    for n in range(n_orders - 1):
        below = table[0][n - 1] if n else 0
        table[0][n + 1] = (c2 * table[0][n] - A11 * mp.sqrt(n) * below) / mp.sqrt(n + 1)
    for m in range(n_orders - 1):
        for n in range(n_orders):
            value = c1 * table[m][n]
            value += A11 * mp.sqrt(m) * table[m - 1][n] if m else 0
            value += A12 * mp.sqrt(n) * table[m][n - 1] if n else 0
            table[m + 1][n] = value / mp.sqrt(m + 1)
    return np.array([[float(value) for value in row] for row in table])


class TestOverlaps:
    @pytest.mark.parametrize(
        "case", [(0.5, 0.3, 0.6, 0.7), (2.0, 0.5, 0.5, -0.4), (0.1, 0, 0.4, 1)]
    )
    def test_against_quadrature(self, case):
        # <f, g> in H is the integral of f g p_2 over the eigenvalue, for an eigenfunction g.
        gamma, B1, B2, shift = case
        deviation = np.sqrt(B2 / (2 * gamma * (1 - B2) ** 2))  # ratio() solved for the variance
        assert np.isclose(ratio(gamma, deviation**2), B2)
        # Smooth and zero at both ends: sums on a grid are exact to rounding.
        x, step = np.linspace(shift - 12 * deviation, shift + 12 * deviation, 4001, retstep=True)
        density = np.exp(-0.5 * ((x - shift) / deviation) ** 2) / (np.sqrt(2 * np.pi) * deviation)
        n = 6
        f, g = hermite_features(x, gamma, B1, n), hermite_features(x - shift, gamma, B2, n)
        eigenvalues = (1 - B2) * B2 ** np.arange(n)
        expected = step * (f.T * density) @ g / eigenvalues
        np.testing.assert_allclose(overlaps(gamma, B1, B2, shift, n), expected, atol=1e-12)

    @pytest.mark.parametrize(
        "case",
        [(0.5, 0.3, 0.6, 6.0), (0.5, 0.02, 0.1, 12.0), (3.0, 0.9, 0.2, 2.0), (1.0, 0.0, 0.99, -4)],
    )
    def test_against_the_closed_form_in_many_digits(self, case):
        mpmath = pytest.importorskip("mpmath")
        with mpmath.workdps(150):
            expected = overlaps_by_recurrence(*case, 60, mpmath)
        np.testing.assert_allclose(overlaps(*case, 60), expected, atol=1e-13)
        ground = ground_overlap(*case)
        np.testing.assert_allclose(ground, expected[0, 0], rtol=1e-12)

    @settings(max_examples=25, deadline=None)
    @given(B1=B_VALUES, B2=B_VALUES, shift=SHIFTS, gamma=st.floats(0.05, 2))
    def test_one_family_expands_the_other(self, B1, B2, shift, gamma):
        z = np.linspace(-2, 2, 7) / np.sqrt(gamma)
        n, few = 120, 4
        f1 = hermite_features(z, gamma, B1, few)
        f2 = hermite_features(z - shift, gamma, B2, n)
        table = overlaps(gamma, B1, B2, shift, n)
        # What the orders from n on would add is at most the length of what is missing, whose
        # square is known to rounding.
        missed = np.sqrt(np.maximum(1 - np.sum(table[:few] ** 2, axis=1), 0) + 1e-14)
        assert (np.abs(f1 - f2 @ table[:few].T) <= missed).all()
        np.testing.assert_allclose(table, overlaps(gamma, B2, B1, -shift, n).T, atol=1e-13)
        assert np.linalg.norm(table, 2) < 1 + 1e-12

    def test_expansion_is_exact_where_it_ends(self):
        z = np.linspace(-3, 3, 11)
        f1, f2 = hermite_features(z, 0.5, 0.4, 120), hermite_features(z - 0.8, 0.5, 0.5, 120)
        table = overlaps(0.5, 0.4, 0.5, 0.8, 120)
        np.testing.assert_allclose((f2 @ table.T)[:, :8], f1[:, :8], atol=1e-13)

    def test_the_same_component_gives_the_identity(self):
        np.testing.assert_allclose(overlaps(0.7, 0.6, 0.6, 0.0, 300), np.eye(300), atol=1e-12)

    def test_high_orders_and_far_components(self):
        # order 0 of one has nothing in common with order 0 of the other, but high orders have
        table = overlaps(1.0, 0.4, 0.5, 30.0, 1500)
        assert table[0, 0] < 1e-100
        assert np.abs(table).max() > 0.02
        np.testing.assert_allclose(np.sum(table[:20] ** 2, axis=1), 1, atol=1e-10)

    def test_broadcasting(self):
        B = np.array([[0.1], [0.5]])
        shift = np.array([0.0, 1.0, 200.0])
        table = overlaps(0.5, B, 0.3, shift, 4)
        assert table.shape == (2, 3, 4, 4)
        np.testing.assert_allclose(table[1, 1], overlaps(0.5, 0.5, 0.3, 1.0, 4), atol=1e-14)
        assert not table[:, 2].any()


def random_mixture(rng, n_components, d, spread=2.0):
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return Mixture(
        rng.normal(size=d),
        rotation,
        rng.dirichlet(np.ones(n_components)),
        spread * rng.normal(size=(n_components, d)),
        rng.gamma(1.0, size=(n_components, d)),
    )


class TestGram:
    def test_against_one_pair_after_another(self):
        rng = np.random.default_rng(0)
        ratios, means = rng.uniform(0, 0.7, (3, 2)), rng.normal(size=(3, 2))
        orders = [rng.integers(0, 4, (size, 2)) for size in (3, 0, 4)]
        gram = union_gram(0.4, ratios, means, orders)
        for i, m in enumerate(orders[0]):
            for j, n in enumerate(orders[2]):
                expected = 1.0
                for axis in range(2):
                    shift = means[2, axis] - means[0, axis]
                    table = overlaps(0.4, ratios[0, axis], ratios[2, axis], shift, 4)
                    expected *= table[m[axis], n[axis]]
                assert np.isclose(gram[i, 3 + j], expected, atol=1e-14)

    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 2**31), d=st.integers(1, 5), n_components=st.integers(1, 5))
    def test_symmetric_and_positive_semi_definite(self, seed, d, n_components):
        rng = np.random.default_rng(seed)
        mixture = random_mixture(rng, n_components, d)
        ratios = ratio(0.3, mixture.variances)
        orders = [order_matrix(select_products(geometric_costs(B), 0.0, 20), d) for B in ratios]
        gram = union_gram(0.3, ratios, mixture.means, orders)
        np.testing.assert_array_equal(gram, gram.T)
        np.testing.assert_allclose(np.diag(gram), 1)
        assert np.linalg.eigvalsh(gram).min() > -1e-12

    def test_whitening(self):
        rng = np.random.default_rng(1)
        A = rng.normal(size=(6, 4))
        W = whitening(A @ A.T)
        assert W.shape == (6, 4)  # of rank four
        np.testing.assert_allclose(W.T @ A @ A.T @ W, np.eye(4), atol=1e-12)
        G = A.T @ A
        W = whitening(G)
        np.testing.assert_allclose(W, W.T, atol=1e-12)
        np.testing.assert_allclose(W @ G @ W, np.eye(4), atol=1e-12)

    def test_shares(self):
        rng = np.random.default_rng(2)
        values = [-np.sort(rng.exponential(size=30)) for _ in range(4)]
        weights = np.array([0.4, 0.3, 0.3, 0.0])
        shares = share_features(values, weights, 25)
        assert sum(shares) == 25
        assert shares[3] == 0  # of no weight
        kept = min(values[k][shares[k] - 1] + np.log(weights[k]) for k in range(3))
        left = max(values[k][shares[k]] + np.log(weights[k]) for k in range(3))
        assert kept >= left
        assert share_features(values[:1], np.ones(1), 100) == [30]


class TestUnion:
    @settings(max_examples=25, deadline=None)
    @given(
        seed=st.integers(0, 2**31),
        d=st.integers(1, 4),
        n_components=st.integers(1, 5),
        count=st.integers(1, 80),
        gamma=st.floats(0.01, 3),
    )
    def test_certificate_is_never_violated(self, seed, d, n_components, count, gamma):
        rng = np.random.default_rng(seed)
        mixture = random_mixture(rng, n_components, d)
        X = 3 * rng.normal(size=(40, d))
        for kind in ("orthogonal", "weighted"):
            phi = plan_features(X, plan_union(mixture, gamma, count, kind))
            error = rbf_kernel(X, gamma=gamma) - phi @ phi.T
            assert np.linalg.eigvalsh(error).min() > -1e-7  # rounding over the smallest kept
            r = np.diag(error)
            assert r.min() > -1e-7
            assert (np.abs(error) <= np.sqrt(np.outer(r + 1e-7, r + 1e-7))).all()

    def test_enough_features_are_the_kernel(self):
        means = np.array([[-1.0, 0.0], [1.0, 0.5], [0.0, -1.0]])
        weights = np.array([0.5, 0.2, 0.3])
        mixture = Mixture(np.zeros(2), np.eye(2), weights, means, np.ones((3, 2)))
        X = np.random.default_rng(4).normal(size=(30, 2))
        for kind, count in (("orthogonal", 300), ("weighted", 1500)):
            phi = plan_features(X, plan_union(mixture, 0.2, count, kind))
            np.testing.assert_allclose(phi @ phi.T, rbf_kernel(X, gamma=0.2), atol=1e-8)

    def test_one_component_is_one_gaussian(self):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(200, 4)) * [4, 3, 2, 1]
        mixture = fit_mixture(X, 1, np.random.RandomState(0))
        plan = gaussian_plan(0.1, mixture.center, mixture.variances[0], mixture.rotation, 50)
        one = plan_features(X, plan)
        both = plan_features(X, plan_union(mixture, 0.1, 50, "orthogonal"))
        np.testing.assert_allclose(both @ both.T, one @ one.T, atol=1e-12)
        weighted = plan_features(X, plan_union(mixture, 0.1, 50, "weighted"))
        np.testing.assert_allclose(weighted, one, atol=1e-13)

    def test_many_axes_share_a_ratio(self):
        rng = np.random.default_rng(6)
        scales = np.append([3.0, 2.0], np.full(60, 1e-3))
        X = rng.normal(size=(300, 62)) * scales + 4 * rng.integers(0, 2, (300, 1))
        plan = plan_union(fit_mixture(X, 2, np.random.RandomState(0)), 0.01, 60, "orthogonal")
        assert max(each.rotation.shape[1] for each in plan.plans) < 62
        phi = plan_features(X, plan)
        error = rbf_kernel(X, gamma=0.01) - phi @ phi.T
        assert np.linalg.eigvalsh(error).min() > -1e-7
        assert np.diag(error).max() < 0.1

    def test_single_precision_does_not_suffer_from_whitening(self):
        X = np.random.default_rng(7).normal(size=(100, 1))
        plan = plan_union(random_mixture(np.random.default_rng(8), 4, 1), 0.1, 60, "orthogonal")
        assert plan.enlargement > 1000
        single = plan_features(X.astype(np.float32), plan)
        assert single.dtype == np.float32
        exact = plan_features(X.astype(np.float32).astype(float), plan)
        np.testing.assert_allclose(single, exact, atol=1e-6)


def eight_clusters(n=1500, d=10, seed=0):
    rng = np.random.default_rng(seed)
    centers = 3 * rng.normal(size=(8, d))
    return centers[rng.integers(8, size=n)] + 0.7 * rng.normal(size=(n, d))


def spectral_norm(matrix):
    start = np.ones(len(matrix))
    return np.abs(eigsh(matrix, 1, v0=start, return_eigenvectors=False, tol=1e-3)[0])


@pytest.mark.parametrize("count", [40, 160, 640])
def test_clusters_at_most_half_of_the_error_of_nystroem(count):
    X, gamma = eight_clusters(), 0.05
    K = rbf_kernel(X, gamma=gamma)
    mixture = fit_mixture(X, 8, np.random.RandomState(0))
    phi = plan_features(X, plan_union(mixture, gamma, count, "orthogonal"))
    errors = []
    for seed in range(3):
        nystroem = Nystroem(gamma=gamma, n_components=count, random_state=seed).fit_transform(X)
        errors.append(spectral_norm(K - nystroem @ nystroem.T))
    assert spectral_norm(K - phi @ phi.T) <= 0.5 * np.mean(errors)


class TestFit:
    def test_finds_clusters(self):
        mixture = fit_mixture(eight_clusters(), 8, np.random.RandomState(0))
        assert len(mixture) == 8
        np.testing.assert_allclose(mixture.rotation.T @ mixture.rotation, np.eye(10), atol=1e-12)
        np.testing.assert_allclose(mixture.weights.sum(), 1)
        assert np.median(mixture.variances) == pytest.approx(0.49, rel=0.1)

    @pytest.mark.parametrize("n_mixture", [0, 6, -1])
    def test_more_components_than_rows(self, n_mixture):
        with pytest.raises(ValueError, match=f"n_mixture must be from 1 to .* 5, got {n_mixture}"):
            fit_mixture(np.eye(5), n_mixture, np.random.RandomState(0))

    def test_as_many_components_as_rows(self):
        mixture = fit_mixture(np.eye(5), 5, np.random.RandomState(0))
        X = np.eye(5)
        phi = plan_features(X, plan_union(mixture, 0.5, 5, "orthogonal"))
        # landmarks at the rows themselves: exact there
        np.testing.assert_allclose(phi @ phi.T, rbf_kernel(X, gamma=0.5), atol=1e-6)

    @pytest.mark.parametrize("n_mixture", [1, 3])
    def test_identical_rows(self, n_mixture):
        mixture = fit_mixture(np.full((6, 2), 0.1), n_mixture, np.random.RandomState(0))
        assert len(mixture) == 1
        assert not mixture.variances.any()
        assert plan_union(mixture, 1.0, 9, "orthogonal").width == 1

    def test_fewer_distinct_rows_than_components(self):
        X = np.repeat([[0.0, 0.0], [5.0, 1.0]], 10, axis=0)
        mixture = fit_mixture(X, 4, np.random.RandomState(0))
        assert len(mixture) == 2
        np.testing.assert_allclose(mixture.variances, 0, atol=1e-12)

    def test_units_do_not_matter(self):
        X = eight_clusters(n=300)
        one = fit_mixture(X, 3, np.random.RandomState(0))
        other = fit_mixture(1e-5 * X, 3, np.random.RandomState(0))
        np.testing.assert_allclose(1e-10 * one.variances, other.variances, rtol=1e-6)
