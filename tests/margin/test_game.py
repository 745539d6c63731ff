"""The rounds, against sums written out and searches over fine grids."""

import numpy as np
import pytest
from scipy import sparse

from bochner import engine
from bochner.engine import plain
from bochner.margin.game import Record, Search, play
from bochner.margin.players import (
    CorrectiveMargin,
    CorrectiveResidual,
    GradientMargin,
    GradientResidual,
)
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
        np.testing.assert_allclose(arrays["potential"], heights / np.abs(A).sum() ** 2)
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


class TestPeaks:
    SEARCH = Search(length=1.0, n_peaks=1, n_chains=80, n_steps=60)

    @pytest.mark.parametrize("frequency", [1.5, 4.0])
    def test_the_first_is_the_true_frequency(self, frequency, rng):
        X = rng.uniform(-5, 5, size=(400, 1))
        signs = np.where(np.sin(frequency * X) > 0, 1.0, -1.0)
        player = CorrectiveMargin(signs, strength=100.0, damping=0.3)
        found, _ = play(X, player, 1, self.SEARCH, random_state=state())
        assert abs(abs(found[0][0, 0]) - frequency) < 0.05

    @pytest.mark.parametrize("band", [None, 12.0, 2.0, 0.5])
    def test_it_is_the_peak_within_the_band(self, band, rng):
        """The largest v(w) exp(-|w|^2 / (2 s^2)), s = band / length, over a fine grid."""
        X = rng.uniform(-3, 3, size=(150, 1))
        A = np.column_stack([np.cos(4 * X[:, 0]) + 0.4 * np.cos(X[:, 0]), np.sin(4 * X[:, 0])])
        search = Search(length=0.7, band=band, n_peaks=1, n_chains=80, n_steps=60)
        found, _ = play(X, Still(A), 1, search, random_state=state())
        grid = np.linspace(0, 10, 20001)[None, :]
        share = 1.0 if band is None else np.exp(-(grid[0] ** 2) * 0.7**2 / (2 * band**2))
        heights = potential(X, A, grid) * share
        assert abs(abs(found[0][0, 0]) - grid[0, heights.argmax()]) < 1e-3

    def test_it_is_a_stationary_point_within_the_band_in_several_dimensions(self, rng):
        X, A = rng.uniform(-2, 2, size=(80, 3)), rng.normal(size=(80, 2))
        band, length = 3.0, 1.3
        search = Search(length=length, band=band, n_peaks=1, n_chains=40, n_steps=200)
        found, _ = play(X, Still(A), 1, search, random_state=state())
        peak, s = found[0], band / length

        def height(W):
            return potential(X, A, W) * np.exp(-(W**2).sum(axis=0) / (2 * s**2))

        # up to second order, every step of 1e-2 goes down, and one of 1e-4 changes nothing
        around = rng.normal(size=(3, 200))
        around /= np.linalg.norm(around, axis=0)
        assert height(peak + 1e-2 * around).max() < height(peak)[0]
        np.testing.assert_allclose(height(peak + 1e-4 * around), height(peak)[0], rtol=1e-6)

    def test_the_size_of_the_coefficients_does_not_matter(self, rng):
        X, A = rng.uniform(-3, 3, size=(100, 2)), rng.normal(size=(100, 1))
        one, small = (
            np.hstack(play(X, Still(scale * A), 6, SEARCH, random_state=state())[0])
            for scale in (1.0, 1e-8)
        )
        np.testing.assert_allclose(small, one, rtol=1e-6)

    def test_the_length_is_the_unit(self, rng):
        X, A = rng.uniform(-3, 3, size=(100, 2)), rng.normal(size=(100, 1))
        wide = Search(length=64.0, n_peaks=3, n_chains=20, n_steps=5)
        one = np.hstack(play(X, Still(A), 6, SEARCH, random_state=state())[0])
        other = np.hstack(play(64 * X, Still(A), 6, wide, random_state=state())[0])
        np.testing.assert_allclose(64 * other, one, rtol=1e-6)

    def test_those_of_one_round_are_apart(self, rng):
        X, A = rng.uniform(-3, 3, size=(150, 2)), rng.normal(size=(150, 1))
        search = Search(length=1.0, n_peaks=6, n_chains=60, n_steps=10)
        found, _ = play(X, Still(A), 18, search, random_state=state())
        for new in found:
            for j in range(6):
                others = np.delete(new, j, axis=1)
                for image in (others, -others):
                    assert np.linalg.norm(image - new[:, j : j + 1], axis=0).min() >= 0.4

    def test_the_best_comes_first(self, rng):
        X, A = rng.uniform(-3, 3, size=(150, 2)), rng.normal(size=(150, 1))
        search = Search(length=1.0, band=None, n_peaks=4, n_chains=60, n_steps=10)
        found, _ = play(X, Still(A), 4, search, random_state=state())
        assert (np.diff(potential(X, A, found[0])) <= 0).all()

    def test_chains_go_on_where_they_were(self, rng):
        """With coefficients that stay, what was not taken in one round is there in the next."""
        X, A = rng.uniform(-3, 3, size=(150, 3)), rng.normal(size=(150, 1))
        search = Search(length=1.0, band=None, n_peaks=1, n_chains=30, n_steps=4)
        found, _ = play(X, Still(A), 10, search, random_state=state())
        # alone, each round would have a fourth of the steps and chains that start anew
        alone = [play(X, Still(A), 1, search, random_state=state(k))[0][0] for k in range(10)]
        mean = [np.mean([potential(X, A, w)[0] for w in some]) for some in (found[3:], alone)]
        assert mean[0] > mean[1]

    def test_with_a_temperature(self, rng):
        X, signs = problem(rng)
        search = Search(length=1.0, n_peaks=3, n_chains=20, n_steps=5, temperature=1.0)
        one, same = (play(X, Still(signs), 7, search, random_state=state())[0] for _ in range(2))
        np.testing.assert_array_equal(np.hstack(one), np.hstack(same))
        assert np.hstack(one).shape == (2, 7)

    @pytest.mark.parametrize("band", [None, 12.0])
    @pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
    def test_no_coefficients_left(self, place, band, rng):
        """After a perfect fit the potential is zero everywhere."""
        put = PLACES[place]
        X = put(rng.normal(size=(30, 2)))
        search = Search(length=1.0, band=band, n_peaks=2, n_chains=10, n_steps=3)
        found, record = play(X, Still(put(np.zeros((30, 1)))), 5, search, random_state=state())
        assert np.isfinite(np.hstack([on_host(new) for new in found])).all()
        np.testing.assert_array_equal(record.arrays()["potential"], 0)

    def test_a_perfect_fit_on_the_way(self, rng):
        X = rng.normal(size=(4, 1))
        player = CorrectiveResidual(rng.normal(size=(4, 1)), strength=1e12, damping=1.0)
        found, record = play(X, player, 12, SEARCH, random_state=state())
        assert np.isfinite(np.hstack(found)).all()
        for values in record.arrays().values():
            assert np.isfinite(values).all()


