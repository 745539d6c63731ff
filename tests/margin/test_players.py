"""The data players against independent machines, and weak duality against any kernel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from bochner.linear import GrowingRidge, solve_squared_hinge
from bochner.margin.players import (
    CorrectiveMargin,
    CorrectiveResidual,
    GradientMargin,
    GradientResidual,
    columns_of,
    make_player,
)
from bochner.targets import Target
from tests.places import PLACES, on_host

GRID = np.linspace(0, 8, 60)  # the frequencies that the kernels of these tests are made of
DEVICES = ["torch", "strict"]


TWO, MANY, NUMBERS = Target(np.array([0, 1])), Target(np.array([0, 1, 2])), Target(None)
TARGETS = {"two": TWO, "many": MANY, "numbers": NUMBERS}


def pairs(x, frequencies):
    """Columns as the game gives them: all cosines before all sines, amplitude one."""
    phases = np.outer(x, frequencies)
    return np.hstack([np.cos(phases), np.sin(phases)])


def potentials(x, A, frequencies=GRID):
    return (np.abs(np.exp(1j * np.outer(frequencies, x)) @ A) ** 2).sum(axis=1)


def noisy_signs(rng, x, share=0.1):
    signs = np.where(np.sin(2 * x) + 0.3 > 0, 1.0, -1.0)
    return np.where(rng.uniform(size=len(x)) < share, -signs, signs)[:, None]


def problem(rng, n=60):
    x = rng.uniform(-3, 3, size=n)
    return x, noisy_signs(rng, x)


def kernel_columns(x, weights):
    """Features of the kernel with these weights, of sum one, on the frequencies of the grid."""
    return pairs(x, GRID) * np.sqrt(np.tile(weights, 2))


def random_weights(rng, n_frequencies):
    weights = np.zeros(len(GRID))
    chosen = rng.choice(len(GRID), size=n_frequencies, replace=False)
    weights[chosen] = rng.dirichlet(np.ones(n_frequencies))
    return weights


def hinge_optimum(x, y, C, weights):
    """The primal objective of SVC's solution: not below the optimum however well it is solved."""
    kernel = kernel_columns(x, weights) @ kernel_columns(x, weights).T
    machine = SVC(C=C, kernel="precomputed", tol=1e-4).fit(kernel, y)
    a = np.zeros(len(x))
    a[machine.support_] = machine.dual_coef_[0]
    lacking = np.maximum(0, 1 - y * (kernel @ a + machine.intercept_))
    return a @ kernel @ a / 2 + C * lacking.sum()


def squared_hinge_optimum(x, signs, C, weights):
    features = kernel_columns(x, weights)
    solution = solve_squared_hinge(features, signs, C, tol=1e-10)
    lacking = np.maximum(0, 1 - solution.margins)
    return (solution.coefficients**2).sum() / 2 + C * (lacking**2).sum()


def ridge_optimum(x, targets, C, weights):
    features = kernel_columns(x, weights)
    machine = Ridge(alpha=1 / (2 * C), solver="svd").fit(features, targets)
    residual = targets - machine.predict(features).reshape(targets.shape)
    return (machine.coef_**2).sum() / 2 + C * (residual**2).sum()


class TestColumns:
    def test_two_classes_are_signs(self):
        np.testing.assert_array_equal(columns_of(TWO, np.array([0, 1, 1])), [[-1], [1], [1]])

    def test_many_classes_are_one_column_each(self):
        np.testing.assert_array_equal(columns_of(MANY, np.array([2, 0])), [[0, 0, 1], [1, 0, 0]])

    def test_numbers_are_centred(self, rng):
        columns = columns_of(NUMBERS, rng.normal(7, 3, size=50))
        assert columns.shape == (50, 1)
        assert abs(columns.mean()) < 1e-12


