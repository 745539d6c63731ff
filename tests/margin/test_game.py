"""The rounds, against sums written out and searches over fine grids."""

import numpy as np
import pytest
from scipy import sparse

from bochner.engine import plain
from bochner.margin import game
from bochner.margin.game import Proposal, Record
from bochner.margin.players import (
    CorrectiveMargin,
    CorrectiveResidual,
    GradientMargin,
    GradientResidual,
)
from bochner.margin.search import Search, WaveFamily
from tests.places import PLACES, on_host

KINDS = ["corrective margin", "gradient margin", "corrective residual", "gradient residual"]


def state(seed=0):
    return np.random.RandomState(seed)


def problem(rng, n=200, d=2):
    X = rng.uniform(-3, 3, size=(n, d))
    return X, np.where(np.sin(2 * X[:, :1]) + 0.3 * X[:, 1:2] > 0, 1.0, -1.0)


def make(kind, columns):
    if kind == "corrective margin":
        return CorrectiveMargin(columns, strength=100.0, damping=0.3)
    if kind == "gradient margin":
        return GradientMargin(columns, C=1.0, step=0.3)
    if kind == "corrective residual":
        return CorrectiveResidual(columns, strength=1000.0, damping=1.0)
    return GradientResidual(columns, step=0.3)


class Still:
    """Coefficients that stay; remembers what it was given."""

    def __init__(self, coefficients, interrupt_at=None):
        self.coefficients, self.interrupt_at = coefficients, interrupt_at
        self.peaks, self.columns = [], []

    def value(self, potential):
        self.peaks.append(potential)
        return potential

    def move(self, columns):
        if len(self.columns) == self.interrupt_at:
            raise KeyboardInterrupt
        self.columns.append(columns)

    def resume(self, columns, coefficients):
        raise NotImplementedError


def play(rows, player, n_frequencies, search, *, after_round=None, **options):
    waves = WaveFamily(rows, search, n_frequencies, **options)
    return game.play(waves, player, n_frequencies, after_round=after_round)


def potential(X, A, W):
    return plain.potential_and_gradient(X, W, A)[0]


SEARCH = Search(length=1.0, n_peaks=3, n_chains=20, n_steps=5)


class TestRounds:
    @pytest.mark.parametrize("n_frequencies", [1, 2, 3, 7, 9])
    def test_as_many_frequencies_as_asked_for(self, n_frequencies, rng):
        X, signs = problem(rng)
        player = Still(signs)
        found, record = play(X, player, n_frequencies, SEARCH, random_state=state())
        counts = [new.shape[1] for new in found]
        assert sum(counts) == n_frequencies
        assert all(count == 3 for count in counts[:-1])
        assert [c.shape for c in player.columns] == [(200, 2 * count) for count in counts]
        for values in record.arrays().values():
            assert values.shape == (len(found),)
        assert not record.interrupted

    @pytest.mark.parametrize("n_frequencies", [2, 7])
    def test_the_player_gets_the_waves_of_the_new_frequencies(self, n_frequencies, rng):
        X, signs = problem(rng)
        player = Still(signs)
        found, _ = play(X, player, n_frequencies, SEARCH, random_state=state())
        for new, columns in zip(found, player.columns, strict=True):
            np.testing.assert_allclose(columns, plain.features(X, new), atol=1e-12)

    @pytest.mark.parametrize("n_frequencies", [2, 7])
    def test_the_record_is_of_the_first_peak(self, n_frequencies, rng):
        X = rng.normal(size=(100, 2))
        A = rng.normal(size=(100, 3))
        player = Still(A)
        found, record = play(X, player, n_frequencies, SEARCH, random_state=state())
        # without the band, and of all rows
        heights = np.array([potential(X, A, new[:, :1])[0] for new in found])
        np.testing.assert_allclose(player.peaks, heights)
        arrays = record.arrays()
        np.testing.assert_allclose(arrays["potential"], heights)
        np.testing.assert_allclose(arrays["share"], heights / np.abs(A).sum() ** 2)
        np.testing.assert_allclose(arrays["value"], heights)
        assert np.isnan(arrays["objective"]).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_repeats_with_its_seed_on_any_number_of_threads(self, kind, rng):
        X, signs = problem(rng)
        results = []
        for seed, threads in ((0, 1), (0, 2), (0, None), (1, 1)):
            player = make(kind, signs)
            found, _ = play(X, player, 7, SEARCH, random_state=state(seed), n_threads=threads)
            results.append((np.hstack(found), player.coefficients))
        for frequencies, coefficients in results[1:3]:
            np.testing.assert_array_equal(frequencies, results[0][0])
            np.testing.assert_array_equal(coefficients, results[0][1])
        assert (results[3][0] != results[0][0]).any()

    @pytest.mark.parametrize("kind", ["corrective margin", "corrective residual"])
    def test_the_objective_is_the_optimum_on_all_features(self, kind, rng):
        X, signs = problem(rng)
        found, record = play(X, make(kind, signs), 8, SEARCH, random_state=state())
        other = make(kind, signs)
        objectives = [other.move(plain.features(X, new)) for new in found]
        np.testing.assert_allclose(record.arrays()["objective"], objectives, rtol=1e-8)

    def test_the_residual_shrinks(self, rng):
        X = rng.uniform(-3, 3, size=(200, 2))
        targets = np.sin(2 * X[:, :1]) * np.cos(X[:, 1:])
        player = make("corrective residual", targets)
        play(X, player, 20, SEARCH, random_state=state())
        assert np.linalg.norm(player.coefficients) < 0.1 * np.linalg.norm(targets)


