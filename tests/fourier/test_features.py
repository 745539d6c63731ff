import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_approximation import RBFSampler

from bochner import FourierFeatures
from bochner.kernels import Gaussian, Laplacian, Matern
from tests.feature_map_case import FeatureMapCase
from tests.places import PLACES


class TestPaired(FeatureMapCase):
    estimator = FourierFeatures(n_components=20)
    unit_norm = True


class TestUnpaired(FeatureMapCase):
    estimator = FourierFeatures(n_components=21, paired=False)
    unit_norm = False


class TestMedianMatern(FeatureMapCase):
    estimator = FourierFeatures(n_components=20, kernel="matern", gamma="median", sampling="sobol")
    unit_norm = True


def test_unpaired_is_what_rbf_sampler_computes(rng):
    X = rng.normal(size=(50, 4))
    theirs = RBFSampler(gamma=0.3, n_components=30, random_state=0).fit(X)
    ours = FourierFeatures(n_components=30, gamma=0.3, paired=False).fit(X)
    ours.frequencies_, ours.offsets_ = theirs.random_weights_, theirs.random_offset_
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-13)


def test_paired_columns_are_cosines_then_sines(rng):
    X = rng.normal(size=(9, 4))
    fitted = FourierFeatures(n_components=6, random_state=0).fit(X)
    phases = X @ fitted.frequencies_
    expected = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(3)
    np.testing.assert_allclose(fitted.transform(X), expected, atol=1e-14)


def test_the_error_falls_as_the_square_root_of_the_width(rng):
    X = rng.normal(size=(60, 5))
    errors = []
    for width in (400, 6400):
        maps = [
            FourierFeatures(n_components=width, gamma=0.2, sampling="iid", random_state=s).fit(X)
            for s in range(20)
        ]
        difference = [m.transform(X) @ m.transform(X).T - m.kernel_(X) for m in maps]
        errors.append(np.sqrt(np.mean(np.square(difference))))
    # sixteen times the width, a quarter of the error; 20 draws know the ratio to a few percent
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.15)


