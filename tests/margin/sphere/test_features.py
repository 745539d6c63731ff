import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner.linear.dual_set import project_onto_dual_set
from bochner.margin.sphere import families, features
from bochner.margin.sphere.features import MarginHarmonicFeatures
from bochner.margin.sphere.harmonics import harmonic_orders, sphere_area
from bochner.margin.sphere.unit_rows import unit_rows
from tests.callbacks import Watch
from tests.feature_map_case import FeatureMapCase
from tests.margin.sphere.test_harmonics import harmonics, sphere
from tests.places import PLACES, on_host


class MergedPicks(FeatureMapCase):
    """Rounds that pick a function again make it heavier: fewer columns than rounds."""

    __test__ = False
    unit_norm = False
    refuses_huge = ()  # directions are found at any size

    def test_n_components_is_the_number_of_columns(self):
        fitted, X = self.fitted()
        columns = fitted.transform(X).shape[1]
        assert columns == len(fitted.get_feature_names_out()) == len(fitted.weights_)
        assert columns <= fitted.n_kept_ <= fitted.n_iter_ <= fitted.n_components
        counts = fitted.weights_ * fitted.n_kept_
        np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
        assert fitted.weights_.sum() == pytest.approx(1)


class TestHarmonics(MergedPicks):
    __test__ = True
    estimator = MarginHarmonicFeatures(n_components=20, budget=200)

    def test_the_seed_decides(self):
        """Nothing: the best of a list is found exactly."""
        fitted, X = self.fitted()
        other, _ = self.fitted(random_state=1)
        np.testing.assert_array_equal(fitted.transform(X), other.transform(X))


class TestZonal(MergedPicks):
    __test__ = True
    # all rounds: with another seed another number may be kept
    estimator = MarginHarmonicFeatures(n_components=6, functions="zonal", stop=None)
    # Chains magnify rounding: turns kept or undone, from slightly different sums.
    fit_agrees = ("numpy",)


class TestCorrective(MergedPicks):
    __test__ = True
    estimator = MarginHarmonicFeatures(n_components=8, budget=100, dual_update="corrective")
    test_the_seed_decides = TestHarmonics.test_the_seed_decides


