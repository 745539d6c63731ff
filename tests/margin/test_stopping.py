"""Learned frequencies against random ones, on held-out rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState
from sklearn.linear_model import Ridge

from bochner.engine import plain
from bochner.kernels import Gaussian
from bochner.margin import stopping
from bochner.margin.stopping import PaddingJudge, Stop, random_frequencies, split_rows
from tests.places import PLACES


class TestSplit:
    @settings(deadline=None, max_examples=50)
    @given(n=st.integers(80, 50_000), seed=st.integers(0, 1000))
    def test_every_row_is_used_or_held_out(self, n, seed):
        used, held = split_rows(n, RandomState(seed))
        np.testing.assert_array_equal(np.sort(np.r_[used, held]), np.arange(n))
        assert (np.diff(used) > 0).all()
        assert (np.diff(held) > 0).all()

    @pytest.mark.parametrize(
        ("n", "n_held"), [(100, 20), (1000, 200), (4000, 500), (8000, 800), (10**5, 2000)]
    )
    def test_sizes(self, n, n_held):
        assert len(split_rows(n, RandomState(0))[1]) == n_held


class TestRandomFrequencies:
    @pytest.mark.parametrize("d", [1, 5, 100])
    def test_the_first_do_not_depend_on_the_number(self, d):
        kernel = Gaussian(gamma=0.5)
        many = random_frequencies(kernel, 300, d, RandomState(0))
        for n in (0, 1, 32, 33, 200):
            few = random_frequencies(kernel, n, d, RandomState(0))
            np.testing.assert_array_equal(few, many[:, :n])

    def test_their_law(self):
        W = random_frequencies(Gaussian(gamma=0.5), 4000, 3, RandomState(0))
        np.testing.assert_allclose(W @ W.T / 4000, np.eye(3), atol=0.1)


def problem(rng, n=300):
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(n, 1))


def make_judge(X, Y, random, put=np.asarray):
    parts = (put(part) for part in (X[:200], Y[:200], X[200:], Y[200:]))
    return PaddingJudge(*parts, lambda: random)


class TestJudge:
    @pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict"])
    def test_losses_are_those_of_a_ridge_regression(self, place, rng):
        X, Y = problem(rng)
        learned, random = rng.normal(size=(3, 7)), rng.normal(size=(3, 20))
        put = PLACES[place]
        judge = make_judge(X, Y, random, put if place != "csr" else np.asarray)
        if place == "csr":
            judge.X, judge.held_X = put(X[:200]), put(X[200:])
        judge.append(learned[:, :4])
        judge.losses((2, 3))
        judge.append(learned[:, 4:])
        unit = np.abs(Y[:200] - Y[:200].mean()).max()
        for count, others in ((7, 0), (0, 5), (3, 9), (5, 2)):
            W = np.hstack([learned[:, :count], random[:, :others]])
            features = plain.features(X, W)
            m = count + others
            tried = []
            for strength in 50.0 * 10.0 ** np.arange(6):
                ridge = Ridge(alpha=m * 200 / (2 * strength)).fit(features[:200], Y[:200])
                rest = Y[200:] - ridge.predict(features[200:]).reshape(-1, 1)
                tried.append(((rest / unit) ** 2).sum(axis=1))
            (found,) = judge.losses((count, others))
            assert found.shape == (100,)
            distances = [np.abs(found - losses).max() for losses in tried]
            assert min(distances) < 1e-4
            # no neighbour in the list of penalties is better
            best = int(np.argmin(distances))
            means = [losses.mean() for losses in tried]
            assert means[best] <= min(means[max(0, best - 1) : best + 2]) + 1e-6

    def test_all_strengths_at_once_are_each_alone(self, rng, monkeypatch):
        X, Y = problem(rng)
        learned, random = rng.normal(size=(3, 4)), rng.normal(size=(3, 9))
        losses = []
        for most in (2048, 0):
            monkeypatch.setattr(stopping, "_TOGETHER", most)
            judge = make_judge(X, Y, random, PLACES["torch"])
            judge.append(learned)
            losses += judge.losses((4, 9))
        np.testing.assert_allclose(*losses, atol=1e-6)  # predictions are in float32

    @pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
    @pytest.mark.parametrize("room", [2048, 40, 0])
    def test_several_maps_are_each_alone(self, place, room, rng, monkeypatch):
        monkeypatch.setattr(stopping, "_TOGETHER", room)
        X, Y = problem(rng)
        learned, random = rng.normal(size=(3, 6)), rng.normal(size=(3, 9))
        maps = [(0, 6), (6, 0), (6, 9), (2, 4), (6, 0), (4, 2)]

        def judges():
            judge = make_judge(X, Y, random, PLACES[place])
            judge.append(learned)
            return judge

        together = judges().losses(*maps)
        # from the strength in the middle, as each would start: there is one best here
        alone = [judges().losses(each)[0] for each in maps]
        np.testing.assert_allclose(together, alone, atol=1e-5)

    def test_huge_and_constant_targets(self, rng):
        X, Y = problem(rng)
        for targets in (1e300 * Y, 0 * Y):
            judge = make_judge(X, targets, rng.normal(size=(3, 4)))
            assert np.isfinite(judge.losses((0, 4))).all()


class Table:
    """A judge whose mean loss is a function of the two numbers of frequencies."""

    def __init__(self, loss, n_learned=0):
        self.loss, self.n_learned, self.asked = loss, n_learned, []

    def append(self, new):
        self.n_learned += new.shape[1]

    def random(self):
        pass

    def losses(self, *maps):
        self.asked += maps
        assert all(n_learned <= self.n_learned for n_learned, _ in maps)
        return [np.full(400, self.loss(*each)) for each in maps]


class PlainStop:
    """The rule of :class:`Stop`, which judges every look at once."""

    def __init__(self, loss, n_frequencies):
        self.loss, self.n_frequencies = loss, n_frequencies
        self.found, self.looks, self.best, self.in_vain = 0, [0], 0, 0

    def __call__(self, new):
        self.found += new.shape[1]
        enough = self.found >= max(24, 1.5 * self.looks[-1])
        if not enough or self.found >= self.n_frequencies:
            return False
        self.looks.append(self.found)
        width = min(4 * self.found, self.n_frequencies)
        now, best = (self.loss(count, width - count) for count in (self.found, self.best))
        self.best, self.in_vain = (self.found, 0) if now < best else (self.best, self.in_vain + 1)
        return self.in_vain == 3

    def n_kept(self):
        if self.found > self.looks[-1]:
            self.looks.append(self.found)
        counts = [0, *self.looks[1:][-4:]]
        losses = [self.loss(count, self.n_frequencies - count) for count in counts]
        return counts[int(np.argmin(losses))]


def run(loss, n_frequencies, per_round=10):
    """Frequencies found until the game ends, and how many are kept."""
    judge = Table(loss)
    stop = Stop(judge, n_frequencies, lambda new: new, np.empty((2, 0)))
    found = 0
    while found < n_frequencies:
        new = np.zeros((2, min(per_round, n_frequencies - found)))
        found += new.shape[1]
        if stop(new):
            break
    return found, stop.n_kept(), judge


class TestStop:
    @given(st.integers(1, 1500), st.integers(1, 90), st.integers(0, 10**6))
    def test_looks_that_cannot_end_it_may_wait(self, n_frequencies, per_round, seed):
        """The same frequencies as if every look were judged when it is made."""
        noise = RandomState(seed).uniform(size=(2000, 2))

        def loss(learned, random):
            return float(noise[learned, 0] + noise[learned + random, 1])

        plain, found = PlainStop(loss, n_frequencies), 0
        while found < n_frequencies:
            new = np.zeros((2, min(per_round, n_frequencies - found)))
            found += new.shape[1]
            if plain(new):
                break
        assert run(loss, n_frequencies, per_round)[:2] == (found, plain.n_kept())

    def test_a_narrow_map_is_judged_once(self):
        judge = run(lambda learned, random: 1 - learned / 100, 50, per_round=5)[2]
        assert judge.asked == [(0, 50), (25, 25), (40, 10), (50, 0)]

    def test_goes_on_while_learned_frequencies_are_better(self):
        found, kept, _ = run(lambda learned, random: 1 - learned / 200, 200)
        assert (found, kept) == (200, 200)

    def test_ends_when_they_are_not(self):
        found, kept, judge = run(lambda learned, random: 1 - min(learned, 60) / 200, 1000)
        assert 60 <= kept <= found < 400
        assert all(learned + random <= 1000 for learned, random in judge.asked)

    def test_nothing_is_kept_of_what_does_not_help(self):
        found, kept, _ = run(lambda learned, random: 1.0, 1000)
        assert kept == 0
        assert found <= 90

    def test_learning_that_hurts(self):
        assert run(lambda learned, random: 1 + learned / 100, 1000)[1] == 0

    def test_one_look_in_vain_does_not_end_it(self):
        """A plateau, after which learning pays again."""

        def loss(learned, random):
            return 1 - (min(learned, 30) + max(0, learned - 45)) / 500

        assert run(loss, 400)[:2] == (400, 400)

    def test_narrow_maps_are_judged_at_their_end(self):
        found, kept, judge = run(lambda learned, random: 1 - learned / 100, 8, per_round=2)
        assert (found, kept) == (8, 8)
        assert judge.asked == [(0, 8), (8, 0)]

    def test_what_was_learned_before_stays(self):
        judge = Table(lambda learned, random: 1.0)
        stop = Stop(judge, 100, lambda new: new, np.zeros((2, 30)))
        for _ in range(7):
            if stop(np.zeros((2, 10))):
                break
        assert stop.n_kept() == 30
