"""The margin game on a CUDA device, where its rounds are recorded and replayed."""

import numpy as np
import pytest

from bochner.engine import replay, tiles
from bochner.engine.places import to_numpy
from bochner.fourier.bandwidth import median_distance, median_distance_on_device
from bochner.margin.game import play
from bochner.margin.players import CorrectiveMargin, GradientMargin, _newton_move
from bochner.margin.search import Search, WaveFamily
from bochner.margin.subspace import _nearly_orthonormal, _orthonormal, principal_directions

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")

PLAYERS = {
    "corrective": lambda signs: CorrectiveMargin(signs, strength=100.0, damping=0.5, capacity=36),
    "gradient": lambda signs: GradientMargin(signs, C=1.0, step=0.3),
}


def problem(n=400, d=6, dtype=torch.float64):
    rng = np.random.default_rng(0)
    rows = torch.from_numpy(rng.normal(size=(n, d)))
    signs = torch.sign(torch.sin(2 * rows[:, :1]) + 0.1)
    return rows.to(dtype), signs.to(dtype)


def game(device, make, n_frequencies=17, after_round=None, dtype=torch.float64, **options):
    rows, signs = (part.to(device) for part in problem(dtype=dtype))
    search = Search(length=1.0, n_peaks=3, n_chains=20, n_steps=6, **options)
    player = make(signs)
    waves = WaveFamily(rows, search, n_frequencies, random_state=np.random.RandomState(0))
    found, record = play(waves, player, n_frequencies, after_round=after_round)
    return to_numpy(torch.cat(found, dim=1)), record.arrays(), to_numpy(player.coefficients)


