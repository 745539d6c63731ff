"""MarginFourierFeatures."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import train_test_split

from bochner import FourierFeatures, MarginFourierFeatures
from bochner.data import windmill
from bochner.margin import looks
from bochner.margin.learning import history_of
from tests.callbacks import Watch
from tests.feature_map_case import FeatureMapCase
from tests.memory import peak_of
from tests.places import PLACES, on_host

SMALL = {"n_components": 8, "n_chains": 8, "n_steps": 4, "random_state": 0}
# what the game does not have to choose
FIXED = {"dual_update": "corrective", "band": 12.0, "damping": 0.5, "stop": None}


class TestMarginFourierFeatures(FeatureMapCase):
    estimator = MarginFourierFeatures(n_components=8, n_chains=8, n_steps=4)
    unit_norm = True
    # A search takes every rounding error further; float32 ends elsewhere.
    fit_agrees = (*PLACES, "table")


class TestTwoClasses(FeatureMapCase):
    estimator = MarginFourierFeatures(n_components=8, n_chains=8, n_steps=4, **FIXED)
    unit_norm = True
    fit_agrees = ()

    def data(self, dtype=np.float64):
        X, y = super().data(dtype)
        return X, (y == 1).astype(int)


class TestLearning:
    def accuracy(self, features, X, y, X_test, y_test):
        model = RidgeClassifier(alpha=1e-3).fit(features.transform(X), y)
        return model.score(features.transform(X_test), y_test)

    @pytest.mark.parametrize("dual_update", ["corrective", "gradient"])
    def test_beats_random_frequencies_of_the_same_kernel(self, dual_update):
        rng = np.random.default_rng(0)
        # two directions of thirty matter: random frequencies rarely point there
        X = rng.normal(size=(2000, 30))
        y = np.sign(np.sin(2 * X[:, 0]) * np.cos(X[:, 1]))
        parts = X[:1000], y[:1000], X[1000:], y[1000:]
        learned = MarginFourierFeatures(
            n_components=20, dual_update=dual_update, band=12.0, damping=0.3, random_state=0
        ).fit(X[:1000], y[:1000])
        random = FourierFeatures(n_components=200, gamma="median", random_state=0).fit(X)
        assert self.accuracy(learned, *parts) > self.accuracy(random, *parts) + 0.1

    def test_many_classes(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1500, 10))
        y = np.digitize(np.sin(2 * X[:, 0]), [-0.5, 0.5])
        learned = MarginFourierFeatures(n_components=10, random_state=0).fit(X[:1000], y[:1000])
        random = FourierFeatures(n_components=100, gamma="median", random_state=0).fit(X)
        parts = X[:1000], y[:1000], X[1000:], y[1000:]
        assert self.accuracy(learned, *parts) > self.accuracy(random, *parts) + 0.1

    def test_regression(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1500, 10))
        y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=1500)
        learned = MarginFourierFeatures(n_components=6, random_state=0).fit(X[:1000], y[:1000])
        model = Ridge(alpha=1e-3).fit(learned.transform(X[:1000]), y[:1000])
        assert model.score(learned.transform(X[1000:]), y[1000:]) > 0.9

    def test_the_first_frequencies_are_a_smaller_map(self):
        X, y = windmill(500, random_state=0)
        settings = {"n_peaks": 2, **FIXED, "random_state": 0, "n_chains": 20}
        few = MarginFourierFeatures(n_components=12, **settings).fit(X, y)
        many = MarginFourierFeatures(n_components=24, **settings).fit(X, y)
        np.testing.assert_array_equal(few.frequencies_, many.frequencies_[:, :6])

    def test_settings_are_chosen_by_held_out_rows(self):
        X, y = windmill(600, random_state=0)
        fitted = MarginFourierFeatures(n_components=20, random_state=0).fit(X, y)
        assert len(fitted.trials_) == 4
        losses = dict(fitted.trials_)
        # not worse than the default by what was seen
        assert losses[fitted.setting_] <= fitted.trials_[0][1]
        few = MarginFourierFeatures(**SMALL).fit(X[:60], y[:60])
        assert few.trials_ == []

    def test_frequencies_stay_in_the_principal_directions(self):
        rng = np.random.default_rng(0)
        scales = np.r_[np.full(3, 5.0), np.full(17, 0.1)]
        X = rng.normal(size=(300, 20)) * scales
        y = np.sign(X[:, 0] * X[:, 1])
        fitted = MarginFourierFeatures(**SMALL, n_directions=3).fit(X, y)
        _, _, axes = np.linalg.svd(X, full_matrices=False)
        outside = axes[3:] @ fitted.frequencies_
        assert np.abs(outside).max() < 1e-3 * np.abs(fitted.frequencies_).max()

    def test_translation_changes_nothing(self):
        X, y = windmill(200, random_state=0)
        here = MarginFourierFeatures(**SMALL, **FIXED).fit(X, y)
        there = MarginFourierFeatures(**SMALL, **FIXED).fit(X + 3, y)
        np.testing.assert_allclose(here.frequencies_, there.frequencies_, rtol=1e-5)

    @pytest.mark.parametrize("scale", [1e-12, 1e12])
    def test_scales_do_not_matter(self, scale):
        X, y = windmill(200, random_state=0)
        plain = MarginFourierFeatures(**SMALL, **FIXED).fit(X, y)
        scaled = MarginFourierFeatures(**SMALL, **FIXED).fit(scale * X, y)
        np.testing.assert_allclose(scaled.frequencies_ * scale, plain.frequencies_, rtol=1e-5)


class TestHistory:
    def fitted(self, **parameters):
        X, y = windmill(500, random_state=0)
        return MarginFourierFeatures(
            **{"n_components": 40, "n_peaks": 2, "random_state": 0} | FIXED | parameters
        ).fit(X, y)

    def test_a_number_a_round(self):
        fitted = self.fitted()
        assert fitted.n_iter_ == 10
        assert all(len(values) == 10 for values in fitted.history_.values())
        assert set(fitted.history_) == {"potential", "objective", "value", "margin", "gap"}
        assert ((fitted.history_["potential"] > 0) & (fitted.history_["potential"] <= 1)).all()

    def test_the_gap_closes(self):
        fitted = self.fitted()
        gaps = fitted.history_["gap"]
        assert 0 < gaps[-1] < gaps[0]
        assert fitted.duality_gap_ == gaps[-1]
        margins = fitted.history_["margin"]
        assert margins[-1] > margins[0]

    def test_the_gradient_update_knows_its_gap_at_the_end(self):
        fitted = self.fitted(dual_update="gradient", damping=0.3)
        assert np.isnan(fitted.history_["gap"][:-1]).all()
        assert 0 < fitted.duality_gap_ < 500  # C times the number of rows

    def test_dual_weights_sum_to_zero(self):
        for update in ("corrective", "gradient"):
            weights = self.fitted(dual_update=update).dual_weights_
            assert weights.shape == (500, 1)
            assert abs(weights.sum()) < 1e-3 * np.abs(weights).sum()


class TestGoingOn:
    def test_warm_start_keeps_what_there_is(self):
        X, y = windmill(400, random_state=0)
        fitted = MarginFourierFeatures(**SMALL, **FIXED, warm_start=True).fit(X, y)
        before, rounds = fitted.frequencies_.copy(), fitted.n_iter_
        fitted.set_params(n_components=20).fit(X, y)
        assert fitted.frequencies_.shape == (2, 10)
        np.testing.assert_array_equal(fitted.frequencies_[:, :4], before)
        assert fitted.n_iter_ > rounds
        assert len(fitted.history_["gap"]) == fitted.n_iter_
        fitted.set_params(n_components=4).fit(X, y)
        np.testing.assert_array_equal(fitted.frequencies_, before[:, :2])

    @pytest.mark.parametrize("dual_update", ["corrective", "gradient"])
    @pytest.mark.parametrize("kind", ["two", "three", "numbers"])
    def test_warm_start_for_every_player(self, dual_update, kind):
        X, y = windmill(300, random_state=0)
        y = {"two": y, "three": np.digitize(X[:, 0], [-0.3, 0.3]), "numbers": X[:, 0] ** 2}[kind]
        fitted = MarginFourierFeatures(
            **SMALL, dual_update=dual_update, band=12.0, damping=0.3, stop=None, warm_start=True
        ).fit(X, y)
        before = fitted.dual_weights_
        fitted.set_params(n_components=24).fit(X, y)
        assert fitted.transform(X).shape == (300, 24)
        assert 0 < np.abs(fitted.dual_weights_ - before).max() < np.inf

    def test_warm_start_with_principal_directions(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 12)) * np.arange(12, 0, -1)
        y = np.sign(X[:, 0])
        fitted = MarginFourierFeatures(**SMALL, n_directions=4, warm_start=True).fit(X, y)
        before = fitted.frequencies_.copy()
        fitted.set_params(n_components=16).fit(X, y)
        np.testing.assert_allclose(fitted.frequencies_[:, :4], before, atol=1e-12)

    def test_warm_start_needs_the_same_rows(self):
        X, y = windmill(100, random_state=0)
        fitted = MarginFourierFeatures(**SMALL, warm_start=True).fit(X, y)
        with pytest.raises(ValueError, match="warm_start=True needs the rows"):
            fitted.set_params(n_components=20).fit(X[:50], y[:50])

    def test_interruption_keeps_the_frequencies_found(self, monkeypatch):
        X, y = windmill(100, random_state=0)
        calls = []

        def ascend(*args, **kwargs):
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return original(*args, **kwargs)

        original = looks.ascend_potential
        monkeypatch.setattr(looks, "ascend_potential", ascend)
        fitted = MarginFourierFeatures(**SMALL, **FIXED, n_peaks=1)
        with pytest.warns(ConvergenceWarning, match="interrupted after 2 rounds"):
            fitted.fit(X, y)
        assert fitted.transform(X).shape == (100, 4)
        assert len(fitted.get_feature_names_out()) == 4

    def test_interruption_before_the_first_round(self, monkeypatch):
        X, y = windmill(100, random_state=0)

        def ascend(*args, **kwargs):
            raise KeyboardInterrupt

        monkeypatch.setattr(looks, "ascend_potential", ascend)
        with pytest.raises(KeyboardInterrupt):
            MarginFourierFeatures(**SMALL, **FIXED).fit(X, y)


def noise(n=600, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, 2, size=n)


class TestStopping:
    @pytest.mark.parametrize("kind", ["two", "five", "numbers"])
    def test_labels_that_are_noise_leave_the_random_map(self, kind):
        X, y = noise()
        rng = np.random.default_rng(1)
        y = {"two": y, "five": rng.integers(0, 5, size=600), "numbers": rng.normal(size=600)}[kind]
        fitted = MarginFourierFeatures(
            n_components=120, n_chains=20, n_steps=4, random_state=0
        ).fit(X, y)
        assert fitted.n_learned_ == 0
        assert fitted.n_iter_ < 20  # the game did not go on to its end
        assert fitted.transform(X).shape == (600, 120)
        # frequencies of the kernel: their mean square is its second moment
        mean_square = np.mean(fitted.frequencies_**2)
        assert abs(mean_square / (2 * fitted.kernel_.width) - 1) < 0.3

    def test_what_is_there_to_be_learned_is_kept(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1500, 10))
        y = np.digitize(np.sin(2 * X[:, 0]), [-0.5, 0.5])
        fitted = MarginFourierFeatures(n_components=60, random_state=0).fit(X, y)
        assert 0 < fitted.n_learned_ <= 30
        model = RidgeClassifier(alpha=1e-2).fit(fitted.transform(X[:1000]), y[:1000])
        assert model.score(fitted.transform(X[1000:]), y[1000:]) > 0.9

    def test_more_columns_are_not_less_accurate_on_a_noisy_table(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(5000, 8))
        clean = X[:, 0] * X[:, 1] > 0
        y = np.where(rng.uniform(size=5000) < 0.35, ~clean, clean)
        scores = []
        for width in (32, 128, 512):
            fitted = MarginFourierFeatures(
                n_components=width, n_chains=40, n_steps=8, random_state=0
            ).fit(X[:1000], y[:1000])
            features, unseen = fitted.transform(X[:1000]), fitted.transform(X[1000:])
            scores.append(
                max(
                    RidgeClassifier(alpha=alpha).fit(features, y[:1000]).score(unseen, y[1000:])
                    for alpha in (1.0, 10.0, 100.0)
                )
            )
        error = (0.25 / 4000) ** 0.5
        assert min(scores[1:]) > scores[0] - 2 * error

    def test_a_number_is_learned_and_the_rest_is_random(self):
        X, y = windmill(300, random_state=0)
        given = {**SMALL, **FIXED, "n_components": 40, "n_peaks": 2}
        whole = MarginFourierFeatures(**given).fit(X, y)
        for count in (0, 5, np.int64(20), 99):
            some = MarginFourierFeatures(**given | {"stop": count}).fit(X, y)
            assert some.n_learned_ == min(count, 20)
            assert some.frequencies_.shape == (2, 20)
            learned = slice(0, some.n_learned_)
            np.testing.assert_array_equal(
                some.frequencies_[:, learned], whole.frequencies_[:, learned]
            )
            assert len(some.history_["gap"]) == some.n_iter_ == -(-some.n_learned_ // 2)
        assert np.isnan(MarginFourierFeatures(**given | {"stop": 0}).fit(X, y).duality_gap_)

    def test_none_has_no_random_frequencies_and_all_rows(self):
        X, y = noise()
        fitted = MarginFourierFeatures(**SMALL, stop=None).fit(X, y)
        assert fitted.n_learned_ == 4
        assert len(fitted.dual_weights_) == 600
        held = MarginFourierFeatures(**SMALL).fit(X, y)
        assert len(held.dual_weights_) == 480

    def test_few_rows_are_all_used(self):
        X, y = noise(n=79)
        fitted = MarginFourierFeatures(**SMALL).fit(X, y)
        assert fitted.n_learned_ == 4
        assert len(fitted.dual_weights_) == 79

    def test_a_stopped_game_goes_on_with_random_frequencies(self):
        X, y = noise()
        given = {"n_chains": 20, "n_steps": 4, "random_state": 0, "warm_start": True}
        fitted = MarginFourierFeatures(n_components=120, **given).fit(X, y)
        before, rounds = fitted.frequencies_, fitted.n_iter_
        fitted.set_params(n_components=240).fit(X, y)
        assert fitted.frequencies_.shape == (6, 120)
        np.testing.assert_array_equal(fitted.frequencies_[:, :60], before)
        assert (fitted.n_learned_, fitted.n_iter_) == (0, rounds)
        fitted.set_params(n_components=20).fit(X, y)
        np.testing.assert_array_equal(fitted.frequencies_, before[:, :10])

    def test_a_game_that_was_not_stopped_goes_on(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(800, 10))
        y = np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1])
        fitted = MarginFourierFeatures(n_components=20, warm_start=True, random_state=0).fit(X, y)
        before = fitted.frequencies_
        assert fitted.n_learned_ == 10
        fitted.set_params(n_components=60).fit(X, y)
        np.testing.assert_array_equal(fitted.frequencies_[:, :10], before)
        assert fitted.n_learned_ >= 10
        fitted.set_params(n_components=80, stop=None).fit(X, y)
        assert len(fitted.dual_weights_) == 640  # as it began

    @pytest.mark.parametrize("place", ["torch", "csr", "dask"])
    def test_the_same_in_every_place(self, place):
        X, y = noise(n=300)
        y = (np.sin(2 * X[:, 0]) > 0).astype(int)
        given = {"n_components": 60, "n_chains": 12, "n_steps": 4, "random_state": 0}
        here = MarginFourierFeatures(**given).fit(X, y)
        there = MarginFourierFeatures(**given).fit(PLACES[place](X), y)
        assert here.n_learned_ == there.n_learned_
        np.testing.assert_allclose(there.frequencies_, here.frequencies_, atol=1e-3)


def always_follow(monkeypatch):
    for name in ("_FEW", "_FEW_ROWS"):
        monkeypatch.setattr(f"bochner.margin.features.{name}", 1)


class TestOtherRows:
    """Frequencies of some rows that go on with others."""

    @pytest.fixture(scope="class")
    @classmethod
    def data(cls):
        X, y = load_digits(return_X_y=True)
        return X[:400] / 16, y[:400]

    @pytest.fixture(scope="class")
    @classmethod
    def half(cls, data):
        learned = MarginFourierFeatures(n_components=40, n_chains=20, stop=10, random_state=0)
        return learned.fit(*(part[:200] for part in data))

    def test_they_are_followed_without_a_search(self, half, data, monkeypatch):
        always_follow(monkeypatch)

        def look(*_):
            raise AssertionError("there is nothing to look for")

        monkeypatch.setattr("bochner.margin.looks.PeakSearch.look", look)
        before = half.frequencies_.copy()
        found = half.refit(*data)
        np.testing.assert_array_equal(half.frequencies_, before)
        assert found.n_learned_ == found.stop == 10
        assert found.dual_weights_.shape[0] == 400
        np.testing.assert_array_equal(found.frequencies_[:, 10:], before[:, 10:])
        away = np.linalg.norm((found.frequencies_ - before)[:, :10], axis=0)
        assert (away > 0).any()
        assert (away < 0.5 * np.linalg.norm(before[:, :10], axis=0)).all()

    def test_nothing_else_is_left_in_them(self, half, data, monkeypatch):
        """As the context of callbacks, which no model file can hold."""
        always_follow(monkeypatch)
        assert vars(half.refit(*data)).keys() == vars(half).keys()

    def test_on_the_same_rows_the_first_peaks_are_not_lower(self, half, data, monkeypatch):
        always_follow(monkeypatch)
        half = clone(half).set_params(band=None).fit(*(part[:200] for part in data))
        again = half.refit(*(part[:200] for part in data))
        assert again.history_["potential"][0] >= half.history_["potential"][0] * (1 - 1e-9)

    def test_on_a_device(self, half, data, monkeypatch):
        always_follow(monkeypatch)
        X, y = data
        expected = half.refit(X, y).frequencies_
        found = half.refit(PLACES["torch"](X), y).frequencies_
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)

    def test_few_are_searched_again(self, half, data):
        found = half.refit(*data)
        setting = {k: getattr(half.setting_, k) for k in ("dual_update", "band", "damping")}
        given = MarginFourierFeatures(
            n_components=40, n_chains=20, stop=10, random_state=0, gamma=half.kernel_.gamma
        ).set_params(**setting)
        expected = given.fit(*data).frequencies_
        np.testing.assert_array_equal(found.frequencies_, expected)

    def test_other_classes(self, half, data, monkeypatch):
        always_follow(monkeypatch)
        X, y = data
        with pytest.raises(ValueError, match="the classes of the fit before"):
            half.refit(X[y < 9], y[y < 9])


class TestCallbacks:
    def test_told_of_every_round(self):
        X, y = windmill(100, random_state=0)
        watch = Watch()
        fitted = MarginFourierFeatures(**SMALL, **FIXED, n_peaks=1).set_callbacks(watch).fit(X, y)
        assert watch.tasks == ["round"] * fitted.n_iter_ + ["fit"]
        assert watch.over

    def test_may_stop_the_game(self):
        X, y = windmill(100, random_state=0)
        watch = Watch(stop_after=2)
        fitted = MarginFourierFeatures(**SMALL, **FIXED, n_peaks=1).set_callbacks(watch).fit(X, y)
        assert fitted.frequencies_.shape == (2, 2)


class TestRows:
    def test_a_sample_takes_part(self):
        X, y = windmill(300, random_state=0)
        fitted = MarginFourierFeatures(**SMALL, **FIXED, max_rows=50).fit(X, y)
        assert fitted.dual_weights_.shape == (50, 1)

    @pytest.mark.parametrize("place", ["torch", "dask", "csr"])
    def test_a_sample_takes_part_anywhere(self, place):
        X, y = windmill(300, random_state=0)
        here = MarginFourierFeatures(**SMALL, **FIXED, max_rows=50).fit(X, y)
        there = MarginFourierFeatures(**SMALL, **FIXED, max_rows=50).fit(PLACES[place](X), y)
        np.testing.assert_allclose(there.frequencies_, here.frequencies_, atol=1e-3)

    def test_fresh_rows_each_round(self):
        X, y = windmill(300, random_state=0)
        some = MarginFourierFeatures(**SMALL, **FIXED, rows_per_round=100).fit(X, y)
        everything = MarginFourierFeatures(**SMALL, **FIXED, rows_per_round=None).fit(X, y)
        assert np.abs(some.frequencies_ - everything.frequencies_).max() > 1e-3

    def test_dask_rows_of_unknown_number(self):
        dd = pytest.importorskip("dask.dataframe")
        pd = pytest.importorskip("pandas")
        X, y = windmill(100, random_state=0)
        table = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=3)
        fitted = MarginFourierFeatures(**SMALL, **FIXED).fit(table, y)
        expected = MarginFourierFeatures(**SMALL, **FIXED).fit(X, y)
        np.testing.assert_allclose(fitted.frequencies_, expected.frequencies_, atol=1e-6)

    def test_wide_sparse_rows_are_not_made_dense(self):
        X = sparse.random(1000, 20_000, 1e-3, format="csr", random_state=np.random.default_rng(0))
        X.data[:] = 1
        y = np.arange(1000) % 2
        fitted = MarginFourierFeatures(**SMALL, **FIXED, n_directions=10)
        features, peak = peak_of(lambda: fitted.fit(X, y).transform(X))
        assert features.shape == (1000, 8)
        assert peak < np.prod(X.shape) * 8 / 2


class TestBadInput:
    X, y = make_moons(100, noise=0.1, random_state=0)

    def fit(self, X=None, y=None, **parameters):
        fitted = MarginFourierFeatures(**SMALL | parameters)
        return fitted.fit(self.X if X is None else X, self.y if y is None else y)

    def finite(self, fitted, X=None):
        assert np.isfinite(fitted.frequencies_).all()
        assert np.isfinite(on_host(fitted.transform(self.X if X is None else X))).all()
        assert np.isfinite(fitted.history_["potential"]).all()

    @pytest.mark.parametrize(
        "labels",
        [
            pytest.param(lambda X, y: (X[:, 0] > 0).astype(int), id="separable"),
            pytest.param(lambda X, y: 1 - y, id="flipped"),
            pytest.param(lambda X, y: np.random.RandomState(0).randint(2, size=100), id="noise"),
            pytest.param(lambda X, y: (np.arange(100) == 0).astype(int), id="one against all"),
            pytest.param(lambda X, y: np.arange(100) % 7, id="seven classes of noise"),
            pytest.param(lambda X, y: np.r_[1e300, np.zeros(99)], id="huge number"),
            pytest.param(
                lambda X, y: np.random.RandomState(0).normal(size=100) * 1e-200, id="tiny"
            ),
        ],
    )
    @pytest.mark.parametrize("dual_update", ["corrective", "gradient", "auto"])
    def test_labels_of_all_kinds(self, labels, dual_update):
        self.finite(self.fit(y=labels(self.X, self.y), dual_update=dual_update))

    def test_flipped_labels_give_the_same_map(self):
        one, other = self.fit(**FIXED), self.fit(y=1 - self.y, **FIXED)
        np.testing.assert_allclose(one.frequencies_, other.frequencies_, atol=1e-6)

    @pytest.mark.parametrize("dual_update", ["corrective", "gradient"])
    def test_two_rows(self, dual_update):
        X = self.X[:2]
        self.finite(self.fit(X, [0, 1], dual_update=dual_update), X)

    def test_identical_rows(self):
        X = np.ones((50, 3))
        self.finite(self.fit(X, np.arange(50) % 2), X)

    def test_constant_columns(self):
        X = np.hstack([self.X, np.full((100, 1), 7.0)])
        self.finite(self.fit(X, n_directions=2), X)

    def test_more_directions_than_rows(self):
        X = np.random.default_rng(0).normal(size=(5, 40))
        self.finite(self.fit(X, [0, 1, 0, 1, 1], n_directions=20), X)

    def test_more_peaks_than_chains(self):
        assert self.fit(n_components=40, n_peaks=20).frequencies_.shape == (2, 20)

    @pytest.mark.parametrize("scale", [1e-30, 1e30])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_scales(self, scale, dtype):
        X = (self.X * scale).astype(dtype)
        if dtype == np.float32 and scale == 1e30:
            X = (self.X * 1e15).astype(dtype)
        self.finite(self.fit(X), X)

    def test_an_outlier(self):
        X = self.X.copy()
        X[0] = 1e6
        self.finite(self.fit(X), X)
        self.finite(self.fit(X.astype(np.float32)), X.astype(np.float32))

    def test_errors(self):
        with pytest.raises(ValueError, match="one class only"):
            self.fit(y=np.zeros(100, int))
        with pytest.raises(ValueError, match="constant"):
            self.fit(y=np.full(100, 0.5), target="regression")
        with pytest.raises(ValueError, match="n_components must be even, got 7"):
            self.fit(n_components=7)
        with pytest.raises(ValueError, match="one class only"):
            self.fit(self.X[:1], self.y[:1])
        with pytest.raises(ValueError, match="n_samples = 1"):
            self.fit(self.X[:1], [0.5], target="regression")
        for name, value in [
            ("damping", 0.0),
            ("damping", 1.5),
            ("band", -1.0),
            ("n_chains", 1),
            ("strength", 0),
            ("temperature", -1),
            ("gamma", -1.0),
            ("dual_update", "newton"),
            ("stop", -1),
            ("stop", "never"),
        ]:
            with pytest.raises(ValueError, match=name):
                self.fit(**{name: value})


def test_temperature_is_langevin():
    X, y = windmill(200, random_state=0)
    cold = MarginFourierFeatures(**SMALL, **FIXED).fit(X, y)
    warm = MarginFourierFeatures(**SMALL, **FIXED, temperature=1.0).fit(X, y)
    again = MarginFourierFeatures(**SMALL, **FIXED, temperature=1.0).fit(X, y)
    assert np.abs(cold.frequencies_ - warm.frequencies_).max() > 1e-3
    np.testing.assert_array_equal(warm.frequencies_, again.frequencies_)


def test_windmill_beats_random_features_of_the_usual_bandwidth():
    X, y = windmill(3000, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, train_size=1000, random_state=0)
    scores = []
    for make in (MarginFourierFeatures, FourierFeatures):
        features = make(n_components=60, gamma="median", random_state=0).fit(X, y)
        model = RidgeClassifier(alpha=1e-3).fit(features.transform(X), y)
        scores.append(model.score(features.transform(X_test), y_test))
    assert scores[0] > 0.95
    assert scores[0] > scores[1]


def test_estimator_holds_no_rows():
    X, y = windmill(300, random_state=0)
    fitted = MarginFourierFeatures(**SMALL, stop=None).fit(X, y)
    arrays = [v for v in vars(fitted).values() if isinstance(v, np.ndarray)]
    assert sum(a.size for a in arrays if a.shape[:1] == (300,)) == 300  # the dual weights


def test_the_margin_of_an_optimum_below_zero():
    """Which rounding makes of zero: no warning, and a margin without limit."""
    rounds = {"share": np.ones(3), "objective": np.array([1e-20, -1e-20, np.nan])}
    history = history_of(rounds | {"value": np.zeros(3)}, None)
    np.testing.assert_array_equal(history["margin"][1:], [np.inf, np.nan])
