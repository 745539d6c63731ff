"""When a game on the sphere has picked enough: its functions, judged on held-out rows.

What the labels depend on is picked first; what comes later may be the noise of the rows. There is
no random map to go on with, so that rounds which do not help on rows that the game has not seen
are left out.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bochner.fourier.strength import held_out_errors
from bochner.linear.paired import is_clearly_lower

Float = NDArray[np.float64]

_SECOND_LOOK, _GROWTH = 5, 1.5  # rounds, after the first one, at which picks are judged
_PATIENCE = 3  # looks in a row at which they were in vain


class _Evaluated(Protocol):
    def values(self, chosen: NDArray[np.int64], rows: Any = None) -> Float: ...


def count_picks(functions: list[int]) -> tuple[NDArray[np.int64], Float]:
    """The functions that were picked, in the order of their first picks, and their shares."""
    picks = Counter(functions)
    counts = np.array(list(picks.values()))
    return np.array(list(picks)), counts / counts.sum()


class RoundStop:
    """Ends a game whose picks help no more on held-out rows, and says how many rounds to keep.

    After the first round, the fifth, and each time there are half as many again, a ridge
    regression on the functions so far is compared with that of the best look: it is better where
    the held-out loss is lower by more than a standard error of the paired difference. The third
    time in a row that it is not, the game ends.

    Parameters
    ----------
    family : family of functions
        Of the game; its `values` are those of any rows.
    targets, held_targets : arrays of shape (n, k) and (h, k)
        What is to be predicted of the rows of the game, and of those held out.
    held_rows : array of shape (h, d)
        On the sphere.
    """

    def __init__(
        self, family: _Evaluated, targets: Float, held_rows: Any, held_targets: Float
    ) -> None:
        self.family, self.targets = family, targets
        self.held_rows, self.held_targets = held_rows, held_targets
        self._best: tuple[int, Float] | None = None
        self._last = self._in_vain = 0

    def __call__(self, functions: list[int]) -> bool:
        """Look at the functions of all rounds, if it is time; whether the game is to end."""
        n = len(functions)
        if n > 1 and n < max(_SECOND_LOOK, _GROWTH * self._last):
            return False
        self._look(functions)
        return self._in_vain == _PATIENCE

    def n_kept(self, functions: list[int]) -> int:
        """The number of rounds that the map is to be made of."""
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