class TestMakePlayer:
    @pytest.mark.parametrize(
        ("target", "dual_update", "rescale", "expected"),
        [
            ("two", "corrective", True, CorrectiveMargin),
            ("two", "gradient", True, GradientMargin),
            ("many", "corrective", True, CorrectiveResidual),
            ("many", "corrective", False, CorrectiveMargin),
            ("many", "gradient", True, GradientMargin),
            ("numbers", "corrective", True, CorrectiveResidual),
            ("numbers", "corrective", False, CorrectiveResidual),
            ("numbers", "gradient", True, GradientResidual),
        ],
    )
    def test_the_player_for_the_target(self, target, dual_update, rescale, expected):
        y = np.array([0, 1, 2, 1, 0, 2]) if target == "many" else np.array([0, 1, 1, 0, 1, 0])
        columns = columns_of(TARGETS[target], y)
        player = make_player(
            TARGETS[target], columns, dual_update, damping=0.4, strength=50.0, rescale=rescale
        )
        assert type(player) is expected
        assert player.coefficients.shape == columns.shape
        share = player.damping if dual_update == "corrective" else player.step
        assert share == 0.4
        if dual_update == "corrective":
            np.testing.assert_allclose(player.C, 50.0 / 6)
        # a feature can be of use: the coefficients are no longer the same for all rows
        assert np.ptp(player.coefficients) > 0
        np.testing.assert_allclose(player.coefficients.sum(axis=0), 0, atol=1e-12)

    def test_each_class_against_the_others(self):
        y = np.array([0, 1, 2, 1, 0, 2])
        columns = columns_of(MANY, y)
        player = make_player(MANY, columns, "gradient", damping=0.3, strength=1.0)
        assert (np.sign(player.coefficients) == np.where(columns_of(MANY, y) > 0, 1, -1)).all()


