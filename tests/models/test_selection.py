"""What is open is chosen on held-out rows, and on no others."""

import dataclasses

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

from bochner import FourierFeatures, GradientMetric, MarginFourierFeatures
from bochner.compare.measure import make_split
from bochner.linear import RidgeClassifier, RidgeRegressor, SquaredHingeClassifier
from bochner.linear.scoring import MEASURES
from bochner.linear.splits import hold_out
from bochner.models import selection, trials
from bochner.models.methods import METHODS
from bochner.models.selection import Problem, choose, choose_map, fit, learn, learn_whole
from tests.compare.cells import EXACT

pytestmark = pytest.mark.usefixtures("one_split")


def test_maps_do_not_see_the_rows_they_are_judged_on(wine):
    seen = []

    class Spy:
        def __init__(self, **_):
            pass

        def fit(self, X, y):
            seen.append(X[:, 0].copy())
            return self

        def transform(self, X):
            if len(seen) == 1:
                self.judged = X[:, 0].copy()
                overlaps.append(np.isin(X[:, 0], seen[0]).all())
            return X

    overlaps = []
    problem = make_split(wine, 0).problem
    # the first column says which row it is
    X = np.column_stack([np.arange(len(problem.y)), problem.X])
    spying = dataclasses.replace(METHODS["MercerFeatures"], make=Spy)
    choose(spying, 10, dataclasses.replace(problem, X=X, gamma=1.0))
    assert len(seen) == 1
    assert len(seen[0]) == pytest.approx(0.75 * len(X), abs=1)
    assert overlaps == [True, False]  # kept rows, then held-out ones


def test_settings_are_chosen_with_fewer_rows_where_there_are_many(numbers, monkeypatch):
    monkeypatch.setattr(selection, "CHOOSING_ROWS", 60)
    sizes = []

    class Recording(FourierFeatures):
        def fit(self, X, y=None):
            sizes.append(len(X))
            return super().fit(X, y)

    recorded = dataclasses.replace(METHODS["FourierFeatures"], make=Recording)
    monkeypatch.setitem(METHODS, "FourierFeatures", recorded)
    problem = make_split(numbers, 0).problem
    learn("FourierFeatures", 20, problem)
    n = len(problem.y)
    n_few = sizes.count(30)
    assert n_few >= 3
    assert sizes[:n_few] == [30] * n_few  # gammas, judged by as many
    between = sizes[n_few:-1]  # the best of them and larger ones; C with the same maps
    assert 2 <= len(between) <= 3
    assert between == pytest.approx([0.75 * n] * len(between), abs=1)
    assert sizes[-1] == n


