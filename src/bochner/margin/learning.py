"""A game over the waves of all frequencies, from its start or from where an earlier one ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import namespace, to_numpy
from bochner.linear.hinge import hinge_optimum
from bochner.margin.game import Record, play
from bochner.margin.players import DataPlayer, GradientMargin
from bochner.margin.search import Search, WaveFamily, computed

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Learned:
    """What a game found: frequencies (d, m) as it sees them, and what happened in its rounds."""

    frequencies: NDArray[Any]
    rounds: dict[str, Float]
    interrupted: bool


def learn_frequencies(
    rows: Any,
    search: Search,
    player: DataPlayer,
    n_more: int,
    *,
    before: NDArray[Any],
    coefficients: Any,
    known: Sequence[Any],
    random_state: RandomState,
    after_round: Callable[[list[Any], Record], bool | None] | None,
    **options: Any,
) -> Learned:
    """Play for `n_more` frequencies after those `before`.

    The player goes on from `coefficients` where there are frequencies before. The game is played
    with `known` frequencies first, see :class:`~bochner.margin.search.WaveFamily`.
    """
    if before.shape[1]:
        player.resume(computed(engine.features(rows, before, scale=1.0)), coefficients)
    functions: list[Any] = []
    record = Record()
    if n_more:
        waves = WaveFamily(rows, search, n_more, random_state=random_state, known=known, **options)
        functions, record = play(waves, player, n_more, after_round=after_round)
    rounds, frequencies = record.arrays(), before
    if functions:
        new = to_numpy(namespace(functions[0]).concat(functions, axis=1))
        frequencies = np.hstack([before.astype(new.dtype), new])
    if isinstance(player, GradientMargin) and functions:
        # not known on the way: the optimum on all features
        features = to_numpy(computed(engine.features(rows, frequencies)))
        rounds["objective"][-1] = hinge_optimum(features, to_numpy(player.signs), player.C)
    return Learned(frequencies, rounds, record.interrupted)


def history_of(rounds: dict[str, Float], before: dict[str, Float] | None) -> dict[str, Float]:
    """Numbers of every round, of the game `before` and of this one; see `history_`."""
    names = {"potential": "share", "objective": "objective", "value": "value"}
    history = {name: rounds[recorded] for name, recorded in names.items()}
    if before is not None:
        history = {name: np.r_[before[name], values] for name, values in history.items()}
    with np.errstate(divide="ignore"):  # an optimum of zero: nothing is lost at any margin
        history["margin"] = (2 * np.maximum(history["objective"], 0)) ** -0.5
    history["gap"] = history["objective"] - np.maximum.accumulate(history["value"])
    return history