class TestCorrectiveMargin:
    def test_agrees_with_a_general_solver_of_the_dual(self):
        """max over alpha >= 0, y.alpha = 0 of sum alpha - alpha Q alpha / 2 - |alpha|^2 / 4C."""
        x, strength = np.array([-2.0, -0.1, 0.1, 0.9, 2.0]), 10.0
        y, C = np.array([-1.0, -1, 1, -1, 1]), strength / 5
        columns = pairs(x, [1.0, 2.5])
        Q = np.outer(y, y) * (columns @ columns.T) / 2  # each of the two weighs a half
        found = minimize(
            lambda a: a @ Q @ a / 2 + a @ a / (4 * C) - a.sum(),
            np.ones(5),
            jac=lambda a: Q @ a + a / (2 * C) - 1,
            bounds=[(0, None)] * 5,
            constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        player = CorrectiveMargin(y[:, None], strength=strength, damping=1.0)
        objective = player.move(columns)
        np.testing.assert_allclose(objective, -found.fun, rtol=1e-7)
        np.testing.assert_allclose(player.weights[:, 0], found.x / found.x.mean(), atol=1e-5)

    def test_full_moves_give_the_duals_of_the_machine(self, rng):
        x, signs = problem(rng)
        player = CorrectiveMargin(signs, strength=100.0, damping=1.0)
        for m, frequency in enumerate([2.0, 0.5, 3.1, 1.2], start=1):
            objective = player.move(pairs(x, [frequency]))
            used = pairs(x, [2.0, 0.5, 3.1, 1.2][:m]) / np.sqrt(m)
            solution = solve_squared_hinge(used, signs, player.C, tol=1e-10)
            duals = solution.duals(player.C)
            np.testing.assert_allclose(player.weights, duals / duals.mean(), atol=1e-4)
            lacking = np.maximum(0, 1 - solution.margins)
            optimum = (solution.coefficients**2).sum() / 2 + player.C * (lacking**2).sum()
            np.testing.assert_allclose(objective, optimum, rtol=1e-7)

    def test_features_in_several_moves_are_those_in_one(self, rng):
        x, signs = problem(rng)
        one, several = (CorrectiveMargin(signs, strength=50.0, damping=1.0) for _ in range(2))
        frequencies = np.array([2.0, 0.4, 3.0, 1.1, 5.0])
        last = one.move(pairs(x, frequencies))
        for part in (slice(0, 1), slice(1, 3), slice(3, 5)):
            objective = several.move(pairs(x, frequencies[part]))
        np.testing.assert_allclose(several.weights, one.weights, atol=1e-4)
        np.testing.assert_allclose(objective, last, rtol=1e-6)

    @settings(deadline=None, max_examples=25)
    @given(
        n=st.integers(4, 40),
        k=st.integers(1, 3),
        damping=st.floats(0.05, 1.0),
        strength=st.sampled_from([0.1, 1.0, 10.0]),
        seed=st.integers(0, 10**6),
    )
    def test_weights_stay_balanced_with_mean_one(self, n, k, damping, strength, seed):
        rng = np.random.default_rng(seed)
        x, signs = rng.uniform(-3, 3, size=n), rng.choice([-1.0, 1.0], size=(n, k))
        signs[0], signs[1] = 1, -1
        player = CorrectiveMargin(signs, strength=strength, damping=damping)
        for frequencies in ([1.0], [0.3, 4.0], [2.0]):
            assert np.isfinite(player.move(pairs(x, frequencies)))
            assert (player.weights >= 0).all()
            np.testing.assert_allclose(player.weights.mean(), 1)
            np.testing.assert_allclose(player.coefficients, player.weights * signs)
            # with so weak a machine a few Newton steps are enough
            assert np.abs(player.coefficients.sum(axis=0)).max() < 1e-3 * n

    def test_damping_is_the_share_of_the_way(self, rng):
        x, signs = problem(rng)
        full, part = (CorrectiveMargin(signs, strength=100.0, damping=h) for h in (1.0, 0.3))
        start = part.weights.copy()
        full.move(pairs(x, [1.0, 2.0]))
        part.move(pairs(x, [1.0, 2.0]))
        np.testing.assert_allclose(part.weights, 0.7 * start + 0.3 * full.weights, atol=1e-12)


class TestBalance:
    @pytest.mark.parametrize("positive", [1, 7, 19])
    def test_few_of_one_class_weigh_as_much_as_the_others(self, positive):
        signs = np.where(np.arange(20) < positive, 1.0, -1.0)[:, None]
        for player in (
            CorrectiveMargin(signs, strength=100.0, damping=0.3),
            GradientMargin(signs, C=1.0, step=0.3),
        ):
            sides = player.weights[signs > 0].sum(), player.weights[signs < 0].sum()
            np.testing.assert_allclose(sides[0], sides[1])
        # those of the dual set are at most one: the rare class is at its limit
        rare = min(positive, 20 - positive)
        np.testing.assert_allclose(player.weights.sum(), 2 * rare)

    @pytest.mark.parametrize("damping", [0.3, 1.0])
    @pytest.mark.parametrize("sign", [-1.0, 1.0])
    def test_one_class_only_stays_finite(self, sign, damping, rng):
        x, signs = rng.normal(size=10), np.full((10, 1), sign)
        corrective = CorrectiveMargin(signs, strength=100.0, damping=damping)
        np.testing.assert_allclose(corrective.weights, 1)
        gradient = GradientMargin(signs, C=1.0, step=damping)
        np.testing.assert_array_equal(gradient.weights, 0)
        for player in (corrective, gradient):
            for _ in range(3):
                player.move(pairs(x, [1.0, 2.0]))
                assert np.isfinite(player.weights).all()
        assert np.isfinite(corrective.value(potentials(x, corrective.coefficients).max()))

    def test_no_weights_are_worth_nothing(self):
        player = GradientMargin(np.ones((5, 1)), C=1.0, step=0.3)
        assert player.value(np.float64(0.0)) == 0

    def test_each_column_has_its_own_balance(self):
        signs = np.where(np.arange(12)[:, None] < [3, 6, 12], 1.0, -1.0)
        player = CorrectiveMargin(signs, strength=100.0, damping=0.3)
        np.testing.assert_allclose(player.weights.sum(axis=0), 12)
        np.testing.assert_allclose(player.coefficients.sum(axis=0), [0, 0, 12], atol=1e-12)


class TestConstantColumns:
    """The frequency zero: a cosine of ones, a sine of zeros."""

    @pytest.mark.parametrize("kind", ["corrective", "gradient"])
    def test_weights_stay_what_they_were(self, kind, rng):
        x, signs = problem(rng)
        player = (
            CorrectiveMargin(signs, strength=100.0, damping=1.0)
            if kind == "corrective"
            else GradientMargin(signs, C=1.0, step=0.5)
        )
        before = player.weights
        player.move(pairs(x, [0.0]))
        np.testing.assert_allclose(player.weights, before, atol=1e-6)

    @pytest.mark.parametrize("kind", ["corrective", "gradient"])
    def test_residuals_stay_what_they_were(self, kind, rng):
        x, targets = rng.normal(size=30), rng.normal(size=(30, 2))
        player = (
            CorrectiveResidual(targets, strength=100.0, damping=1.0)
            if kind == "corrective"
            else GradientResidual(targets, step=1.0)
        )
        player.move(pairs(x, [0.0]))
        np.testing.assert_allclose(player.coefficients, targets - targets.mean(axis=0))


class TestGradientMargin:
    @settings(deadline=None, max_examples=25)
    @given(
        n=st.integers(2, 40),
        k=st.integers(1, 3),
        C=st.sampled_from([0.1, 1.0, 10.0]),
        step=st.floats(0.05, 2.0),
        seed=st.integers(0, 10**6),
    )
    def test_stays_in_the_dual_set(self, n, k, C, step, seed):
        rng = np.random.default_rng(seed)
        x, signs = rng.uniform(-3, 3, size=n), rng.choice([-1.0, 1.0], size=(n, k))
        player = GradientMargin(signs, C=C, step=step)
        for frequencies in ([1.0], [0.3, 4.0], [0.0, 2.0]):
            assert player.move(pairs(x, frequencies)) is None
            assert player.weights.min() >= 0
            assert player.weights.max() <= C
            assert np.abs(player.coefficients.sum(axis=0)).max() < 1e-9 * C * n

    def test_one_step_is_the_formula(self, rng):
        """alpha + (2 kappa / n) (1 - y Re(conj F exp(i w x))) where the limits do not matter."""
        x, signs = problem(rng)
        player = GradientMargin(signs, C=1.0, step=0.5)
        weights = rng.uniform(0.4, 0.6, size=signs.shape)
        weights /= np.where(signs > 0, weights[signs > 0].sum(), weights[signs < 0].sum()) / 12
        player.resume(pairs(x, [1.0]), weights * signs)
        wave = np.exp(1j * 2.0 * x)
        F = (weights * signs)[:, 0] @ wave
        slope = 1 - signs[:, 0] * (np.conj(F) * wave).real
        ahead = weights[:, 0] + 2 * 0.5 / len(x) * slope
        # y.alpha is brought back to zero along y
        ahead -= signs[:, 0] * (signs[:, 0] @ ahead) / len(x)
        player.move(pairs(x, [2.0]))
        assert ahead.min() > 0
        assert ahead.max() < 1
        np.testing.assert_allclose(player.weights[:, 0], ahead, atol=1e-12)

    def test_step_of_one_removes_the_correlation(self):
        # over whole periods cosine and sine are uncorrelated, and of mean zero
        n = 2000
        x = 2 * np.pi * np.arange(n) / n
        signs = np.where(np.sin(x) + 2 * np.sin(3 * x) >= 0, 1.0, -1.0)[:, None]
        for step in (0.1, 0.5, 1.0):
            player = GradientMargin(signs, C=100.0, step=step)
            player.resume(pairs(x, [1.0]), 50.0 * signs)
            before = potentials(x, player.coefficients, [1.0])[0]
            player.move(pairs(x, [1.0]))
            left = np.sqrt(potentials(x, player.coefficients, [1.0])[0] / before)
            # up to the constant of the gradient, 2 kappa / n beside weights of 50
            assert abs(left - (1 - step)) < 1e-4

    def test_each_frequency_is_a_step_of_its_own(self, rng):
        x, signs = problem(rng)
        together, apart = (GradientMargin(signs, C=1.0, step=0.5) for _ in range(2))
        together.move(pairs(x, [1.0, 2.0, 3.0]))
        for frequency in (1.0, 2.0, 3.0):
            apart.move(pairs(x, [frequency]))
        np.testing.assert_allclose(together.weights, apart.weights, atol=1e-12)


class TestCorrectiveResidual:
    @pytest.mark.parametrize("strength", [1.0, 5000.0])
    def test_agrees_with_scikit_learn(self, strength, rng):
        x = rng.uniform(-3, 3, size=50)
        targets = np.column_stack([np.sin(2 * x) + 3, x, rng.normal(size=50)])
        player = CorrectiveResidual(targets, strength=strength, damping=1.0)
        used, C = [], strength / 50
        for new in ([1.0], [2.0, 0.5], [4.0]):
            used += new
            objective = player.move(pairs(x, new))
            m = len(used)
            features = pairs(x, used) / np.sqrt(m)
            expected = Ridge(alpha=1 / (2 * C), solver="svd").fit(features, targets)
            residual = targets - expected.predict(features)
            np.testing.assert_allclose(player.coefficients, residual, atol=1e-7)
            optimum = (expected.coef_**2).sum() / 2 + C * (residual**2).sum()
            np.testing.assert_allclose(objective, optimum, rtol=1e-7)
            np.testing.assert_allclose(player.coefficients.sum(axis=0), 0, atol=1e-8)

    def test_damping_is_the_share_of_the_way(self, rng):
        x, targets = rng.normal(size=30), rng.normal(size=(30, 2))
        full, part = (CorrectiveResidual(targets, strength=100.0, damping=h) for h in (1.0, 0.3))
        start = part.coefficients.copy()
        full.move(pairs(x, [1.0]))
        part.move(pairs(x, [1.0]))
        expected = 0.7 * start + 0.3 * full.coefficients
        np.testing.assert_allclose(part.coefficients, expected, atol=1e-12)

    def test_targets_of_the_caller_are_left_alone(self, rng):
        x, targets = rng.normal(size=30), rng.normal(size=(30, 2))
        before = targets.copy()
        for player in (
            CorrectiveResidual(targets, strength=100.0, damping=1.0),
            GradientResidual(targets, step=1.0),
        ):
            player.move(pairs(x, [1.0]))
            np.testing.assert_array_equal(targets, before)


class TestGradientResidual:
    def test_orthogonal_waves_lose_the_share_of_their_part(self):
        x = 2 * np.pi * np.arange(100) / 100
        targets = np.column_stack([np.sin(x) + np.cos(3 * x), np.cos(x)])
        player = GradientResidual(targets, step=0.25)
        assert player.move(pairs(x, [1.0, 2.0])) is None
        expected = np.column_stack([0.75 * np.sin(x) + np.cos(3 * x), 0.75 * np.cos(x)])
        np.testing.assert_allclose(player.coefficients, expected, atol=1e-12)

    @settings(deadline=None, max_examples=25)
    @given(step=st.floats(0.05, 0.99), seed=st.integers(0, 10**6))
    def test_never_grows_and_stays_centred(self, step, seed):
        """|P| <= 2 for a pair of amplitude one, so that a step of less than one contracts."""
        rng = np.random.default_rng(seed)
        x, targets = rng.uniform(-3, 3, size=25), rng.normal(5, 1, size=(25, 2))
        player = GradientResidual(targets, step=step)
        for frequencies in ([1.0], [0.01, 2.0]):
            before = np.linalg.norm(player.coefficients)
            player.move(pairs(x, frequencies))
            assert np.linalg.norm(player.coefficients) <= before * (1 + 1e-12)
            np.testing.assert_allclose(player.coefficients.sum(axis=0), 0, atol=1e-9)


class TestFunctionsOfOnePart:
    """Functions on the sphere, which have one column each and may come again."""

    def test_a_full_step_removes_the_correlation(self, rng):
        """Where the projection does nothing: for residuals exactly."""
        player = GradientResidual(rng.normal(size=(30, 1)), step=1.0, n_parts=1)
        column = rng.normal(size=(30, 1))
        player.move(column)
        assert (column - column.mean())[:, 0] @ player.coefficients == pytest.approx(0, abs=1e-12)

    def test_weights_stay_in_the_set(self, rng):
        signs = np.where(rng.normal(size=(50, 3)) > 0.5, 1.0, -1.0)
        player = GradientMargin(signs, C=0.3, step=0.5, n_parts=1)
        for _ in range(10):
            player.move(rng.normal(size=(50, 1)))
            assert ((player.weights >= 0) & (player.weights <= 0.3)).all()
            np.testing.assert_allclose(player.coefficients.sum(axis=0), 0, atol=1e-12)

    def test_ridge_residual(self, rng):
        Phi, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
        player = CorrectiveResidual(y, strength=80.0, damping=1.0, n_parts=1)
        player.move(Phi)
        model = Ridge(alpha=1 / 4).fit(Phi / np.sqrt(3), y[:, 0])
        residual = y[:, 0] - model.predict(Phi / np.sqrt(3))
        np.testing.assert_allclose(player.coefficients[:, 0], residual, atol=1e-12)

    def test_one_that_comes_again_is_as_heavy_as_its_rounds(self, rng):
        x, signs = problem(rng)
        columns, weights = pairs(x, [1.0]), np.array([2.0, 1.0])
        again = CorrectiveMargin(signs, strength=50.0, damping=1.0, n_parts=1, rescale=False)
        for k in (0, 1, 0):
            objective = again.move(columns[:, k : k + 1])
        features = columns * np.sqrt(weights / 3)
        solution = solve_squared_hinge(features, signs, again.C, tol=1e-10)
        np.testing.assert_allclose(again.weights, solution.duals(again.C), atol=1e-5)
        lacking = np.maximum(0, 1 - solution.margins)
        optimum = (solution.coefficients**2).sum() / 2 + again.C * (lacking**2).sum()
        np.testing.assert_allclose(objective, optimum, rtol=1e-6)

    def test_weights_of_the_model_begin_in_the_dual_set(self, rng):
        signs = np.where(rng.normal(size=(50, 3)) > 0.5, 1.0, -1.0)
        player = CorrectiveMargin(signs, strength=35.0, damping=0.5, n_parts=1, rescale=False)
        np.testing.assert_allclose(player.weights.max(axis=0), 0.7)
        np.testing.assert_allclose(player.coefficients.sum(axis=0), 0, atol=1e-12)


class TestWeakDuality:
    """What A is worth against the best frequency is a lower limit of any kernel's optimum.

    Exact on a finite set of frequencies: the peak is then the largest of their potentials.
    """

    @settings(deadline=None, max_examples=30)
    @given(
        n_moves=st.integers(0, 4),
        n_frequencies=st.integers(1, 10),
        strength=st.sampled_from([1.0, 10.0, 100.0]),
        damping=st.floats(0.1, 1.0),
        seed=st.integers(0, 10**6),
    )
    def test_squared_hinge(self, n_moves, n_frequencies, strength, damping, seed):
        rng = np.random.default_rng(seed)
        x, signs = problem(rng, n=30)
        signs[0], signs[1] = 1, -1
        player = CorrectiveMargin(signs, strength=strength, damping=damping)
        for _ in range(n_moves):
            player.move(pairs(x, rng.choice(GRID, size=2)))
        value = player.value(potentials(x, player.coefficients).max())
        for weights in (random_weights(rng, n_frequencies), np.full(len(GRID), 1 / len(GRID))):
            optimum = squared_hinge_optimum(x, signs, strength / 30, weights)
            assert 0 < value <= optimum * (1 + 1e-5)

    @settings(deadline=None, max_examples=30)
    @given(
        n_moves=st.integers(0, 4),
        n_frequencies=st.integers(1, 10),
        C=st.sampled_from([0.1, 1.0, 10.0]),
        seed=st.integers(0, 10**6),
    )
    def test_hinge(self, n_moves, n_frequencies, C, seed):
        rng = np.random.default_rng(seed)
        x, signs = problem(rng, n=30)
        signs[0], signs[1] = 1, -1
        player = GradientMargin(signs, C=C, step=0.5)
        for _ in range(n_moves):
            player.move(pairs(x, rng.choice(GRID, size=2)))
        value = player.value(potentials(x, player.coefficients).max())
        optimum = hinge_optimum(x, signs[:, 0], C, random_weights(rng, n_frequencies))
        assert 0 <= value <= optimum * (1 + 1e-9)

    @settings(deadline=None, max_examples=30)
    @given(
        n_moves=st.integers(0, 4),
        n_frequencies=st.integers(1, 10),
        strength=st.sampled_from([1.0, 100.0, 1000.0]),
        seed=st.integers(0, 10**6),
    )
    def test_ridge(self, n_moves, n_frequencies, strength, seed):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-3, 3, size=30)
        targets = np.column_stack([np.sin(2 * x), rng.normal(size=30) + 7])
        player = CorrectiveResidual(targets, strength=strength, damping=0.5)
        for _ in range(n_moves):
            player.move(pairs(x, rng.choice(GRID, size=2)))
        value = player.value(potentials(x, player.coefficients).max())
        optimum = ridge_optimum(x, targets, strength / 30, random_weights(rng, n_frequencies))
        assert 0 < value <= optimum * (1 + 1e-6)

    def test_interpolation(self, rng):
        """Without a penalty: half the square of the smallest coefficients that fit exactly."""
        x = rng.uniform(-3, 3, size=6)
        targets = rng.normal(size=(6, 2))
        player = GradientResidual(targets, step=0.5)
        uniform = np.full(len(GRID), 1 / len(GRID))
        for frequency in (1.0, 2.0, 0.5, 3.0):
            value = player.value(potentials(x, player.coefficients).max())
            for weights in (uniform, random_weights(rng, 20)):
                # C is finite for the sake of the solver, and lowers the optimum a little
                optimum = ridge_optimum(x, targets, 1e9, weights)
                assert value <= optimum * (1 + 1e-4)
            player.move(pairs(x, [frequency]))

    def test_the_value_is_best_over_scales(self, rng):
        x, signs = problem(rng)
        player = CorrectiveMargin(signs, strength=100.0, damping=0.5)
        player.move(pairs(x, [1.0]))
        peak, a = potentials(x, player.coefficients).max(), player.weights
        scales = np.geomspace(1e-3, 10, 20000)
        values = (
            scales * a.sum() - scales**2 * peak / 2 - scales**2 * (a**2).sum() / (4 * player.C)
        )
        np.testing.assert_allclose(player.value(peak), values.max(), rtol=1e-6)

    def test_smaller_weights_are_worth_no_more_in_the_box(self, rng):
        player = GradientMargin(problem(rng)[1], C=1.0, step=0.5)
        for peak in (0.0, 1.0, 100.0, 1000.0):
            total = player.weights.sum()
            scales = np.linspace(0, 1, 100001)
            values = scales * total - scales**2 * peak / 2
            np.testing.assert_allclose(player.value(np.float64(peak)), values.max(), rtol=1e-4)


