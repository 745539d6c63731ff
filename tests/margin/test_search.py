"""Peaks of the Fourier potential, against searches over fine grids and slow loops."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner import MarginFourierFeatures, engine
from bochner.engine import plain
from bochner.engine.places import convert, namespace
from bochner.margin import players, search
from bochner.margin.looks import Search
from bochner.margin.peaks import ascend_potential, distinct_peaks
from bochner.margin.players import CorrectiveMargin, CorrectiveResidual
from tests.margin.test_game import SEARCH, Still, play, potential, problem, state
from tests.places import PLACES, on_host


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


def hills(centres, widths=1.0):
    """A sum of Gaussian hills, one centre per column, and its gradient; in any library."""

    def potential(w):
        xp = namespace(w)
        c = convert(centres, w)
        gaps = c[:, None, :] - w[:, :, None]
        heights = xp.exp(-xp.sum(gaps * gaps, axis=0) / (2 * widths**2))
        slopes = xp.sum(gaps * heights[None, :, :], axis=2) / widths**2
        return xp.sum(heights, axis=1), slopes

    return potential


class TestAscendPotential:
    CENTRES = np.array([[0.0, 3.0, -4.0], [2.0, -2.0, 0.5]])

    def starts(self, rng, m=30):
        return rng.normal(0, 2, size=(2, m))

    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_never_below_the_start(self, temperature, rng):
        potential, starts = hills(self.CENTRES), self.starts(rng)
        points, values = ascend_potential(
            potential,
            starts,
            n_steps=15,
            temperature=temperature,
            random_state=np.random.RandomState(0),
        )
        assert (values >= potential(starts)[0]).all()
        np.testing.assert_array_equal(values, potential(points)[0])

    def test_more_steps_never_lower(self, rng):
        potential, starts = hills(self.CENTRES), self.starts(rng)
        before = potential(starts)[0]
        for n_steps in (1, 5, 10, 40):
            values = ascend_potential(potential, starts, n_steps=n_steps)[1]
            assert (values >= before).all()
            before = values

    def test_no_steps_stay(self, rng):
        potential, starts = hills(self.CENTRES), self.starts(rng)
        points, values = ascend_potential(potential, starts, n_steps=0)
        np.testing.assert_array_equal(points, starts)
        np.testing.assert_array_equal(values, potential(starts)[0])

    def test_ends_on_the_hills(self, rng):
        points, _ = ascend_potential(hills(self.CENTRES), self.starts(rng), n_steps=200)
        # centres are moved a little by the tails of the other hills
        distances = np.linalg.norm(points[:, :, None] - self.CENTRES[:, None, :], axis=0)
        assert distances.min(axis=1).max() < 0.01
        assert set(distances.argmin(axis=1)) == {0, 1, 2}

    def test_finds_the_peak_of_a_fourier_potential(self, rng):
        x, w = rng.uniform(-5, 5, size=(300, 1)), 3.0
        A = np.cos(w * x)
        points, values = ascend_potential(
            lambda points: plain.potential_and_gradient(x, points, A),
            rng.normal(0, 3, size=(1, 60)),
            n_steps=60,
        )
        grid = np.linspace(-8, 8, 20001)[None, :]
        heights = np.abs(plain.fourier_sums(x, grid, A)[:, 0]) ** 2
        best = values.argmax()
        assert values[best] > heights.max() * (1 - 1e-6)
        assert abs(abs(points[0, best]) - abs(grid[0, heights.argmax()])) < 2e-3

    def test_chains_do_not_see_each_other(self, rng):
        """Only the first step is common: without it, a chain alone is a chain among others."""
        potential, starts = hills(self.CENTRES), self.starts(rng, 4)
        one = ascend_potential(potential, np.tile(starts[:, :1], 5), n_steps=20)[0]
        np.testing.assert_allclose(one, np.tile(one[:, :1], 5), rtol=1e-14)
        order = [2, 0, 3, 1]
        together = ascend_potential(potential, starts, n_steps=20)[0]
        shuffled = ascend_potential(potential, starts[:, order], n_steps=20)[0]
        np.testing.assert_allclose(shuffled, together[:, order], rtol=1e-12)

    @pytest.mark.parametrize("height", [1e-12, 1e6])
    @pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_scale_does_not_matter(self, height, length, temperature, rng):
        potential, starts = hills(self.CENTRES), self.starts(rng)

        def scaled(w):
            value, slope = potential(w / length)
            return height * value, height * slope / length

        def run(v, where):
            state = np.random.RandomState(0)
            return ascend_potential(
                v, where, n_steps=10, temperature=temperature, random_state=state
            )

        points, values = run(potential, starts)
        far, high = run(scaled, length * starts)
        np.testing.assert_allclose(far / length, points, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(high / height, values, rtol=1e-6)

    @pytest.mark.parametrize("first_move", [0.01, 0.1])
    def test_median_chain_moves_by_the_share_asked_for(self, first_move, rng):
        # a plane: every chain has the same slope, and every move goes up
        starts = rng.normal(size=(3, 21))
        up = np.array([[1.0], [2.0], [-2.0]])
        points, _ = ascend_potential(
            lambda w: ((up * w).sum(axis=0), np.tile(up, w.shape[1])),
            starts,
            n_steps=1,
            first_move=first_move,
        )
        moved = np.linalg.norm(points - starts, axis=0)
        expected = first_move * np.median(np.linalg.norm(starts, axis=0))
        np.testing.assert_allclose(moved, expected)

    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    @pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
    def test_flat_ground_stays_finite(self, place, temperature, rng):
        starts = PLACES[place](rng.normal(size=(2, 5)))

        def flat(w):
            return 0 * w[0, :], 0 * w

        points, values = ascend_potential(
            flat,
            starts,
            n_steps=10,
            temperature=temperature,
            random_state=np.random.RandomState(0),
        )
        np.testing.assert_array_equal(on_host(points), on_host(starts))
        np.testing.assert_array_equal(on_host(values), 0)

    def test_chains_at_the_origin_stay_finite(self):
        points, values = ascend_potential(hills(self.CENTRES), np.zeros((2, 3)), n_steps=5)
        assert np.isfinite(points).all()
        assert np.isfinite(values).all()

    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_no_point_beyond_the_longest(self, temperature, rng):
        seen = []

        def outwards(w):
            seen.append(np.linalg.norm(w, axis=0).max())
            return (w**2).sum(axis=0), 2 * w

        starts = rng.normal(0, 0.3, size=(3, 10))
        points, values = ascend_potential(
            outwards,
            starts,
            n_steps=60,
            longest=2.0,
            temperature=temperature,
            random_state=np.random.RandomState(0),
        )
        assert max(seen) <= 2.0 * (1 + 1e-12)
        if not temperature:
            # straight away from the origin, up to the limit
            np.testing.assert_allclose(points, 2 * starts / np.linalg.norm(starts, axis=0))
            np.testing.assert_allclose(values, 4)

    def test_a_temperature_needs_a_random_state(self, rng):
        with pytest.raises(ValueError, match="random_state"):
            ascend_potential(hills(self.CENTRES), self.starts(rng), n_steps=3, temperature=0.5)

    def test_a_temperature_tracks_the_best_point(self, rng):
        potential, starts = hills(self.CENTRES, 0.5), self.starts(rng)
        path = []

        def watched(w):
            value, slope = potential(w)
            path.append((w, value))
            return value, slope

        state = np.random.RandomState(3)
        points, values = ascend_potential(
            watched, starts, n_steps=25, temperature=3.0, first_move=0.2, random_state=state
        )
        heights = np.stack([value for _, value in path])
        where = np.stack([w for w, _ in path])
        best = heights.argmax(axis=0)
        np.testing.assert_array_equal(values, heights.max(axis=0))
        np.testing.assert_array_equal(points.T, where[best, :, np.arange(len(best))])
        # no move is taken back: chains went below their best
        assert (heights[-1] < values).any()

    def test_a_temperature_repeats_with_its_seed(self, rng):
        potential, starts = hills(self.CENTRES), self.starts(rng)
        one, same, other = (
            ascend_potential(
                potential,
                starts,
                n_steps=5,
                temperature=1.0,
                random_state=np.random.RandomState(seed),
            )[0]
            for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(one, same)
        assert (one != other).any()

    def test_starts_are_left_alone(self, rng):
        starts = self.starts(rng)
        before = starts.copy()
        ascend_potential(hills(self.CENTRES), starts, n_steps=5, longest=1.0)
        np.testing.assert_array_equal(starts, before)

    @pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_the_same_in_every_place(self, place, dtype, temperature, rng):
        potential, starts = hills(self.CENTRES), self.starts(rng)
        # one dtype of the starts, another of nothing: points and values keep it
        there = PLACES[place](starts.astype(dtype))

        def run(where):
            state = np.random.RandomState(0)
            return ascend_potential(
                potential,
                where,
                n_steps=6,
                longest=10.0,
                temperature=temperature,
                random_state=state,
            )

        points, values = run(there)
        expected_points, expected_values = run(starts)
        assert type(points) is type(there)
        assert points.dtype == there.dtype
        assert values.dtype == there.dtype
        tolerance = 1e-4 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(on_host(points), expected_points, atol=tolerance)
        np.testing.assert_allclose(on_host(values), expected_values, atol=tolerance)


def slow_distinct_peaks(points, values, count, apart):
    """Take the highest that is not near one taken; when none is left, by the number of those."""
    m = points.shape[1]
    taken = []
    while len(taken) < count:
        # how often each was left out as a neighbour: fewer first, then the higher, then the first
        rank = []
        for j in range(m):
            if j in taken:
                continue
            beside = sum(
                min(
                    np.linalg.norm(points[:, j] - points[:, i]),
                    np.linalg.norm(points[:, j] + points[:, i]),
                )
                < apart
                for i in taken
            )
            rank.append((beside, -values[j], j))
        taken.append(min(rank)[2])
    return taken


class TestDistinctPeaks:
    @settings(deadline=None, max_examples=150)
    @given(
        m=st.integers(1, 12),
        d=st.integers(1, 3),
        share=st.floats(0.0, 1.0),
        apart=st.sampled_from([0.0, 0.5, 1.5, 100.0]),
        ties=st.booleans(),
        seed=st.integers(0, 10**6),
    )
    def test_agrees_with_a_slow_loop(self, m, d, share, apart, ties, seed):
        rng = np.random.default_rng(seed)
        # thirds of whole numbers: no distance is within rounding of the limit
        points = rng.integers(-8, 9, size=(d, m)) / 3
        values = rng.integers(0, 3, size=m).astype(float) if ties else rng.normal(size=m)
        count = max(1, round(share * m))
        found = distinct_peaks(points, values, count, apart + 0.01)
        assert found.tolist() == slow_distinct_peaks(points, values, count, apart + 0.01)

    def test_mirror_images_are_one(self):
        points = np.array([[1.0, -1.0, 2.0], [1.0, -1.0, -2.0]])
        values = np.array([3.0, 2.0, 1.0])
        assert distinct_peaks(points, values, 2, 0.1).tolist() == [0, 2]

    def test_more_than_there_are_apart(self):
        points = np.array([[1.0, 1.0, -1.0, 5.0]])
        values = np.array([1.0, 4.0, 3.0, 2.0])
        assert distinct_peaks(points, values, 4, 0.5).tolist() == [1, 3, 2, 0]

    def test_ties_go_to_the_first(self):
        points = np.array([[1.0, 2.0, 3.0]])
        assert distinct_peaks(points, np.ones(3), 3, 0.5).tolist() == [0, 1, 2]

    @pytest.mark.parametrize("height", [1e-12, 1e12])
    def test_heights_of_any_size(self, height):
        points = np.array([[1.0, 1.01, 2.0, 3.0]])
        values = height * np.array([4.0, 3.0, 2.0, 1.0])
        assert distinct_peaks(points, values, 4, 0.1).tolist() == [0, 2, 3, 1]

    def test_small_heights_of_neighbours_keep_their_order(self):
        values = np.array([1e-9, 3e-9, 2e-9], dtype=np.float32)
        points = np.ones((1, 3), dtype=np.float32)
        assert distinct_peaks(points, values, 3, 0.1).tolist() == [1, 2, 0]

    @pytest.mark.parametrize("place", ["torch", "strict"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_same_in_every_place(self, place, dtype, rng):
        points, values = rng.normal(size=(2, 40)), rng.normal(size=40)
        put = PLACES[place]
        expected = distinct_peaks(points, values, 40, 0.7)
        found = distinct_peaks(put(points.astype(dtype)), put(values.astype(dtype)), 40, 0.7)
        np.testing.assert_array_equal(on_host(found), expected)
        assert sorted(expected) == list(range(40))


def test_a_game_leaves_nothing_to_the_garbage_collector(monkeypatch):
    """Recordings on a GPU must go with the game, not while another one is recorded."""
    torch = pytest.importorskip("torch")
    made = []

    def remember(kind):
        original = kind.__init__

        def init(self, *arguments, **options):
            made.append(weakref.ref(self))
            original(self, *arguments, **options)

        monkeypatch.setattr(kind, "__init__", init)

    for kind in (search.WaveFamily, players.CorrectiveMargin, players.GradientMargin):
        remember(kind)
    rng = np.random.default_rng(0)
    X, y = torch.as_tensor(rng.normal(size=(200, 3))), np.arange(200) % 2
    gc.disable()
    try:
        MarginFourierFeatures(n_components=20, random_state=0).fit(X, y)
        assert made
        assert not any(reference() for reference in made)
    finally:
        gc.enable()
