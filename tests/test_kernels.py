"""Every kernel against its own frequencies, with error bars."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.gaussian_process.kernels import Matern as ExactMatern

from bochner import (
    FourierFeatures,
    LandmarkSimilarities,
    MercerFeatures,
    PosteriorFourierFeatures,
)
from bochner.fourier.sampling import draw_frequencies
from bochner.kernels import KERNELS as NAMED
from bochner.kernels import (
    Cauchy,
    Exponential,
    Gaussian,
    Laplacian,
    Matern,
    ProductMatern,
    StandardKernel,
)

KERNELS = [
    Gaussian(gamma=0.3),
    Laplacian(gamma=0.4),
    Cauchy(gamma=0.5),
    Matern(nu=0.5, gamma=0.3),
    Matern(nu=1.5, gamma=0.6),
    Matern(nu=3.3, gamma=0.2),
    Exponential(gamma=0.7),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("sampling", ["iid", "orthogonal", "sobol", "halton"])
def test_frequencies_reproduce_the_kernel_within_five_standard_errors(kernel, sampling):
    if sampling == "orthogonal" and not hasattr(kernel, "sample_norms"):
        pytest.skip("the frequencies of this kernel have no rotation-invariant law")
    random_state = np.random.RandomState(0)
    d, blocks = 4, 100
    X, Y = random_state.normal(size=(2, 30, d))
    # Frequencies within a block depend on each other; the blocks do not.
    estimates = np.empty((blocks, len(X)))
    for b in range(blocks):
        W = draw_frequencies(kernel, 1024, d, sampling=sampling, random_state=random_state)
        estimates[b] = np.cos((X - Y) @ W).mean(axis=1)
    exact = np.diagonal(kernel(X, Y))
    standard_error = estimates.std(axis=0, ddof=1) / np.sqrt(blocks)
    assert (np.abs(estimates.mean(axis=0) - exact) < 5 * standard_error + 1e-12).all()
    assert standard_error.max() < 0.01  # tight enough to see a gamma wrong by a tenth


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_that_test_would_see_a_wrong_gamma(kernel):
    random_state = np.random.RandomState(0)
    X, Y = random_state.normal(size=(2, 30, 4))
    wrong = kernel.with_gamma(kernel.gamma * 1.1)
    W = draw_frequencies(wrong, 100_000, 4, sampling="iid", random_state=random_state)
    cosines = np.cos((X - Y) @ W)
    standard_error = cosines.std(axis=1) / np.sqrt(100_000)
    deviation = np.abs(cosines.mean(axis=1) - np.diagonal(kernel(X, Y))) / standard_error
    assert deviation.max() > 5


def test_matern_tends_to_the_gaussian(rng):
    X = rng.normal(size=(20, 3))
    far, near = (
        np.abs(Matern(nu=nu, gamma=0.4)(X) - Gaussian(gamma=0.4)(X)).max() for nu in (20.1, 80.1)
    )
    assert near < 0.01
    assert far / near == pytest.approx(4, rel=0.1)  # the difference falls as 1 / nu
    np.testing.assert_allclose(Gaussian(gamma=0.5)(X), RBF(1.0)(X), atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_sparse_rows_and_one_argument(kernel, rng):
    X = rng.normal(size=(9, 3)) * (rng.random((9, 3)) < 0.5)
    np.testing.assert_allclose(kernel(sparse.csr_matrix(X)), kernel(X, X), atol=1e-12)
    np.testing.assert_allclose(np.diagonal(kernel(X)), 1)


def test_a_kernel_without_gamma_says_so():
    with pytest.raises(ValueError, match=r"Gaussian has no gamma yet"):
        Gaussian()(np.ones((1, 1)))


@pytest.mark.parametrize("nu", [0, -1, np.nan, np.inf, 101])
def test_smoothness_must_be_in_range(nu):
    with pytest.raises(ValueError, match="nu must be positive and at most 100"):
        Matern(nu=nu)


@pytest.mark.parametrize("nu", [0.3, 0.5, 0.9, 1.5, 2.5, 7.7])
def test_matern_agrees_with_scikit_learn(nu, rng):
    X, Y = rng.normal(size=(2, 20, 3))
    exact = ExactMatern(length_scale=(2 * 0.4) ** -0.5, nu=nu)(X, Y)
    np.testing.assert_allclose(Matern(nu=nu, gamma=0.4)(X, Y), exact, rtol=1e-9)


def test_exponential_is_the_roughest_matern(rng):
    X, Y = rng.normal(size=(2, 20, 3))
    matern = Matern(nu=0.5, gamma=0.5 * 0.7**2)
    np.testing.assert_allclose(Exponential(gamma=0.7)(X, Y), matern(X, Y), rtol=1e-12)


@pytest.mark.parametrize("nu", [0.3, 1.0, 1.2, 20.0, 100.0])
def test_matern_is_smooth_where_its_bessel_function_overflows(nu):
    distance = np.logspace(-12, 0, 400)[:, None]
    values = Matern(nu=nu, gamma=0.5)(distance, np.zeros((1, 1)))[:, 0]
    assert np.isfinite(values).all()
    assert (np.diff(values) <= 1e-12).all()
    assert values[0] == pytest.approx(1, abs=1e-6)


PROFILES = [
    Gaussian(gamma=0.3),
    Laplacian(gamma=0.3),
    Cauchy(gamma=0.3),
    Matern(nu=0.5, gamma=0.3),
    Matern(nu=1.5, gamma=0.3),
    Matern(nu=2.5, gamma=0.3),
    Matern(nu=0.8, gamma=0.3),
    Matern(nu=7.0, gamma=0.3),
    Exponential(gamma=0.3),
]


def product_over_axes(kernel, X):
    """The kernel as the product over the axes, slowly."""
    return np.exp(sum(kernel.log_profile(np.subtract.outer(x, x)) for x in X.T))


class TestProfile:
    @pytest.mark.parametrize("kernel", PROFILES, ids=repr)
    def test_is_the_kernel_along_an_axis(self, kernel):
        x = np.concatenate([[0.0, 1e-9, 1e-4], np.linspace(0.1, 8, 30)])
        expected = kernel(x[:, None], np.zeros((1, 1)))[:, 0]
        np.testing.assert_allclose(np.exp(kernel.log_profile(x)), expected, atol=1e-14)
        assert kernel.log_profile(np.zeros(1)) == 0

    @pytest.mark.parametrize("kernel", [Gaussian(gamma=1), Laplacian(gamma=1), Cauchy(gamma=1)])
    def test_product_over_the_axes_is_the_kernel(self, kernel):
        X = np.random.default_rng(0).normal(size=(9, 3))
        np.testing.assert_allclose(product_over_axes(kernel, X), kernel(X), atol=1e-14)

    def test_matern_product(self):
        X = np.random.default_rng(0).normal(size=(9, 3))
        kernel = ProductMatern(nu=2.5, gamma=0.4)
        expected = product_over_axes(Matern(nu=2.5, gamma=0.4), X)
        np.testing.assert_allclose(kernel(X), expected, atol=1e-14)
        np.testing.assert_allclose(kernel(X[:, :1]), Matern(nu=2.5, gamma=0.4)(X[:, :1]))
        with pytest.raises(ValueError, match="nu must be positive"):
            ProductMatern(nu=0)

    def test_matern_product_from_its_frequencies(self):
        kernel, delta = ProductMatern(nu=1.5, gamma=0.4), np.array([[0.7, -0.4]])
        waves = np.cos(kernel.sample(40_000, 2, np.random.RandomState(0)) @ delta[0])
        error = waves.std() / np.sqrt(len(waves))
        assert abs(waves.mean() - kernel(delta, np.zeros((1, 2)))[0, 0]) < 5 * error

    def test_far_out_there_still_is_a_logarithm(self):
        for kernel in PROFILES:
            assert np.isfinite(kernel.log_profile(1e6))

    def test_other_kernels_are_refused(self):
        class Mine(Laplacian.__base__):
            pass

        with pytest.raises(ValueError, match="not known along one axis"):
            Mine(gamma=1.0).log_profile(1.0)

    @pytest.mark.parametrize("kernel", PROFILES, ids=repr)
    def test_flags_say_how_the_kernel_is_made_of_its_profile(self, kernel, rng):
        X = rng.normal(size=(9, 3))
        assert kernel.product or kernel.isotropic
        if kernel.product:
            assert kernel.over_axes() is kernel
            np.testing.assert_allclose(product_over_axes(kernel, X), kernel(X), atol=1e-14)
        if kernel.isotropic:
            distances = np.linalg.norm(X[:, None] - X, axis=2)
            np.testing.assert_allclose(np.exp(kernel.log_profile(distances)), kernel(X), atol=1e-7)
        assert kernel.over_axes().product
        np.testing.assert_allclose(product_over_axes(kernel, X), kernel.over_axes()(X), atol=1e-14)


@dataclass(frozen=True, kw_only=True)
class Sharper(StandardKernel):
    """A kernel that can do no more than it must: a Gaussian of twice the gamma."""

    def __call__(self, X, Y=None):
        return Gaussian(gamma=2 * self.width)(X, Y)

    def sample(self, n, d, random_state):
        return Gaussian(gamma=2 * self.width).sample(n, d, random_state)


@dataclass(frozen=True, kw_only=True)
class SharperByAxes(Sharper):
    """The same, which says that it is a product over the axes."""

    product: ClassVar[bool] = True

    def log_profile(self, differences):
        return -2 * self.width * np.asarray(differences) ** 2


class TestRegistry:
    """A new kernel is a class and an entry of KERNELS: all maps take it by its name."""

    @pytest.fixture
    def rows(self, rng):
        return rng.normal(size=(200, 3)), rng.integers(0, 2, size=200)

    @pytest.fixture(autouse=True)
    def registered(self, monkeypatch):
        monkeypatch.setitem(NAMED, "sharper", Sharper)
        monkeypatch.setitem(NAMED, "sharper by axes", SharperByAxes)

    @pytest.mark.parametrize("gamma", ["scale", "median", 0.4])
    @pytest.mark.parametrize(
        "estimator",
        [
            FourierFeatures(n_components=20),
            PosteriorFourierFeatures(n_components=20, n_candidates=50),
            LandmarkSimilarities(n_components=9, n_frequencies=8),
            LandmarkSimilarities(n_components=9, posterior=None),
        ],
        ids=str,
    )
    def test_maps_of_frequencies(self, estimator, gamma, rows):
        estimator = clone(estimator).set_params(kernel="sharper", gamma=gamma, random_state=0)
        features = estimator.fit(*rows).transform(rows[0])
        assert isinstance(estimator.kernel_, Sharper)
        assert estimator.kernel_.width > 0
        assert np.isfinite(features).all()

    def test_features_approximate_it(self, rows):
        X = rows[0][:30]
        fourier = FourierFeatures(n_components=20_000, kernel="sharper", random_state=0).fit(X)
        features = fourier.transform(X)
        assert np.abs(features @ features.T - fourier.kernel_(X)).max() < 0.05

    def test_mercer_features_of_a_product(self, rows):
        X = rows[0]
        mercer = MercerFeatures(
            n_components=200, kernel="sharper by axes", density="marginals", gamma=0.05
        ).fit(X)
        phi = mercer.transform(X)
        assert np.abs(phi @ phi.T - mercer.kernel_(X)).max() < 0.05

    @pytest.mark.parametrize("density", ["gaussian", "mixture", "weighted-mixture"])
    def test_mercer_features_say_what_they_need(self, density, rows):
        with pytest.raises(ValueError, match="use density='marginals', or kernel='gaussian'"):
            MercerFeatures(kernel="sharper", density=density).fit(rows[0])

    def test_mercer_features_say_what_they_need_along_an_axis(self, rows):
        message = "products over the columns, cauchy, .*gaussian, .*, sharper by axes among"
        with pytest.raises(ValueError, match=message):
            MercerFeatures(kernel="sharper", density="marginals").fit(rows[0])

    def test_chains_say_what_they_need(self, rows):
        model = PosteriorFourierFeatures(kernel="sharper", support="continuous")
        with pytest.raises(ValueError, match="and the Gaussian kernel"):
            model.fit(*rows)

    @pytest.mark.parametrize("estimator", [FourierFeatures, MercerFeatures])
    @pytest.mark.parametrize("kernel", ["duller", Gaussian])
    def test_names_are_listed_for_an_unknown_one(self, estimator, kernel, rows):
        with pytest.raises(ValueError, match=r"kernel must be one of .*'sharper by axes'"):
            estimator(kernel=kernel).fit(rows[0])