@pytest.mark.parametrize("kind", ["margin", "residual"])
def test_the_gap_closes_with_best_replies(kind, rng):
    """Frank-Wolfe over the kernels of a finite set of frequencies, the data player exact."""
    x, signs = problem(rng)
    player = (
        CorrectiveMargin(signs, strength=30.0, damping=1.0)
        if kind == "margin"
        else CorrectiveResidual(signs, strength=30.0, damping=1.0)
    )
    objectives, values = [], []
    for _ in range(120):
        heights = potentials(x, player.coefficients)
        values.append(float(player.value(heights.max())))
        objectives.append(float(player.move(pairs(x, [GRID[heights.argmax()]]))))
    gaps = np.minimum.accumulate(objectives) - np.maximum.accumulate(values)
    assert (gaps > -1e-6 * gaps[0]).all()
    # the rate is that of one over the number of rounds
    assert gaps[30] < 0.2 * gaps[0]
    assert gaps[-1] < 0.05 * gaps[0]


def players(targets, signs, damping=0.5):
    return {
        "corrective margin": CorrectiveMargin(signs, strength=100.0, damping=damping),
        "gradient margin": GradientMargin(signs, C=1.0, step=damping),
        "corrective residual": CorrectiveResidual(targets, strength=1000.0, damping=damping),
        "gradient residual": GradientResidual(targets, step=damping),
    }


