"""MercerFeatures with densities other than one gaussian."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import MercerFeatures
from bochner.kernels import Gaussian, Laplacian, Matern, ProductMatern
from bochner.mercer.densities import kernel_for
from bochner.mercer.features import MercerWarning
from tests.feature_map_case import FeatureMapCase
from tests.places import PLACES, on_host

# Features of a narrow kernel on few rows, and fewer than asked for, are not looked at here.
quiet = pytest.mark.filterwarnings("ignore::bochner.mercer.features.MercerWarning")

OTHERS = ["mixture", "weighted-mixture", "marginals"]


class MixtureCase(FeatureMapCase):
    unit_norm = False
    refuses_huge = ("fit",)

    def test_the_seed_decides(self):
        fitted, X = self.fitted()
        again = self.make().fit(*self.data())
        np.testing.assert_array_equal(fitted.transform(X), again.transform(X))

    # Of a table only to 1e-13: expectation maximisation and whitening magnify rounding.
    fit_agrees = (*PLACES, "float32")


@quiet
class TestMixture(MixtureCase):
    estimator = MercerFeatures(n_components=20, density="mixture", n_mixture=3)


@quiet
class TestWeightedMixture(MixtureCase):
    estimator = MercerFeatures(n_components=20, density="weighted-mixture", n_mixture=3)


@quiet
class TestNormalizedMixture(MixtureCase):
    estimator = MercerFeatures(n_components=20, density="mixture", n_mixture=3, normalize=True)
    unit_norm = True


@quiet
class TestMarginals(FeatureMapCase):
    estimator = MercerFeatures(n_components=20, density="marginals", kernel="laplacian")
    unit_norm = False
    refuses_huge = ("fit",)

    def test_the_seed_decides(self):
        fitted, X = self.fitted()
        other, _ = self.fitted(random_state=1)
        np.testing.assert_array_equal(fitted.transform(X), other.transform(X))


@quiet
@parametrize_with_checks(
    [
        MercerFeatures(n_components=5, density="mixture", n_mixture=1),
        MercerFeatures(n_components=5, density="weighted-mixture", n_mixture=1),
        MercerFeatures(n_components=5, density="marginals", kernel="cauchy"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@quiet
@pytest.mark.parametrize("density", ["mixture", "weighted-mixture"])
def test_mixtures_where_scikit_learn_dispatches(density, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    X = np.random.default_rng(0).normal(size=(60, 3))
    mercer = MercerFeatures(n_components=8, density=density, n_mixture=2, random_state=0)
    expected = mercer.fit_transform(X)
    with config_context(array_api_dispatch=True):
        np.testing.assert_array_equal(mercer.fit_transform(X), expected)
        there = mercer.fit_transform(PLACES["torch"](X))
    np.testing.assert_allclose(on_host(there), expected, atol=1e-12)


@pytest.fixture
def blobs():
    return make_blobs(300, 5, centers=4, cluster_std=0.7, random_state=0)[0]


@quiet
@pytest.mark.parametrize("density", OTHERS)
@pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict", "dask", "dask_sparse"])
def test_certificate(blobs, density, place):
    mercer = MercerFeatures(
        n_components=80, gamma=0.01, density=density, n_mixture=4, random_state=0
    ).fit(blobs)
    phi = mercer.transform(blobs)
    error = mercer.kernel_(blobs) - phi @ phi.T
    r = on_host(mercer.residual(PLACES[place](blobs)))
    assert r.shape == (len(blobs),)
    np.testing.assert_allclose(r, np.diag(error), atol=1e-8)
    assert (np.abs(error) <= np.sqrt(np.outer(r, r)) + 1e-8).all()
    assert np.linalg.eigvalsh(error).min() > -1e-8
    assert mercer.captured_mass_ == pytest.approx(1 - r.mean())


@quiet
def test_clusters_want_a_mixture(blobs):
    def error(density):
        mercer = MercerFeatures(n_components=40, gamma=0.01, density=density, n_mixture=4)
        mercer.set_params(random_state=0).fit(blobs)
        return np.linalg.norm(mercer.kernel_(blobs) - _gram(mercer.transform(blobs)), 2)

    assert error("mixture") < 0.5 * error("gaussian")
    assert error("mixture") < 0.5 * error("weighted-mixture")


def _gram(phi):
    return phi @ phi.T


@quiet
def test_one_component_is_the_gaussian(blobs):
    one = MercerFeatures(n_components=30, gamma=0.01).fit(blobs).transform(blobs)
    mixture = MercerFeatures(n_components=30, gamma=0.01, density="mixture", n_mixture=1)
    np.testing.assert_allclose(_gram(mixture.fit_transform(blobs)), _gram(one), atol=1e-12)


@quiet
def test_attributes_of_a_mixture(blobs):
    mercer = MercerFeatures(n_components=30, gamma=0.01, density="mixture", n_mixture=4)
    mercer.set_params(random_state=0).fit(blobs)
    assert mercer.variances_.shape == (4, 5)
    assert mercer.rotation_.shape == (5, 5)
    np.testing.assert_allclose(mercer.mean_, blobs.mean(axis=0))
    assert len(mercer.mixture_) == 4
    assert len(mercer.orders_) == len(mercer.eigenvalues_) == 30
    assert sorted({component for component, _ in mercer.orders_}) == [0, 1, 2, 3]
    # along the axes that are shown: the order 1 of the eigenvalue it is said to have
    gamma, variances = mercer.kernel_.width, mercer.variances_
    q = np.sqrt(1 + 8 * gamma * variances)
    B = 8 * gamma * variances / (q + 1) ** 2
    for (component, pairs), value in zip(mercer.orders_, mercer.eigenvalues_, strict=True):
        expected = mercer.mixture_.weights[component] * np.prod(1 - B[component])
        expected *= np.prod([B[component, axis] ** order for axis, order in pairs])
        assert value == pytest.approx(expected)


def test_attributes_of_marginals(blobs):
    mercer = MercerFeatures(n_components=30, gamma=0.01, density="marginals", kernel="matern")
    mercer.fit(blobs)
    assert len(mercer.marginals_) == 5
    assert isinstance(mercer.kernel_, ProductMatern)
    assert mercer.orders_[0] == ()
    assert (np.diff(mercer.eigenvalues_) <= 0).all()
    assert not hasattr(mercer, "rotation_")


def test_fewer_features_than_asked_for():
    X = np.random.default_rng(0).normal(size=(100, 1))
    mercer = MercerFeatures(n_components=90, gamma=0.1, density="mixture", n_mixture=3)
    with pytest.warns(MercerWarning, match="n_components=90, but only .* features differ"):
        phi = mercer.fit_transform(X)
    assert phi.shape[1] < 90
    assert len(mercer.get_feature_names_out()) == phi.shape[1]
    np.testing.assert_allclose(_gram(phi), Gaussian(gamma=0.1)(X), atol=1e-8)


@quiet
@pytest.mark.parametrize("density", OTHERS)
def test_rows_that_do_not_differ(density):
    X = np.full((12, 3), 0.3)
    mercer = MercerFeatures(n_components=4, density=density, n_mixture=2).fit(X)
    np.testing.assert_allclose(_gram(mercer.transform(X)), 1)


@quiet
@pytest.mark.parametrize("density", OTHERS)
def test_one_row_and_more_columns_than_rows(density):
    rng = np.random.default_rng(0)
    one = MercerFeatures(n_components=1, density=density, n_mixture=1).fit(rng.normal(size=(1, 3)))
    assert one.transform(np.zeros((2, 3))).shape == (2, 1)
    wide = rng.normal(size=(6, 15))
    mercer = MercerFeatures(n_components=10, density=density, n_mixture=2, random_state=0)
    assert (mercer.fit(wide).residual(wide) >= 0).all()


class TestMistakes:
    def test_more_components_than_rows(self, blobs):
        with pytest.raises(ValueError, match="n_mixture must be from 1 to the number of rows, 5"):
            MercerFeatures(density="mixture", n_mixture=6).fit(blobs[:5])

    @pytest.mark.parametrize("density", OTHERS)
    def test_rerank(self, blobs, density):
        with pytest.raises(ValueError, match=f"rerank=True is for .* got density='{density}'"):
            MercerFeatures(density=density, rerank=True).fit(blobs)

    @pytest.mark.parametrize("density", OTHERS)
    def test_partial_fit(self, density):
        mercer = MercerFeatures(density=density)
        assert not hasattr(mercer, "partial_fit")
        with pytest.raises(AttributeError):
            _ = mercer.partial_fit

    @pytest.mark.parametrize("density", ["gaussian", "mixture", "weighted-mixture"])
    @pytest.mark.parametrize("kernel", ["laplacian", Matern()])
    def test_kernel_without_closed_form(self, blobs, density, kernel):
        with pytest.raises(ValueError, match="use density='marginals', or kernel='gaussian'"):
            MercerFeatures(density=density, kernel=kernel).fit(blobs)

    def test_kernel_unknown_along_an_axis(self):
        class Mine:
            def __call__(self, X, Y=None):
                raise NotImplementedError

            def sample(self, n, d, random_state):
                raise NotImplementedError

        with pytest.raises(ValueError, match="not known along one axis"):
            kernel_for("marginals", Mine())

    @quiet
    def test_gamma_of_the_kernel_goes_first(self, blobs):
        for density, kernel in (("gaussian", Gaussian), ("marginals", Laplacian)):
            mercer = MercerFeatures(density=density, kernel=kernel(gamma=0.03), gamma=5.0)
            assert mercer.fit(blobs).kernel_.width == 0.03
