r"""When to stop a game: learned frequencies against random ones, on held-out rows.

Once the structure that the labels depend on has been found, the remaining peaks of a finite
sample's potential are noise. A map therefore has :math:`t` learned frequencies and :math:`D - t`
random ones of the kernel that the chains started from, with :math:`t` chosen on rows that the game
has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import cast, convert, is_device, namespace, to_numpy, wide_dtype
from bochner.engine.rowwise import row_slices
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
_JUDGING_ROWS = 4500  # to which the linear models are fitted, at most
_FIRST_BLOCK = 32  # of random frequencies
_FIRST_LOOK, _GROWTH = 24, 1.5  # learned frequencies at the first look, and growth between looks
_WIDTH = 4  # width of the maps judged, times the learned frequencies, if that many are wanted
_PATIENCE = 3  # looks in a row at which learning did not help
_TOGETHER = 2048  # columns up to which a device solves the models of all strengths at once
_STRENGTHS = tuple(50.0 * 10**k for k in range(6))  # of the linear models that judge


def split_rows(n_rows: int, random_state: RandomState) -> tuple[Rows, Rows]:
    """Split rows into those for the game and those to judge it by, both in increasing order.

    A tenth is held out, or 500 rows if these are at most a fifth, and at most 2000.
    """
    n_held = int(min(max(_USUAL_SHARE * n_rows, min(_USUAL, _SHARE * n_rows)), _MOST))
    order = random_state.permutation(n_rows)
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def judging_parts(
    X: Any, columns: Any, used: Rows, held: Rows, random_state: RandomState
) -> tuple[Any, Any, Any, Any]:
    """Return rows and targets to judge with: a sample of those of the game, and those held out."""
    used = used[choose_rows(len(used), _JUDGING_ROWS, random_state)]
    return rows_at(X, used), rows_at(columns, used), rows_at(X, held), rows_at(columns, held)


def random_frequencies(
    kernel: SpectralKernel, n_frequencies: int, n_features: int, random_state: RandomState
) -> Float:
    """Draw frequencies of the kernel; the first ones are the same for any number of them.

    They are orthogonal in blocks whose size doubles.
    """
    blocks, drawn = [], 0
    while drawn < n_frequencies:
        size = max(_FIRST_BLOCK, drawn)
        blocks.append(draw_frequencies(kernel, size, n_features, random_state=random_state))
        drawn += size
    return np.hstack(blocks)[:, :n_frequencies] if blocks else np.empty((n_features, 0))


class PaddingJudge:
    """Held-out losses of maps that consist of learned frequencies followed by random ones.

    The loss is the squared error of a ridge regression of the columns of the target, with the best
    of a few penalties. Gram matrices grow by the products of new columns, computed in single
    precision and summed in double; the Gram matrix of every map is part of one of them.

    Parameters
    ----------
    X, columns : arrays of shape (n, d) and (n, k)
        Rows of the game and their targets.
    held_X, held_columns : arrays of shape (h, d) and (h, k)
        Rows to judge by and their targets.
    random : callable
        Returns random frequencies, an ndarray of shape (d, D) of which the first are used.
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
        self._waiting: list[Any] = []  # learned frequencies, until there is something to judge
        self._found: dict[tuple[int, int], Float] = {}
        self._strength = _STRENGTHS[len(_STRENGTHS) // 2]

    @property
    def n_learned(self) -> int:
        """Number of learned frequencies so far."""
        waiting = sum(int(part.shape[1]) for part in self._waiting)
        return int(self._positions[True].shape[1]) + waiting

    def append(self, learned: Any) -> None:
        """Add learned frequencies, of shape (d, p)."""
        self._waiting.append(learned)

    def losses(self, *maps: tuple[int, int]) -> list[Float]:
        """Return the losses of all held-out rows for maps given as (n_learned, n_random).

        A map has the first of the learned and the first of the random frequencies. The host waits
        for a device once for all maps of one width, if they are narrow.
        """
        new = [each for each in dict.fromkeys(maps) if each not in self._found]
        if new:
            self._make_columns(max(n_random for _, n_random in new))
        self._found |= self._judge(new)
        return [self._found[each] for each in maps]

    def _judge(self, maps: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], Float]]:
        """Yield each map with its losses for the best strength."""
        for m in dict.fromkeys(map(sum, maps)):
            same, room = [each for each in maps if sum(each) == m], _TOGETHER // (2 * m)
            if not (room and is_device(self._held.array)):
                yield from ((each, self._best(self._one_by_one(each))) for each in same)
                continue
            for part in row_slices(len(same), room):
                tables = self._at_once(same[part])
                yield from zip(same[part], map(self._best, tables), strict=True)

    def _best(self, losses: Callable[[float], Float]) -> Float:
        """Return the losses for the best strength."""
        self._strength = search_along(
            _STRENGTHS, self._strength, lambda strength: -float(losses(strength).mean())
        )
        return losses(self._strength)

    def _at_once(self, maps: list[tuple[int, int]]) -> list[Callable[[float], Float]]:
        """Return losses by strength for maps of one width, solved together to wait only once."""
        positions = self._as_index([self._positions_of(*each) for each in maps])
        weights = [self._weight(sum(maps[0])) / s for s in _STRENGTHS]
        table = self._losses(positions)(convert(weights, self._held_targets))
        return [dict(zip(_STRENGTHS, own, strict=True)).__getitem__ for own in to_numpy(table)]

    def _one_by_one(self, one: tuple[int, int]) -> Callable[[float], Float]:
        """Return losses by strength, each computed on demand."""
        losses = self._losses(self._as_index(self._positions_of(*one)))
        weight = self._weight(sum(one))
        return cache(lambda strength: to_numpy(losses(weight / strength)))

    def _losses(self, some: Any) -> Callable[[Any], Any]:
        """Return losses by penalty for the columns at some positions.

        See :meth:`~bochner.linear.ridge.GrowingRidge.solver`.
        """
        array, solve = self._held.array, self._ridge.solver(some)
        xp = namespace(array)
        if len(some.shape) == 1:
            held = xp.take(array, some, axis=1)
        else:
            sets = (some[k, :] for k in range(some.shape[0]))
            held = xp.stack([xp.take(array, own, axis=1) for own in sets])[:, None, :, :]

        def losses_of(penalty: Any) -> Any:
            W, b = solve(penalty)
            fitted = cast(held @ cast(W, held.dtype), b.dtype) + b[..., None, :]
            return xp.sum((convert(self._held_targets, b) - fitted) ** 2, axis=-1)

        return losses_of

    def _weight(self, n_frequencies: int) -> float:
        """Return the penalty multiplied by the strength."""
        return n_frequencies * self._ridge.targets.shape[0] / 2

    def _positions_of(self, n_learned: int, n_random: int) -> Rows:
        """Return the positions of the columns of a map."""
        parts = (True, n_learned), (False, n_random)
        return np.concatenate([self._positions[own][:, :count].ravel() for own, count in parts])

    def _as_index(self, positions: Any) -> Any:
        like = self._held.array
        return convert(np.asarray(positions), like, namespace(like).int64)

    @cached_property
    def _longest(self) -> float:
        """Norm of the longest row."""
        return max(longest_norm(rows, 1) for rows in (self.X, self.held_X))

    def _make_columns(self, n_random: int) -> None:
        """Make columns for learned frequencies that have none yet, and for `n_random` others."""
        parts, n_before = self._waiting, self._positions[False].shape[1]
        n_learned = sum(int(part.shape[1]) for part in parts)
        if n_random > n_before:
            random = self.random()[:, n_before:n_random]
            parts = [*parts, convert(random, parts[0]) if parts else random]
        if not parts:
            return
        frequencies = namespace(parts[0]).concat(parts, axis=1) if len(parts) > 1 else parts[0]
        count, before = int(frequencies.shape[1]), self._held.n_columns
        small = is_device(self.X) and longest_norm(frequencies, 0) * self._longest <= LONGEST_PHASE
        for rows, taken in ((self.X, self._ridge), (self.held_X, self._held)):
            waves = waves_of(rows, frequencies, small_phases=small, **self.options)
            taken.append(cast(waves, namespace(waves).float32))
        new = before + np.arange(2 * count).reshape(2, count)
        for learned, some in ((True, new[:, :n_learned]), (False, new[:, n_learned:])):
            self._positions[learned] = np.hstack([self._positions[learned], some])
        self._waiting = []


