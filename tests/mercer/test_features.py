import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import eigsh
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import FourierFeatures, MercerFeatures
from bochner.mercer.features import MercerWarning
from tests.feature_map_case import FeatureMapCase
from tests.places import PLACES, on_host

# Features of a narrow kernel on few rows, or of isotropic ones, are not what these tests look at.
quiet = pytest.mark.filterwarnings("ignore::bochner.mercer.features.MercerWarning")


class Case(FeatureMapCase):
    """All that maps have in common; but nothing here is random."""

    unit_norm = False
    refuses_huge = ("fit",)  # features of rows far out vanish

    def test_the_seed_decides(self):
        fitted, X = self.fitted()
        other, _ = self.fitted(random_state=1)
        np.testing.assert_array_equal(fitted.transform(X), other.transform(X))


class TestGaussian(Case):
    estimator = MercerFeatures(n_components=20)


class TestRerank(Case):
    estimator = MercerFeatures(n_components=20, rerank=True)


class TestNormalized(Case):
    estimator = MercerFeatures(n_components=20, gamma=2.0, normalize=True)
    unit_norm = True


class TestMedian(Case):
    estimator = MercerFeatures(n_components=20, gamma="median", shrinkage=0.1)


@quiet
@parametrize_with_checks(
    [
        MercerFeatures(),
        MercerFeatures(n_components=7, rerank=True, normalize=True),
        MercerFeatures(n_components=5, gamma="median", shrinkage=0.2),
    ],
    expected_failed_checks={},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def spectral_error(X, phi, kernel):
    K = kernel(X)
    return abs(eigsh(K - phi @ phi.T, 1)[0][0]) / eigsh(K, 1)[0][0]


@quiet
@pytest.mark.parametrize(
    ("draw", "bounds", "published"),
    [
        ("normal", (), [0.0087, 0.0011]),
        ("laplace", (), [0.0246, 0.0072]),
        ("uniform", (-1, 1), [0.0013, 0.00005]),
    ],
)
def test_the_errors_of_the_prototype(draw, bounds, published):
    """Spectral errors at 40 and 160 features in ten dimensions, within a quarter."""
    d, errors = 10, []
    for seed in range(3):
        X = getattr(np.random.default_rng(seed), draw)(*bounds, size=(1500, d))
        gamma = 1 / (2 * d)
        maps = [MercerFeatures(n_components=D, gamma=gamma).fit(X) for D in (40, 160)]
        errors.append([spectral_error(X, m.transform(X), m.kernel_) for m in maps])
    np.testing.assert_allclose(np.mean(errors, axis=0), published, rtol=0.25)


@quiet
def test_better_than_nystroem_and_random_features_on_gaussian_rows():
    X = np.random.default_rng(0).normal(size=(800, 10))
    ours = MercerFeatures(n_components=100, gamma=0.05).fit(X)
    error = spectral_error(X, ours.transform(X), ours.kernel_)
    for other in (
        Nystroem(n_components=100, gamma=0.05, random_state=0),
        FourierFeatures(n_components=100, gamma=0.05, random_state=0),
    ):
        assert error < 0.7 * spectral_error(X, other.fit_transform(X), ours.kernel_)


def test_attributes(rng):
    X = rng.normal(size=(200, 3)) * [1.0, 4.0, 0.5] + [0, 1, 2]
    fitted = MercerFeatures(n_components=12, gamma=0.1).fit(X)
    np.testing.assert_allclose(fitted.mean_, X.mean(axis=0))
    covariance = fitted.rotation_ * fitted.variances_ @ fitted.rotation_.T
    np.testing.assert_allclose(covariance, np.cov(X.T, bias=True), atol=1e-12)
    assert fitted.n_features_in_ == 3
    assert len(fitted.orders_) == 12
    assert fitted.orders_[:2] == [(), ((0, 1),)]
    assert (np.diff(fitted.eigenvalues_) <= 0).all()
    phi = fitted.transform(X)
    assert fitted.captured_mass_ == pytest.approx((phi**2).sum(axis=1).mean())
    np.testing.assert_allclose(fitted.residual(X), 1 - (phi**2).sum(axis=1), atol=1e-14)
    # the eigenvalues predict the mean squares
    np.testing.assert_allclose(fitted.eigenvalues_[:3], (phi**2).mean(axis=0)[:3], rtol=0.2)


@settings(deadline=None)
@given(
    n=st.integers(1, 12),
    d=st.integers(1, 12),
    rank=st.integers(1, 12),
    scale=st.floats(1e-4, 1e4),
    gamma=st.sampled_from(["scale", "median", 0.01, 10.0]),
    n_components=st.integers(1, 30),
    rerank=st.booleans(),
    shrinkage=st.sampled_from(["auto", None, 0.3]),
    seed=st.integers(0, 5),
)
@quiet
def test_certificates_hold_for_any_rows(
    n, d, rank, scale, gamma, n_components, rerank, shrinkage, seed
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, min(rank, d))) @ rng.normal(size=(min(rank, d), d)) * scale
    mercer = MercerFeatures(
        n_components=1 if n == 1 else n_components,
        gamma=gamma,
        rerank=rerank,
        shrinkage=shrinkage,
        random_state=0,
    ).fit(X)
    new = np.vstack([X, rng.normal(size=(5, d)) * scale])
    phi, r = mercer.transform(new), mercer.residual(new)
    error = mercer.kernel_(new) - phi @ phi.T
    assert np.linalg.eigvalsh(error).min() > -1e-12
    assert (r >= 0).all()
    r = r + 1e-14  # residuals are known to rounding, of which the bound takes the root
    assert (np.abs(error) <= np.sqrt(np.outer(r, r))).all()
    assert np.linalg.norm(error, 2) <= r.sum()


