"""Games side by side, against each alone."""

import numpy as np
import pytest

from bochner.engine.places import to_numpy
from bochner.margin import together
from bochner.margin.game import play
from bochner.margin.players import CorrectiveMargin, GradientMargin
from bochner.margin.search import Search, WaveFamily
from bochner.margin.together import play_side_by_side
from tests.margin.test_game import problem
from tests.places import PLACES


def games(X, signs):
    """Of four settings, for seven frequencies."""
    bands = [12.0, 4.0, 12.0, 12.0]
    families = [
        WaveFamily(
            X,
            Search(1.0, band=band, n_peaks=2, n_chains=10, n_steps=4),
            7,
            random_state=np.random.RandomState(0),
        )
        for band in bands
    ]
    how = {"strength": 100.0, "capacity": 14}
    players = [CorrectiveMargin(signs, damping=damping, **how) for damping in (0.3, 0.3, 1.0)]
    return families, [*players, GradientMargin(signs, C=1.0, step=0.3)]


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
def test_they_are_the_games_alone(place, rng):
    X, signs = (PLACES[place](part) for part in problem(rng))
    families, players = games(X, signs)
    found = play_side_by_side(families, players, 7)
    for functions, player, family, alone in zip(found, players, *games(X, signs), strict=True):
        expected, _ = play(family, alone, 7)
        for ours, right in zip(functions, expected, strict=True):
            np.testing.assert_array_equal(to_numpy(ours), to_numpy(right))
        coefficients = (to_numpy(each.coefficients) for each in (player, alone))
        np.testing.assert_array_equal(*coefficients)


def test_models_solved_together_are_those_of_the_players(rng, monkeypatch):
    """What a GPU does: four Newton steps on all columns there is room for."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setattr(together, "on_cuda", lambda X: True)
    X, signs = (PLACES["torch"](part) for part in problem(rng))
    families, players = games(X, signs)
    found = play_side_by_side(families, players, 7)
    for functions, player, family, alone in zip(found, players, *games(X, signs), strict=True):
        expected, _ = play(family, alone, 7)
        coefficients = (to_numpy(each.coefficients) for each in (player, alone))
        np.testing.assert_allclose(*coefficients, rtol=1e-4, atol=1e-4)
        for ours, right in zip(functions, expected, strict=True):
            np.testing.assert_allclose(to_numpy(ours), to_numpy(right), rtol=1e-4, atol=1e-4)