class TestParameters:
    X = np.random.default_rng(0).normal(size=(20, 3))

    def test_odd_width(self):
        with pytest.raises(ValueError, match=r"n_components must be even, got 7"):
            FourierFeatures(n_components=7).fit(self.X)

    @pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, "wide", None])
    def test_gamma(self, gamma):
        with pytest.raises(ValueError, match="gamma"):
            FourierFeatures(gamma=gamma).fit(self.X)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"kernel": "polynomial"},
            {"kernel": 3},
            {"sampling": "best"},
            {"n_components": 0},
            {"n_components": 2.5},
            {"n_jobs": "all"},
            {"memory_budget": 0},
            {"paired": "yes"},
        ],
    )
    def test_others(self, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            FourierFeatures(**wrong).fit(self.X)

    @pytest.mark.parametrize("gamma", [-0.5, np.nan])
    def test_gamma_of_a_kernel_object(self, gamma):
        with pytest.raises(ValueError, match="gamma must be a positive finite number"):
            FourierFeatures(kernel=Gaussian(gamma=gamma)).fit(self.X)

    def test_a_kernel_object_without_gamma_takes_the_maps(self):
        fitted = FourierFeatures(kernel=Matern(nu=2.5), gamma=0.7).fit(self.X)
        assert fitted.kernel_ == Matern(nu=2.5, gamma=0.7)

    def test_a_kernel_object_with_gamma_keeps_it(self):
        fitted = FourierFeatures(kernel=Laplacian(gamma=0.2), gamma=5.0).fit(self.X)
        assert fitted.kernel_ == Laplacian(gamma=0.2)

    def test_the_users_own_kernel(self):
        fitted = FourierFeatures(n_components=4000, kernel=_CosineKernel(), random_state=0)
        features = fitted.fit_transform(self.X)
        np.testing.assert_allclose(features @ features.T, _CosineKernel()(self.X), atol=1e-12)

    def test_the_users_own_kernel_with_a_wrong_shape(self):
        with pytest.raises(ValueError, match=r"must return an array of shape \(5, 3\)"):
            FourierFeatures(n_components=10, kernel=_WrongShape()).fit(self.X)

    def test_constant_rows(self):
        fitted = FourierFeatures(random_state=0).fit(np.ones((5, 2)))
        assert fitted.kernel_.gamma == 1.0
        np.testing.assert_allclose(np.linalg.norm(fitted.transform(np.ones((1, 2))), axis=1), 1)


class _CosineKernel:
    """cos(x_0 - y_0): a single frequency, so that any number of draws is exact."""

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        return np.cos(np.subtract.outer(X[:, 0], Y[:, 0]))

    def sample(self, n, d, random_state):
        return np.tile(np.eye(1, d), (n, 1))


class _WrongShape(_CosineKernel):
    def sample(self, n, d, random_state):
        return np.ones((d, n))


def test_phases_too_large_for_float32():
    """Raw, unscaled columns: the answer is that of float64, not noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1e6, size=(200, 3)).astype(np.float32)
    fitted = FourierFeatures(n_components=50, gamma=1.0, random_state=0).fit(X)
    expected = np.cos(X.astype(float) @ fitted.frequencies_.astype(float)) / 5
    np.testing.assert_allclose(fitted.transform(X)[:, :25], expected, atol=1e-6)


@pytest.mark.parametrize("convert", ["tocsc", "tocoo", "tolil", "tobsr", "todok", "todia"])
def test_other_sparse_formats_are_converted(convert, rng):
    X = sparse.random(30, 8, 0.3, format="csr", random_state=0)
    fitted = FourierFeatures(random_state=0).fit(X)
    other = getattr(X, convert)()
    np.testing.assert_allclose(fitted.transform(other), fitted.transform(X), atol=1e-14)


def test_dask_dataframe_keeps_its_names():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(40, 3))
    table = pd.DataFrame(X, columns=list("abc"))
    fitted = FourierFeatures(random_state=0).fit(dd.from_pandas(table, npartitions=3))
    assert list(fitted.feature_names_in_) == list("abc")
    result = fitted.transform(dd.from_pandas(table, npartitions=2))
    np.testing.assert_allclose(result.compute(), fitted.transform(table), atol=1e-13)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(dd.from_pandas(table.rename(columns={"a": "z"}), npartitions=2))
    # the median rule on blocks of unknown length
    median = FourierFeatures(gamma="median", random_state=0)
    lazily = median.fit(dd.from_pandas(table, npartitions=3)).kernel_
    assert lazily == median.fit(table).kernel_


class TestParts:
    @pytest.mark.parametrize("place", ["numpy", "csr", "torch", "dask"])
    @pytest.mark.parametrize(
        "parameters",
        [{"gamma": "scale"}, {"gamma": 0.3}, {"gamma": "scale", "kernel": "laplacian"}],
    )
    def test_they_give_what_all_rows_give(self, parameters, place, rng):
        X = rng.normal(size=(90, 3)) * np.linspace(1, 9, 90)[:, None]  # the parts differ
        for seed in (0, np.random.RandomState(0)):
            expected = FourierFeatures(n_components=6, random_state=0, **parameters).fit(X)
            parts = FourierFeatures(n_components=6, random_state=seed, **parameters)
            for part in (X[:10], X[10:50], X[50:]):
                parts.partial_fit(PLACES[place](part))
            assert parts.kernel_.gamma == pytest.approx(expected.kernel_.gamma, rel=1e-12)
            np.testing.assert_allclose(parts.frequencies_, expected.frequencies_, rtol=1e-12)
        parts.set_params(random_state=0).fit(X[:20]).partial_fit(X)
        np.testing.assert_allclose(parts.frequencies_, expected.frequencies_, rtol=1e-12)

    @pytest.mark.parametrize("place", ["numpy", "csr", "torch", "dask"])
    def test_a_median_is_that_of_the_first(self, place, rng):
        X = rng.normal(size=(90, 3)) * np.linspace(1, 9, 90)[:, None]
        expected = FourierFeatures(n_components=6, gamma="median", random_state=0).fit(X[:30])
        parts = FourierFeatures(n_components=6, gamma="median", random_state=0)
        for part in (X[:30], X[30:]):
            parts.partial_fit(PLACES[place](part))
        np.testing.assert_allclose(parts.frequencies_, expected.frequencies_, rtol=1e-12)
        after_one = FourierFeatures(n_components=6, gamma="median", random_state=0)
        after_one.partial_fit(PLACES[place](X[40:41])).partial_fit(PLACES[place](X[:30]))
        np.testing.assert_allclose(after_one.frequencies_, expected.frequencies_, rtol=1e-12)

    def test_other_columns_are_refused(self, rng):
        features = FourierFeatures(n_components=4).partial_fit(rng.normal(size=(9, 3)))
        with pytest.raises(ValueError, match="2 features"):
            features.partial_fit(rng.normal(size=(9, 2)))
