"""Whole models by the name of their method."""

from dataclasses import replace
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.metrics.pairwise import rbf_kernel

import bochner
from bochner.fourier.bandwidth import DEFAULT_GAMMA
from bochner.linear import RidgeClassifier, RidgeRegressor, SquaredHingeClassifier
from bochner.models import methods
from bochner.models.methods import METHODS, Rows, find_method
from bochner.models.pipelines import gamma_by_rule, make_head, make_model
from bochner.models.preparation import PixelScaler, make_tree_preparation
from tests.feature_map_case import PUBLIC_MAPS

EXACT = next(name for name, method in METHODS.items() if method.exact)
FOR_TABLES = [name for name, method in METHODS.items() if not method.images]
pytestmark = [
    pytest.mark.usefixtures("one_split"),
    pytest.mark.filterwarnings("ignore::bochner.mercer.features.MercerWarning"),
    pytest.mark.filterwarnings("ignore::bochner.nystroem.features.NystroemWarning"),
]


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.mark.parametrize("method", FOR_TABLES)
def test_every_method_learns_classes(method, wine, quick_metric):
    X, y = wine
    if "classification" not in METHODS[method].tasks:
        return
    for labels in (y, y == 1):  # three classes, and two
        model = make_model(method, X, labels, "classification", width=60)
        assert list(model.named_steps) == ["prepare", "map", "head"]
        assert model.fit(X[::2], labels[::2]).score(X[1::2], labels[1::2]) > 0.8


@pytest.mark.parametrize("method", FOR_TABLES)
def test_every_method_learns_numbers(method, quick_metric):
    X, y = load_diabetes(return_X_y=True)
    if "regression" not in METHODS[method].tasks:
        return
    y = np.round(y)  # whole numbers, which must not be taken for classes
    model = make_model(method, X, y, "regression", width=20, C=0.5, gamma=0.02)
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.1


def test_every_map_of_the_package_is_there():
    names = {name.partition(",")[0] for name in METHODS}
    assert names >= PUBLIC_MAPS - {
        "GradientMetric",
        "RelevanceMetric",
    }  # which come before a method
    assert names >= {"RBFSampler", "Nystroem", EXACT, "KernelClassifier", "KernelRegressor"}
    assert list(METHODS)[:2] == ["KernelClassifier", "KernelRegressor"]  # the first line


def test_what_is_not_a_kernel_is_only_compared_with():
    others = [method for method in METHODS.values() if not method.has_kernel]
    assert [method.name for method in others] == ["HistGradientBoosting", "linear"]
    assert all(method.baseline and method.only_compared for method in others)
    for method in METHODS.values():
        assert method.has_width or method.called  # in sentences


def test_supervised_is_what_scikit_learn_is_told():
    for method in METHODS.values():
        if method.make is not None:
            made = method.make_map(width=16, task="classification", image_shape=(8, 8, 1))
            assert made.__sklearn_tags__().target_tags.required == method.supervised


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].grid])
def test_settings_of_the_grid_are_parameters(name):
    method = METHODS[name]
    for setting, values in method.grid.items():
        assert list(values) == sorted(values)
        given = {setting: values[0]}
        made = find_method(name).make_map(
            width=16, task="regression", image_shape=(8, 8, 1), **given
        )
        assert made.get_params()[setting] == values[0]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_images(method, quick_metric):
    X, y = load_digits(return_X_y=True)
    shape = (8, 8, 1)
    for labels, task, enough in (
        (y, "classification", 0.7),
        (y == 3, "classification", 0.9),
        (y.astype(np.float64), "regression", 0.2),
    ):
        if task not in METHODS[method].tasks:
            continue
        model = make_model(method, X, labels, task, width=64, image_shape=shape)
        scaled = PixelScaler if METHODS[method].prepare is not make_tree_preparation else None
        assert scaled in (type(model.named_steps["prepare"]), None)
        model.fit(X[:400], labels[:400])
        assert model.score(X[400:900], labels[400:900]) > enough
    if METHODS[method].images:
        assert model[:-1].transform(X[:2]).shape == (2, 64)


def test_rows_of_every_kind(wine):
    X, y = wine
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    frame["colour"] = np.array(["red", "white", "rose"])[y]
    for rows in (frame, sparse.csr_matrix(X)):
        model = make_model("FourierFeatures", rows, y, "classification", width=200)
        assert model.fit(rows, y).score(rows, y) > 0.9


@pytest.mark.parametrize(
    ("task", "n_classes", "kind"),
    [
        ("classification", 2, SquaredHingeClassifier),
        ("classification", 5, RidgeClassifier),
        ("regression", None, RidgeRegressor),
    ],
)
def test_heads(task, n_classes, kind):
    made = make_head(task, n_classes, C=4.0, balanced=n_classes is not None)
    assert type(made) is kind
    assert made.C == 4.0
    if n_classes:
        assert made.class_weight == "balanced"
    with pytest.raises(ValueError, match="C must be a finite number greater than 0"):
        make_head(task, n_classes, C=0).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("given", [{}, {"gamma": "median"}, {"gamma": "scale"}])