SHUFFLED = "the check shuffles rows, and chains begin at rows that are drawn by their positions"
EXPECTED_FAILURES = {
    f"check_sample_weight_equivalence_on_{kind}_data": SHUFFLED for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [
        MarginHarmonicFeatures(n_components=5, budget=50),
        MarginHarmonicFeatures(n_components=3, functions="zonal", stop=None, random_state=0),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def game(**parameters):
    """The paper's game: all rounds, with all rows."""
    return MarginHarmonicFeatures(**{"stop": None, **parameters})


def checkerboard(n, a, b, rng):
    X = sphere(rng, n, 3)
    angle = np.arctan2(X[:, 1], X[:, 0])
    cell = np.floor(b * (X[:, 2] + 1) / 2) + np.floor(2 * a * (angle + np.pi) / (2 * np.pi))
    return X, np.where(cell % 2 == 0, 1, -1)


@pytest.mark.parametrize(("a", "b"), [(2, 3), (3, 4)])
def test_checkerboard(a, b, rng):
    """The paper's Figure 1b: 99.1 % with 29 harmonics on its board; plain kernels 95 to 97 %."""
    X, y = checkerboard(2000, a, b, rng)
    X_test, y_test = checkerboard(20_000, a, b, rng)
    fitted = MarginHarmonicFeatures().fit(X, y)
    assert len(fitted.weights_) <= 38
    assert fitted.max_degree_ == 31
    machine = LinearSVC(C=100, dual=False).fit(fitted.transform(X), y)
    accuracy = accuracy_score(y_test, machine.predict(fitted.transform(X_test)))
    plain = SVC(gamma=10, C=10).fit(X, y)
    baseline = accuracy_score(y_test, plain.predict(X_test))
    error = np.sqrt(0.01 * 0.99 / len(y_test))
    assert accuracy > 0.991 - 3 * error
    assert accuracy > baseline + 3 * error


def naive_game(X, y, degree, n_rounds, C, kappa):
    """Algorithm 2, line by line, for two classes."""
    Y = np.sqrt(sphere_area(X.shape[1])) * harmonics(X, degree)
    alpha = project_onto_dual_set(np.full(len(y), C), y, C)
    counts, potentials = np.zeros(Y.shape[1], int), []
    for _ in range(n_rounds):
        sums = [sum(alpha[i] * y[i] * Y[i, j] for i in range(len(y))) for j in range(Y.shape[1])]
        best = int(np.argmax(np.square(sums)))
        counts[best] += 1
        potentials.append(sums[best] ** 2)
        phi = Y[:, best]
        alpha = alpha + kappa / (phi @ phi) * (1 - y * phi * sums[best])
        alpha = project_onto_dual_set(alpha, y, C)
    return counts, potentials


@pytest.mark.parametrize("budget", [None, 1])  # functions kept, or computed in every round
def test_is_the_algorithm(budget, rng, monkeypatch):
    monkeypatch.setattr(families, "_BLOCK_ROWS", 7)
    X = sphere(rng, 40, 3)
    y = np.where(X[:, 0] * X[:, 2] + 0.3 * rng.normal(size=40) > 0, 1, -1)
    fitted = game(n_components=15, max_degree=4, C=0.7, step=0.4, memory_budget=budget).fit(X, y)
    counts, potentials = naive_game(X, y, 4, 15, 0.7, 0.4)
    orders = harmonic_orders(3, 4)
    found = {tuple(o): w for o, w in zip(fitted.orders_.tolist(), fitted.weights_, strict=True)}
    expected = {tuple(o): c / 15 for o, c in zip(orders.tolist(), counts, strict=True) if c}
    assert found == pytest.approx(expected)
    np.testing.assert_allclose(fitted.history_["potential"], potentials, rtol=1e-9)
    columns = harmonics(X, 4)[:, [orders.tolist().index(list(o)) for o in found]]
    kernel = 4 * np.pi * (columns * fitted.weights_) @ columns.T
    np.testing.assert_allclose(fitted.transform(X) @ fitted.transform(X).T, kernel, atol=1e-12)


def test_zonal_columns_have_the_promised_size(rng):
    X, y = rng.normal(size=(150, 12)), np.arange(150) % 2
    fitted = game(n_components=5, random_state=0).fit(X, y)
    assert not hasattr(fitted, "orders_")
    np.testing.assert_allclose(np.linalg.norm(fitted.directions_, axis=0), 1)
    squares = (fitted.transform(X) ** 2).mean(axis=0)
    np.testing.assert_allclose(squares, fitted.weights_, rtol=1e-12)


def test_zonal_functions_tell_digits_apart():
    X, y = load_digits(return_X_y=True)
    keep = (y == 3) | (y == 8)
    X, y = X[keep], y[keep]
    scores = []
    for seed in range(3):
        order = np.random.RandomState(seed).permutation(len(y))
        train, test = order[:250], order[250:]
        fitted = game(n_components=15, random_state=seed)
        machine = LinearSVC(dual=False).fit(fitted.fit_transform(X[train], y[train]), y[train])
        scores.append(machine.score(fitted.transform(X[test]), y[test]))
    assert np.mean(scores) - 3 * np.std(scores, ddof=1) / np.sqrt(3) > 0.93


def test_zonal_search_on_a_sample_of_the_rows(monkeypatch, rng):
    monkeypatch.setattr(families, "_SEARCH_ROWS", 50)
    X = rng.normal(size=(300, 12))
    y = X[:, 0] > 0
    for place in ("numpy", "csr", "torch"):
        fitted = game(n_components=3, random_state=0)
        fitted.fit(PLACES[place](X), y)
        assert np.abs(fitted.directions_[0, 0]) > 0.7


def test_zonal_functions_are_picked_again(rng):
    """A target that is one zonal function needs one column, whatever the number of rounds."""
    X = sphere(rng, 2000, 12)
    fitted = game(n_components=8, step=0.2, random_state=0).fit(X, X[:, 3] ** 3)
    heaviest = np.argmax(fitted.weights_)
    assert fitted.weights_[heaviest] > 0.5
    assert np.abs(fitted.directions_[3, heaviest]) > 0.99


class TestTargets:
    def test_the_names_of_the_classes_do_not_matter(self, rng):
        X = sphere(rng, 100, 3)
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        plain = game(n_components=8, budget=100).fit(X, y)
        for other in (np.array(["no", "yes"])[y], 1 - y, y.astype(bool)):
            fitted = game(n_components=8, budget=100).fit(X, other)
            np.testing.assert_allclose(fitted.transform(X), plain.transform(X), atol=1e-12)
            assert len(fitted.classes_) == 2

    @pytest.mark.parametrize("update", ["gradient", "corrective"])
    def test_many_classes(self, update, rng):
        X = sphere(rng, 1500, 3)
        y = np.argmax(X**2, axis=1)
        fitted = game(n_components=20, max_degree=6, dual_update=update)
        Z = fitted.fit_transform(X[:1000], y[:1000])
        machine = LinearSVC(dual=False, C=10).fit(Z, y[:1000])
        assert machine.score(fitted.transform(X[1000:]), y[1000:]) > 0.95
        assert (fitted.degrees_[:2] == 2).all()

    @pytest.mark.parametrize("update", ["gradient", "corrective"])
    def test_regression_finds_the_functions_in_the_target(self, update, rng):
        X = sphere(rng, 500, 3)
        orders = np.array([[2, 1], [5, -3], [7, 0]])
        Y = np.sqrt(4 * np.pi) * harmonics(X, 8)
        places = [harmonic_orders(3, 8).tolist().index(o) for o in orders.tolist()]
        y = 100 + 10 * Y[:, places] @ [3.0, -2.0, 1.0]
        fitted = game(n_components=12, max_degree=8, dual_update=update)
        fitted.fit(X, y)
        assert fitted.classes_ is None
        assert fitted.duality_gap_ is None
        assert {tuple(o) for o in orders} <= {tuple(o) for o in fitted.orders_}
        assert (np.diff(fitted.history_["squared_residual"]) < 1e-9).all()

    def test_regression_scale_and_shift_do_not_matter(self):
        X, y = make_regression(n_samples=200, n_features=4, random_state=0)
        one = game(n_components=10).fit(X, y)
        two = game(n_components=10).fit(X, 1e6 - 1e3 * y)
        np.testing.assert_allclose(one.transform(X), two.transform(X), atol=1e-9)
        assert Ridge(alpha=1e-3).fit(one.transform(X), y).score(one.transform(X), y) > 0.5

    def test_whole_numbers_as_regression(self, rng):
        X = sphere(rng, 60, 3)
        y = np.round(5 * X[:, 2]).astype(int)
        fitted = game(n_components=5, target="regression").fit(X, y)
        assert fitted.classes_ is None
        np.testing.assert_array_equal(fitted.orders_[0], [1, 0])


class TestGap:
    def test_encloses_the_value_of_the_learned_kernel(self, rng):
        X, y = checkerboard(400, 2, 2, rng)
        fitted = game(n_components=50).fit(X, y)
        Z = fitted.transform(X)
        machine = SVC(kernel="linear", C=1.0, tol=1e-8).fit(Z, y)
        value = np.abs(machine.dual_coef_).sum() - 0.5 * (machine.coef_**2).sum()
        lower = fitted.history_["value"].max()
        assert lower <= value <= lower + fitted.duality_gap_ + 1e-6

    def test_more_rounds_close_it(self, rng):
        X, y = checkerboard(400, 2, 2, rng)
        few, many = (game(n_components=n, step=0.5).fit(X, y).duality_gap_ for n in (5, 300))
        assert 0 < many < few


class TestInterruption:
    def interrupt(self, monkeypatch, round_):
        calls = []

        def propose(self, A, n_wanted, original=families.HarmonicFamily.propose):
            calls.append(1)
            if len(calls) == round_:
                raise KeyboardInterrupt
            return original(self, A, n_wanted)

        monkeypatch.setattr(families.HarmonicFamily, "propose", propose)

    def test_keeps_what_was_found(self, monkeypatch, rng):
        X, y = checkerboard(300, 2, 2, rng)
        expected = game(n_components=7).fit(X, y)
        self.interrupt(monkeypatch, 8)
        fitted = game(n_components=50)
        with pytest.warns(ConvergenceWarning, match="interrupted in round 7 of 50"):
            fitted.fit(X, y)
        np.testing.assert_array_equal(fitted.transform(X), expected.transform(X))
        assert fitted.n_iter_ == 7
        assert fitted.duality_gap_ is None

    def test_before_anything_was_found(self, monkeypatch, rng):
        self.interrupt(monkeypatch, 1)
        with pytest.raises(KeyboardInterrupt):
            game().fit(*checkerboard(50, 2, 2, rng))


class TestRows:
    def test_norms_do_not_matter(self, rng):
        X, y = checkerboard(200, 2, 2, rng)
        expected = game(n_components=9).fit(X, y).transform(X)
        for scale in (1e-300, 1e-3, 1e300, 10.0 ** rng.integers(-200, 200, size=(200, 1))):
            found = game(n_components=9).fit(scale * X, y).transform(scale * X)
            np.testing.assert_allclose(found, expected, atol=1e-11)

    @pytest.mark.parametrize("functions", ["harmonics", "zonal"])
    @pytest.mark.parametrize("place", list(PLACES))
    def test_zero_rows_have_features_zero(self, functions, place, rng):
        X, y = rng.normal(size=(30, 4)), np.arange(30) % 2
        fitted = game(n_components=3, functions=functions, random_state=0)
        expected = fitted.fit(np.delete(X, [0, 17], axis=0), np.delete(y, [0, 17])).transform(X)
        X[[0, 17]] = expected[[0, 17]] = 0
        there = PLACES[place](X)
        np.testing.assert_allclose(on_host(fitted.transform(there)), expected, atol=1e-12)
        if functions == "harmonics":  # where nothing is random; fit leaves such rows out
            result = fitted.fit(there, y).transform(X)
            np.testing.assert_allclose(result, expected, atol=1e-9)

    def test_nothing_but_zero_rows(self):
        X, y = np.zeros((6, 3)), np.arange(6) % 2
        with pytest.raises(ValueError, match="all rows of X are zero"):
            game().fit(X, y)
        X[::2, 0] = 1
        with pytest.raises(ValueError, match="one class only"):
            game().fit(X, y)

    def test_callbacks_are_told_of_every_round(self, rng):
        X, y = checkerboard(50, 2, 2, rng)
        watch = Watch()
        fitted = game(n_components=5).set_callbacks(watch).fit(X, y)
        assert watch.tasks == ["round"] * fitted.n_iter_ + ["fit"]
        assert watch.over
        fitted.set_callbacks(Watch(stop_after=2)).fit(X, y)
        assert fitted.n_iter_ == 2

    @pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict"])
    def test_without_normalisation(self, place, rng):
        X, y = sphere(rng, 40, 4), np.arange(40) % 2
        fitted = game(n_components=3, normalize=False)
        expected = game(n_components=3).fit_transform(X, y)
        there = PLACES[place](X)
        result = np.asarray(fitted.fit(there, y).transform(there))
        np.testing.assert_allclose(result, expected, atol=1e-12)
        fitted.transform(PLACES[place](X.astype(np.float32)))
        X[5] *= 1.01
        with pytest.raises(ValueError, match=r"row 5 of X has norm 1\.01"):
            fitted.fit(PLACES[place](X), y)

    @given(st.integers(0, 2**31 - 1), st.integers(1, 6))
    def test_unit_rows(self, seed, d):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(5, d)) * 10.0 ** rng.integers(-300, 300, size=(5, 1))
        X[:, 0] += X[:, 0] == 0
        unit = unit_rows(X, np.float64)
        np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-14)
        in_csr = unit_rows(sparse.csr_array(X), np.float64).toarray()
        np.testing.assert_allclose(in_csr, unit, rtol=1e-13, atol=0)

    def test_sparse_rows_with_many_columns(self):
        X = sparse.random(
            200,
            20_000,
            0.002,
            format="csr",
            dtype=np.float32,
            random_state=np.random.default_rng(0),
        )
        fitted = game(n_components=2, random_state=0)
        result = fitted.fit_transform(X, np.arange(200) % 2)
        assert result.dtype == np.float32
        assert np.isfinite(result).all()

    def test_a_long_dask_array_gives_a_sample(self, monkeypatch, rng):
        da = pytest.importorskip("dask.array")
        monkeypatch.setattr(features, "_MOST_ROWS", 60)
        X, y = sphere(rng, 200, 3), np.arange(200) % 2
        X[:, 2] += 2.0 * y
        fitted = game(n_components=3, random_state=0)
        fitted.fit(da.from_array(X, chunks=(50, 2)), y)
        assert fitted.history_["dual_sum"][0] <= 60
        unknown = da.from_array(X, chunks=50)[da.from_array(y >= 0, chunks=50)]
        again = game(n_components=3, random_state=0).fit(unknown, y)
        np.testing.assert_array_equal(again.orders_, fitted.orders_)

    def test_rows_in_many_blocks(self, monkeypatch, rng):
        X, y = checkerboard(100, 2, 2, rng)
        fitted = game(n_components=5).fit(X, y)
        expected = fitted.transform(X)
        monkeypatch.setattr(features, "_BLOCK_ROWS", 8)
        for place in ("numpy", "csr", "torch"):
            np.testing.assert_allclose(fitted.transform(PLACES[place](X)), expected, atol=1e-13)


