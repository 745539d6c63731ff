"""KernelClassifier and KernelRegressor: what they choose, where they work, what they promise."""

import functools
import pickle
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import (
    FourierFeatures,
    KernelClassifier,
    KernelRegressor,
    MercerFeatures,
    NystroemFeatures,
)
from bochner.engine.threads import default_threads
from bochner.kernels import Exponential, Matern
from bochner.linear import RidgeRegressor
from bochner.metric.relevance import RELEVANCE, RelevanceMetric
from bochner.models import limits, tuner
from bochner.models.averaging import averaged
from bochner.models.families import choose_families
from bochner.models.judge import Judge, in_float32
from bochner.models.penalties import Penalties
from bochner.models.ranking import Ranking
from bochner.models.settings import Setting, Tried
from bochner.models.tuner import Tuner
from tests.places import PLACES, on_host

SPLITS = "which rows are held out depends on how rows are repeated, removed or ordered"
EXPECTED_FAILURES = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    SPLITS,
)


@parametrize_with_checks(
    [
        KernelClassifier(16, kernel="gaussian", metric=None, scaling="standard", random_state=0),
        KernelRegressor(16, kernel="gaussian", metric=None, scaling="standard", random_state=0),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("make", [KernelClassifier, KernelRegressor])
def test_threads_change_neither_the_choice_nor_the_order_of_the_record(make):
    """Settings are tried side by side; warnings are shown as before when they are done."""
    X, y = classes(200) if make is KernelClassifier else numbers(200)
    filters = list(warnings.filters)
    one, two = (make(random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    assert warnings.filters == filters
    for first, second in zip(one.search_results_, two.search_results_, strict=True):
        known = first.keys() - {"seconds", "score"}
        assert {name: first[name] for name in known} == {name: second[name] for name in known}
        assert first["score"] == pytest.approx(second["score"], abs=0.002)
    scores = [model.score(X, y) for model in (one, two)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


@pytest.mark.parametrize("make", [KernelClassifier, KernelRegressor])
def test_tables_as_the_output_of_transformers_change_nothing(make):
    X, y = classes(120) if make is KernelClassifier else numbers(120)
    expected = make(random_state=0).fit(X, y)
    with config_context(transform_output="pandas"):
        model = make(random_state=0).fit(X, y)
        found = model.predict(X)
        again = model.trained_again(X, y)
    np.testing.assert_array_equal(found, expected.predict(X))
    np.testing.assert_allclose(again.predict(X), expected.trained_again(X, y).predict(X))


def test_categories_and_tables_as_the_output_of_transformers():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=200), "colour": rng.choice(["a", "b"], 200)})
    y = table["size"] + (table["colour"] == "a")
    expected = KernelRegressor(random_state=0).fit(table, y).predict(table)
    with config_context(transform_output="pandas"):
        found = KernelRegressor(random_state=0).fit(table, y).predict(table)
    np.testing.assert_array_equal(found, expected)


def classes(n=400, n_classes=3, seed=0):
    return make_classification(
        n, 8, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=seed
    )


def numbers(n=500, seed=0):
    return make_friedman1(n, 12, noise=0.5, random_state=seed)


class TestChoices:
    def test_numbers_among_irrelevant_columns(self):
        X, y = numbers(900)
        model = KernelRegressor(n_components=256, random_state=0).fit(X[:600], y[:600])
        plain = KernelRegressor(n_components=256, metric=None, random_state=0)
        assert model.score(X[600:], y[600:]) > plain.fit(X[:600], y[:600]).score(X[600:], y[600:])
        assert model.score(X[600:], y[600:]) > 0.9
        assert list(model.pipeline_.named_steps) == ["scaling", "metric", "map", "head"]
        assert set(np.argsort(model.importances_)[-5:]) == set(range(5))

    def test_columns_with_far_outliers(self):
        rng = np.random.default_rng(0)
        X = rng.standard_t(1.1, size=(900, 4))
        y = (np.arctan(X[:, 0]) + np.arctan(X[:, 1]) > 0).astype(int)
        model = KernelClassifier(n_components=128, random_state=0).fit(X[:600], y[:600])
        assert model.pipeline_["scaling"].scaling in ("robust", "quantile")
        assert model.score(X[600:], y[600:]) > 0.93

    def test_what_is_given_is_used(self):
        X, y = classes()
        model = KernelClassifier(
            n_components=32,
            features="NystroemFeatures",
            kernel=Matern(nu=2.5),
            metric=None,
            scaling="quantile",
            penalty=0.01,
            random_state=0,
        ).fit(X, y)
        assert list(model.pipeline_.named_steps) == ["scaling", "map", "head"]
        assert isinstance(model.pipeline_["map"], NystroemFeatures)
        assert model.pipeline_["map"].kernel_.nu == 2.5
        assert {r["penalty"] for r in model.search_results_} == {0.01}
        assert {r["scaling"] for r in model.search_results_} == {"quantile"}
        assert model.importances_ is None

    @pytest.mark.parametrize(
        ("features", "kind"),
        [
            ("fourierfeatures", FourierFeatures),
            ("MercerFeatures", MercerFeatures),
            (FourierFeatures(n_components=20, gamma=0.1), FourierFeatures),
        ],
    )
    def test_other_maps(self, features, kind, quick_metric):
        X, y = classes()
        model = KernelClassifier(n_components=30, features=features, random_state=0).fit(X, y)
        assert isinstance(model.pipeline_["map"], kind)
        assert model.score(X, y) > 0.6

    def test_a_mode_that_is_asked_for_is_used(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)  # where no metric helps
        model = KernelClassifier(16, kernel="gaussian", metric="diagonal", random_state=0).fit(
            X, y
        )
        assert model.chosen_["metric"] == "diagonal"
        assert model.pipeline_["metric"].modes_ == ("diagonal",)

    @pytest.mark.parametrize(
        "features",
        ["NystroemFeatures, exponential", NystroemFeatures(10, kernel="exponential")],
    )
    def test_bandwidths_are_lengths_of_the_kernel(self, features):
        (family,) = choose_families(features)
        made = family.make(10, 4.0, 0, "regression")
        assert Exponential(gamma=made.gamma).gamma == 0.25

    def test_unknown_names(self):
        X, y = classes()
        with pytest.raises(ValueError, match="did you mean FourierFeatures"):
            KernelClassifier(features="Fourier").fit(X, y)
        with pytest.raises(ValueError, match="kernel must be one of"):
            KernelClassifier(kernel="gauss").fit(X, y)
        with pytest.raises(ValueError, match="no map"):
            KernelClassifier(features="exact").fit(X, y)

    @pytest.mark.parametrize("width", [64, "auto"])
    def test_nothing_is_tried_twice_nor_after_the_time(self, width, quick_metric):
        X, y = classes()
        model = KernelClassifier(width, random_state=0).fit(X, y)
        keys = [
            tuple(sorted((k, str(v)) for k, v in r.items() if k not in ("seconds", "score")))
            for r in model.search_results_
        ]
        assert len(set(keys)) == len(keys)
        hasty = KernelClassifier(width, time_budget=1e-6, random_state=0).fit(X, y)
        assert len(hasty.search_results_) < len(model.search_results_) / 3
        assert hasty.score(X, y) > 0.6

    def test_few_rows_are_all_landmarks(self, monkeypatch):
        X, y = numbers(400)
        model = KernelRegressor(kernel="exponential", metric=None, random_state=0).fit(X, y)
        assert model.pipeline_["map"].landmarks_.shape == X.shape
        assert model.chosen_["n_components"] == model.chosen_["n_rows"] == 320  # of five splits
        assert model.chosen_["all_rows"]
        chosen = model.pipeline_[:-1].transform(X)
        alpha = model.chosen_["penalty"] * 320  # of the rows that it was judged with
        K = model.pipeline_["map"].kernel_(model.pipeline_["map"].landmarks_)
        targets = model.predict(X) + alpha * model.pipeline_["head"].coef_[_places(model, X)]
        # (K + alpha) a + b = y: the exact method, on all rows
        np.testing.assert_allclose(targets, y, atol=1e-6)
        assert chosen.shape == K.shape
        monkeypatch.setattr(tuner, "WIDTH", 32)
        with monkeypatch.context() as small:
            small.setattr(limits, "EXACT_ROWS", 300)
            assert model.fit(X, y).pipeline_["map"].n_components == 32
        assert not model.chosen_["all_rows"]
        monkeypatch.setattr(limits, "memory_limit", lambda: 3_000_000)
        assert model.fit(X, y).pipeline_["map"].n_components == 32

    def test_a_kernel_by_the_name_that_was_chosen(self):
        X, y = numbers(100)
        model = KernelRegressor(20, kernel="matern 3/2", metric=None, random_state=0).fit(X, y)
        assert model.chosen_["kernel"] == "matern 3/2"
        assert model.pipeline_["map"].kernel.nu == 1.5

    def test_a_kernel_that_is_none(self):
        X, y = numbers(60)

        class Negative(Exponential):
            def __call__(self, X, Y=None):
                return -super().__call__(X, Y)

            profile = None

        with pytest.raises(ValueError, match="not positive semi-definite"):
            KernelRegressor(kernel=Negative(gamma=1.0), metric=None, random_state=0).fit(X, y)

    def test_few_rows_are_told_apart_by_the_kernel_itself_on_half_of_them(self, quick_metric):
        X, y = numbers(800)
        model = KernelRegressor(random_state=0).fit(X, y)
        first = model.search_results_[0]
        assert (first["all_rows"], first["n_rows"]) == (True, 320)
        assert {r["n_rows"] for r in model.search_results_} == {320, 640}
        assert model.chosen_["n_rows"] == 640
        # the metric of every split has the settings of the first, and its own rows
        assert model.chosen_["metric"] is not None

    def test_on_more_and_more_rows(self, quick_metric, monkeypatch):
        monkeypatch.setattr(tuner, "_FIRST_ROWS", 100)
        monkeypatch.setattr(tuner, "_SECOND_ROWS", 200)
        X, y = numbers(500)
        model = KernelRegressor(random_state=0).fit(X, y)
        exact = [r for r in model.search_results_ if r["n_components"] == r["n_rows"]]
        by_rows = {n: [r for r in exact if r["n_rows"] == n] for n in (100, 200, 400)}
        assert len(exact) == sum(map(len, by_rows.values()))
        kernels = {"gaussian", "matern 3/2", "exponential", "laplacian"}
        assert {r["kernel"] for r in by_rows[100]} == kernels
        assert len(by_rows[400]) == 1  # takes most of the time
        bandwidths = {r["bandwidth"] for r in by_rows[200]}
        assert any({0.7 * b, 1.4 * b} <= bandwidths for b in bandwidths)  # around the best
        assert len(by_rows[200]) <= 4 + 2
        assert model.chosen_ in by_rows[400]

    @pytest.mark.parametrize(
        ("penalty", "given", "expected"),
        [(1e-4, None, 5e-5), (1e-8, None, 1e-8), (1e-9, None, 1e-9), (1e-4, 1e-4, 1e-4)],
    )
    def test_more_rows_need_no_more_of_a_penalty(self, penalty, given, expected):
        """Unless it is hardly felt, or was given."""
        asked = []
        search = SimpleNamespace(
            judge=SimpleNamespace(n_rows=400, judge=lambda *arguments: asked.append(arguments)),
            penalties=Penalties(200, given),
        )
        search._weaker = functools.partial(Tuner._weaker, search)
        setting = Setting("standard", None, choose_families()[0], 1.0, None, penalty)
        for n_rows in (400, 200):
            known = SimpleNamespace(setting=setting, n_rows=n_rows)
            found = Tuner._with_all_rows(search, known)
            assert (found is known) == (n_rows == 400)
        ((tried, n_rows, penalties),) = asked
        assert (tried.penalty, n_rows, penalties) == (expected, 400, (expected,))

    def test_kernels_of_features_are_compared_by_exact_methods(self, quick_metric, monkeypatch):
        monkeypatch.setattr(tuner, "_FIRST_ROWS", 100)
        monkeypatch.setattr(tuner, "_SECOND_ROWS", 200)
        X, y = numbers(500)
        model = KernelRegressor(32, random_state=0).fit(X, y)
        exact = [r for r in model.search_results_ if r["all_rows"]]
        assert {r["n_rows"] for r in exact} == {100, 200}
        assert len({r["kernel"] for r in exact}) == 4
        finalists = [r for r in model.search_results_ if r["n_rows"] == 400 and not r["all_rows"]]
        assert {r["n_components"] for r in finalists[-2:]} == {32}
        assert model.chosen_ in finalists
        assert finalists[-1]["metric"] is None  # in the best scaling
        assert isinstance(model.pipeline_["map"], NystroemFeatures)

    def test_one_scaling_is_tried_without_the_metric_too(self, quick_metric, monkeypatch):
        monkeypatch.setattr(tuner, "_FIRST_ROWS", 100)
        monkeypatch.setattr(tuner, "_SECOND_ROWS", 200)
        X, y = numbers(500)
        model = KernelRegressor(32, scaling="standard", random_state=0).fit(X, y)
        last = [r for r in model.search_results_ if r["n_rows"] == 400 and not r["all_rows"]][-2:]
        assert [r["metric"] is None for r in last] == [False, True]

    def test_columns_as_they_are_and_other_scalings_have_their_turn(
        self, quick_metric, monkeypatch
    ):
        monkeypatch.setattr(tuner, "_FIRST_ROWS", 100)
        monkeypatch.setattr(tuner, "_SECOND_ROWS", 200)
        X, y = numbers(500)
        results = KernelRegressor(32, random_state=0).fit(X, y).search_results_
        first = [r for r in results if r["all_rows"] and r["n_rows"] == 100]
        plain = [r for r in first if r["metric"] is None]
        assert len({r["scaling"] for r in plain}) == 2
        assert "gaussian" in {r["kernel"] for r in plain}

        def tried_first():
            results = KernelRegressor(random_state=0).fit(X, y).search_results_
            first = [r for r in results if r["all_rows"] and r["n_rows"] == 100]
            assert len({r["scaling"] for r in first}) == 1
            # weights of the columns: of few columns for every kernel, below
            return {(r["kernel"], r["metric"]) for r in first if r["metric"] != RELEVANCE}

        monkeypatch.setattr(tuner, "_SECOND_ROWS", 1000)  # so few rows that all modes are tried
        few = tried_first()  # with few columns: the best modes alone
        monkeypatch.setattr(tuner, "FEW_COLUMNS", 1)
        assert few < tried_first()

    def test_weights_of_columns_are_learned_for_each_kernel(
        self, quick_metric, one_split, monkeypatch
    ):
        """Where weights are asked for."""
        learned = []
        fit = RelevanceMetric.fit
        monkeypatch.setattr(
            RelevanceMetric, "fit", lambda self, *a: learned.append(self.kernel) or fit(self, *a)
        )
        X, y = numbers(500)
        model = KernelRegressor(metric=RELEVANCE, kernel="auto", random_state=0).fit(X, y)
        names = {r["kernel"] for r in model.search_results_ if r["metric"] == RELEVANCE}
        assert names == {"gaussian", "matern 3/2", "exponential", "laplacian"}
        assert {type(kernel).__name__.lower() for kernel in learned} == {
            "gaussian",
            "matern",
            "exponential",
            "laplacian",
        }
        assert model.chosen_["metric"] == RELEVANCE
        metric = dict(averaged(model.pipeline_)[0])["metric"]
        np.testing.assert_array_equal(model.importances_, metric.importances_)

    @pytest.mark.parametrize(
        ("are_behind", "few_columns", "expected"), [(False, 20, 4), (False, 1, 2), (True, 20, 2)]
    )
    def test_weights_of_columns_are_learned_for_the_best_kernels(
        self, are_behind, few_columns, expected, quick_metric, one_split, monkeypatch
    ):
        """Of distances and of sums over columns; others if not behind, and columns are few."""
        monkeypatch.setattr(tuner, "clearly_worse", lambda *_, **options: are_behind)
        monkeypatch.setattr(tuner, "FEW_COLUMNS", few_columns)
        results = KernelRegressor(random_state=0).fit(*numbers(500)).search_results_
        assert len({r["kernel"] for r in results if r["metric"] == RELEVANCE}) == expected

    @pytest.mark.parametrize(("second_rows", "gradient"), [(200, {"root"}), (1000, {"diagonal"})])
    def test_columns_are_weighed_once_where_rows_are_many(
        self, second_rows, gradient, quick_metric, one_split, monkeypatch
    ):
        monkeypatch.setattr(tuner, "_SECOND_ROWS", second_rows)
        results = KernelRegressor(random_state=0).fit(*numbers(500)).search_results_
        modes = {r["metric"] for r in results}
        assert RELEVANCE in modes
        assert gradient <= modes
        assert ("diagonal" in modes) == (gradient == {"diagonal"})

    def test_a_column_that_must_be_looked_at_closely(self):
        """The function jumps along one column and is smooth along others."""
        X = np.random.default_rng(0).uniform(-1, 1, size=(1500, 6))
        y = X[:, 2] + X[:, 3] + np.sign(np.sin(8 * X[:, 0]))
        train, test = slice(0, 1000), slice(1000, None)
        model = KernelRegressor(random_state=0).fit(X[train], y[train])
        other = KernelRegressor(random_state=0, metric="diagonal").fit(X[train], y[train])
        assert model.chosen_["metric"] == RELEVANCE
        assert np.argmax(model.importances_) == 0
        left = [1 - one.score(X[test], y[test]) for one in (model, other)]
        assert left[0] < 0.5 * left[1]

    def test_sparse_rows_have_no_weights_by_descent(self, quick_metric):
        X, y = numbers(300)
        results = KernelRegressor(random_state=0).fit(PLACES["csr"](X), y).search_results_
        assert RELEVANCE not in {r["metric"] for r in results}

    def test_of_many_rows_the_columns_as_they_are_go_on(self, quick_metric, monkeypatch):
        monkeypatch.setattr(tuner, "_FIRST_ROWS", 100)
        monkeypatch.setattr(tuner, "_SECOND_ROWS", 200)
        results = KernelRegressor(32, random_state=0).fit(*numbers(500)).search_results_
        second = [r for r in results if r["n_rows"] == 200 and r["all_rows"]]
        assert sum(r["metric"] is None for r in second) >= 2
        last = results[results.index(second[-1]) + 1 :]
        assert {r["n_components"] for r in last} == {32}
        assert len({r["scaling"] for r in last if r["metric"] is None}) == 2

    @pytest.mark.parametrize(
        ("share", "metric", "n_wrong", "expected"),
        [
            (0.3, "root", 95, None),  # a lower loss alone is not enough
            (0.3, "root", 40, "root"),  # right more often
            (0.3, RELEVANCE, 95, RELEVANCE),  # turns nothing
            (1.0, "root", 95, "root"),  # all rows were there
        ],
    )
    def test_a_part_of_the_rows_favours_few_directions(self, share, metric, n_wrong, expected):
        chooser = Tuner.__new__(Tuner)
        chooser.task, chooser.mode, chooser._share = "classification", "auto", share
        family, *_ = choose_families()
        chooser.ranking = Ranking("classification", [family.kernel])
        rng = np.random.default_rng(0)

        def tried(metric, mean, n_wrong):
            losses = mean + 0.01 * rng.normal(size=1000)
            wrong = rng.permutation(1000) < n_wrong
            setting = Setting("none", metric, family, 1.0, 32)
            return Tried(setting, 1 - n_wrong / 1000, losses, wrong, losses[:, None], None, 9, 0.0)

        finalists = [tried(metric, 0.2, n_wrong), tried(None, 0.21, 100)]
        assert chooser._decided_by_part(finalists).setting.metric == expected

    def test_many_classes_of_which_most_rows_are_misclassified(self):
        """Margins are negative then, and their loss falls as all of them shrink to nothing."""
        X, y = make_classification(
            2500, 16, n_informative=12, n_classes=26, n_clusters_per_class=2, random_state=3
        )
        train, test = slice(0, 1500), slice(1500, None)
        given = {"kernel": "gaussian", "metric": None, "scaling": "standard", "random_state": 0}
        model = KernelClassifier(**given).fit(X[train], y[train])
        assert model.chosen_["penalty"] < 1e-2
        fixed = KernelClassifier(**given, penalty=1.0).fit(X[train], y[train])
        assert model.score(X[test], y[test]) > 2 * fixed.score(X[test], y[test])

    @pytest.mark.parametrize(("loss", "penalty"), [(1.01, 1e-4), (1.03, 1e-8)])
    def test_float32_will_do_where_it_is_as_good(self, loss, penalty):
        setting = Setting("none", None, choose_families()[0], 1.0, None)

        def tried(penalty, loss, single):
            losses = np.full(9, loss)
            of = replace(setting, penalty=penalty)
            return Tried(of, 0.5, losses, None, losses[:, None], None, 9, 0.0, single)

        ways = [tried(1e-4, loss, True), tried(1e-3, 1.5, True), tried(1e-8, 1.0, False)]
        found = {one.setting.penalty: one for one in ways}
        assert in_float32(found[1e-8], found).setting.penalty == penalty
        assert in_float32(found[1e-3], found) is found[1e-3]

    def test_progress_is_printed(self, capsys):
        X, y = classes(100)
        KernelClassifier(n_components=8, metric=None, verbose=1, random_state=0).fit(X, y)
        assert "[KernelClassifier] standard, gaussian, FourierFeatures" in capsys.readouterr().out

    def test_grid_search(self):
        X, y = classes(150, 2)
        search = GridSearchCV(
            KernelClassifier(n_components=8, metric=None, random_state=0),
            {"scaling": ["none", "standard"]},
            cv=2,
        ).fit(X, y)
        assert search.best_params_["scaling"] in ("none", "standard")


def _places(model, X):
    """Where the rows are among the landmarks."""
    rows = model.pipeline_[:-2].transform(X)
    landmarks = model.pipeline_["map"].landmarks_
    return [int(np.flatnonzero((landmarks == row).all(axis=1))[0]) for row in rows]


@pytest.mark.usefixtures("quick_metric")
class TestTargets:
    def test_text_and_probabilities(self):
        X, y = load_iris(return_X_y=True)
        names = np.array(["a", "b", "c"])[y]
        model = KernelClassifier(n_components=64, random_state=0).fit(X[::2], names[::2])
        shares = model.predict_proba(X[1::2])
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert np.mean(model.classes_[shares.argmax(axis=1)] == names[1::2]) > 0.9
        assert model.decision_function(X).shape == (150, 3)

    def test_probabilities_are_calibrated(self, one_split):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 2))
        truth = 1 / (1 + np.exp(-2 * X[:, 0]))
        y = (rng.random(3000) < truth).astype(int)
        model = KernelClassifier(n_components=32, random_state=0).fit(X[:2000], y[:2000])
        shares = model.predict_proba(X[2000:])[:, 1]
        assert np.abs(shares - truth[2000:]).mean() < 0.05

    def test_several_outputs(self):
        X, y = numbers()
        both = np.column_stack([y, X[:, 6] * 5])
        model = KernelRegressor(n_components=128, random_state=0).fit(X[:400], both[:400])
        assert model.predict(X[400:]).shape == (100, 2)
        assert model.score(X[400:], both[400:]) > 0.8

    def test_weights(self):
        X, y = classes(600, 2)
        y[300:] = 1 - y[300:]  # the second half says the opposite
        weights = np.r_[np.ones(300), np.zeros(300)]
        model = KernelClassifier(n_components=64, metric=None, random_state=0)
        assert model.fit(X, y, weights).score(X[:300], y[:300]) > 0.85
        assert model.fit(X, y, weights[::-1]).score(X[300:], y[300:]) > 0.85
        balanced = KernelClassifier(
            n_components=64, class_weight={0: 1e-6, 1: 1.0}, random_state=0
        )
        assert np.mean(balanced.fit(X[:300], y[:300]).predict(X[:300]) == 1) > 0.9

    @pytest.mark.parametrize("kind", [KernelClassifier, KernelRegressor])
    def test_rows_of_weight_zero_are_absent(self, kind, rng):
        """Which rows are held out, how columns are scaled, gamma: all is of the others."""
        X, y = classes(120, 2)
        weights = rng.uniform(0.5, 2, size=120)
        weights[::4] = 0
        X[::4] *= 50
        kept = weights > 0
        make = functools.partial(kind, n_components=16, metric=None, random_state=0)
        found = make().fit(X, y, weights).predict(X)
        expected = make().fit(X[kept], y[kept], weights[kept]).predict(X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
        with pytest.raises(ValueError, match="sample_weight must be above zero"):
            make().fit(X, y, np.zeros(120))

    def test_several_columns_of_classes_are_refused(self, rng):
        with pytest.raises(ValueError, match="one class per row, got 2 columns"):
            KernelClassifier().fit(rng.normal(size=(40, 2)), rng.integers(2, size=(40, 2)))

    @pytest.mark.parametrize(
        ("kind", "y", "message"),
        [
            (KernelClassifier, np.zeros(30, int), "one class only"),
            (KernelClassifier, np.linspace(0, 1, 30), "Unknown label type"),
            (KernelRegressor, np.full(30, 2.0), "y is constant"),
            (KernelRegressor, np.r_[np.nan, np.arange(29)], "NaN"),
            (KernelRegressor, np.array(["a"] * 30), "numbers"),
        ],
    )
    def test_wrong_targets(self, kind, y, message):
        with pytest.raises(ValueError, match=message):
            kind().fit(np.random.default_rng(0).normal(size=(30, 2)), y)

    def test_few_rows(self):
        with pytest.raises(ValueError, match="at least 5 rows are needed, got n_samples = 4"):
            KernelRegressor().fit(np.eye(4), np.arange(4))


@pytest.mark.usefixtures("quick_metric")
@pytest.mark.parametrize("place", ["numpy", "csr", "torch", "dask", "float32"])
class TestPlaces:
    def place(self, name):
        if name == "float32":
            return lambda X: X.astype(np.float32)
        return PLACES[name]

    @pytest.mark.parametrize("width", [32, "auto"])
    def test_classes(self, place, width):
        X, y = classes(300)
        X[np.abs(X) < 0.2] = 0
        put = self.place(place)
        # well conditioned at 32 landmarks, as the smooth ones are not
        how = {"kernel": "exponential", "scaling": "standard", "random_state": 0}
        model = KernelClassifier(width, **how).fit(put(X), y)
        expected = model.predict(X)
        assert np.mean(expected == y) > 0.75
        np.testing.assert_array_equal(on_host(model.predict(put(X))), expected)
        decisions = on_host(model.decision_function(put(X)))
        np.testing.assert_allclose(decisions, model.decision_function(X), atol=1e-4)

    @pytest.mark.parametrize("width", [64, "auto"])
    def test_numbers(self, place, width):
        X, y = numbers(300)
        put = self.place(place)
        model = KernelRegressor(width, kernel="exponential", scaling="quantile", random_state=0)
        model.fit(put(X), y)
        predicted = on_host(model.predict(put(X)))
        assert predicted.shape == (300,)
        np.testing.assert_allclose(predicted, model.predict(X), atol=2e-3)
        assert model.score(X, y) > 0.8


@pytest.mark.parametrize("place", ["numpy", "dask", "torch"])
def test_all_rows_train(monkeypatch, place):
    X, y = numbers(1500)
    monkeypatch.setattr(limits, "SEARCH_ROWS", 300)
    model = KernelRegressor(n_components=64, metric=None, random_state=0).fit(PLACES[place](X), y)
    assert max(record["n_rows"] for record in model.search_results_) == 240
    # the same as the linear model fitted on the features of all rows
    head = clone(model.pipeline_["head"]).fit(model.pipeline_[:-1].transform(X), y)
    np.testing.assert_allclose(model.pipeline_["head"].coef_, head.coef_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_rows_are_landmarks_where_a_part_of_them_chooses(monkeypatch, weighted):
    X, y = numbers(900)
    weights = np.where(np.arange(900) % 3, 1.0, 2.0) if weighted else None
    monkeypatch.setattr(limits, "SEARCH_ROWS", 300)
    given = {"kernel": "gaussian", "scaling": "standard", "metric": None, "random_state": 0}
    model = KernelRegressor(**given).fit(X, y, weights)
    assert model.chosen_["all_rows"]
    assert model.chosen_["averaged_with"] is None
    assert model.chosen_["n_rows"] == 240
    assert model.pipeline_["map"].landmarks_.shape == X.shape
    # with the penalty of all rows together that those who chose had
    alpha = 240 * model.chosen_["penalty"] * (1 if weights is None else weights.mean())
    residuals = alpha * model.pipeline_["head"].coef_ / (1 if weights is None else weights)
    # up to rounding of the factor in float32
    np.testing.assert_allclose(
        model.predict(X) + residuals, y, atol=0.03 * np.abs(residuals).max()
    )
    again = model.trained_again(X, y)
    if not weighted:
        # its columns are scaled by all rows
        assert np.std(again.predict(X) - model.predict(X)) < 0.02 * y.std()


def test_kernels_of_single_columns_are_for_not_too_many_pairs_of_rows(monkeypatch):
    X, y = numbers(200)
    monkeypatch.setattr(tuner, "_MOST_DIFFERENCES", 200**2 * X.shape[1] - 1)
    for n_components, several in ((16, True), ("auto", False)):
        model = KernelRegressor(n_components, metric=None, random_state=0).fit(X, y)
        tried = {record["kernel"] for record in model.search_results_}
        assert ("laplacian" in tried) == several


def test_who_is_in_a_hurry_has_features_of_many_rows(monkeypatch):
    X, y = numbers(400)
    monkeypatch.setattr(limits, "SEARCH_ROWS", 300)
    monkeypatch.setattr(tuner, "WIDTH", 32)
    given = {"kernel": "gaussian", "metric": None, "random_state": 0}
    model = KernelRegressor(time_budget=100.0, **given).fit(X, y)
    assert not model.chosen_["all_rows"]
    assert model.pipeline_["map"].n_components == 32


def test_predictions_that_numpy_cannot_read_are_scored():
    """As those on a CUDA device; here tensors with gradients, which NumPy refuses as well."""
    torch = pytest.importorskip("torch")
    X, y = numbers(300)
    model = KernelRegressor(32, kernel="gaussian", metric=None, random_state=0).fit(X, y)
    for one, rows in (
        (model, X),
        (model.pipeline_["head"], model.pipeline_[:-1].transform(X)),
    ):
        tensor = torch.tensor(rows, requires_grad=True)
        assert one.predict(tensor).requires_grad
        assert one.score(tensor, y) == pytest.approx(one.score(rows, y), abs=1e-6)


def test_pickle_and_seeds(quick_metric):
    X, y = classes(200)
    model = KernelClassifier(n_components=16, random_state=3).fit(X, y)
    again = clone(model).fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    for other in (again, loaded):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


class TestCertificate:
    """Simulated with the choice inside: the bound is of the chosen model without held-out rows."""

    @pytest.mark.parametrize("kind", [KernelClassifier, KernelRegressor])
    def test_it_holds(self, kind, monkeypatch):
        runs, run = [], Tuner.run

        def watched(tuner):
            runs.append((tuner, run(tuner)))
            return runs[-1][1]

        monkeypatch.setattr(Tuner, "run", watched)
        rng = np.random.default_rng(0)
        failed, bounds = 0, []
        for seed in range(20):
            X = rng.normal(size=(2150, 3))
            y = X[:, 0] + rng.normal(size=2150)
            y = y if kind is KernelRegressor else (y > 0).astype(int)
            model = kind(8, kernel="gaussian", metric=None, random_state=seed)
            certificate = model.fit(X[:150], y[:150]).certificate_
            limit = certificate.details.get("error", 0.5)
            # the error at the limit itself is the same to rounding
            tuner, best = runs[-1]
            limit *= 1 + 1e-9
            beyond = [self.errors(f, best, X, y, kind) > limit for f in tuner.judge.folds]
            held = [
                b[positions(f.held.X, X)] for b, f in zip(beyond, tuner.judge.folds, strict=True)
            ]
            assert sum(map(len, held)) == 150
            assert np.mean(np.concatenate(held)) == pytest.approx(certificate.observed)
            beyond = np.mean(beyond, axis=0)
            failed += np.mean(beyond[150:]) > certificate.value
            bounds.append(certificate.value)
        # 5 % at most: more than 3 of 20 would happen with probability .016
        assert failed <= 3
        assert np.mean(bounds) < 0.7

    def errors(self, fold, best, X, y, kind):
        """Of the chosen setting, trained without the held-out rows of a split."""
        setting, n = best.setting, len(fold.rows.y)
        ((_, scaler),) = fold.steps_of(setting)
        Z = scaler.transform(fold.rows.X)
        feature_map = fold.new_map(setting, n).fit(Z)
        head = RidgeRegressor(1 / (2 * setting.penalty * n))
        head.fit(feature_map.transform(Z), fold.rows.columns[:, 0])
        values = head.predict(feature_map.transform(scaler.transform(X)))
        if kind is KernelClassifier:
            return ((values > 0) != (y > 0)).astype(float)
        return np.abs(values * y[:150].std() + y[:150].mean() - y)


def positions(rows, X):
    """Where rows are among all."""
    return [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]


class TestThreads:
    """`n_jobs` is what all that is computed has, and changes nothing else."""

    def test_they_reach_maps_and_metric_and_change_no_result(self, monkeypatch):
        X, y = numbers(120)
        seen = set()
        settled = Judge.judge
        monkeypatch.setattr(
            Judge,
            "judge",
            lambda *args, **kwargs: seen.add(default_threads()) or settled(*args, **kwargs),
        )
        given = {"kernel": "gaussian", "metric": "diagonal", "scaling": "none", "random_state": 0}
        models = [KernelRegressor(40, n_jobs=n, **given).fit(X, y) for n in (1, 2)]
        for n_jobs, model in zip((1, 2), models, strict=True):
            steps = model.pipeline_.named_steps
            assert steps["map"].n_jobs == steps["metric"].n_jobs == n_jobs
            again = model.trained_again(X, y).named_steps
            assert again["map"].n_jobs == again["metric"].n_jobs == n_jobs
        assert seen == {1, 2}
        np.testing.assert_allclose(*(model.predict(X) for model in models), rtol=1e-8)

    def test_a_map_of_ones_own_keeps_its_own(self):
        X, y = numbers(100)
        for own, n_jobs, expected in ((None, None, None), (None, 2, 2), (1, 2, 1)):
            features = FourierFeatures(n_components=8, n_jobs=own)
            given = {"scaling": "none", "metric": None, "random_state": 0}
            model = KernelRegressor(features=features, n_jobs=n_jobs, **given)
            assert model.fit(X, y).pipeline_.named_steps["map"].n_jobs == expected