def test_gamma_by_rule(wine, given):
    X, y = wine
    model = make_model("Nystroem", X, y, "classification", width=20, **given)
    Z = clone(model.named_steps["prepare"]).fit_transform(X)
    expected = 1 / (2 * np.median(pdist(Z)) ** 2)
    if given == {"gamma": "scale"}:
        expected = 1 / (Z.shape[1] * Z.var())
    assert model.named_steps["map"].gamma == pytest.approx(expected)
    assert gamma_by_rule(sparse.csr_matrix(Z), *given.values()) == pytest.approx(expected)
    assert gamma_by_rule(np.ones((3, 2)), *given.values()) == 1.0


def test_one_rule_for_all_maps():
    """A map that is given no gamma, and one that the program makes, have the same."""
    made = {name: getattr(bochner, name) for name in bochner.__all__}
    rules = {
        name: signature(map_class).parameters["gamma"].default
        for name, map_class in made.items()
        if "gamma" in signature(map_class).parameters
    }
    assert len(rules) == 6
    assert {*rules.values(), signature(make_model).parameters["gamma"].default} == {DEFAULT_GAMMA}


def test_exact_regression_is_kernel_ridge_with_an_intercept(rng):
    X, y = rng.normal(size=(30, 2)), 5 + 3 * rng.normal(size=30)
    model = make_model(EXACT, X, y, "regression", gamma=0.3, C=2.0).fit(X, y)
    Z = model.named_steps["prepare"].transform(X)
    K = rbf_kernel(Z, gamma=0.3)
    ones = np.ones((30, 1))
    system = np.block([[K + 0.25 * np.eye(30), ones], [ones.T, np.zeros((1, 1))]])
    *a, b = np.linalg.solve(system, np.append(y, 0))
    np.testing.assert_allclose(model.predict(X), K @ a + b)


def test_mistakes(wine):
    X, y = wine
    with pytest.raises(ValueError, match="there is no method 'Magic'; there are Kernel"):
        find_method("Magic")
    for name in ("mercr features", "mercer", "MercerFeature"):
        with pytest.raises(ValueError, match="did you mean MercerFeatures"):
            find_method(name)
    with pytest.raises(ValueError, match=r"did you mean FourierFeatures or"):
        find_method("Fourier")
    with pytest.raises(ValueError, match="width must be a whole number"):
        make_model("RBFSampler", X, y, "classification", width=None)
    with pytest.raises(ValueError, match=r"gamma must be a number or one of .*, got 'wide'"):
        make_model("RBFSampler", X, y, "classification", gamma="wide")
    with pytest.raises(ValueError, match="task must be one of"):
        make_model("RBFSampler", X, y, "ranking")
    with pytest.raises(ValueError, match="has no feature map"):
        find_method(EXACT).make_map(width=2, gamma=1.0, task="regression")
    with pytest.raises(ValueError, match=r"ConvolutionalKernelNetwork is for images: give their"):
        make_model("convolutionalkernelnetwork", X, y, "classification", width=32)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_why_it_cannot_be_used(name, monkeypatch):
    method = METHODS[name]
    task = method.tasks[0]
    rows = Rows(100, 5, task, (8, 8, 1))
    width = 64 if method.has_width else None
    assert method.why_not(width, rows) is None
    huge = Rows(10**6, 10**6, task, (8, 8, 1), is_sparse=True)
    few = Rows(10, 5, task, (8, 8, 1))
    if method.even:
        assert "must be even" in method.why_not(7, rows)
    if method.images:
        assert "is for images" in method.why_not(64, Rows(100, 5, "classification"))
    if method.exact:
        monkeypatch.setattr(methods, "memory_limit", lambda: None)
        for kind in method.tasks:
            assert "the most is 10000" in method.why_not(None, replace(huge, task=kind))
    if not method.sparse:
        assert "would make 1000000 sparse columns dense" in method.why_not(None, huge)
    if len(method.tasks) == 1:
        other = next(iter({"classification", "regression"} - {task}))
        assert method.why_not(width, replace(rows, task=other)) == f"{name} is not for {other}"
    for given in (huge, few):
        reason = method.why_not(width, given)
        assert reason is None or reason.startswith((name.partition(",")[0], "the exact"))


def test_exact_regression_needs_memory_for_its_matrices(monkeypatch):
    rows = Rows(8000, 5, "regression")
    monkeypatch.setattr(methods, "memory_limit", lambda: 10**10)
    assert METHODS[EXACT].why_not(None, rows) is None
    monkeypatch.setattr(methods, "memory_limit", lambda: 4 * 10**9)
    assert "8000 training rows would take 1 GB" in METHODS[EXACT].why_not(None, rows)
    assert METHODS[EXACT].why_not(None, replace(rows, task="classification")) is None


def test_costs_put_scikit_learn_first_and_the_exact_method_last():
    order = sorted(METHODS.values(), key=lambda method: method.cost)
    assert order[0].baseline
    assert order[-1].exact


def test_types_that_are_saved_exist():
    import importlib

    for method in METHODS.values():
        for name in method.saved_types:
            module, _, kind = name.rpartition(".")
            assert isinstance(getattr(importlib.import_module(module), kind), type)


@pytest.mark.parametrize(
    ("n_columns", "width", "expected"), [(10, 32, 2000), (10, 2048, 4096), (50_000, 32, 200)]
)
def test_sets_are_chosen_among_as_many_candidates_as_are_looked_at(n_columns, width, expected):
    """And of very many columns among as many as their numbers allow."""
    start = METHODS["PosteriorFourierFeatures"].start(n_columns, width)
    assert start == {"n_candidates": expected}
