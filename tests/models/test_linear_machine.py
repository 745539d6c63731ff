import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from bochner import FourierFeatures
from bochner.models import linear_machine
from bochner.models.linear_machine import (
    MANY_CLASSES,
    NUMBERS,
    TWO_CLASSES,
    hinge_path,
    hold_out,
    one_column_a_class,
    principal_directions,
    ridge_path,
    tune,
)


@pytest.fixture
def two_classes(rng):
    X = rng.normal(size=(200, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=200) > 0.2, 1, -1)


def objective(X, y, C, w, b):
    return w @ w / 2 + C * np.sum(np.maximum(0, 1 - y * (X @ w + b)) ** 2)


@pytest.mark.parametrize("copies", [1, 40])  # 120 columns of 200 rows, of rank 3
def test_hinge_path_is_the_support_vector_machine(two_classes, copies):
    X, y = two_classes
    features = np.tile(X, copies) / np.sqrt(copies)
    penalties = [0.01, 0.1, 1.0]
    for C, linear in zip(penalties, hinge_path(features, y[:, None], penalties), strict=True):
        assert linear.coefficients.shape == (3 * copies, 1)
        # scikit-learn's intercept is penalised, less and less as it is scaled up.
        other = LinearSVC(C=C, dual=False, intercept_scaling=1e3, tol=1e-8).fit(X, y)
        ours = objective(features, y, C, linear.coefficients[:, 0], linear.intercepts[0])
        theirs = objective(X, y, C, other.coef_[0], other.intercept_[0])
        assert ours == pytest.approx(theirs, rel=1e-4)


def test_ridge_path_is_ridge(rng):
    X, Y = rng.normal(3, 1, size=(50, 4)), rng.normal(size=(50, 2))
    alphas = [1.0, 1e-3]
    for alpha, linear in zip(alphas, ridge_path(X, Y, alphas, block=7), strict=True):
        other = Ridge(alpha=alpha * 50).fit(X, Y)
        np.testing.assert_allclose(linear.coefficients, other.coef_.T)
        np.testing.assert_allclose(linear.intercepts, other.intercept_)


@pytest.mark.parametrize("shape", [(10, 30), (30, 10)])
def test_principal_directions(rng, shape):
    features = rng.normal(size=(shape[0], 4)) @ rng.normal(size=(4, shape[1]))
    V = principal_directions(features)
    assert V.shape == (shape[1], 4)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(features @ V @ V.T, features, atol=1e-9)


def test_scores():
    decisions = np.array([[2.0], [-1.0], [0.5]])
    assert TWO_CLASSES.score(decisions, np.array([1, 1, 1])) == pytest.approx(2 / 3)
    assert NUMBERS.score(decisions, decisions[:, 0]) == 1
    assert NUMBERS.score(np.full((3, 1), 0.5), decisions[:, 0]) == pytest.approx(0)
    columns = one_column_a_class(np.array([2, 0]))
    assert columns.tolist() == [[-1, -1, 1], [1, -1, -1]]
    assert MANY_CLASSES.score(columns, np.array([2, 1])) == 0.5


def test_hold_out_parts_the_training_rows():
    y = np.repeat([0, 1], [30, 10])
    kept, held = hold_out(y, 0, stratify=True)
    assert sorted([*kept, *held]) == list(range(40))
    assert np.bincount(y[held]).tolist() in ([8, 2], [7, 3])
    kept, held = hold_out(y, 0, stratify=False, max_rows=20)
    assert (len(kept), len(held)) == (15, 5)
    assert len({*kept, *held}) == 20


class Spy(FunctionTransformer):
    """Remembers the rows of each fit."""

    fits: list = []  # noqa: RUF012

    def fit(self, X, y=None):
        self.fits.append(X[:, 0].copy())
        return super().fit(X, y)


def test_held_out_rows_are_not_seen_while_choosing(two_classes):
    X, y = two_classes
    Spy.fits = []
    tune({"only": Spy}, X, y, TWO_CLASSES, seed=3)
    kept, _ = hold_out(y, 3, stratify=True)
    first, last = Spy.fits
    np.testing.assert_array_equal(first, X[kept, 0])
    np.testing.assert_array_equal(last, X[:, 0])


def test_tune_takes_what_does_best_on_held_out_rows(two_classes):
    X, y = two_classes
    noise = np.random.RandomState(0).normal(size=X.shape)
    candidates = {
        "noise": lambda: FunctionTransformer(lambda rows: noise[: len(rows)]),
        "rows": FunctionTransformer,
        "rows again": FunctionTransformer,
    }
    fitted = tune(candidates, X, y, TWO_CLASSES, seed=0)
    assert fitted.name == "rows"  # of equally good ones the first
    kept, held = hold_out(y, 0, stratify=True)
    scores = [
        TWO_CLASSES.judge(linear(X[held]), y[held])
        for linear in hinge_path(X[kept], y[kept, None], TWO_CLASSES.strengths)
    ]
    assert fitted.held_out_score == pytest.approx(max(scores))
    assert fitted.strength == TWO_CLASSES.strengths[int(np.argmax(scores))]
    (linear,) = hinge_path(X, y[:, None], [fitted.strength])
    np.testing.assert_allclose(fitted.decide(X, block=33), linear(X), rtol=1e-4, atol=1e-5)


def test_a_path_ends_early(two_classes, monkeypatch):
    X, y = two_classes
    tried = []

    def path(features, columns, strengths):
        for strength in strengths:
            tried.append(strength)
            yield strength

    values = {1.0: 0.5, 2.0: 0.5, 3.0: 0.4, 4.0: 0.6, 5.0: 0.3, 6.0: 0.3, 7.0: 0.9}
    monkeypatch.setattr(linear_machine, "PATIENCE", 2)
    machine = linear_machine.Machine(
        TWO_CLASSES.columns,
        lambda *arguments: (lambda rows, s=s: s for s in path(*arguments)),
        tuple(values),
        lambda decision, y: 0.0,
        lambda decision, y: values[decision],
    )
    fitted = tune({"only": FunctionTransformer}, X, y, machine, seed=0)
    assert fitted.strength == 4.0
    assert tried == [1, 2, 3, 4, 5, 6, 4]


def test_folds_hold_every_row_out_once(two_classes):
    X, y = two_classes
    Spy.fits = []
    fitted = tune({"a": Spy}, X, y, TWO_CLASSES, seed=0, folds=4)
    assert [len(rows) for rows in Spy.fits] == [150] * 4 + [200]
    assert fitted.strength in TWO_CLASSES.strengths


def test_a_candidate_may_be_chosen_with_fewer_rows(two_classes):
    X, y = two_classes
    Spy.fits = []
    tune({"a": Spy, "b": Spy}, X, y, TWO_CLASSES, seed=0, max_rows=40)
    assert [len(rows) for rows in Spy.fits] == [30, 30, 150, 200]


def test_curved_classes_need_features(rng):
    X = rng.uniform(-1, 1, size=(400, 2))
    y = (np.hypot(*X.T) > 0.6).astype(int) + (np.hypot(*X.T) > 1)
    plain = tune({"rows": FunctionTransformer}, X, y, MANY_CLASSES, seed=0)
    maps = {g: lambda g=g: FourierFeatures(gamma=g, random_state=0) for g in (0.5, 4.0)}
    curved = tune(maps, X, y, MANY_CLASSES, seed=0)
    assert curved.held_out_score > 0.9 > plain.held_out_score + 0.2
