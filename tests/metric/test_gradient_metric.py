import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from bochner import FourierFeatures, GradientMetric
from bochner.linear import RidgeRegressor
from bochner.linear.splits import hold_out
from bochner.metric import gradient_metric
from tests.feature_map_case import FeatureMapCase
from tests.places import PLACES, on_host


class TestMetric(FeatureMapCase):
    unit_norm = False
    estimator = GradientMetric("full", n_frequencies=20, n_rounds=1)
    # sparse rows: see TestDiagonal
    fit_agrees = ("numpy", "fortran", "strided", "torch", "strict", "dask", "table")

    def test_n_components_is_the_number_of_columns(self):
        fitted, X = self.fitted()
        assert fitted.transform(X).shape == X.shape
        assert len(fitted.get_feature_names_out()) == X.shape[1]

    @pytest.mark.parametrize("place", [p for p in PLACES if "cs" not in p and "sparse" not in p])
    def test_places_agree(self, place):
        super().test_places_agree(place)


class TestDiagonal(TestMetric):
    estimator = GradientMetric("diagonal", n_frequencies=20, n_rounds=1)
    fit_agrees = tuple(PLACES)

    @pytest.mark.parametrize("place", PLACES)
    def test_places_agree(self, place):
        FeatureMapCase.test_places_agree(self, place)


def irrelevant_columns(n=1500, d=12, seed=0):
    X = np.random.RandomState(seed).uniform(-2, 2, size=(n, d))
    return X, np.sin(X[:, 0] * X[:, 1])


def score(X, y, metric=None, n=1000):
    gamma = "median"
    Z, Zt = X[:n], X[n:]
    if metric is not None:
        metric.fit(Z, y[:n])
        Z, Zt, gamma = metric.transform(Z), metric.transform(Zt), metric.gamma_
    model = make_pipeline(
        FourierFeatures(n_components=300, gamma=gamma, random_state=0),
        RidgeRegressor(C="auto", random_state=0),
    )
    return model.fit(Z, y[:n]).score(Zt, y[n:])


@pytest.mark.parametrize("mode", ["auto", "diagonal", "full"])
def test_irrelevant_columns_are_switched_off(mode):
    X, y = irrelevant_columns()
    metric = GradientMetric(mode, n_frequencies=256, random_state=0)
    assert score(X, y) < 0.5
    assert score(X, y, metric) > 0.97
    assert metric.importances_[:2].min() > 0.1
    assert metric.importances_[:2].sum() > 0.95
    np.testing.assert_allclose(metric.importances_.sum(), 1)
    assert metric.history_[0]["mode"] is None
    assert min(r["error"] for r in metric.history_) < metric.history_[0]["error"]


def test_directions_that_are_no_columns():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(2000, 10))
    u = np.ones(10) / 10**0.5
    y = np.sin(3 * X @ u)
    metric = GradientMetric(n_frequencies=200, random_state=0).fit(X, y)
    assert metric.mode_ in ("root", "full")
    assert abs(metric.directions_[0] @ u) > 0.99


def test_classes():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(1200, 15))
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] * X[:, 0] > 0)]
    metric = GradientMetric(n_frequencies=200, random_state=0)
    plain = SVC(gamma="scale").fit(X[:800], y[:800]).score(X[800:], y[800:])
    learned = make_pipeline(metric, SVC(gamma="scale")).fit(X[:800], y[:800])
    assert learned.score(X[800:], y[800:]) > plain + 0.05
    assert metric.importances_[:2].sum() > 0.8


def test_noise_is_left_alone():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(300, 5)), rng.randint(2, size=300)
    left = [GradientMetric(n_frequencies=20, random_state=s).fit(X, y).mode_ for s in range(10)]
    assert left.count(None) >= 5  # the rest is within half a standard error by luck


def test_other_modes_without_the_data():
    X, y = irrelevant_columns(300)
    metric = GradientMetric(n_frequencies=64, n_rounds=1, random_state=0).fit(X, y)
    before = metric.transform(X)
    assert set(metric.modes_) == {None, "diagonal", "root", "full"}
    for mode in metric.modes_:
        other = metric.with_mode(mode)
        assert (other.mode_, other.modes_) == (mode, (mode,))
        if mode is not None:
            named = GradientMetric(mode, n_frequencies=64, n_rounds=1, random_state=0).fit(X, y)
            np.testing.assert_allclose(other.matrix_, named.matrix_, atol=1e-12)
    np.testing.assert_array_equal(metric.transform(X), before)
    with pytest.raises(ValueError, match="was not looked at"):
        metric.with_mode("full").with_mode("root")