class TestPartialFit:
    @pytest.mark.parametrize("gamma", ["scale", 0.2])
    @pytest.mark.parametrize("place", PLACES)
    def test_is_fit_on_all_rows(self, place, gamma, rng):
        X = rng.normal(size=(90, 6)) * [3, 2, 1.5, 1, 0.5, 0.2] + 3
        parts = MercerFeatures(n_components=25, gamma=gamma)
        for part in np.split(X, [20, 35]):
            parts.partial_fit(PLACES[place](part))
        whole = MercerFeatures(n_components=25, gamma=gamma).fit(X)
        assert parts.orders_ == whole.orders_
        np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-11)
        np.testing.assert_allclose(parts.eigenvalues_, whole.eigenvalues_, rtol=1e-11)

    @quiet
    def test_ledoit_wolf_too(self, rng):
        X = rng.normal(size=(20, 30)) * np.linspace(3, 0.5, 30)
        parts = MercerFeatures(n_components=8, gamma=0.003)
        for part in np.split(X, [7, 12]):
            parts.partial_fit(part)
        whole = clone(parts).fit(X)
        np.testing.assert_allclose(parts.variances_, whole.variances_, rtol=1e-11)
        assert whole.variances_.min() > 0  # although there are fewer rows than columns

    @quiet
    def test_the_median_is_that_of_the_first_rows(self, rng):
        X = rng.normal(size=(40, 2)) * [3, 1]
        parts = MercerFeatures(n_components=8, gamma="median").partial_fit(X[:20])
        gamma = parts.kernel_.gamma
        assert parts.partial_fit(X[20:] * 10).kernel_.gamma == gamma

    def test_the_median_of_one_row_is_none(self, rng):
        X = rng.normal(size=(30, 2)) * [3, 1]
        parts = MercerFeatures(n_components=8)
        with pytest.raises(ValueError, match="the rows do not vary"):
            parts.partial_fit(X[:1])
        expected = MercerFeatures(n_components=8).fit(X[1:]).kernel_.gamma
        assert parts.partial_fit(X[1:]).kernel_.gamma == pytest.approx(expected)

    def test_fit_forgets(self, rng):
        X = rng.normal(size=(40, 2)) * [3, 1]
        again = MercerFeatures(n_components=8).partial_fit(X * 7).fit(X)
        expected = MercerFeatures(n_components=8).fit(X)
        np.testing.assert_array_equal(again.transform(X), expected.transform(X))

    def test_rerank_needs_all_rows(self, rng):
        with pytest.raises(AttributeError, match="partial_fit") as caught:
            MercerFeatures(rerank=True).partial_fit(rng.normal(size=(9, 2)))
        assert "rerank=True needs all rows" in str(caught.value.__cause__)

    def test_one_row_first(self, rng):
        """An error, as with fit; but the row counts."""
        X = rng.normal(size=(30, 2)) * [3, 1]
        parts = MercerFeatures(n_components=8, gamma="scale")
        with pytest.raises(ValueError, match="n_components=8, but the rows do not vary"):
            parts.partial_fit(X[:1])
        whole = MercerFeatures(n_components=8, gamma="scale").fit(X)
        result = parts.partial_fit(X[1:]).transform(X)
        np.testing.assert_allclose(result, whole.transform(X), atol=1e-12)