class TestGoingOn:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("n_known", [1, 2])
    def test_a_continued_game_is_the_game_in_one_go(self, kind, n_known, rng):
        """The player answers as before; the search goes on where the other ended."""
        X, signs = problem(rng)
        whole, first = make(kind, signs), make(kind, signs)
        whole_waves = WaveFamily(X, SEARCH, 12, random_state=state())
        expected, _ = game.play(whole_waves, whole, 12)
        waves = WaveFamily(X, SEARCH, 12, random_state=state())
        begun, _ = game.play(waves, first, 3 * n_known)
        rest, _ = game.play(waves, first, 12 - 3 * n_known)
        np.testing.assert_array_equal(np.hstack(begun + rest), np.hstack(expected))
        np.testing.assert_array_equal(first.coefficients, whole.coefficients)

    @pytest.mark.parametrize("kind", KINDS)
    def test_known_frequencies_are_played_without_a_search(self, kind, rng):
        X, signs = problem(rng)
        expected, other = make(kind, signs), make(kind, signs)
        found, record = play(X, expected, 9, SEARCH, random_state=state())
        again, same = play(X, other, 9, SEARCH, random_state=state(1), known=found)
        np.testing.assert_array_equal(np.hstack(again), np.hstack(found))
        np.testing.assert_array_equal(other.coefficients, expected.coefficients)
        for name, values in record.arrays().items():
            np.testing.assert_array_equal(same.arrays()[name], values)

    def test_a_game_goes_on_after_what_is_known(self, rng):
        X, signs = problem(rng)
        known = [rng.normal(size=(2, 2)), rng.normal(size=(2, 4))]
        found, _ = play(X, Still(signs), 10, SEARCH, random_state=state(), known=known)
        assert [new.shape[1] for new in found] == [2, 4, 3, 1]
        np.testing.assert_array_equal(np.hstack(found[:2]), np.hstack(known))
        cut, _ = play(X, Still(signs), 3, SEARCH, random_state=state(), known=known)
        np.testing.assert_array_equal(np.hstack(cut), np.hstack(known)[:, :3])


class TestAfterRound:
    def test_true_ends_the_game(self, rng):
        X, signs = problem(rng)
        calls = []

        def enough(found, record):
            calls.append((len(found), len(record.value)))
            return len(found) == 2

        found, record = play(X, Still(signs), 30, SEARCH, random_state=state(), after_round=enough)
        assert calls == [(1, 1), (2, 2)]
        assert len(found) == len(record.potential) == 2
        assert not record.interrupted

    def test_none_goes_on(self, rng):
        X, signs = problem(rng)
        found, _ = play(
            X, Still(signs), 6, SEARCH, random_state=state(), after_round=lambda *_: None
        )
        assert len(found) == 2

    def test_changes_nothing(self, rng):
        X, signs = problem(rng)
        with_it, without = (
            np.hstack(play(X, Still(signs), 6, SEARCH, random_state=state(), after_round=f)[0])
            for f in (lambda *_: False, None)
        )
        np.testing.assert_array_equal(with_it, without)


class TestInterruption:
    def test_after_a_round_keeps_what_was_found(self, rng):
        X, signs = problem(rng)
        found, record = play(X, Still(signs, interrupt_at=2), 30, SEARCH, random_state=state())
        assert len(found) == 2
        assert record.interrupted
        for values in record.arrays().values():
            assert values.shape == (2,)
        whole, _ = play(X, Still(signs), 6, SEARCH, random_state=state())
        np.testing.assert_array_equal(np.hstack(found), np.hstack(whole))

    def test_before_the_first_is_raised(self, rng):
        X, signs = problem(rng)
        with pytest.raises(KeyboardInterrupt):
            play(X, Still(signs, interrupt_at=0), 30, SEARCH, random_state=state())

    def test_other_errors_are_raised(self, rng):
        X, signs = problem(rng)

        def wrong(found, record):
            raise RuntimeError("of the caller")

        with pytest.raises(RuntimeError, match="of the caller"):
            play(X, Still(signs), 6, SEARCH, random_state=state(), after_round=wrong)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "place", ["fortran", "csr", "csr_array", "csc", "torch", "strict", "dask", "dask_sparse"]
)
def test_the_same_in_every_place(place, kind, rng):
    X, signs = problem(rng)
    device = place in ("torch", "strict")
    host = make(kind, signs)
    there = make(kind, PLACES[place](signs) if device else signs)
    expected, record = play(X, host, 7, SEARCH, random_state=state())
    found, other = play(PLACES[place](X), there, 7, SEARCH, random_state=state())
    for new, known in zip(found, expected, strict=True):
        np.testing.assert_allclose(on_host(new), known, atol=1e-5)
        assert type(new) is (type(PLACES[place](X)) if device else np.ndarray)
    np.testing.assert_allclose(on_host(there.coefficients), host.coefficients, atol=1e-3)
    for name, values in record.arrays().items():
        np.testing.assert_allclose(other.arrays()[name], values, rtol=1e-3)


