"""The heads: against scikit-learn, along their paths, and under scikit-learn's own checks."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import Ridge
from sklearn.linear_model import RidgeClassifier as PlainRidgeClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import FourierFeatures
from bochner.linear import RidgeClassifier, RidgeRegressor, SquaredHingeClassifier
from bochner.linear.normal_equations import NormalEquations
from bochner.linear.penalty import choose_penalty
from bochner.linear.scoring import MEASURES
from bochner.linear.splits import hold_out

HEADS = [SquaredHingeClassifier, RidgeClassifier, RidgeRegressor]


def standardised(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


_WEIGHTS = "check_sample_weight_equivalence_on_dense_data"


def expected_failures(estimator):
    if estimator.C == "auto" and not isinstance(estimator, SquaredHingeClassifier):
        return {_WEIGHTS: "a row that is repeated may be held out and kept at once"}
    return {}


@parametrize_with_checks(
    [
        *(SquaredHingeClassifier(C=C, tol=1e-10, random_state=0) for C in (1.0, "auto")),
        *(head(C=C, random_state=0) for head in HEADS[1:] for C in (1.0, "auto")),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_ridge_regressor_is_scikit_learns(C, weighted):
    X, y = standardised(load_diabetes)
    weights = np.random.default_rng(0).uniform(0, 2, len(y)) if weighted else None
    ours = RidgeRegressor(C=C).fit(X, y, weights)
    theirs = Ridge(alpha=1 / (2 * C)).fit(X, y, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_ridge_classifier_is_scikit_learns(load, class_weight):
    X, y = standardised(load)
    ours = RidgeClassifier(C=0.5, class_weight=class_weight).fit(X, y)
    theirs = PlainRidgeClassifier(alpha=1.0, class_weight=class_weight).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_squared_hinge_is_the_optimum(class_weight):
    X, y = standardised(load_breast_cancer)
    ours = SquaredHingeClassifier(C=0.1, tol=1e-8, class_weight=class_weight).fit(X, y)
    theirs = LinearSVC(
        C=0.1, dual=False, tol=1e-10, intercept_scaling=1e4, class_weight=class_weight
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("head", HEADS[1:])
def test_every_ridge_of_a_path_is_the_one_fitted_alone(head, wide):
    X, y = few_rows(wide, classes=head is RidgeClassifier)
    for C, fitted in zip(head.default_Cs(len(y)), head().path(X, y), strict=True):
        assert fitted.C == fitted.C_ == C
        np.testing.assert_allclose(fitted.coef_, head(C=C).fit(X, y).coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("wide", [False, True])
def test_every_squared_hinge_of_a_path_is_the_one_fitted_alone(wide):
    X, y = few_rows(wide, classes=True)

    def objective(head):
        slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * head.decision_function(X))
        return 0.5 * np.sum(head.coef_**2) + head.C * np.sum(slack**2)

    for fitted in SquaredHingeClassifier(tol=1e-10).path(X, y):
        alone = SquaredHingeClassifier(C=fitted.C, tol=1e-10).fit(X, y)
        assert objective(fitted) == pytest.approx(objective(alone), rel=1e-5)


def few_rows(wide, classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 90 if wide else 10))
    y = X[:, 0] + 0.5 * rng.normal(size=60)
    return X, (y > 0).astype(int) if classes else y


@pytest.mark.parametrize("head", HEADS)
def test_integer_weights_are_repetitions(head):
    rng = np.random.default_rng(2)
    X, counts = rng.normal(size=(50, 4)), rng.integers(0, 4, 50)
    y = X[:, 0] if head is RidgeRegressor else (X[:, 0] + rng.normal(size=50) > 0).astype(int)
    options = {"tol": 1e-9} if head is SquaredHingeClassifier else {}
    weighted = head(C=0.3, **options).fit(X, y, counts)
    repeated = head(C=0.3, **options).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-7)


def test_sums_of_two_parts_are_those_of_the_whole():
    rng = np.random.default_rng(3)
    X, Y, s = rng.normal(3.0, size=(70, 5)), rng.normal(size=(70, 2)), rng.uniform(size=70)
    for weights in (None, s):
        parts = [slice(0, 20), slice(20, 70)]
        added = sum(
            (
                NormalEquations.from_rows(X[p], Y[p], None if weights is None else weights[p])
                for p in parts[1:]
            ),
            NormalEquations.from_rows(
                X[parts[0]], Y[parts[0]], None if weights is None else weights[parts[0]]
            ),
        )
        whole = NormalEquations.from_rows(X, Y, weights)
        for one, other in zip(added.solve(0.1), whole.solve(0.1), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)


def test_one_factorisation_is_many():
    rng = np.random.default_rng(4)
    equations = NormalEquations.from_rows(rng.normal(size=(40, 8)), rng.normal(size=(40, 3)))
    alphas = [10.0**k for k in np.linspace(-6, 2, 20)]
    for alpha, (coefficients, intercepts) in zip(alphas, equations.path(alphas), strict=True):
        expected = equations.solve(alpha)
        np.testing.assert_allclose(coefficients, expected[0], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(intercepts, expected[1], rtol=1e-8, atol=1e-10)


def test_features_that_repeat_have_an_answer():
    X = np.repeat(np.random.default_rng(5).normal(size=(30, 2)), 4, axis=1).astype(np.float32)
    head = RidgeRegressor(C=1e12).fit(X, X[:, 0])
    np.testing.assert_allclose(head.predict(X), X[:, 0], atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("head", HEADS)
def test_coefficients_have_the_dtype_of_the_features(head, dtype):
    X, y = standardised(load_breast_cancer)
    fitted = head(C=0.1).fit(X.astype(dtype), y)
    assert fitted.coef_.dtype == fitted.intercept_.dtype == dtype
    decide = getattr(fitted, "decision_function", fitted.predict)
    assert decide(X.astype(dtype)).dtype == dtype


@pytest.mark.parametrize("head", HEADS)
def test_rows_on_a_device_stay_there(head):
    torch = pytest.importorskip("torch")
    X, y = standardised(load_breast_cancer)
    there = head(C=0.1).fit(torch.as_tensor(X), y)
    assert isinstance(there.coef_, torch.Tensor)
    decide = getattr(there, "decision_function", there.predict)
    decisions = decide(torch.as_tensor(X))
    assert isinstance(decisions, torch.Tensor)
    here = head(C=0.1).fit(X, y)
    expected = getattr(here, "decision_function", here.predict)(X)
    np.testing.assert_allclose(decisions.numpy(), expected, rtol=1e-3, atol=1e-3)
    chosen = head(C="auto", random_state=0).fit(torch.as_tensor(X), y)
    assert chosen.C_ == head(C="auto", random_state=0).fit(X, y).C_


@pytest.mark.parametrize("head", HEADS)
def test_auto_takes_the_best_of_the_path_on_held_out_rows(head):
    X, y = standardised(load_diabetes if head is RidgeRegressor else load_breast_cancer)
    fitted = head(C="auto", random_state=3).fit(X, y)
    kept, held = hold_out(y, 3, classes=head is not RidgeRegressor)
    measure = MEASURES["R2" if head is RidgeRegressor else "accuracy"]
    judged = [
        measure.judge(
            y[held],
            getattr(one, "decision_function", one.predict)(X[held]),
            getattr(one, "classes_", None),
        )
        for one in head().path(X[kept], y[kept])
    ]
    assert head.default_Cs(len(y))[int(np.argmax(judged))] == fitted.C_
    again = clone(fitted).set_params(C=fitted.C_).fit(X, y)
    np.testing.assert_array_equal(fitted.coef_, again.coef_)


def test_weights_of_classes_count_once_with_auto():
    X, y = standardised(load_breast_cancer)
    chosen = RidgeClassifier(C="auto", class_weight="balanced", random_state=0).fit(X, y)
    fixed = RidgeClassifier(C=chosen.C_, class_weight="balanced").fit(X, y)
    np.testing.assert_array_equal(chosen.coef_, fixed.coef_)


def test_several_targets_are_several_problems():
    X, y = standardised(load_diabetes)
    Y = np.column_stack([y, y**2])
    together = RidgeRegressor(C=0.2).fit(X, Y)
    assert together.coef_.shape == (2, X.shape[1])
    for column in range(2):
        alone = RidgeRegressor(C=0.2).fit(X, Y[:, column])
        np.testing.assert_allclose(together.predict(X)[:, column], alone.predict(X))


def test_patience_ends_the_path():
    X, y = standardised(load_digits)
    kept, held = hold_out(y, 0, classes=True)
    arguments = (RidgeClassifier(), X[kept], y[kept], X[held], y[held], MEASURES["accuracy"])
    short, whole = (choose_penalty(*arguments, patience=p) for p in (2, None))
    assert len(whole.scores) == 9
    assert short.scores == pytest.approx(whole.scores[: len(short.scores)])


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("C", [0.0, -1.0, np.inf, np.nan, "best"])
def test_a_wrong_penalty_is_named(head, C):
    with pytest.raises(ValueError, match="C must be a finite number greater than 0 or 'auto'"):
        head(C=C).fit([[0.0], [1.0]], [0, 1])


def test_one_class_is_an_error():
    with pytest.raises(ValueError, match="2 classes, got one class only"):
        RidgeClassifier().fit([[0.0], [1.0]], [1, 1])


@pytest.mark.parametrize("head", [RidgeClassifier, RidgeRegressor, SquaredHingeClassifier])
def test_blocks_need_a_penalty(head, rng):
    X = rng.normal(size=(20, 2))
    features = FourierFeatures(n_components=4).fit(X)
    for fit in (
        lambda model: model.fit_map(features, X, np.arange(20) % 2),
        lambda model: model.fit_blocks([(X, np.arange(20) % 2)]),
    ):
        with pytest.raises(ValueError, match="C must be a number for rows that come in blocks"):
            fit(head(C="auto"))


@pytest.mark.parametrize("in_blocks", [False, True])
def test_nearly_equal_columns_are_solved_as_well(in_blocks):
    """Their gradients are small long before the optimum, and float32 rounds them away."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    y = np.sin(4 * X[:, 0]) * np.sin(4 * X[:, 1]) > 0
    features = np.exp(-0.3 * cdist(X, X[:60], "sqeuclidean"))
    signs = np.where(y, 1.0, -1.0)

    def objective(tol):
        head = SquaredHingeClassifier(C=1e4, tol=tol)
        head = head.fit_blocks([(features, y)]) if in_blocks else head.fit(features, y)
        rest = np.maximum(0, 1 - signs * head.decision_function(features))
        return 0.5 * (head.coef_**2).sum() + 1e4 * (rest**2).sum()

    assert objective(SquaredHingeClassifier().tol) <= 1.001 * objective(1e-10)
