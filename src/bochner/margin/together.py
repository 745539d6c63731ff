"""Games with several settings on the same rows, played side by side round by round.

The games are short, and on a GPU the time would go into many small operations one after the other.
Therefore the chains of all games climb together, and the linear models of several players are
solved together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from bochner.engine.places import namespace, on_cuda, wide_dtype, zeros
from bochner.engine.replay import Replayed
from bochner.linear.growing import GrowingColumns
from bochner.linear.newton import newton_steps_of_several
from bochner.margin.players import (
    MOST_REPLAYED,
    NEWTON_STEPS,
    CorrectiveMargin,
    DataPlayer,
    weights_towards,
)
from bochner.margin.search import FamiliesTogether, WaveFamily


def play_side_by_side(
    families: Sequence[WaveFamily],
    players: Sequence[DataPlayer],
    n_functions: int,
    n_parts: int = 2,
) -> list[list[Any]]:
    """Return the functions of each game, as :func:`~bochner.margin.game.play` finds them.

    All families propose the same number of functions in each round, with `n_parts` columns each.
    """
    found: list[list[Any]] = [[] for _ in players]
    together = [player for player in players if isinstance(player, CorrectiveMargin)]
    n = int(players[0].coefficients.shape[0])
    size = n * (n_parts * n_functions) ** 2
    if not on_cuda(players[0].coefficients) or size > MOST_REPLAYED or len(together) < 2:
        together = []
    moves = _MovesTogether(together, n_parts * n_functions) if together else None
    kernel_players, n_chosen = FamiliesTogether(families), 0
    while n_chosen < n_functions:
        coefficients = [player.coefficients for player in players]
        proposals = kernel_players.propose(coefficients, n_functions - n_chosen)
        columns = {id(player): new.columns for player, new in zip(players, proposals, strict=True)}
        if moves is not None:
            moves([columns.pop(id(player)) for player in together])
        for player, functions, new in zip(players, found, proposals, strict=True):
            functions.append(new.functions)
            if id(player) in columns:
                player.move(new.columns)
        n_chosen += proposals[0].n_functions
    return found


class _MovesTogether:
    """The corrective moves of several players with the same signs, on a GPU.

    Like the players' own moves there, they are always on all allocated columns.
    """

    def __init__(self, players: Sequence[CorrectiveMargin], n_columns: int) -> None:
        self.players, first = players, players[0]
        n = int(first.signs.shape[0])
        self.columns = [GrowingColumns(n, n_columns) for _ in players]
        shape = len(players), n_columns + 1
        self.V = zeros(shape, first.signs, wide_dtype(first.signs))
        self._move: Replayed | None = None

    def __call__(self, columns: Sequence[Any]) -> None:
        for kept, new in zip(self.columns, columns, strict=True):
            kept.append(new)
        first = self.players[0]
        if self._move is None:
            rooms = [kept.room for kept in self.columns]
            dampings = [player.damping for player in self.players]
            work = partial(_newton_moves, first.rescale, len(self.players))
            self._move = Replayed(work, (first.signs, first.C, *rooms, *dampings))
        m = float(self.columns[0].n_columns // first.n_parts)
        self.V, *weights = self._move(self.V, m, *(player.weights for player in self.players))
        for player, moved in zip(self.players, weights, strict=True):
            player.weights = moved


def _newton_moves(
    rescale: bool, count: int, signs: Any, C: Any, *arguments: Any
) -> tuple[Any, ...]:
    """Take Newton steps of all players from `V`, and move the weights of each to the result."""
    rooms, dampings = arguments[:count], arguments[count : 2 * count]
    V, m, *weights = arguments[2 * count :]
    V, margins = newton_steps_of_several(NEWTON_STEPS, signs, C / m, V, *rooms)
    moved = []
    for k, (before, damping) in enumerate(zip(weights, dampings, strict=True)):
        square = namespace(V).sum(V[k, :-1] ** 2)
        own = margins[k, :][:, None]
        moved.append(weights_towards(before, own, square, m, C, damping, rescale)[0])
    return V, *moved
