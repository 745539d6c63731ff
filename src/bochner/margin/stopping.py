r"""When a game has learned enough: learned frequencies against random ones, on held-out rows.

Once what the labels depend on has been found, the peaks of a finite sample's potential are those
of its noise. A map is therefore :math:`t` learned frequencies and :math:`D - t` random ones of the
kernel that the chains started from, with :math:`t` chosen on rows that the game has not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import cast, convert, is_device, namespace, to_numpy, wide_dtype
from bochner.engine.summaries import choose_rows, rows_at
from bochner.fourier.sampling import draw_frequencies
from bochner.kernels import SpectralKernel
from bochner.linear.growing import GrowingColumns
from bochner.linear.paired import is_clearly_lower
from bochner.linear.ridge import GrowingRidge
from bochner.linear.search import search_along
from bochner.margin.looks import LONGEST_PHASE, longest_norm, waves_of
from bochner.margin.trials import choose

Float = NDArray[np.float64]
Rows = NDArray[np.intp]

FEWEST_ROWS = 80  # of which a part is held out
_SHARE, _USUAL_SHARE, _USUAL, _MOST = 0.2, 0.1, 500, 2000  # of the rows, held out
_JUDGING_ROWS = 4500  # that the linear models are fitted to, at most
_FIRST_BLOCK = 32  # of random frequencies
_FIRST_LOOK, _GROWTH = 24, 1.5  # learned frequencies, after which they are judged
_WIDTH = 4  # times as many frequencies has a map at which they are judged, if that many are wanted
_PATIENCE = 3  # looks in a row at which learning was in vain
_TOGETHER = 2048  # columns up to which a device solves the models of all strengths at once
_STRENGTHS = tuple(50.0 * 10**k for k in range(6))  # of the linear models that judge


def split_rows(n_rows: int, random_state: RandomState) -> tuple[Rows, Rows]:
    """Rows for the game, and rows to judge it by, in increasing order.

    A tenth is held out, or 500 rows if these are at most a fifth, and 2000 at most.
    """
    n_held = int(min(max(_USUAL_SHARE * n_rows, min(_USUAL, _SHARE * n_rows)), _MOST))
    order = random_state.permutation(n_rows)
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def judging_parts(
    X: Any, columns: Any, used: Rows, held: Rows, random_state: RandomState
) -> tuple[Any, Any, Any, Any]:
    """Rows and targets to judge with: a sample of those of the game, and those held out."""
    used = used[choose_rows(len(used), _JUDGING_ROWS, random_state)]
    return rows_at(X, used), rows_at(columns, used), rows_at(X, held), rows_at(columns, held)


def random_frequencies(
    kernel: SpectralKernel, n_frequencies: int, n_features: int, random_state: RandomState
) -> Float:
    """Frequencies of the kernel, of which the first are the same for any number of them.

    Orthogonal in blocks that double.
    """
    blocks, drawn = [], 0
    while drawn < n_frequencies:
        size = max(_FIRST_BLOCK, drawn)
        blocks.append(draw_frequencies(kernel, size, n_features, random_state=random_state))
        drawn += size
    return np.hstack(blocks)[:, :n_frequencies] if blocks else np.empty((n_features, 0))


class PaddingJudge:
    """Held-out losses of maps that are some learned frequencies, and random ones after them.

    The loss is the squared error of a ridge regression of the columns of the target, its penalty
    the best of a few. Gram matrices grow by the products of new columns, in single precision
    added up in double, and every map is a part of one.

    Parameters
    ----------
    X, columns : arrays of shape (n, d) and (n, k)
        Rows of the game and their targets.
    held_X, held_columns : arrays of shape (h, d) and (h, k)
        Rows to judge by.
    random : callable
        Gives random frequencies, an ndarray of shape (d, D) of which the first are used; called
        when they are needed, while a device is at work.
    **options
        The engine's `n_threads` and `memory_budget`.
    """

    def __init__(
        self,
        X: Any,
        columns: Any,
        held_X: Any,
        held_columns: Any,
        random: Callable[[], NDArray[Any]],
        **options: Any,
    ) -> None:
        self.X, self.held_X, self.random, self.options = X, held_X, random, options
        xp = namespace(columns)
        targets, held = (cast(part, wide_dtype(part)) for part in (columns, held_columns))
        means = xp.mean(targets, axis=0)
        targets, held = targets - means, held - means
        unit = xp.max(xp.abs(targets))  # squares of very large numbers overflow
        unit = xp.where(unit > 0, unit, xp.ones_like(unit))
        self._held_targets, self._ridge = held / unit, GrowingRidge(targets / unit)
        self._held = GrowingColumns(int(held.shape[0]))
        self._positions: dict[bool, Rows] = dict.fromkeys((True, False), np.empty((2, 0), np.intp))
        self._found: dict[tuple[int, int], Float] = {}
        self._strength = _STRENGTHS[len(_STRENGTHS) // 2]

    @property
    def n_learned(self) -> int:
        """Learned frequencies so far."""
        return int(self._positions[True].shape[1])

    def append(self, learned: Any) -> None:
        """Take learned frequencies, of shape (d, p)."""
        if is_device(learned):
            self.random()  # drawn while the device is at work: what comes next waits for it
        self._append(learned, learned=True)

    def losses(self, n_learned: int, n_random: int) -> Float:
        """Of every held-out row, for the first learned and the first random frequencies."""
        key = n_learned, n_random
        if key not in self._found:
            self._found[key] = self._judge(n_learned, n_random)
        return self._found[key]

    def _judge(self, n_learned: int, n_random: int) -> Float:
        n_more = n_random - self._positions[False].shape[1]
        if n_more > 0:
            self._append(self.random()[:, n_random - n_more : n_random], learned=False)
        some = np.concatenate(
            [
                self._positions[learned][:, :count].ravel()
                for learned, count in ((True, n_learned), (False, n_random))
            ]
        )
        like, m = self._held.array, n_learned + n_random
        xp = namespace(like)
        some = convert(some, like, xp.int64)
        held, solve = xp.take(like, some, axis=1), self._ridge.solver(some)
        targets, weight = self._held_targets, m * self._ridge.targets.shape[0] / 2

        def losses_of(penalty: Any) -> Float:
            W, b = solve(penalty)
            fitted = cast(held @ cast(W, held.dtype), b.dtype) + b[..., None, :]
            return to_numpy(xp.sum((convert(targets, b) - fitted) ** 2, axis=-1))

        found: dict[float, Float] = {}
        if is_device(like) and held.shape[1] <= _TOGETHER:  # less than to wait for each
            all_of_them = convert([weight / s for s in _STRENGTHS], like, wide_dtype(like))
            found = dict(zip(_STRENGTHS, losses_of(all_of_them), strict=True))

        def judge(strength: float) -> float:
            if strength not in found:
                found[strength] = losses_of(weight / strength)
            return -float(found[strength].mean())

        self._strength = search_along(_STRENGTHS, self._strength, judge)
        return found[self._strength]

    @cached_property
    def _longest(self) -> float:
        """The norm of the longest row."""
        return max(longest_norm(rows, 1) for rows in (self.X, self.held_X))

    def _append(self, frequencies: Any, *, learned: bool) -> None:
        count, before = int(frequencies.shape[1]), self._held.n_columns
        small = is_device(self.X) and longest_norm(frequencies, 0) * self._longest <= LONGEST_PHASE
        for rows, taken in ((self.X, self._ridge), (self.held_X, self._held)):
            waves = waves_of(rows, frequencies, small_phases=small, **self.options)
            taken.append(cast(waves, namespace(waves).float32))
        new = before + np.arange(2 * count).reshape(2, count)
        self._positions[learned] = np.hstack([self._positions[learned], new])


class Stop:
    """Ends a game whose frequencies are no better than random ones, and says how many to keep.

    After 24 frequencies, and each time there are half as many again, a map that has them all is
    compared with one that has random ones in the place of the new ones, both four times as wide.
    Where the held-out loss is not lower by more than a standard error of the paired difference,
    the next look is at the frequencies since then as well; the third time in a row the game ends.
    How many are kept is decided for the map of `n_frequencies`: none, or those at one of the last
    four looks, if they are better by more than a standard error.

    `outside` turns frequencies of the game into those of the rows as they are. Those learned
    `before` are kept.
    """

    def __init__(
        self,
        judge: PaddingJudge,
        n_frequencies: int,
        outside: Callable[[Any], Any],
        before: NDArray[Any],
    ) -> None:
        self.judge, self.n_frequencies, self.outside = judge, n_frequencies, outside
        if before.shape[1]:
            judge.append(before)
        self._waiting: list[Any] = []
        self._looks = [judge.n_learned]
        self._best, self._in_vain = judge.n_learned, 0

    def __call__(self, new: Any) -> bool:
        """Take the frequencies of a round; whether the game is to end."""
        self._waiting.append(new)
        m = self.judge.n_learned + sum(int(part.shape[1]) for part in self._waiting)
        if m < max(_FIRST_LOOK, _GROWTH * self._looks[-1]) or m >= self.n_frequencies:
            return False
        self._look()
        width = min(_WIDTH * m, self.n_frequencies)
        now, best = (self.judge.losses(count, width - count) for count in (m, self._best))
        if is_clearly_lower(now, best):
            self._best, self._in_vain = m, 0
        else:
            self._in_vain += 1
        return self._in_vain == _PATIENCE

    def _look(self) -> None:
        new = namespace(self._waiting[0]).concat(self._waiting, axis=1)
        self.judge.append(self.outside(new))
        self._waiting.clear()
        self._looks.append(self.judge.n_learned)

    def n_kept(self) -> int:
        """The number of learned frequencies that the map is to have."""
        if self._waiting:
            self._look()
        counts = [self._looks[0], *self._looks[max(1, len(self._looks) - _PATIENCE - 1) :]]

        def losses_of(count: int) -> Float:
            return self.judge.losses(count, self.n_frequencies - count)

        return choose(counts, losses_of)[0]