KINDS = ["corrective margin", "gradient margin", "corrective residual", "gradient residual"]


@pytest.mark.parametrize("kind", KINDS)
def test_resume_goes_on_with_the_game(kind, rng):
    x, signs = problem(rng)
    targets = np.column_stack([np.sin(2 * x), x])
    whole, rest = players(targets, signs)[kind], players(targets, signs)[kind]
    rounds = [[1.0, 2.0], [0.5, 3.0], [4.0], [2.5]]
    for frequencies in rounds[:2]:
        whole.move(pairs(x, frequencies))
    # the features of the first game, in one block: the cosines of all rounds first
    rest.resume(pairs(x, [*rounds[0], *rounds[1]]), whole.coefficients.copy())
    np.testing.assert_allclose(rest.coefficients, whole.coefficients)
    for frequencies in rounds[2:]:
        one, other = (player.move(pairs(x, frequencies)) for player in (whole, rest))
        if one is not None:
            # the machine starts anew, with as few Newton steps
            np.testing.assert_allclose(other, one, rtol=1e-4)
        np.testing.assert_allclose(rest.coefficients, whole.coefficients, atol=0.02)


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_in_every_place(kind, dtype, place, rng):
    put = PLACES[place]
    x, signs = problem(rng, n=200)
    targets = np.column_stack([np.sin(2 * x), x])
    host = players(targets, signs)[kind]
    there = players(put(targets.astype(dtype)), put(signs.astype(dtype)))[kind]
    tolerance = {"rtol": 1e-3, "atol": 2e-3} if dtype == np.float32 else {"atol": 1e-6}
    for frequencies in ([1.0, 2.0], [0.5, 3.0, 4.0]):
        peak = potentials(x, host.coefficients).max()
        np.testing.assert_allclose(
            float(there.value(put(np.full((1,), peak, dtype))[0])), host.value(peak), rtol=1e-3
        )
        expected = host.move(pairs(x, frequencies))
        found = there.move(put(pairs(x, frequencies).astype(dtype)))
        assert (found is None) == (expected is None)
        if expected is not None:
            np.testing.assert_allclose(float(found), expected, rtol=1e-4)
        assert type(there.coefficients) is type(put(x))
        np.testing.assert_allclose(on_host(there.coefficients), host.coefficients, **tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_columns_beside_double_coefficients(kind, rng):
    x, signs = problem(rng)
    targets = np.column_stack([np.sin(2 * x), x])
    double, single = players(targets, signs)[kind], players(targets, signs)[kind]
    for frequencies in ([1.0, 2.0], [3.0]):
        double.move(pairs(x, frequencies))
        single.move(pairs(x, frequencies).astype(np.float32))
    np.testing.assert_allclose(single.coefficients, double.coefficients, atol=1e-3)


def test_residual_player_and_growing_ridge_mean_the_same_penalty(rng):
    x, y = rng.normal(size=40), rng.normal(size=(40, 1))
    player = CorrectiveResidual(y, strength=200.0, damping=1.0)
    player.move(pairs(x, [1.0, 2.0, 3.0]))
    ridge = GrowingRidge(y).append(pairs(x, [1.0, 2.0, 3.0]))
    np.testing.assert_allclose(player.coefficients, ridge.residuals(3 * 40 / (2 * 200.0)))