class TestEdges:
    def test_one_row(self):
        fitted = MercerFeatures(n_components=1, gamma=1.0).fit([[1.0, 2.0]])
        result = fitted.transform(np.array([[1.0, 2.0], [1.0, 3.0]]))
        np.testing.assert_allclose(result, [[1.0], [np.exp(-1)]])

    @pytest.mark.parametrize("rows", [1, 7])
    def test_equal_rows_have_one_feature(self, rows):
        X = np.full((rows, 3), 2.0)
        with pytest.raises(ValueError, match="n_components=2, but the rows do not vary"):
            MercerFeatures(n_components=2).fit(X)
        fitted = MercerFeatures(n_components=1).fit(X)
        np.testing.assert_allclose(fitted.transform(X), 1)

    @quiet
    def test_fewer_rows_than_columns(self, rng):
        X = rng.normal(size=(5, 40))
        for shrinkage in ("auto", None):
            fitted = MercerFeatures(n_components=9, gamma=0.002, shrinkage=shrinkage).fit(X)
            far = rng.normal(size=(7, 40)) * 3
            phi = fitted.transform(far)
            assert np.linalg.eigvalsh(fitted.kernel_(far) - phi @ phi.T).min() > -1e-13

    def test_constant_columns_count_as_order_zero(self, rng):
        X = np.hstack([rng.normal(size=(50, 2)) * [2, 1], np.full((50, 1), 3.0)])
        fitted = MercerFeatures(n_components=15, gamma=0.3).fit(X)
        assert fitted.variances_[2] == 0
        assert not any(axis == 2 for index in fitted.orders_ for axis, _ in index)
        moved = X + np.array([0, 0, 1.0])
        np.testing.assert_allclose(
            fitted.transform(moved), fitted.transform(X) * np.exp(-0.3), atol=1e-14
        )

    def test_one_component(self, rng):
        X = rng.normal(size=(50, 4)) * [4, 2, 1, 0.5]
        fitted = MercerFeatures(n_components=1, gamma=0.01).fit(X)
        assert fitted.orders_ == [()]
        assert fitted.transform(X).shape == (50, 1)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_rows_far_out_vanish(self, dtype, rng):
        X = (rng.normal(size=(50, 4)) * [4, 2, 1, 0.5]).astype(dtype)
        fitted = MercerFeatures(n_components=30, gamma=0.1).fit(X)
        furthest = 1e36 if dtype == np.float32 else 1e300
        far = np.array([[1e3, 0, 0, 0], [1e6] * 4, [1e15] * 4, [furthest] * 4], dtype)
        np.testing.assert_allclose(fitted.transform(far), 0, atol=1e-6)
        np.testing.assert_allclose(fitted.residual(far), 1)
        fitted = fitted.set_params(normalize=True).fit(X)
        np.testing.assert_allclose(np.linalg.norm(fitted.transform(far), axis=1), 1, rtol=1e-5)

    @pytest.mark.parametrize("density", ["gaussian", "mixture", "weighted-mixture"])
    def test_a_covariance_that_no_memory_holds(self, density):
        X = sparse.random(50, 100_000, 0.001, format="csr", random_state=np.random.default_rng(0))
        with pytest.raises(ValueError, match="X has 100000 of them, at most 32768 are accepted"):
            MercerFeatures(density=density).fit(X)
        with pytest.raises(ValueError, match="at most 32768"):
            MercerFeatures().partial_fit(X)

    def test_sparse_rows_far_from_the_origin(self, rng):
        X = rng.normal(size=(80, 3)) * [3, 2, 1] + 1000
        fitted = MercerFeatures(n_components=20, gamma=0.05).fit(sparse.csr_matrix(X))
        dense = MercerFeatures(n_components=20, gamma=0.05).fit(X)
        np.testing.assert_allclose(
            fitted.transform(sparse.csr_matrix(X)), dense.transform(X), atol=1e-7
        )


class TestWarnings:
    def test_a_cut_shell(self, rng):
        X = rng.normal(size=(3000, 10))
        with pytest.warns(MercerWarning, match="11 would take none of them, 66 all") as caught:
            MercerFeatures(n_components=40, gamma=0.05).fit(X)
        assert caught[0].filename == __file__
        MercerFeatures(n_components=66, gamma=0.05).fit(X)

    def test_a_narrow_kernel(self, rng):
        X = rng.normal(size=(100, 5)) * [3, 2, 1.5, 1.2, 1]
        with pytest.warns(MercerWarning, match=r"capture 0\.\d+ of the kernel"):
            fitted = MercerFeatures(n_components=20, gamma=10.0).fit(X)
        assert fitted.captured_mass_ < 0.5
        # asked for already
        MercerFeatures(n_components=20, gamma=10.0, normalize=True).fit(X)


