"""Rounds of a game on the sphere: how many are kept is decided by rows that it has not seen."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

from bochner.data import checkerboard_sphere
from bochner.margin.sphere.features import MarginHarmonicFeatures
from bochner.margin.sphere.stopping import RoundStop, count_picks
from bochner.margin.stopping import split_rows


def test_picks_are_counted_in_their_order():
    chosen, shares = count_picks([4, 1, 4, 4, 7])
    assert chosen.tolist() == [4, 1, 7]
    np.testing.assert_allclose(shares, [0.6, 0.2, 0.2])


class Columns:
    """Functions that are the columns of rows."""

    def __init__(self, rows):
        self.rows = rows

    def values(self, chosen, rows=None):
        return (self.rows if rows is None else rows)[:, chosen]


class TestRounds:
    def stop(self, rng, n_useful, n=400):
        X = rng.normal(size=(n, 60))
        y = X[:, :n_useful].sum(axis=1, keepdims=True) + 0.1 * rng.normal(size=(n, 1))
        return RoundStop(Columns(X[:200]), y[:200], X[200:], y[200:])

    def played(self, stop):
        functions = []
        for k in range(60):
            functions.append(k)
            if stop(functions):
                break
        return functions

    @pytest.mark.parametrize("n_useful", [1, 5, 12])
    def test_it_ends_when_nothing_is_gained(self, n_useful, rng):
        stop = self.stop(rng, n_useful)
        functions = self.played(stop)
        assert len(functions) < 60
        looks = [1, 5, 8, 12, 18, 27, 41]
        assert stop.n_kept(functions) == next(k for k in looks if k >= n_useful)

    def test_it_goes_on_while_something_is(self, rng):
        stop = self.stop(rng, 60)
        functions = self.played(stop)
        assert len(functions) == stop.n_kept(functions) == 60


def board(n, noise, seed):
    X, y = checkerboard_sphere(n, a=2, b=3, random_state=seed)
    rng = np.random.default_rng(seed)
    return X, np.where(rng.random(n) < noise, rng.permutation(y), y)


def test_noise_is_not_learned():
    kept = [MarginHarmonicFeatures().fit(*board(300, 1.0, seed)).n_kept_ for seed in range(6)]
    assert np.median(kept) == 1


def test_fewer_rounds_predict_better_where_labels_are_noisy():
    (X, y), (X_test, y_test) = board(600, 0.4, 0), board(4000, 0.0, 1)
    scores = []
    for stop in ("auto", None):
        learned = MarginHarmonicFeatures(stop=stop).fit(X, y)
        model = RidgeClassifier(alpha=0.1).fit(learned.transform(X), y)
        scores.append(model.score(learned.transform(X_test), y_test))
        assert learned.n_kept_ <= learned.n_iter_ <= 100
    assert scores[0] > scores[1] + 0.02


def test_a_number_of_rounds_is_the_game_on_all_rows(rng):
    X, y = board(200, 0.1, 0)
    one = MarginHarmonicFeatures(stop=7).fit(X, y)
    other = MarginHarmonicFeatures(n_components=7, stop=None).fit(X, y)
    np.testing.assert_array_equal(one.transform(X), other.transform(X))
    assert one.n_kept_ == one.n_iter_ == 7


def test_what_is_kept_is_the_beginning_of_the_game_on_the_other_rows():
    X, y = board(300, 0.2, 0)
    learned = MarginHarmonicFeatures().fit(X, y)
    used, _ = split_rows(300, np.random.RandomState(0))
    beginning = MarginHarmonicFeatures(stop=learned.n_kept_).fit(X[used], y[used])
    np.testing.assert_array_equal(learned.orders_, beginning.orders_)
    np.testing.assert_allclose(learned.weights_, beginning.weights_)


def test_few_rows_are_all_played_with():
    X, y = board(79, 0.0, 0)
    learned = MarginHarmonicFeatures(n_components=9).fit(X, y)
    assert learned.n_kept_ == 9


def test_a_class_that_would_be_held_out_altogether():
    X, y = board(200, 0.0, 0)
    _, held = split_rows(200, np.random.RandomState(0))
    y = np.where(np.arange(200) == held[0], "rare", y.astype(str))
    learned = MarginHarmonicFeatures(n_components=9).fit(X, y)
    assert learned.n_kept_ == learned.n_iter_ == 9