@pytest.mark.parametrize("place", ["numpy", "csr", "torch"])
def test_single_precision_finds_nearly_the_same(place, rng):
    X, signs = problem(rng)
    put = PLACES[place]
    single = put(signs.astype(np.float32)) if place == "torch" else signs.astype(np.float32)
    search = Search(length=1.0, n_peaks=1, n_chains=40, n_steps=40)
    found, _ = play(put(X.astype(np.float32)), Still(single), 1, search, random_state=state())
    expected, _ = play(X, Still(signs), 1, search, random_state=state())
    assert on_host(found[0]).dtype == np.float32
    heights = [potential(X, signs, on_host(new[0]))[0] for new in (found, expected)]
    np.testing.assert_allclose(*heights, rtol=1e-3)


def test_sparse_rows_with_empty_ones(rng):
    X, signs = problem(rng)
    X[::3] = 0
    found, _ = play(sparse.csr_matrix(X), Still(signs), 3, SEARCH, random_state=state())
    expected, _ = play(X, Still(signs), 3, SEARCH, random_state=state())
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6)


@pytest.mark.parametrize("place", ["numpy", "torch"])
def test_rows_of_zeros(place):
    put = PLACES[place]
    signs = np.where(np.arange(20) % 2, 1.0, -1.0)[:, None]
    player = make("corrective margin", put(signs))
    found, record = play(put(np.zeros((20, 2))), player, 6, SEARCH, random_state=state())
    assert np.isfinite(np.hstack([on_host(new) for new in found])).all()
    np.testing.assert_allclose(record.arrays()["potential"], 0, atol=1e-12)


def test_records_are_numbers():
    record = Record(potential=[1, np.float32(2)], objective=[None, 3.0], value=[])
    arrays = record.arrays()
    assert set(arrays) == {"potential", "share", "objective", "value"}
    assert all(values.dtype == np.float64 for values in arrays.values())
    np.testing.assert_array_equal(arrays["objective"], [np.nan, 3.0])


class Listed:
    """A family of given columns, each round the next; its shares are given too."""

    def __init__(self, columns, shares):
        self.columns, self.shares, self.n_rounds = columns, shares, 0

    def propose(self, coefficients, n_wanted):
        self.n_rounds += 1
        k = self.n_rounds - 1
        return Proposal(k, 1, self.columns[:, k : k + 1], self.shares[k], self.shares[k])


class TestAnyFamily:
    def test_the_player_answers_to_what_was_proposed(self, rng):
        columns = rng.normal(size=(10, 4))
        player = Still(rng.normal(size=(10, 1)))
        found, record = game.play(Listed(columns, [0.4, 0.3, 0.2, 0.1]), player, 4)
        assert found == [0, 1, 2, 3]
        np.testing.assert_array_equal(np.hstack(player.columns), columns)
        np.testing.assert_array_equal(record.arrays()["share"], [0.4, 0.3, 0.2, 0.1])

    def test_ends_when_nothing_is_left(self, rng):
        player = Still(rng.normal(size=(10, 1)))
        family = Listed(rng.normal(size=(10, 4)), [0.4, 0.3, 1e-25, 0.1])
        found, record = game.play(family, player, 4, least_share=1e-20)
        assert found == [0, 1]
        assert len(player.columns) == len(record.share) == 2

    def test_the_first_round_is_played_whatever_there_is(self, rng):
        player = Still(rng.normal(size=(10, 1)))
        family = Listed(rng.normal(size=(10, 2)), [0.0, 0.0])
        assert game.play(family, player, 2, least_share=1e-20)[0] == [0]


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
def test_the_numbers_of_a_record(place):
    numbers = [PLACES[place](np.array([number]))[0] for number in (1.5, 2.5)]
    arrays = Record(value=[None, numbers[0], None, numbers[1]], share=[0.5]).arrays()
    np.testing.assert_array_equal(arrays["value"], [np.nan, 1.5, np.nan, 2.5])
    np.testing.assert_array_equal(arrays["share"], [0.5])
    assert arrays["objective"].shape == (0,)
