import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import NystroemFeatures
from bochner.engine import plain
from bochner.guarantees import compare_approximations, pointwise_bound, residuals
from bochner.kernels import Cauchy, Exponential, Gaussian, Laplacian, Matern
from bochner.nystroem.features import NystroemWarning
from tests.feature_map_case import FeatureMapCase
from tests.places import PLACES, on_host

KERNELS = [
    Gaussian(gamma=0.2),
    Exponential(gamma=0.5),
    Matern(nu=1.5, gamma=0.2),
    Matern(nu=2.5, gamma=0.2),
    Laplacian(gamma=0.3),
    Cauchy(gamma=0.4),
]


# rows of truth values repeat, and scikit-learn's checks have fewer rows than components
few = pytest.mark.filterwarnings("ignore::bochner.nystroem.features.NystroemWarning")


@few
class TestGaussian(FeatureMapCase):
    estimator = NystroemFeatures(20)
    unit_norm = False


@few
class TestExponential(FeatureMapCase):
    estimator = NystroemFeatures(20, kernel="exponential", gamma="median")
    unit_norm = False


@few
class TestLaplacian(FeatureMapCase):
    estimator = NystroemFeatures(20, kernel="laplacian")
    unit_norm = False


@few
class TestMeans(FeatureMapCase):
    estimator = NystroemFeatures(20, landmarks="kmeans")
    unit_norm = False
    fit_agrees = ("numpy", "strided", "torch", "strict")  # k-means ends in other means by rounding


@few
class TestLeverage(FeatureMapCase):
    estimator = NystroemFeatures(20, landmarks="leverage")
    unit_norm = False