@pytest.mark.parametrize("classes", [False, True])
def test_the_same_rounds_with_other_rows(classes):
    X, y = irrelevant_columns(900, d=5)
    y = (y > 0.3).astype(int) if classes else y
    metric = GradientMetric(n_frequencies=40, random_state=0).fit(X, y)
    # the rows that it was learned from, the others told rounds apart
    seed = np.random.RandomState(0).randint(2**31 - 1)
    kept, _ = hold_out(y, seed, classes=classes, fraction=0.2, max_rows=10**6)
    again = metric.refit(X[kept], y[kept])
    assert (again.mode_, again.modes_) == (metric.mode_, metric.modes_)
    np.testing.assert_allclose(again.importances_, metric.importances_, atol=1e-6)
    for mode in metric.modes_:
        one, other = metric.with_mode(mode), again.with_mode(mode)
        np.testing.assert_allclose(other.matrix_, one.matrix_, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(other.gamma_, one.gamma_, rtol=1e-6)


def test_other_rows_have_a_matrix_of_their_own(rng):
    X, y = irrelevant_columns(900, d=5)
    metric = GradientMetric(n_frequencies=40, random_state=0).fit(X, y)
    before = metric.matrix_
    moved = metric.refit(X[:, ::-1], y)  # other columns matter
    assert moved.importances_[-2:].sum() > 0.9
    assert metric.importances_[:2].sum() > 0.9
    np.testing.assert_array_equal(metric.matrix_, before)
    only = metric.with_mode("diagonal").refit(X, y)
    assert only.modes_ == ("diagonal",)
    with pytest.raises(ValueError, match="X has 4 features"):
        metric.refit(X[:, :4], y)


def test_nothing_to_learn():
    X, y = irrelevant_columns(200)
    metric = GradientMetric(None, n_frequencies=50, random_state=0).fit(X, y)
    np.testing.assert_array_equal(metric.matrix_, np.eye(12))
    assert metric.mode_ is None
    assert [record["round"] for record in metric.history_] == [0]
    np.testing.assert_array_equal(metric.transform(X), X)


def test_permuted_columns_permute_importances():
    # the draw of the frequencies belongs to the columns, so that agreement is statistical
    X, y = irrelevant_columns()
    order = np.random.RandomState(1).permutation(12)
    metric = GradientMetric("diagonal", n_frequencies=256, random_state=0)
    one, other = (clone(metric).fit(rows, y) for rows in (X, X[:, order]))
    np.testing.assert_allclose(other.importances_, one.importances_[order], atol=0.02)


def test_a_column_in_other_units():
    X, y = irrelevant_columns()
    metric = GradientMetric("full", n_frequencies=256, random_state=0)
    before = score(X, y, metric)
    scaled = X * np.r_[10.0, np.ones(11)]
    assert score(scaled, y, metric) > before - 0.02


def test_constant_columns_have_weight_zero():
    X, y = irrelevant_columns()
    X = np.c_[X[:, :4], np.full(len(X), 3.0)]
    for mode in ("diagonal", "full"):
        metric = GradientMetric(mode, n_frequencies=64, random_state=0).fit(X, y)
        assert metric.mode_ == mode
        assert metric.importances_[4] == 0
        np.testing.assert_allclose(metric.matrix_[4], 0, atol=1e-8)


@pytest.mark.parametrize("mode", ["diagonal", "root", "full"])
def test_rows_keep_their_variance(mode):
    """A gamma of the right size stays one, whichever mode is chosen."""
    X, y = irrelevant_columns(600)
    metric = GradientMetric(mode, n_frequencies=64, n_rounds=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(metric.transform(X).var(), X.var(), rtol=0.05)
    assert 0.1 < metric.gamma_ * 12 * X.var() < 30  # multiples of the scale rule


def test_sparse_rows_keep_their_zeros():
    rng = np.random.RandomState(0)
    X = sparse.random(600, 40, 0.2, random_state=rng, format="csr")
    y = np.where(np.asarray(X[:, 0].toarray()).ravel() > 0, 1.0, 0.0) + X[:, 1].toarray().ravel()
    metric = GradientMetric(n_frequencies=64, random_state=0).fit(X, y)
    result = metric.transform(X)
    assert sparse.issparse(result)
    assert result.nnz <= X.nnz
    np.testing.assert_allclose(result.toarray(), X.toarray() @ metric.matrix_, atol=1e-14)
    with pytest.raises(ValueError, match="turns directions"):
        GradientMetric("full", random_state=0).fit(X, y)
    assert metric.directions_ is None


def test_very_many_columns(monkeypatch):
    monkeypatch.setattr(gradient_metric, "MOST_COLUMNS", 6)
    X, y = irrelevant_columns(300)
    metric = GradientMetric(n_frequencies=64, random_state=0).fit(X, y)
    assert {record["mode"] for record in metric.history_} == {None, "diagonal"}
    assert sparse.issparse(metric.matrix_)
    np.testing.assert_allclose(metric.transform(X), X @ metric.matrix_, rtol=1e-12)


@pytest.mark.parametrize("place", ["numpy", "torch", "dask"])
def test_more_rows_than_choices_need(monkeypatch, place):
    monkeypatch.setattr(gradient_metric, "_CHOOSING_ROWS", 400)
    X, y = irrelevant_columns(1200, d=5)
    metric = GradientMetric("diagonal", n_frequencies=40, random_state=0)
    few = clone(metric).fit(X[:400], y[:400])
    rows = PLACES[place](X)
    metric.fit(rows, y)
    assert metric.mode_ == "diagonal"
    assert metric.importances_[:2].sum() > 0.9
    host = clone(metric).fit(X, y)
    np.testing.assert_allclose(metric.matrix_, host.matrix_, atol=1e-8)
    np.testing.assert_allclose(on_host(metric.transform(rows)), host.transform(X), atol=1e-7)
    assert np.abs(few.matrix_ - metric.matrix_).max() > 1e-6  # the others took part


class TestBadInput:
    def test_few_rows(self):
        with pytest.raises(ValueError, match="at least 10 rows, got n_samples = 9"):
            GradientMetric().fit(np.eye(9), np.arange(9) / 7)

    def test_one_class(self):
        with pytest.raises(ValueError, match="one class"):
            GradientMetric().fit(np.eye(20), np.zeros(20, int))

    def test_constant_target(self):
        with pytest.raises(ValueError, match="y is constant"):
            GradientMetric(target="regression").fit(np.eye(20), np.full(20, 0.5))

    @pytest.mark.filterwarnings("error")
    def test_all_rows_equal(self):
        metric = GradientMetric(n_frequencies=8, random_state=0)
        metric.fit(np.ones((30, 3)), np.arange(30) % 2)
        np.testing.assert_array_equal(metric.matrix_, np.eye(3))
        np.testing.assert_allclose(metric.importances_, 1 / 3)
        assert metric.mode_ is None

    @pytest.mark.parametrize(
        "wrong", [{"mode": "half"}, {"n_rounds": 0}, {"validation_fraction": 1.0}]
    )
    def test_parameters(self, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            GradientMetric(**wrong).fit(np.eye(20), np.arange(20) % 2)


def test_the_unit_of_the_numbers_does_not_matter(rng):
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 0])
    plain, huge = (
        GradientMetric(n_frequencies=16, n_rounds=1, random_state=0).fit(X, z).transform(X)
        for z in (y, 2.0**1020 * y)
    )
    np.testing.assert_allclose(huge, plain, rtol=0, atol=1e-10)


def test_a_tuple_of_modes_is_chosen_from():
    X, y = irrelevant_columns(400)
    metric = GradientMetric(("full", "root"), n_frequencies=64, random_state=0).fit(X, y)
    assert metric.modes_ == (None, "root", "full")
    assert metric.mode_ in metric.modes_
    noise = np.random.RandomState(1).standard_normal(400)
    assert GradientMetric(("full",), n_frequencies=64, random_state=0).fit(X, noise).mode_ is None
    sparse_rows = GradientMetric(("diagonal", "full"), n_frequencies=16, random_state=0)
    assert sparse_rows.fit(sparse.csr_matrix(X), y).modes_ == (None, "diagonal")
    with pytest.raises(ValueError, match="must hold some of"):
        GradientMetric(("full", "half")).fit(X, y)