class TestOnAnyDevice:
    def test_columns_to_come_change_nothing(self):
        _, signs = problem()
        features = torch.randn(400, 10, generator=torch.Generator().manual_seed(0)).double()
        room = torch.cat([features, torch.zeros(400, 30, dtype=torch.float64)], dim=1)
        weights = torch.ones_like(signs)
        results = [
            _newton_move(True, columns, signs, 0.25, 0.5, weights, V, m)
            for columns, V, m in (
                (features, torch.zeros(1, 11, dtype=torch.float64), 5.0),
                (room, torch.zeros(1, 41, dtype=torch.float64), 5.0),
                (room, torch.zeros(1, 41, dtype=torch.float64), torch.tensor(5.0).double()),
            )
        ]
        for moved, V, objective in results[1:]:
            torch.testing.assert_close(moved, results[0][0])
            torch.testing.assert_close(objective, results[0][2])
            assert not V[:, 10:-1].any()

    def test_the_move_is_that_of_the_player(self):
        _, signs = problem()
        columns = torch.randn(400, 10, generator=torch.Generator().manual_seed(0)).double()
        player = PLAYERS["corrective"](signs)
        before = player.weights
        objective = player.move(columns)
        start = torch.zeros(1, 11, dtype=torch.float64)
        moved, _, value = _newton_move(True, columns, signs, player.C, 0.5, before, start, 5.0)
        torch.testing.assert_close(moved, player.weights)
        torch.testing.assert_close(value, objective)

    @pytest.mark.parametrize("n", [2, 3, 40, 1200])
    def test_median_distance_on_device(self, n):
        X = np.random.default_rng(n).normal(size=(n, 5))
        X[: n // 3] = 0.0  # distances that do not count
        there = median_distance_on_device(torch.from_numpy(X), np.random.RandomState(0))
        expected = median_distance(X, "euclidean", np.random.RandomState(0))
        assert there == pytest.approx(expected, rel=1e-9)

    def test_no_distance_at_all(self):
        assert median_distance_on_device(torch.zeros(5, 2), np.random.RandomState(0)) == 0.0

    def test_nearly_orthonormal(self):
        Y = torch.randn(50, 8, generator=torch.Generator().manual_seed(0)) ** 3
        torch.testing.assert_close(_nearly_orthonormal(Y), _orthonormal(Y))

    @pytest.mark.parametrize("Y", [torch.zeros(9, 4), torch.ones(9, 4)])
    def test_without_full_rank_it_stays_finite(self, Y):
        result = _nearly_orthonormal(Y)
        assert torch.isfinite(result).all()
        assert result.abs().max() <= 1 + 1e-5


@cuda
class TestOnCuda:
    @pytest.mark.parametrize("player", PLAYERS)
    @pytest.mark.parametrize("n_rows", [None, 300])
    @pytest.mark.parametrize("temperature", [0.0, 0.5])
    def test_replayed_is_plain_is_the_host(self, player, n_rows, temperature, monkeypatch):
        options = {"n_rows": n_rows, "temperature": temperature}
        results = [game("cuda", PLAYERS[player], **options) for _ in range(2)]
        results.append(game("cpu", PLAYERS[player], **options))
        monkeypatch.setattr(replay, "_signature", lambda arguments: None)
        plain = game("cuda", PLAYERS[player], **options)
        for found, record, coefficients in results:
            np.testing.assert_allclose(found, plain[0], rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose(coefficients, plain[2], rtol=1e-5, atol=1e-5)
            for name, values in record.items():
                np.testing.assert_allclose(values, plain[1][name], rtol=1e-5, err_msg=name)

    @pytest.mark.parametrize("player", PLAYERS)
    @pytest.mark.parametrize("n_rows", [None, 300])
    def test_kernels_play_the_game_of_array_operations(self, player, n_rows, monkeypatch):
        """In single precision frequencies soon part: the first round."""
        monkeypatch.setattr(tiles, "_FEWEST", 0)
        how = {"dtype": torch.float32, "n_rows": n_rows, "n_frequencies": 3}
        with_kernels = [game("cuda", PLAYERS[player], **how) for _ in range(3)]  # plain, replayed
        monkeypatch.setattr(tiles, "run", lambda X: False)
        monkeypatch.setattr(replay, "_signature", lambda arguments: None)
        plain = game("cuda", PLAYERS[player], **how)
        for found, record, coefficients in with_kernels:
            np.testing.assert_allclose(found, plain[0], rtol=1e-2, atol=1e-2)
            np.testing.assert_allclose(coefficients, plain[2], rtol=1e-2, atol=1e-2)
            for name, values in record.items():
                np.testing.assert_allclose(values, plain[1][name], rtol=1e-3, err_msg=name)

    @pytest.mark.filterwarnings("ignore:Synchronization debug mode")
    @pytest.mark.parametrize("player", PLAYERS)
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    def test_the_host_does_not_wait(self, player, dtype, monkeypatch):
        monkeypatch.setattr(tiles, "_FEWEST", 0)

        def forbid(found, record):
            # random numbers come in the first two rounds, results after the last
            torch.cuda.set_sync_debug_mode("error" if 2 <= len(found) < 6 else "default")

        try:
            for _ in range(2):  # kernels are compiled
                game("cuda", PLAYERS[player], dtype=dtype)
            game("cuda", PLAYERS[player], after_round=forbid, n_frequencies=18, dtype=dtype)
        finally:
            torch.cuda.set_sync_debug_mode("default")

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    def test_everything_is_recorded(self, dtype, monkeypatch):
        monkeypatch.setattr(tiles, "_FEWEST", 0)
        made = []
        record = replay._record

        def watched(function, arguments):
            made.append(record(function, arguments))
            return made[-1]

        monkeypatch.setattr(replay, "_record", watched)
        monkeypatch.setattr(replay, "_kept", {})  # by games before
        for player in PLAYERS.values():
            for _ in range(2):
                game("cuda", player, dtype=dtype)
        assert len(made) >= 4
        assert None not in made

    def test_directions_are_those_of_the_host(self):
        X = np.random.default_rng(0).normal(size=(300, 40)) * 0.8 ** np.arange(40)
        host, there = (
            principal_directions(rows, 8, np.random.RandomState(0))
            for rows in (X, torch.from_numpy(X).cuda())
        )
        np.testing.assert_allclose(to_numpy(there), host, atol=1e-8)

    def test_median_is_that_of_the_host(self):
        X = np.random.default_rng(0).normal(size=(1500, 7))
        there = median_distance(torch.from_numpy(X).cuda(), "euclidean", np.random.RandomState(0))
        expected = median_distance(X, "euclidean", np.random.RandomState(0))
        assert there == pytest.approx(expected, rel=1e-9)
