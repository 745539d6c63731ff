"""When to stop a game on the sphere: its functions judged on held-out rows.

Functions that the labels depend on are picked first; later ones may fit the noise of the rows.
There is no random map to continue with, so rounds that do not help on rows that the game has not
seen are dropped.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bochner.fourier.strength import held_out_errors
from bochner.linear.paired import is_clearly_lower

Float = NDArray[np.float64]

_SECOND_LOOK, _GROWTH = 5, 1.5  # round of the second look, and growth between later looks
_PATIENCE = 3  # looks in a row at which the picks did not help


class _Evaluated(Protocol):
    def values(self, chosen: NDArray[np.int64], rows: Any = None) -> Float: ...


def count_picks(functions: list[int]) -> tuple[NDArray[np.int64], Float]:
    """Return the functions picked, in the order of their first picks, and their shares."""
    picks = Counter(functions)
    counts = np.array(list(picks.values()))
    return np.array(list(picks)), counts / counts.sum()


class RoundStop:
    """End a game whose picks no longer help on held-out rows, and say how many rounds to keep.

    After the first round, the fifth, and each time there are half as many again, a ridge
    regression on the functions so far is compared with that of the best look: it is better if the
    held-out loss is lower by more than a standard error of the paired difference. The third time
    in a row that it is not, the game ends.

    Parameters
    ----------
    family : family of functions
        Family of the game, whose `values` can be computed for any rows.
    targets, held_targets : arrays of shape (n, k) and (h, k)
        Targets of the rows of the game and of the held-out rows.
    held_rows : array of shape (h, d)
        Held-out rows on the sphere.
    """

    def __init__(
        self, family: _Evaluated, targets: Float, held_rows: Any, held_targets: Float
    ) -> None:
        self.family, self.targets = family, targets
        self.held_rows, self.held_targets = held_rows, held_targets
        self._best: tuple[int, Float] | None = None
        self._last = self._in_vain = 0

    def __call__(self, functions: list[int]) -> bool:
        """Judge the functions of all rounds, if it is time; return whether the game should end."""
        n = len(functions)
        if n > 1 and n < max(_SECOND_LOOK, _GROWTH * self._last):
            return False
        self._look(functions)
        return self._in_vain == _PATIENCE

    def n_kept(self, functions: list[int]) -> int:
        """Return the number of rounds that the map should be made of."""
        if len(functions) > self._last:
            self._look(functions)
        assert self._best is not None, "a game has at least one round"
        return self._best[0]

    def _look(self, functions: list[int]) -> None:
        chosen, shares = count_picks(functions)
        features = self.family.values(chosen) * np.sqrt(shares)
        held = self.family.values(chosen, self.held_rows) * np.sqrt(shares)
        losses = held_out_errors(features, self.targets, held, self.held_targets)
        self._last = len(functions)
        if self._best is None or is_clearly_lower(losses, self._best[1]):
            self._best, self._in_vain = (self._last, losses), 0
        else:
            self._in_vain += 1