class TestHardLabels:
    @pytest.mark.parametrize("functions", ["harmonics", "zonal"])
    def test_two_rows(self, functions):
        X, y = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]), [0, 1]
        fitted = game(n_components=4, functions=functions, random_state=0)
        Z = fitted.fit_transform(X, y)
        assert np.abs(Z[0] - Z[1]).max() > 0.1

    @pytest.mark.parametrize("functions", ["harmonics", "zonal"])
    def test_identical_rows(self, functions):
        X, y = np.tile([[1.0, 2.0, 3.0]], (10, 1)), np.arange(10) % 2
        fitted = game(n_components=4, functions=functions, random_state=0)
        with pytest.warns(ConvergenceWarning, match="no function tells the labels apart"):
            fitted.fit(X, y)
        assert np.isfinite(fitted.transform(X)).all()
        assert fitted.transform(X).shape[1] >= 1

    @settings(deadline=None, max_examples=25)
    @given(
        st.integers(0, 2**31 - 1),
        st.sampled_from(["gradient", "corrective"]),
        st.sampled_from(["harmonics", "zonal"]),
        st.sampled_from(["separable", "flipped", "noise", "rare", "many", "numbers"]),
    )
    def test_never_anything_but_numbers(self, seed, update, functions, kind):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(25, int(rng.integers(2, 6))))
        y = {
            "separable": X[:, 0] > X[0, 0] - 1e-9,
            "flipped": (X[:, 0] > 0) ^ (rng.random(25) < 0.3),
            "noise": rng.random(25) < 0.5,
            "rare": np.arange(25) == 3,
            "many": np.arange(25),
            "numbers": rng.normal(size=25) * 1e8,
        }[kind]
        if len(np.unique(y)) < 2:
            y = np.arange(25) % 2
        fitted = game(
            n_components=3, max_degree=3, dual_update=update, functions=functions, random_state=0
        )
        target = "classification" if kind == "many" else "auto"
        with warnings.catch_warnings():
            # scikit-learn warns that 25 classes of one row each may be numbers
            warnings.simplefilter("ignore", UserWarning)
            fitted.set_params(target=target).fit(X, y)
        assert np.isfinite(fitted.transform(X)).all()
        assert all(np.isfinite(values).all() for values in fitted.history_.values())

    def test_stops_when_nothing_is_left(self):
        """Four rows, told apart by one harmonic: the corrective residual soon vanishes."""
        X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        y = np.array([1.5, 1.5, -1.5, -1.5])
        fitted = game(n_components=500, max_degree=2, step=1.0).fit(X, y)
        assert fitted.n_iter_ < 500
        np.testing.assert_array_equal(fitted.orders_, [[2]])


