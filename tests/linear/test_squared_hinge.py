import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from bochner.linear import solve_squared_hinge, squared_hinge_path
from bochner.linear.design import Design
from bochner.linear.directions import ActiveRows, DenseHost, solver
from tests.places import PLACES, on_host

METHODS = ["dense", "conjugate", "rows"]


def problem(rng, n=120, D=6, k=1, noise=0.5):
    features = rng.normal(size=(n, D))
    scores = features @ rng.normal(size=(D, k)) + 0.7 + noise * rng.normal(size=(n, k))
    return features, np.where(scores > 0, 1.0, -1.0)


def objective(features, y, C, w, b, s=1.0):
    loss = s * np.maximum(0, 1 - y * (features @ w + b)) ** 2
    return 0.5 * w @ w + C * loss.sum()


def gradient(features, y, C, w, b, s=1.0):
    alpha_y = 2 * C * s * y * np.maximum(0, 1 - y * (features @ w + b))
    return np.r_[w - alpha_y @ features, -alpha_y.sum()]


def check_optimum(features, signs, C, solution, tol=1e-9, s=1.0):
    """The objective is convex: a vanishing gradient is all there is to check."""
    for k, y in enumerate(signs.T):
        w, b = solution.coefficients[:, k], solution.intercepts[k]
        scale = np.linalg.norm(gradient(features, y, C, 0 * w, 0.0, s))
        assert np.linalg.norm(gradient(features, y, C, w, b, s)) <= tol * scale
        np.testing.assert_allclose(solution.margins[:, k], y * (features @ w + b), atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_without_intercept_agrees_with_linear_svc(method, C, rng):
    features, signs = problem(rng, k=3)
    solution = solve_squared_hinge(
        features, signs, C, fit_intercept=False, tol=1e-10, method=method
    )
    np.testing.assert_array_equal(solution.intercepts, 0)
    for k in range(3):
        svc = LinearSVC(
            C=C, loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-10, max_iter=10000
        ).fit(features, signs[:, k])
        np.testing.assert_allclose(solution.coefficients[:, k], svc.coef_[0], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_with_intercept_agrees_with_a_general_minimiser(method, rng):
    features, signs = problem(rng)
    y = signs[:, 0]
    found = minimize(
        lambda v: objective(features, y, 2.0, v[:-1], v[-1]),
        np.zeros(7),
        jac=lambda v: gradient(features, y, 2.0, v[:-1], v[-1]),
        method="BFGS",
        options={"gtol": 1e-9},
    )
    solution = solve_squared_hinge(features, y, 2.0, tol=1e-10, method=method)
    np.testing.assert_allclose(solution.coefficients[:, 0], found.x[:-1], atol=1e-7)
    np.testing.assert_allclose(solution.intercepts[0], found.x[-1], atol=1e-7)


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 40),
    D=st.integers(1, 12),
    k=st.integers(1, 3),
    C=st.sampled_from([1e-4, 1.0, 1e4]),
    spread=st.sampled_from([0.01, 1.0, 30.0]),
    weighted=st.booleans(),
    method=st.sampled_from(METHODS),
    seed=st.integers(0, 10**6),
)
def test_gradient_vanishes(n, D, k, C, spread, weighted, method, seed):
    # few rows: separable problems and columns with one class are among these
    rng = np.random.default_rng(seed)
    features, signs = spread * rng.normal(size=(n, D)), rng.choice([-1.0, 1.0], size=(n, k))
    s = rng.uniform(size=n) if weighted else np.ones(n)
    solution = solve_squared_hinge(
        features, signs, C, sample_weight=s if weighted else None, tol=1e-9, method=method
    )
    for k, y in enumerate(signs.T):
        w, b = solution.coefficients[:, k], solution.intercepts[k]
        # relative to the size of its terms, which may cancel at zero
        scale = 2 * C * np.r_[s @ np.abs(features), s.sum()].max() + np.abs(w).max()
        assert np.abs(gradient(features, y, C, w, b, s)).max() <= 1e-8 * scale


