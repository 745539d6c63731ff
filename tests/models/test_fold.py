import numpy as np
import pytest
from sklearn.base import clone

from bochner.metric.relevance import RELEVANCE
from bochner.models.families import choose_families
from bochner.models.fold import Fold
from bochner.models.settings import Labelled, Setting
from tests.linear.naive import kernel_ridge


def rows(X, y):
    return Labelled(X, y, y[:, None], None)


@pytest.mark.parametrize("twice", [False, True])
def test_held_out_rows_join_the_others(twice, monkeypatch):
    """In float32 where that will do; otherwise the factor is made anew in float64."""
    monkeypatch.setattr("bochner.linear.kernel_ridge.SINGLE_ROWS", 100)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)
    held_X = X[:100].copy() if twice else rng.normal(size=(100, 3))
    held_y = np.sin(held_X[:, 0])
    fold = Fold(rows(X, y), rows(held_X, held_y), "regression", 0, None)
    family = choose_families("auto", "exponential")[-1]
    setting = Setting("none", None, family, 1.0, None, 1e-8)
    candidate = fold.candidate(setting, 300)
    settled = candidate.settled(setting.penalty)
    assert settled.dtype == np.float32
    feature_map, grown, alpha = fold.with_held_rows(setting, candidate.feature_map, settled)
    assert grown.dtype == (np.float64 if twice else np.float32)
    assert alpha == 300 * setting.penalty
    a, b = grown.solve()
    K = feature_map.transform(np.concatenate([X, held_X]))
    exact, mean = kernel_ridge(K, np.concatenate([y, held_y])[:, None], None, alpha)
    new = feature_map.transform(rng.normal(size=(50, 3)))
    np.testing.assert_allclose(new @ a + b, new @ exact + mean, atol=1e-3)


def test_only_the_metric_of_the_model_is_learned_again():
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = np.sin(2 * X[:, 0])
    fold = Fold(rows(X[:200], y[:200]), rows(X[200:], y[200:]), "regression", 0, None)
    gaussian, *_, laplacian = choose_families()
    fold.learn_metric("standard", "diagonal")
    assert fold.learn_relevance("standard", gaussian)
    assert fold.learn_relevance("standard", laplacian)
    plain, turned, weighted = (
        Setting("standard", metric, gaussian, 1.0, None)
        for metric in (None, "diagonal", RELEVANCE)
    )
    whole = fold.without_split()
    whole.learn_as(fold, plain)
    assert whole._metrics == whole._relevance == {}
    whole.learn_as(fold, weighted)
    assert not whole._metrics
    ((key, metric),) = whole._relevance.items()
    assert key == ("standard", gaussian.kernel)
    again = clone(fold._relevance[key]).fit(whole.space("standard").X, y)
    np.testing.assert_allclose(metric.weights_, again.weights_)
    whole.learn_as(fold, turned)
    once = whole._metrics["standard"]
    whole.learn_as(fold, turned)  # as for the second of two models that are averaged
    assert whole._metrics["standard"] is once


class TestWhatChoosesInFloat32:
    """Half of the work; what is fitted for the model has the dtype of the rows."""

    @staticmethod
    def fold(X, y):
        return Fold(rows(X[:600], y[:600]), rows(X[600:], y[600:]), "regression", 0, None)

    @staticmethod
    def table(offset=0.0, n=700):
        X = np.random.default_rng(0).normal(size=(n, 4))
        return X + offset, np.sin(2 * X[:, 0])

    @pytest.mark.parametrize("scaling", ["none", "standard"])
    def test_rows_as_they_are_are_for_the_model(self, scaling):
        fold = self.fold(*self.table())
        setting = Setting(scaling, None, choose_families("auto", "gaussian")[0], 1.0, 64)
        chosen, fitted = (fold.candidate(setting, 600, rough=rough) for rough in (True, False))
        values = [one.decide(1e-5, last=True)[0] for one in (chosen, fitted)]
        assert chosen._held_features(None).dtype == np.float64  # of float32 rows, made wide
        assert chosen.feature_map.frequencies_.dtype == np.float32
        assert fitted.feature_map.frequencies_.dtype == np.float64
        np.testing.assert_allclose(*values, atol=1e-3)

    def test_metrics_are_learned_from_rounded_rows_and_keep_the_dtype(self):
        X, y = self.table()
        fold, family = self.fold(X, y), choose_families("auto", "gaussian")[0]
        metric = fold.learn_metric("standard", "diagonal")
        assert fold.learn_relevance("standard", family)
        weights = fold._relevance["standard", family.kernel]
        scaled = fold.space("standard").X
        for one in (metric, weights):
            again = clone(one).fit(scaled, y[:600])
            np.testing.assert_allclose(one.importances_, again.importances_, atol=1e-4)
            assert one.transform(scaled).dtype == np.float64

    def test_columns_far_from_zero_stay_as_they_are(self):
        near, far = (self.fold(*self.table(offset)) for offset in (10.0, 1e9))
        assert near._rough(near.space("none"), "none").X.dtype == np.float32
        assert far._rough(far.space("none"), "none").X.dtype == np.float64
        assert far._rough(far.space("standard"), "standard").X.dtype == np.float32

    def test_few_rows_stay_as_they_are(self):
        X, y = self.table(n=300)
        fold = Fold(rows(X[:200], y[:200]), rows(X[200:], y[200:]), "regression", 0, None)
        assert fold._rough(fold.space("none"), "none").X.dtype == np.float64
