"""Heads on blocks of rows: the same coefficients as from one array, wherever the blocks are."""

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bochner import FourierFeatures
from bochner.linear import RidgeClassifier, RidgeRegressor, SquaredHingeClassifier
from bochner.linear.blocks import ArrayBlocks

HEADS = {
    "ridge": RidgeClassifier(C=3.0),
    "ridge of numbers": RidgeRegressor(C=3.0),
    "squared hinge": SquaredHingeClassifier(C=3.0, tol=1e-11),
}


def problem(n=600, D=12, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    y = (X @ rng.normal(size=(D, n_classes)) + rng.normal(size=(n, n_classes))).argmax(axis=1)
    return X, y, rng.uniform(0, 2, size=n)


def cut(*arrays, heights=(1, 250, 0, 349)):
    ends = np.cumsum(heights)[:-1]
    return list(zip(*(np.split(A, ends) for A in arrays), strict=True))


def assert_same(one, other, rtol=1e-8):
    """Coefficients relative to the largest of them."""
    for name in ("coef_", "intercept_"):
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        assert a.shape == b.shape
        assert np.abs(a - b).max() <= rtol * max(np.abs(b).max(), np.abs(other.coef_).max())


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_blocks_give_the_coefficients_of_one_array(name, n_classes):
    X, y, weights = problem(n_classes=n_classes)
    whole = clone(HEADS[name]).fit(X, y, weights)
    blocks = HEADS[name].fit_blocks(cut(X, y, weights))
    assert_same(blocks, whole)
    assert blocks.n_features_in_ == 12


@pytest.mark.parametrize("name", HEADS)
def test_dask_arrays_and_dataframes(name):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    import pandas as pd

    X, y, weights = problem()
    expected = clone(HEADS[name]).fit(X, y, weights)
    arrays = (X, y, weights)
    lazy, labels, lazy_weights = (da.from_array(A, chunks=(170, *A.shape[1:])) for A in arrays)
    some = lazy[:, 0] > -99  # all of them, which dask does not know
    table = dd.from_pandas(pd.DataFrame(X).rename(columns=str), npartitions=3)
    for rows, targets, scale in (
        (lazy, y, weights),
        (lazy, labels, lazy_weights),
        (lazy[some], labels[some], lazy_weights[some]),
        (lazy[some], y, weights),
        (table, y, weights),
    ):
        head = HEADS[name].fit(rows, targets, scale)
        assert_same(head, expected)
    predicted = head.predict(lazy)
    assert hasattr(predicted, "compute")
    np.testing.assert_allclose(predicted.compute(), expected.predict(X))


@pytest.mark.parametrize("name", HEADS)
def test_the_features_of_a_map_are_made_a_block_at_a_time(name):
    X, y, _ = problem(n=9000, D=4)
    phi = FourierFeatures(n_components=40, random_state=0).fit(X)
    expected = clone(HEADS[name]).fit(phi.transform(X), y)
    heights = []

    def transform(rows):
        heights.append(len(rows))
        return phi.transform(rows)

    head = HEADS[name].fit_blocks([(X[:8000], y[:8000]), (X[8000:], y[8000:])], transform)
    assert max(heights) <= 4096
    assert_same(head, expected)
    assert_same(clone(HEADS[name]).fit_map(phi, X, y), head)


def test_weights_of_classes():
    X, y, _ = problem(n_classes=3)
    few = np.flatnonzero((y != 2) | (np.arange(len(y)) % 5 == 0))
    X, y = X[few], y[few]
    for weights in ("balanced", {2: 7.0}):
        for kind in (RidgeClassifier, SquaredHingeClassifier):
            given = {"tol": 1e-11} if kind is SquaredHingeClassifier else {}
            head = kind(C=2.0, class_weight=weights, **given)
            expected = head.fit(X, y).coef_.copy()
            found = head.fit_blocks(cut(X, y, heights=(100, len(y) - 100))).coef_
            np.testing.assert_allclose(found, expected, atol=1e-9)


def test_labels_may_be_text_and_classes_given():
    X, y, _ = problem(n_classes=3)
    names = np.array(["no", "yes", "maybe"])[y]
    head = RidgeClassifier().fit_blocks(iter(cut(X, names)), classes=np.unique(names))
    assert head.classes_.tolist() == ["maybe", "no", "yes"]
    np.testing.assert_allclose(head.coef_, RidgeClassifier().fit(X, names).coef_, atol=1e-9)
    with pytest.raises(ValueError, match="class maybe, which is not among"):
        RidgeClassifier().fit_blocks(cut(X, names), classes=["no", "yes"])


def test_float32_features_are_enough_for_a_loose_tolerance():
    X, y, _ = problem(n=3000)
    loose = SquaredHingeClassifier(C=1.0).fit_blocks([(X[:1500], y[:1500]), (X[1500:], y[1500:])])
    exact = SquaredHingeClassifier(C=1.0, tol=1e-11).fit(X, y)
    assert_same(loose, exact, rtol=1e-3)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
def test_hard_problems_in_few_passes(C):
    """Wide margins at first, many rows that cross: also where full steps go too far."""
    X, y, _ = problem(n=500, D=30, seed=3)
    X = X**3  # heavy tails
    passes = []

    class Counted(ArrayBlocks):
        def reduce(self, function, shared=None, **options):
            passes.append(function)
            return super().reduce(function, shared, **options)

    head = SquaredHingeClassifier(C=C, tol=1e-10).fit_blocks(Counted(X, y), classes=[0, 1])
    assert_same(head, SquaredHingeClassifier(C=C, tol=1e-10).fit(X, y), rtol=1e-7)
    assert len(passes) <= 25


def test_what_is_refused():
    X, y, _ = problem()
    with pytest.raises(ValueError, match="there are no blocks"):
        RidgeRegressor().fit_blocks([])
    with pytest.raises(ValueError, match="C must be a number"):
        RidgeRegressor(C="auto").fit_blocks([(X, y)])
    with pytest.raises(ValueError, match="C must be a finite number"):
        SquaredHingeClassifier(C=-1).fit_blocks([(X, y)])
    with pytest.raises(ValueError, match="a generator can be only once"):
        SquaredHingeClassifier().fit_blocks(iter(cut(X, y)))
    with pytest.raises(ValueError, match="at least 2 classes"):
        SquaredHingeClassifier().fit_blocks([(X, np.zeros(len(X), int))])
    with pytest.raises(ValueError, match="sample_weight must be finite"):
        RidgeRegressor().fit_blocks([(X, y, np.full(len(X), -1.0))])
    with pytest.raises(ValueError, match="positive for at least one row"):
        RidgeRegressor().fit_blocks([(X, y, np.zeros(len(X)))])
    for head in HEADS.values():
        with pytest.raises(ValueError, match="not finite"):
            head.fit_blocks([(np.where(X > 2, np.nan, X), y)])
    with pytest.warns(ConvergenceWarning, match="after 1 Newton steps"):
        SquaredHingeClassifier(max_steps=1, tol=1e-12).fit_blocks([(X, y)])


def test_penalty_chosen_on_a_sample_of_a_dask_array():
    da = pytest.importorskip("dask.array")
    X, y, _ = problem(n=2000)
    for kind in (RidgeClassifier, SquaredHingeClassifier):
        head = kind(C="auto", random_state=0).fit(da.from_array(X, chunks=(700, 12)), y)
        assert kind.default_Cs(2000)[head.choice_.position] == head.C_
        assert head.C_ == kind(C="auto", random_state=0).fit(X, y).C_


@pytest.mark.parametrize("name", HEADS)
def test_memory_does_not_grow_with_the_rows(name):
    X, y, _ = problem(n=4000, D=5)
    phi = FourierFeatures(n_components=200, random_state=0).fit(X)
    head = clone(HEADS[name]).set_params(**({"tol": 1e-4} if name == "squared hinge" else {}))

    def peak(n_blocks):
        tracemalloc.start()
        head.fit_blocks([(X, y)] * n_blocks, phi.transform, **given)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    given = {"classes": [0, 1]} if hasattr(head, "class_weight") else {}
    head.fit_blocks([(X, y)], phi.transform, **given)  # compiles
    assert peak(8) < 1.1 * peak(2)


@pytest.mark.parametrize("name", ["ridge", "ridge of numbers"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_in_parts_give_the_coefficients_of_all(name, n_classes):
    X, y, weights = problem(n_classes=n_classes)
    whole, head = clone(HEADS[name]).fit(X, y, weights), clone(HEADS[name]).fit(X[:99], y[:99])
    for rows, labels, scale in cut(X, y, weights, heights=(251, 1, 348)):
        first = {"classes": np.arange(n_classes)} if name == "ridge" and len(rows) == 251 else {}
        head.partial_fit(rows, labels, sample_weight=scale, **first)
    assert_same(head, whole, rtol=1e-10)
    copied = pickle.loads(pickle.dumps(head)).partial_fit(X, y)
    twice = np.tile(X, (2, 1)), np.tile(y, 2), np.concatenate([weights, np.ones(600)])
    assert_same(copied, clone(HEADS[name]).fit(*twice), 1e-10)
    assert_same(head.fit(X[:99], y[:99]).partial_fit(X, y), clone(head).fit(X, y), 1e-10)


def test_parts_of_dask_arrays_and_of_several_targets():
    da = pytest.importorskip("dask.array")
    X, _, _ = problem()
    Y = X[:, :2] + 1
    head = RidgeRegressor(C=3.0).partial_fit(da.from_array(X[:400], chunks=(150, 12)), Y[:400])
    assert_same(head.partial_fit(X[400:], Y[400:]), RidgeRegressor(C=3.0).fit(X, Y), 1e-10)


def test_parts_that_are_refused():
    X, y, _ = problem(n_classes=3)
    head = RidgeClassifier().partial_fit(X[y < 2], y[y < 2])
    before = head.coef_.copy()
    with pytest.raises(ValueError, match="class 2, which is not among"):
        head.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"classes are \[0, 1\] since the first call"):
        head.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="has 3 features, but RidgeClassifier is expecting 12"):
        head.partial_fit(X[:, :3], y)
    np.testing.assert_array_equal(head.coef_, before)
    with pytest.raises(ValueError, match="needs all rows at once"):
        RidgeClassifier(class_weight="balanced").partial_fit(X, y)
    with pytest.raises(AttributeError, match="partial_fit"):
        RidgeRegressor(C="auto").partial_fit(X, y)