def test_rows_that_enter_far_along_a_step_do_not_end_its_search():
    # of the full step, on which three rows enter late, less than a twentieth is right
    rng = np.random.default_rng(2)
    features, signs = rng.normal(size=(7, 2)), rng.choice([-1.0, 1.0], size=(7, 2))[:, :1]
    solution = solve_squared_hinge(features, signs, 1e4, tol=1e-9, method="dense")
    check_optimum(features, signs, 1e4, solution)
    assert solution.n_steps < 10


@pytest.mark.parametrize("method", METHODS)
def test_columns_together_equal_each_alone(method, rng):
    features, signs = problem(rng, k=4)
    together = solve_squared_hinge(features, signs, 1.0, tol=1e-10, method=method)
    check_optimum(features, signs, 1.0, together)
    for k in range(4):
        alone = solve_squared_hinge(features, signs[:, k], 1.0, tol=1e-10)
        np.testing.assert_allclose(
            together.coefficients[:, k], alone.coefficients[:, 0], atol=1e-8
        )
        np.testing.assert_allclose(together.margins[:, k], alone.margins[:, 0], atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_path_equals_single_solves_in_the_order_asked_for(method, rng):
    features, signs = problem(rng, k=2)
    Cs = [1.0, 0.01, 10.0]
    path = squared_hinge_path(features, signs, Cs, tol=1e-10, method=method)
    for C, solution in zip(Cs, path, strict=True):
        alone = solve_squared_hinge(features, signs, C, tol=1e-10)
        np.testing.assert_allclose(solution.coefficients, alone.coefficients, atol=1e-8)
        np.testing.assert_allclose(solution.intercepts, alone.intercepts, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_start_with_fewer_features_equals_a_cold_start(method, rng):
    features, signs = problem(rng, D=9, k=2)
    few = solve_squared_hinge(features[:, :5], signs, 1.0)
    warm = solve_squared_hinge(features, signs, 1.0, start=few, tol=1e-10, method=method)
    cold = solve_squared_hinge(features, signs, 1.0, tol=1e-10, method=method)
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, atol=1e-8)
    np.testing.assert_allclose(warm.intercepts, cold.intercepts, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_kept_gram_matrices_are_those_of_the_active_rows(weighted, fit_intercept, rng):
    features, signs = problem(rng, D=9, k=2)
    weights = rng.uniform(size=len(features)) if weighted else None
    roots = np.sqrt(np.ones(len(features)) if weights is None else weights)[:, None]
    solution = None
    for D in (3, 4, 9):
        solution = solve_squared_hinge(
            features[:, :D],
            signs,
            1.0,
            start=solution,
            sample_weight=weights,
            fit_intercept=fit_intercept,
            tol=1e-10,
        )
        rows = roots * np.c_[features[:, :D], np.ones((len(features), int(fit_intercept)))]
        for active, gram in solution._kept.state.values():
            np.testing.assert_allclose(gram, rows[active].T @ rows[active], atol=1e-10)


@pytest.mark.parametrize("change", ["scale", "one column", "order of rows", "weights"])
def test_a_start_from_other_features_only_costs_time(change, rng):
    features, signs = problem(rng, D=9)
    start = solve_squared_hinge(features[:, :5], signs, 1.0)
    weights = None
    if change == "scale":
        features = 3 * features
    elif change == "one column":
        features[:, 2] = rng.normal(size=len(features))
    elif change == "order of rows":
        order = rng.permutation(len(features))
        features, signs = features[order], signs[order]
    else:
        weights = rng.uniform(size=len(features))
    warm = solve_squared_hinge(features, signs, 1.0, start=start, sample_weight=weights, tol=1e-10)
    cold = solve_squared_hinge(features, signs, 1.0, sample_weight=weights, tol=1e-10)
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, atol=1e-8)


def test_even_a_wrong_gram_matrix_only_costs_time(rng):
    features, signs = problem(rng, D=9)
    start = solve_squared_hinge(features, signs, 1.0)
    active, gram = start._kept.state[0]
    start = replace(start, _kept=replace(start._kept, state={0: (active, 4 * gram)}))
    warm = solve_squared_hinge(features, signs, 5.0, start=start, tol=1e-8, max_steps=500)
    cold = solve_squared_hinge(features, signs, 5.0, tol=1e-8)
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, atol=1e-6)