class TestBadInput:
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = np.arange(20) % 2

    @pytest.mark.parametrize(
        "wrong",
        [
            {"n_components": 0},
            {"functions": "wavelets"},
            {"max_degree": 0},
            {"max_degree": "all"},
            {"budget": 0},
            {"dual_update": "newton"},
            {"step": 0.0},
            {"step": 1.5},
            {"C": 0.0},
            {"normalize": "l2"},
            {"target": "ranking"},
            {"memory_budget": 0},
        ],
    )
    def test_parameters(self, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            game(**wrong).fit(self.X, self.y)

    def test_one_dimension(self):
        with pytest.raises(ValueError, match="at least two columns"):
            game().fit(self.X[:, :1], self.y)

    def test_one_class_and_constant_numbers(self):
        with pytest.raises(ValueError, match="one class"):
            game().fit(self.X, np.ones(20, int))
        with pytest.raises(ValueError, match="y is constant"):
            game(target="regression").fit(self.X, np.full(20, 2.5))

    def test_too_many_harmonics(self):
        X = np.random.default_rng(0).normal(size=(20, 300))
        with pytest.raises(ValueError, match=r"max_degree=3 means 4590250 harmonics"):
            game(functions="harmonics", max_degree=3).fit(X, self.y)
        with pytest.raises(ValueError, match=r"budget=100 is less than the 301 harmonics"):
            game(functions="harmonics", budget=100).fit(X, self.y)


def test_verbose(capsys):
    X, y = TestBadInput.X, TestBadInput.y
    game(n_components=11, verbose=True).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["round 0", "round 10"]