def test_normalised_features_of_a_narrow_kernel_still_classify():
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    gamma = 10 / np.median(((X[:400, None] - X[None, :400]) ** 2).sum(axis=2))
    fitted = MercerFeatures(n_components=300, gamma=gamma, normalize=True).fit(X[:1200])
    assert fitted.captured_mass_ < 0.5
    model = RidgeClassifier(alpha=1e-3).fit(fitted.transform(X[:1200]), y[:1200])
    assert model.score(fitted.transform(X[1200:]), y[1200:]) > 0.9


def test_rerank_captures_at_least_as_much(rng):
    X = rng.laplace(size=(500, 5)) * [3, 2, 1.5, 1, 0.5]
    plain = MercerFeatures(n_components=60, gamma=0.1).fit(X)
    best = MercerFeatures(n_components=60, gamma=0.1, rerank=True).fit(X)
    assert best.captured_mass_ >= plain.captured_mass_
    assert len(set(best.orders_)) == 60


class TestResidual:
    @pytest.mark.parametrize("place", PLACES)
    def test_every_place(self, place, rng):
        X = rng.normal(size=(40, 4)) * [3, 2, 1, 0.5]
        fitted = MercerFeatures(n_components=30, gamma=0.1).fit(X)
        result = fitted.residual(PLACES[place](X))
        np.testing.assert_allclose(on_host(result), fitted.residual(X), atol=1e-13)

    def test_float32_rows_are_measured_in_float64(self, rng):
        X = (rng.normal(size=(40, 4)) * [3, 2, 1, 0.5]).astype(np.float32)
        fitted = MercerFeatures(n_components=400, gamma=0.02).fit(X)
        result = fitted.residual(X)
        assert result.dtype == np.float64
        np.testing.assert_allclose(result, fitted.residual(X.astype(float)), atol=1e-14)

    def test_not_of_normalised_rows(self, rng):
        fitted = MercerFeatures(n_components=3, normalize=True).fit(rng.normal(size=(9, 2)))
        with pytest.raises(ValueError, match="normalize=True"):
            fitted.residual(rng.normal(size=(9, 2)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_components": 0},
        {"n_components": 2.5},
        {"gamma": -1.0},
        {"gamma": np.nan},
        {"gamma": "wide"},
        {"density": "poisson"},
        {"rerank": "yes"},
        {"normalize": 3},
        {"shrinkage": 1.5},
        {"shrinkage": "oas"},
        {"n_jobs": "all"},
        {"memory_budget": 0},
    ],
)
def test_parameters(wrong, rng):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MercerFeatures(**wrong).fit(rng.normal(size=(9, 2)))


def test_not_a_number_is_refused_by_partial_fit(rng):
    X = rng.normal(size=(20, 3)) * [3, 2, 1]
    fitted = MercerFeatures(n_components=9).partial_fit(X)
    with pytest.raises(ValueError, match="NaN"):
        fitted.partial_fit(np.full((2, 3), np.nan))
    assert np.isfinite(fitted.partial_fit(X).transform(X)).all()


@pytest.mark.parametrize("density", ["gaussian", "marginals"])
def test_tables_of_unknown_lengths_are_looked_at_as_a_whole(density, rng):
    """Their first rows are not like the others: the truth is what NumPy rows say."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X = np.vstack([0.1 * rng.normal(size=(3000, 2)), 5 + 3 * rng.normal(size=(3000, 2))])
    table = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=6)
    lazy = table[table["a"] > -100]  # all rows, but nobody knows
    assert np.isnan(lazy.to_dask_array().shape[0])
    make = functools.partial(
        MercerFeatures, n_components=21, density=density, gamma="median", random_state=0
    )
    there, here = make().fit(lazy), make().fit(X)
    assert here.captured_mass_ > 0.1
    assert there.captured_mass_ == pytest.approx(here.captured_mass_, rel=1e-6)
    assert there.kernel_.gamma == pytest.approx(here.kernel_.gamma, rel=1e-6)
    first = make().fit(X[:1000])
    assert abs(first.kernel_.gamma / here.kernel_.gamma - 1) > 1