class TestFreshRows:
    SEARCH = Search(length=1.0, n_peaks=2, n_chains=10, n_steps=3, n_rows=40)

    def test_each_round_looks_at_rows_of_its_own(self, rng, monkeypatch):
        X, signs = problem(rng)
        seen, original = [], engine.potential_and_gradient

        def watched(rows, W, A, **options):
            seen.append((rows, A))
            return original(rows, W, A, **options)

        monkeypatch.setattr(engine, "potential_and_gradient", watched)
        player = Still(signs)
        play(X, player, 6, self.SEARCH, random_state=state())
        rounds = {}
        for rows, A in seen:
            assert rows.shape == (40, 2)
            # the rows' own coefficients, up to a common factor
            own = [np.flatnonzero((row == X).all(axis=1))[0] for row in rows]
            assert np.array_equal(np.sign(A), signs[own])
            rounds[tuple(own)] = None
        assert len(rounds) == 3
        assert all(columns.shape == (200, 4) for columns in player.columns)

    def test_repeats_with_its_seed(self, rng):
        X, signs = problem(rng)
        one, same = (
            np.hstack(play(X, Still(signs), 6, self.SEARCH, random_state=state())[0])
            for _ in range(2)
        )
        np.testing.assert_array_equal(one, same)

    @pytest.mark.parametrize("n_rows", [200, 1000])
    def test_as_many_as_there_are_is_all(self, n_rows, rng):
        X, signs = problem(rng)
        search = Search(length=1.0, n_peaks=3, n_chains=20, n_steps=5, n_rows=n_rows)
        one, all_rows = (
            np.hstack(play(X, Still(signs), 6, how, random_state=state())[0])
            for how in (search, SEARCH)
        )
        np.testing.assert_array_equal(one, all_rows)

    @pytest.mark.parametrize("place", ["csr", "torch", "strict", "dask", "dask_sparse"])
    def test_the_same_rows_in_every_place(self, place, rng):
        X, signs = problem(rng)
        device = place in ("torch", "strict")
        player = Still(PLACES[place](signs) if device else signs)
        found, _ = play(PLACES[place](X), player, 6, self.SEARCH, random_state=state())
        expected, _ = play(X, Still(signs), 6, self.SEARCH, random_state=state())
        np.testing.assert_allclose(
            np.hstack([on_host(new) for new in found]), np.hstack(expected), atol=1e-6
        )


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
    assert set(arrays) == {"potential", "objective", "value"}
    assert all(values.dtype == np.float64 for values in arrays.values())
    np.testing.assert_array_equal(arrays["objective"], [np.nan, 3.0])
