"""RelevanceMetric: weights of columns by descent."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from bochner import RelevanceMetric
from bochner.kernels import Exponential, Laplacian, Matern
from tests.feature_map_case import FeatureMapCase
from tests.places import PLACES, on_host


class TestRelevance(FeatureMapCase):
    unit_norm = False
    estimator = RelevanceMetric(n_steps=3)
    # float32 slopes of other libraries are rounded in other ways: see below
    fit_agrees = ("numpy", "fortran", "strided", "table")

    def test_n_components_is_the_number_of_columns(self):
        fitted, X = self.fitted()
        assert fitted.transform(X).shape == X.shape
        assert len(fitted.get_feature_names_out()) == X.shape[1]


@pytest.mark.parametrize("place", PLACES)
def test_rows_anywhere_give_the_same_weights(place):
    X, y = make_friedman1(300, 8, random_state=0)
    X = X.astype(np.float32)
    there = PLACES[place](X)
    expected = RelevanceMetric(random_state=0).fit(X, y)
    found = RelevanceMetric(random_state=0).fit(there, y)
    # rounding in float32, in thirty steps
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=0.02, atol=0.002)
    np.testing.assert_allclose(
        on_host(found.transform(there)), X * found.weights_, rtol=1e-5, atol=1e-6
    )


def irrelevant_columns(n=1500, d=12, seed=0):
    X = np.random.RandomState(seed).uniform(-2, 2, size=(n, d))
    return X, np.sin(2 * X[:, 0]) * X[:, 1]


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("gaussian", "rbf"),
        (Laplacian(), "laplacian"),
        ("exponential", None),
        (Matern(nu=1.5), None),
    ],
)
def test_irrelevant_columns_are_switched_off(kernel, name):
    X, y = irrelevant_columns()
    metric = RelevanceMetric(kernel, random_state=0).fit(X[:1000], y[:1000])
    assert metric.importances_[:2].sum() > 0.95
    np.testing.assert_allclose(metric.importances_.sum(), 1)
    assert np.mean(metric.history_[-5:]) < 0.3 * metric.history_[0]
    if name is not None:
        Z = metric.transform(X)
        ridge = {"kernel": name, "gamma": metric.gamma_, "alpha": 1000 * metric.penalty_}
        model = KernelRidge(**ridge).fit(Z[:1000], y[:1000])
        plain = KernelRidge(kernel=name, alpha=1e-2).fit(X[:1000], y[:1000])
        assert model.score(Z[1000:], y[1000:]) > 0.95
        assert plain.score(X[1000:], y[1000:]) < 0.8


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(n_classes):
    X, _ = irrelevant_columns()
    y = np.digitize(X[:, 0] * X[:, 1], [0.0, 1.0][: n_classes - 1]).astype(str)
    metric = RelevanceMetric("gaussian", random_state=0).fit(X[:1000], y[:1000])
    assert metric.importances_[:2].sum() > 0.9
    model = SVC(C=10, gamma=metric.gamma_).fit(metric.transform(X[:1000]), y[:1000])
    plain = SVC(C=10).fit(X[:1000], y[:1000])
    Z = metric.transform(X[1000:])
    assert model.score(Z, y[1000:]) > plain.score(X[1000:], y[1000:]) + 0.03


def test_several_numbers_and_constant_columns():
    X, y = irrelevant_columns(400, 4)
    X[:, 3] = 7.0
    metric = RelevanceMetric(random_state=0).fit(X, np.column_stack([y, X[:, 2]]))
    assert metric.weights_[3] == 0
    assert (metric.weights_[:3] > 0).all()
    constant = RelevanceMetric(random_state=0).fit(np.ones((30, 2)), np.arange(30.0))
    np.testing.assert_array_equal(constant.weights_, 0)
    np.testing.assert_allclose(constant.importances_, 0.5)


def test_rows_keep_their_variance_and_the_start_its_order():
    X, y = irrelevant_columns(300, 5)
    metric = RelevanceMetric(random_state=0).fit(X, y)
    np.testing.assert_allclose(np.var(metric.transform(X)), np.var(X), rtol=1e-10)
    start = np.array([1.0, 1.0, 1e-3, 1e-3, 1e-3])
    few = RelevanceMetric(start=start, n_steps=1, step=1e-6, random_state=0).fit(X, y)
    np.testing.assert_allclose(few.weights_ / few.weights_[0], start, rtol=1e-4)
    np.testing.assert_array_equal(few.matrix_, np.diag(few.weights_))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"kernel": "cauchy"}, "one distance"),
        ({"start": [1.0, 2.0]}, "a positive number for each of 5 columns"),
        ({"start": [1.0, 2.0, 3.0, 0.0, 1.0]}, "a positive number for each of 5 columns"),
        ({"n_steps": 0}, "n_steps"),
        ({"step": 0.0}, "step"),
    ],
)
def test_bad_parameters(parameters, match):
    with pytest.raises(ValueError, match=match):
        RelevanceMetric(**parameters).fit(*irrelevant_columns(60, 5))


def test_too_few_rows_and_too_many_numbers(monkeypatch):
    X, y = irrelevant_columns(9, 3)
    with pytest.raises(ValueError, match="at least 10 rows are needed, got n_samples = 9"):
        RelevanceMetric().fit(X, y)
    monkeypatch.setattr("bochner.metric.relevance._MOST_NUMBERS", 100)
    with pytest.raises(ValueError, match="take fewer rows, at most 16"):
        RelevanceMetric().fit(*irrelevant_columns(60, 3))


def test_kernels_of_their_own_size_count_as_those_without():
    X, y = irrelevant_columns(200, 4)
    one, other = (
        RelevanceMetric(kernel, n_steps=3, random_state=0).fit(X, y)
        for kernel in (Exponential(), Exponential(gamma=33.0))
    )
    np.testing.assert_array_equal(one.weights_, other.weights_)