def test_more_rows_bear_a_larger_gamma(monkeypatch):
    """Sixty rows show nothing of the waves: a wide kernel does best on them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1200, 2))
    y = np.sin(9 * X[:, 0]) * np.sin(9 * X[:, 1]) + 0.3 * rng.normal(size=1200)
    problem = Problem(X, y, "regression", MEASURES["R2"])
    monkeypatch.setattr(selection, "CHOOSING_ROWS", 60)
    assert choose(METHODS["FourierFeatures"], 256, problem).score > 0.6


def test_a_metric_does_not_see_the_rows_it_is_judged_on(wine, quick_metric, monkeypatch):
    seen = []

    def fit(self, X, y):
        seen.append(X[:, 0].copy())
        return original(self, X, y)

    original = GradientMetric.fit
    monkeypatch.setattr(GradientMetric, "fit", fit)
    problem = dataclasses.replace(make_split(wine, 0).problem, metric="diagonal")
    model = learn("FourierFeatures", 20, problem)
    kept, _ = hold_out(problem.y, problem.seed, classes=True, max_rows=selection.CHOOSING_ROWS)
    first, last = seen
    np.testing.assert_array_equal(first, problem.X[kept, 0])
    np.testing.assert_array_equal(last, problem.X[:, 0])
    assert model.metric.fitted.mode_ == "diagonal"


def test_metrics_of_other_rows_have_the_mode_of_the_first(numbers, quick_metric):
    problem = dataclasses.replace(make_split(numbers, 0).problem, metric="auto")
    first = problem.learn_metric(np.arange(80)).fitted
    assert first.mode == "auto"
    assert problem.learn_metric().fitted.mode == first.mode_


def test_a_network_has_no_metric():
    X, y = np.zeros((20, 16)), np.arange(20) % 2
    problem = Problem(X, y, "classification", MEASURES["accuracy"], image_shape=(4, 4, 1))
    with pytest.raises(ValueError, match="a metric would mix their pixels"):
        learn("ConvolutionalKernelNetwork", 8, dataclasses.replace(problem, metric="auto"))


def test_gamma_is_found_from_far_away(rng):
    """A kernel much narrower than the default: seven waves over the rows."""
    X = rng.uniform(-1, 1, size=(400, 1))
    y = np.sin(20 * X[:, 0])
    problem = Problem(X / X.std(), y, "regression", MEASURES["R2"])
    chosen = choose(METHODS[EXACT], None, problem)
    assert chosen.settings["gamma"] > 10
    assert chosen.score > 0.99


@pytest.fixture
def two_classes(rng):
    X = rng.normal(size=(200, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=200) > 0.2, 1, -1)


HINGE = SquaredHingeClassifier(), MEASURES["accuracy"]


class Spy(FunctionTransformer):
    """Remembers the rows of each fit."""

    fits: list = []  # noqa: RUF012

    def fit(self, X, y=None):
        self.fits.append(X[:, 0].copy())
        return super().fit(X, y)


def test_held_out_rows_are_not_seen_while_choosing(two_classes):
    X, y = two_classes
    Spy.fits = []
    choose_map({"only": Spy}, X, y, *HINGE, seed=3)
    kept, _ = hold_out(y, 3, classes=True)
    first, last = Spy.fits
    np.testing.assert_array_equal(first, X[kept, 0])
    np.testing.assert_array_equal(last, X[:, 0])


def test_the_best_candidate_on_held_out_rows_is_taken(two_classes):
    X, y = two_classes
    noise = np.random.RandomState(0).normal(size=X.shape)
    candidates = {
        "noise": lambda: FunctionTransformer(lambda rows: noise[: len(rows)]),
        "rows": FunctionTransformer,
        "rows again": FunctionTransformer,
    }
    name, model = choose_map(candidates, X, y, *HINGE, seed=0)
    assert name == "rows"  # of equally good ones the first
    kept, held = hold_out(y, 0, classes=True)
    path = SquaredHingeClassifier().path(X[kept], y[kept])
    scores = [
        HINGE[1].judge(y[held], one.decision_function(X[held]), one.classes_) for one in path
    ]
    assert model.score == pytest.approx(max(scores))
    assert SquaredHingeClassifier.default_Cs(len(y))[int(np.argmax(scores))] == model.C
    alone = SquaredHingeClassifier(model.C).fit(X, y)
    np.testing.assert_array_equal(model.predict_in_blocks(X, 33), alone.predict(X))


def test_folds_hold_every_row_out_once(two_classes):
    X, y = two_classes
    Spy.fits = []
    _, model = choose_map({"a": Spy}, X, y, *HINGE, seed=0, folds=4)
    assert [len(rows) for rows in Spy.fits] == [150] * 4 + [200]
    assert model.C in SquaredHingeClassifier.default_Cs(200)


def test_a_candidate_may_be_chosen_with_fewer_rows(two_classes):
    X, y = two_classes
    Spy.fits = []
    choose_map({"a": Spy, "b": Spy}, X, y, *HINGE, seed=0, max_rows=40)
    assert [len(rows) for rows in Spy.fits] == [30, 30, 150, 200]


def test_curved_classes_need_features(rng):
    X = rng.uniform(-1, 1, size=(400, 2))
    y = (np.hypot(*X.T) > 0.6).astype(int) + (np.hypot(*X.T) > 1)
    ridge = RidgeClassifier(), MEASURES["accuracy"]
    _, plain = choose_map({"rows": FunctionTransformer}, X, y, *ridge, seed=0)
    maps = {g: lambda g=g: FourierFeatures(gamma=g, random_state=0) for g in (0.5, 4.0)}
    _, curved = choose_map(maps, X, y, *ridge, seed=0)
    assert curved.score > 0.9 > plain.score + 0.2


def test_the_penalty_of_more_rows_is_at_the_same_position(numbers):
    chosen = choose(METHODS["FourierFeatures"], 16, make_split(numbers, 0).problem)
    positions = [
        RidgeRegressor.default_Cs(n_rows).index(chosen.Cs(n_rows)) for n_rows in (100, 1000)
    ]
    assert positions[0] == positions[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_costly_maps_are_smaller_while_settings_are_chosen(wine, monkeypatch, dtype):
    """And the map of all rows comes out of the one that was judged, as if it were fitted.

    That is float32: a map of float64 rows is fitted to them.
    """
    made = []
    entry = METHODS["PosteriorFourierFeatures, kl"]

    def make(**parameters):
        made.append((parameters["n_components"], parameters.get("n_candidates")))
        return entry.make(**parameters)

    smaller = dataclasses.replace(
        entry, make=make, trial_width=8, trial_limits={"n_candidates": 50}
    )
    monkeypatch.setitem(METHODS, entry.name, smaller)
    problem = make_split(wine, 0).problem
    problem = dataclasses.replace(problem, X=problem.X.astype(dtype))
    model = learn(entry.name, 16, problem)
    n_fits = 1 if dtype == np.float32 else 2  # to the rows that are not held out, to all rows
    assert set(made[:-n_fits]) == {(8, 50)}
    assert made[-n_fits:] == [(16, None)] * n_fits
    settings = {name: value for name, value in model.settings.items() if name != "C"}
    again = entry.make_map(width=16, task="classification", **settings).fit(problem.X, problem.y)
    np.testing.assert_allclose(model.feature_map.frequencies_, again.frequencies_)
    rounding = 10 * float(np.finfo(dtype).eps)  # sums of two parts of the rows
    np.testing.assert_allclose(model.feature_map.losses_, again.losses_, rtol=rounding)


def test_seconds_are_those_of_the_choice_too(wine):
    problem = make_split(wine, 0).problem
    model = learn("FourierFeatures", 16, problem)
    alone = fit(METHODS["FourierFeatures"], 16, problem, model.settings)
    assert model.seconds > 2 * alone.seconds


def test_a_whole_model_is_learned_from_rows_as_they_are(two):
    split = make_split(two, 0)
    entry = METHODS["KernelClassifier"]
    model = learn_whole(entry, split.raw[0], split.problem)
    assert {"kernel", "scaling", "penalty"} <= set(model.settings)
    assert two.measure.score(split.y_test, model.predict(split.raw[1])) > 0.8


def test_what_was_tried_is_not_tried_again(wine, two, monkeypatch):
    """With all rows and least squares the choice of settings is that of the penalty too."""
    judged = []
    original = trials.judge_map
    monkeypatch.setattr(
        trials, "judge_map", lambda *a: judged.append(type(a[1]).__name__) or original(*a)
    )
    for setup, heads in ((wine, set()), (two, {"SquaredHingeClassifier"})):
        judged.clear()
        learn("FourierFeatures", 16, make_split(setup, 0).problem)
        n_gammas = judged.count("RidgeClassifier")
        assert 3 <= n_gammas <= 7
        assert set(judged[n_gammas:]) == heads
        assert len(judged) == n_gammas + len(heads)


def test_widths_that_are_tried_with_one_narrow_map_share_what_it_found(wine, monkeypatch):
    entry = dataclasses.replace(METHODS["LandmarkSimilarities"], trial_width=8)
    monkeypatch.setitem(METHODS, entry.name, entry)
    problem, fresh = make_split(wine, 0).problem, make_split(wine, 0).problem
    searched = []
    original = selection.search
    monkeypatch.setattr(selection, "search", lambda *a: searched.append(1) or original(*a))
    shared = [learn(entry.name, width, problem).settings for width in (8, 12, 16)]
    assert len(searched) == 1
    assert shared[2] == learn(entry.name, 16, fresh).settings


@pytest.mark.parametrize("method", ["LandmarkSimilarities", "PosteriorFourierFeatures"])
def test_what_a_map_found_on_held_out_rows_is_not_looked_for_again(wine, method):
    problem = make_split(wine, 0).problem
    model = learn(method, 16, problem)
    settings = {name: value for name, value in model.settings.items() if name != "C"}
    open_ = {"beta": "auto", "n_chosen": "auto", "posterior": "kl"}
    chosen = {name: settings[name] for name in open_ if name in settings}
    assert chosen
    parameters = model.feature_map.get_params()
    assert {name: parameters[name] for name in chosen} == chosen
    again = METHODS[method].make_map(width=16, task="classification", **settings)
    expected = again.fit(problem.X, problem.y).transform(problem.X)
    np.testing.assert_allclose(model.features(problem.X), expected)


def test_a_game_is_not_played_again(wine, monkeypatch):
    """The map that was judged goes on with all rows."""
    problem, seen = make_split(wine, 0).problem, []
    original = MarginFourierFeatures.refit
    monkeypatch.setattr(
        MarginFourierFeatures, "refit", lambda m, X, y: seen.append(len(y)) or original(m, X, y)
    )
    learn("MarginFourierFeatures", 8, problem)
    assert seen == [len(problem.y)]