class Stop:
    """End a game whose frequencies are no better than random ones, and say how many to keep.

    After 24 frequencies, and each time there are half as many again, a map with all of them is
    compared with one that has random ones in place of the new ones, both four times as wide. If
    the held-out loss is not lower by more than a standard error of the paired difference, the next
    comparison counts these frequencies as new too; the third time in a row the game ends. How many
    are kept is decided for the map of `n_frequencies`: none, or those at one of the last four
    looks, if they are better by more than a standard error.

    `outside` converts frequencies of the game into those of the original rows. Those learned
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
        self._waiting: list[Any] = []  # frequencies that the judge has not seen
        self._looks = [judge.n_learned]
        self._best, self._in_vain = judge.n_learned, 0
        self._unjudged: list[int] = []  # looks, until there are enough of them to end the game

    def __call__(self, new: Any) -> bool:
        """Add the frequencies of a round, and return whether the game should end."""
        self._waiting.append(new)
        m = self.n_found
        if m >= self.n_frequencies:
            self.judge.random()  # while a device is at work: the next step would wait for it
        if m < max(_FIRST_LOOK, _GROWTH * self._looks[-1]) or m >= self.n_frequencies:
            return False
        self._looks.append(m)
        self._unjudged.append(m)
        while self._unjudged and self._in_vain + len(self._unjudged) >= _PATIENCE:
            self._judge(self._unjudged.pop(0))
        return self._in_vain == _PATIENCE

    @property
    def n_found(self) -> int:
        """Number of learned frequencies so far."""
        return self.judge.n_learned + sum(int(part.shape[1]) for part in self._waiting)

    def _judge(self, m: int) -> None:
        """Judge whether learning has helped since the best look before this one."""
        now, best = self._losses((m, self._best), min(_WIDTH * m, self.n_frequencies))
        if is_clearly_lower(now, best):
            self._best, self._in_vain = m, 0
        else:
            self._in_vain += 1

    def n_kept(self) -> int:
        """Return the number of learned frequencies that the map should have."""
        if self._looks[-1] < self.n_found:
            self._looks.append(self.n_found)
        counts = [self._looks[0], *self._looks[max(1, len(self._looks) - _PATIENCE - 1) :]]
        losses = self._losses(counts, self.n_frequencies)
        return choose(counts, dict(zip(counts, losses, strict=True)).__getitem__)[0]

    def _losses(self, counts: Sequence[int], width: int) -> list[Float]:
        """Return the losses of maps of this width that begin with `counts` learned frequencies."""
        if self._waiting:
            new = namespace(self._waiting[0]).concat(self._waiting, axis=1)
            self.judge.append(self.outside(new))
            self._waiting.clear()
        return self.judge.losses(*((count, width - count) for count in counts))