def test_at_the_solution_nothing_is_left_to_do(rng):
    features, signs = problem(rng)
    solution = solve_squared_hinge(features, signs, 1.0, tol=1e-10)
    assert solve_squared_hinge(features, signs, 1.0, start=solution).n_steps == 0


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repetitions(method, rng):
    features, signs = problem(rng, n=60, k=2)
    counts = rng.integers(0, 4, size=60)
    weighted = solve_squared_hinge(
        features, signs, 1.0, sample_weight=counts, tol=1e-10, method=method
    )
    repeated = solve_squared_hinge(
        np.repeat(features, counts, axis=0), np.repeat(signs, counts, axis=0), 1.0, tol=1e-10
    )
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, atol=1e-8)
    np.testing.assert_allclose(weighted.intercepts, repeated.intercepts, atol=1e-8)
    np.testing.assert_allclose(
        np.repeat(weighted.margins, counts, axis=0), repeated.margins, atol=1e-8
    )
    # a row that counts twice has twice the dual weight of each of its copies
    expected = repeated.duals(1.0) * np.repeat(counts, counts)[:, None]
    np.testing.assert_allclose(np.repeat(weighted.duals(1.0), counts, axis=0), expected, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_duals_satisfy_the_conditions_of_optimality(weighted, rng):
    features, signs = problem(rng, k=2)
    weights = rng.uniform(size=len(features)) if weighted else None
    solution = solve_squared_hinge(features, signs, 3.0, sample_weight=weights, tol=1e-11)
    duals = solution.duals(3.0)
    assert (duals >= 0).all()
    np.testing.assert_allclose((signs * duals).sum(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(features.T @ (signs * duals), solution.coefficients, atol=1e-8)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_one_class_is_met_by_the_intercept_alone(sign, method, rng):
    features = rng.normal(size=(30, 4))
    solution = solve_squared_hinge(features, np.full(30, sign), 1.0, method=method)
    np.testing.assert_allclose(solution.coefficients, 0, atol=1e-8)
    np.testing.assert_allclose(solution.intercepts, sign, atol=1e-8)
    assert solution.n_steps <= 3  # there is nothing left to decrease


@pytest.mark.parametrize("method", METHODS)
def test_identical_rows_of_both_classes(method):
    features, y = np.ones((10, 3)), np.r_[np.ones(6), -np.ones(4)]
    solution = solve_squared_hinge(features, y, 1.0, tol=1e-9, method=method)
    # the best constant under the squared hinge is the mean of the labels
    np.testing.assert_allclose(y * solution.margins[:, 0], 0.2, atol=1e-8)
    np.testing.assert_allclose(solution.coefficients, 0, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_separable_rows_get_the_hard_margin_as_C_grows(method):
    features = np.array([[-3.0, 1.0], [-1.0, 0.0], [1.0, 0.0], [2.0, 5.0]])
    solution = solve_squared_hinge(
        features, np.array([-1, -1, 1, 1]), 1e6, tol=1e-12, method=method
    )
    np.testing.assert_allclose(solution.coefficients[:, 0], [1, 0], atol=1e-5)
    np.testing.assert_allclose(solution.intercepts, 0, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("place", ["numpy", "fortran", "strided", "torch", "strict"])
@pytest.mark.parametrize("tol", [1e-9, None])
def test_the_same_in_every_place(place, method, tol, rng):
    features, signs = problem(rng, k=2)
    weights = rng.uniform(size=len(features))
    put = PLACES[place]
    solution = solve_squared_hinge(
        put(features),
        put(signs),
        1.0,
        sample_weight=weights,
        tol=tol,
        max_steps=12,
        method=method,
    )
    assert (solution.optimality is None) == (tol is None)
    expected = solve_squared_hinge(features, signs, 1.0, sample_weight=weights, tol=1e-10)
    for name in ("coefficients", "intercepts", "margins"):
        result = getattr(solution, name)
        assert type(result) is type(put(features))
        np.testing.assert_allclose(on_host(result), getattr(expected, name), atol=1e-7)
    np.testing.assert_allclose(on_host(solution.duals(1.0)), expected.duals(1.0), atol=1e-6)


def test_a_start_may_come_from_another_place(rng):
    features, signs = problem(rng)
    start = solve_squared_hinge(features[:, :3], signs, 1.0)
    tensor = PLACES["torch"](features)
    solution = solve_squared_hinge(tensor, signs, 1.0, start=start, tol=1e-9)
    expected = solve_squared_hinge(features, signs, 1.0, tol=1e-9)
    np.testing.assert_allclose(on_host(solution.coefficients), expected.coefficients, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("place", ["numpy", "torch"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_single_precision(place, method, C, rng):
    features, signs = problem(rng, n=2000, D=30, k=2, noise=2.0)
    features = features / np.sqrt(30)
    single = PLACES[place](features.astype(np.float32))
    solution = solve_squared_hinge(single, signs, C, method=method)
    assert on_host(solution.coefficients).dtype == on_host(solution.margins).dtype == np.float32
    expected = solve_squared_hinge(features, signs, C, tol=1e-10)
    scale = np.abs(expected.coefficients).max()
    np.testing.assert_allclose(
        on_host(solution.coefficients), expected.coefficients, atol=1e-4 * scale
    )
    margins = signs * (features @ on_host(solution.coefficients) + on_host(solution.intercepts))
    np.testing.assert_allclose(
        on_host(solution.margins), margins, atol=1e-5 * np.abs(margins).max()
    )


def test_single_precision_ends_quietly_when_tol_asks_too_much(rng):
    features, signs = problem(rng, n=500, D=20, noise=2.0)
    solution = solve_squared_hinge(features.astype(np.float32), signs, 10.0, tol=1e-12)
    assert solution.n_steps < 50
    assert solution.optimality < 1e-5


@pytest.mark.parametrize("place", ["numpy", "torch"])
def test_only_a_given_tolerance_can_fail(place, rng):
    features, signs = problem(rng, noise=0.1)
    put = PLACES[place]
    with pytest.warns(ConvergenceWarning, match="after 1 Newton steps"):
        solution = solve_squared_hinge(put(features), put(signs), 10.0, tol=1e-12, max_steps=1)
    assert solution.optimality > 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve_squared_hinge(put(features), put(signs), 10.0, tol=None, max_steps=1)


@pytest.mark.parametrize("method", METHODS)
def test_numbers_that_are_not_finite_do_not_hang(method, rng):
    features, signs = problem(rng)
    features[3, 2] = np.nan
    with pytest.warns(ConvergenceWarning):
        solve_squared_hinge(features, signs, 1.0, max_steps=5, method=method)


def test_messages_name_the_parameter(rng):
    features, signs = problem(rng)
    with pytest.raises(ValueError, match=r"features must have shape .* got \(6,\)"):
        solve_squared_hinge(features[0], signs, 1.0)
    with pytest.raises(ValueError, match=r"features must be float32 or float64, got int"):
        solve_squared_hinge(features.astype(int), signs, 1.0)
    with pytest.raises(ValueError, match=r"signs must have shape \(120,\)"):
        solve_squared_hinge(features, signs[:5], 1.0)
    with pytest.raises(ValueError, match=r"signs must hold -1 and \+1 only, got .*0"):
        solve_squared_hinge(features, 0 * signs, 1.0)
    with pytest.raises(ValueError, match=r"C must be a finite number greater than 0, got 0"):
        solve_squared_hinge(features, signs, 0)
    with pytest.raises(ValueError, match=r"max_steps must be at least 1, got 0"):
        solve_squared_hinge(features, signs, 1.0, max_steps=0)
    with pytest.raises(ValueError, match=r"method must be .* got 'fast'"):
        solve_squared_hinge(features, signs, 1.0, method="fast")
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(120,\)"):
        solve_squared_hinge(features, signs, 1.0, sample_weight=[1.0])
    with pytest.raises(ValueError, match=r"sample_weight must be finite and zero or more"):
        solve_squared_hinge(features, signs, 1.0, sample_weight=-np.ones(120))
    start = solve_squared_hinge(features, signs, 1.0)
    with pytest.raises(ValueError, match=r"start has 6 features and 1 columns"):
        solve_squared_hinge(features[:, :3], signs, 1.0, start=start)


@pytest.mark.parametrize("place", ["numpy", "torch"])
def test_a_feature_that_outweighs_the_others(place, rng):
    """As a constant does: of the others single precision leaves few digits."""
    Z = rng.normal(size=(20000, 200))
    features = ((1 + 1e-3 * Z) * Z.shape[1] ** -0.5).astype(np.float32)
    signs = np.where(Z[:, :2] + 0.3 * rng.normal(size=(20000, 2)) > 0, 1.0, -1.0)
    put = PLACES[place]
    solution = solve_squared_hinge(put(features), put(signs), 250.0, tol=1e-4, method="conjugate")
    assert solution.optimality < 1e-4
    assert np.mean(on_host(solution.margins) > 0) > 0.88


@pytest.mark.parametrize("place", ["numpy", "torch"])
def test_rounding_that_leaves_a_gram_matrix_indefinite(place, rng):
    Q = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    features = PLACES[place](rng.normal(size=(50, 30)).astype(np.float32))
    design = Design(features, None, False)
    values = np.r_[1e7, -30.0, np.ones(28)]  # a relative error of 3e-6
    gram = PLACES[place](Q @ np.diag(values) @ Q.T)
    solve = solver(design, gram, 0 * gram, PLACES[place](np.eye(30)), watched=True)
    b = rng.normal(size=(30, 1))
    direction = on_host(solve(PLACES[place](b)))
    assert np.isfinite(direction).all()
    assert np.sum(b * direction) > 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_systems_of_few_active_rows(weighted, fit_intercept, rng):
    weights = np.where(rng.random(90) < 0.2, 0.0, rng.random(90)) if weighted else None
    design, C = Design(rng.normal(size=(90, 50)), weights, fit_intercept), 0.3
    active = np.arange(90) < np.array([[20], [0], [90]])  # few, none, more than features
    gradient = rng.normal(size=(3, design.size))
    enough = np.full((3, 1), 1e-9)
    dense = DenseHost(design)
    found = ActiveRows(design, dense)(C, active, gradient, [0, 1, 2], enough)
    expected = dense(C, active, gradient, [0, 1, 2], enough)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_few_active_rows_of_many(rng):
    """The whole way with such systems: rows that are mostly outside of the margin."""
    Z = rng.normal(size=(600, 10))
    features = Z @ rng.normal(size=(10, 150))
    signs = np.where(Z[:, :3] + 0.1 * rng.normal(size=(600, 3)) > 0, 1.0, -1.0)
    found = solve_squared_hinge(features, signs, 1.0, tol=1e-9, method="rows")
    expected = solve_squared_hinge(features, signs, 1.0, tol=1e-9, method="dense")
    np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=1e-8)
    assert np.count_nonzero(found.margins < 1, axis=0).max() < 0.7 * 150