@few
@parametrize_with_checks(
    [
        NystroemFeatures(),
        NystroemFeatures(3, kernel="exponential", landmarks="kmeans"),
        NystroemFeatures(3, landmarks="leverage"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_exact_against_the_formula(kernel, rng):
    X = rng.normal(size=(200, 5))
    fitted = NystroemFeatures(40, kernel=kernel, random_state=0).fit(X)
    Z = fitted.landmarks_
    values, vectors = np.linalg.eigh(plain.kernel_rows(Z, Z, kernel))
    np.testing.assert_allclose(fitted.eigenvalues_, values[::-1], rtol=1e-10)
    plainly = plain.kernel_rows(X, Z, kernel, vectors / np.sqrt(values))
    features = fitted.transform(X)
    np.testing.assert_allclose(features @ features.T, plainly @ plainly.T, atol=1e-10)
    # the same features but for a rotation
    rotation = np.linalg.lstsq(features, plainly, rcond=None)[0]
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(40), atol=1e-10)
    np.testing.assert_allclose(features @ rotation, plainly, atol=1e-10)


def test_the_kernel_is_scikit_learns(rng):
    X = rng.normal(size=(80, 4))
    theirs = Nystroem(gamma=0.3, n_components=30, random_state=0).fit(X)
    ours = NystroemFeatures(gamma=0.3, landmarks=theirs.components_).fit(X)
    expected = theirs.transform(X) @ theirs.transform(X).T
    np.testing.assert_allclose(ours.transform(X) @ ours.transform(X).T, expected, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_all_rows_as_landmarks_give_the_kernel(kernel, dtype, rng):
    X = rng.normal(size=(60, 4)).astype(dtype)
    features = NystroemFeatures(kernel=kernel, landmarks=X).fit_transform(X)
    assert features.dtype == dtype
    tolerance = 1e-12 if dtype is np.float64 else 2e-5
    np.testing.assert_allclose(
        features @ features.T, plain.kernel_rows(X, X, kernel), atol=tolerance
    )


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kernel=st.sampled_from(KERNELS),
    m=st.integers(1, 15),
    repeats=st.integers(0, 5),
    scale=st.sampled_from([0.01, 1.0, 30.0]),
    shift=st.sampled_from([0.0, 100.0]),
)
def test_it_nests_in_the_kernel(seed, kernel, m, repeats, scale, shift):
    """K - Phi Phi^T is positive semi-definite, whatever the landmarks, and certificates hold."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3)) * scale + shift
    Z = np.vstack([X[:m], X[rng.integers(0, m, repeats)]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NystroemWarning)
        fitted = NystroemFeatures(kernel=kernel, landmarks=Z).fit(X)
    features, K = fitted.transform(X), plain.kernel_rows(X, X, kernel)
    assert np.isfinite(features).all()
    remainder = K - features @ features.T
    assert np.linalg.eigvalsh(remainder).min() > -1e-6
    r = residuals(features)
    np.testing.assert_allclose(fitted.residual(X), r, atol=1e-12)
    assert (np.abs(remainder) <= pointwise_bound(r[:, None] + 1e-6, r + 1e-6) + 1e-9).all()


class TestFewDirections:
    X = np.repeat(np.random.default_rng(0).normal(size=(5, 3)), 20, axis=0)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_repeated_rows(self, dtype):
        X = self.X.astype(dtype)
        with pytest.warns(
            NystroemWarning, match=r"only 5 directions of 30 .* n_components=30"
        ) as w:
            fitted = NystroemFeatures(30, gamma=0.5, random_state=0).fit(X)
        assert len(w) == 1
        assert fitted.n_directions_ == 5
        features = fitted.transform(X)
        assert features.shape == (100, 30)
        np.testing.assert_array_equal(features[:, 5:], 0)
        tolerance = 1e-12 if dtype is np.float64 else 1e-5
        np.testing.assert_allclose(features @ features.T, Gaussian(gamma=0.5)(X), atol=tolerance)

    def test_fewer_rows_than_components(self, rng):
        X = rng.normal(size=(7, 3))
        with pytest.warns(NystroemWarning, match="only 7 directions of 7 landmarks"):
            fitted = NystroemFeatures(10, random_state=0).fit(X)
        assert fitted.landmarks_.shape == (7, 3)
        assert fitted.eigenvalues_.shape == (7,)
        assert fitted.transform(X).shape == (7, 10)
        assert len(fitted.get_feature_names_out()) == 10

    def test_one_landmark(self, rng):
        X = rng.normal(size=(20, 3))
        fitted = NystroemFeatures(1, gamma=0.3, random_state=0).fit(X)
        np.testing.assert_allclose(fitted.transform(X), Gaussian(gamma=0.3)(X, fitted.landmarks_))

    def test_nothing_but_zeros(self):
        X = np.zeros((4, 2))
        with pytest.warns(NystroemWarning, match="only 0 directions"):
            fitted = NystroemFeatures(2, kernel=lambda X, Y: X @ Y.T, random_state=0).fit(X)
        np.testing.assert_array_equal(fitted.transform(X), 0)


@pytest.mark.parametrize("place", ["numpy", "csr", "torch", "dask"])
def test_single_rows_for_a_map_that_needs_double(place, rng):
    """A smooth kernel keeps directions in float64 that are noise in float32."""
    X = rng.normal(size=(300, 2))
    fitted = NystroemFeatures(100, gamma=0.05, random_state=0)
    with pytest.warns(NystroemWarning):
        fitted.fit(X)
    single = X.astype(np.float32)
    result = on_host(fitted.transform(PLACES[place](single)))
    assert result.dtype == np.float32
    expected = fitted.transform(single.astype(np.float64))
    np.testing.assert_allclose(result, expected, atol=1e-6)
    assert (np.square(result.astype(np.float64)).sum(axis=1) < 1 + 1e-5).all()


class TestLinear:
    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_is_the_product_with_the_features(self, place, dtype, rng):
        X = rng.normal(size=(60, 4)).astype(dtype)
        fitted = NystroemFeatures(15, kernel="exponential", random_state=0).fit(X)
        coefficients = rng.normal(size=(15, 2))
        result = on_host(fitted.linear(PLACES[place](X), coefficients))
        assert result.dtype == dtype
        expected = fitted.transform(X).astype(np.float64) @ coefficients
        np.testing.assert_allclose(result, expected, atol=1e-11 if dtype is np.float64 else 1e-4)

    def test_holds_nothing_as_wide_as_the_features(self, rng):
        X = rng.normal(size=(40_000, 4)).astype(np.float32)
        fitted = NystroemFeatures(256, kernel="exponential", random_state=0).fit(X)
        coefficients = rng.normal(size=(256, 1))
        fitted.linear(X[:100], coefficients)
        tracemalloc.start()
        try:
            fitted.linear(X, coefficients)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 8e6  # the features would be 41e6


@pytest.mark.parametrize("place", PLACES)
def test_residuals_in_every_place(place, rng):
    X = rng.normal(size=(50, 3))
    fitted = NystroemFeatures(10, kernel="exponential", random_state=0).fit(X)
    expected = residuals(fitted.transform(X))
    result = on_host(fitted.residual(PLACES[place](X)))
    np.testing.assert_allclose(result, expected, atol=1e-12)
    assert result.dtype == np.float64


def test_certificates_as_for_mercer_features(rng):
    X = rng.normal(size=(400, 2))
    fitted = NystroemFeatures(25, gamma=0.3, random_state=0).fit(X[:200])
    comparison = compare_approximations({"ours": fitted}, Gaussian(gamma=0.3), X[200:])
    (row,) = comparison.rows
    assert row.residual_bound is not None
    assert row.mean_residual < row.residual_bound < 0.2


class TestBadInput:
    X = np.random.default_rng(0).normal(size=(20, 3))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"kernel": "polynomial"},
            {"kernel": 3},
            {"n_components": 0},
            {"n_components": 2.5},
            {"gamma": -1.0},
            {"landmarks": "best"},
            {"n_jobs": "all"},
            {"memory_budget": 0},
        ],
    )
    def test_parameters(self, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            NystroemFeatures(**wrong).fit(self.X)

    def test_landmarks_of_the_wrong_width(self):
        with pytest.raises(ValueError, match="landmarks have 2 columns, but X has 3"):
            NystroemFeatures(landmarks=self.X[:, :2]).fit(self.X)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_landmarks_that_are_not_numbers(self, bad):
        Z = self.X.copy()
        Z[3, 1] = bad
        with pytest.raises(ValueError, match=r"landmarks contains (NaN|infinity)"):
            NystroemFeatures(landmarks=Z).fit(self.X)

    def test_a_kernel_that_is_not_positive(self):
        def distance(X, Y):
            return np.sqrt(np.square(X[:, None] - Y).sum(axis=2))

        with pytest.raises(
            ValueError, match=r"distance.* is not positive semi-definite: of the 10"
        ):
            NystroemFeatures(10, kernel=distance, random_state=0).fit(self.X)

    def test_a_kernel_that_gives_nan(self):
        with pytest.raises(ValueError, match="values that are not finite"):
            NystroemFeatures(4, kernel=lambda X, Y: np.full((len(X), len(Y)), np.nan)).fit(self.X)


def test_a_kernel_of_ones_own(rng):
    def polynomial(X, Y=None):
        return (1 + X @ (X if Y is None else Y).T) ** 2

    X = rng.normal(size=(40, 2))
    fitted = NystroemFeatures(6, kernel=polynomial, random_state=0).fit(X)  # six monomials
    features = fitted.transform(X)
    np.testing.assert_allclose(features @ features.T, polynomial(X), atol=1e-8)
    np.testing.assert_allclose(fitted.residual(X), 0, atol=1e-8)


def test_sparse_landmarks_stay_sparse():
    X = sparse.random(80, 500, 0.02, format="csr", random_state=0)
    fitted = NystroemFeatures(20, random_state=0).fit(X)
    assert sparse.issparse(fitted.landmarks_)
    plainly = NystroemFeatures(20, random_state=0).fit(X.toarray())
    np.testing.assert_allclose(fitted.transform(X), plainly.transform(X.toarray()), atol=1e-12)


def test_a_truth_value_counts_as_one(rng):
    assert NystroemFeatures(n_components=True).fit_transform(rng.normal(size=(9, 2))).shape == (
        9,
        1,
    )
