r"""The game between a kernel player and a data player, round by round.

The kernel player looks for the peaks of the Fourier potential of the coefficients `A`,

.. math:: v(w) = \sum_k \Bigl| \sum_i A_{ik} e^{i \langle w, x_i \rangle} \Bigr|^2 ,

the data player (:mod:`bochner.margin.players`) answers to the frequencies found by moving `A`. Far
from the origin the potential of a finite sample is noise, and a search finds the peaks of that
noise: the search is on :math:`v(w) e^{-|w|^2 / (2 s^2)}`, limited to a band `s`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import cast, convert, is_dask, namespace, to_numpy
from bochner.engine.replay import Replayed
from bochner.engine.summaries import take_rows
from bochner.fourier.langevin import climb, distinct_peaks
from bochner.margin.players import CorrectiveMargin, DataPlayer

Float = NDArray[np.float64]

_START_VARIANCE = 1.5  # of the frequencies that chains start from, relative to the kernel's
_KEPT = 0.5  # share of the chains that go on from where they were in the round before
_APART = 0.4  # distance of the peaks of one round, in units of the kernel's frequencies
_LONGEST_PHASE = 4000.0
_BLOCK = 64  # rounds whose random numbers are drawn, and moved to the device, at once


@dataclass(frozen=True)
class Search:
    """How the kernel player looks for peaks.

    Parameters
    ----------
    length : float
        Length scale of the rows. Frequencies are measured in its inverse.
    band : float or None
        The band `s`, in units of ``1 / length``; None is no limit.
    n_peaks : int
        Frequencies a round.
    n_chains, n_steps : int
        Chains, and steps of each.
    temperature : float
        Noise of the chains, see :func:`~bochner.fourier.langevin.climb`.
    n_rows : int or None
        Rows of a round, drawn anew each time; None is all.
    """

    length: float
    band: float | None = 12.0
    n_peaks: int = 5
    n_chains: int = 100
    n_steps: int = 12
    temperature: float = 0.0
    n_rows: int | None = None


@dataclass
class Record:
    """What happened, a number a round."""

    potential: list[Any] = field(default_factory=list)  # of the best peak, over (sum |A|)^2
    objective: list[Any] = field(default_factory=list)  # the machine's optimum, where known
    value: list[Any] = field(default_factory=list)  # what A was worth against the best peak
    interrupted: bool = False

    def arrays(self) -> dict[str, Float]:
        return {
            name: np.array([np.nan if v is None else float(v) for v in values])
            for name, values in vars(self).items()
            if isinstance(values, list)
        }


def play(
    rows: Any,
    player: DataPlayer,
    n_frequencies: int,
    search: Search,
    *,
    random_state: RandomState,
    n_threads: int | None = None,
    memory_budget: int | None = None,
    after_round: Callable[[list[Any], Record], bool | None] | None = None,
) -> tuple[list[Any], Record]:
    """Play rounds until there are `n_frequencies`.

    Parameters
    ----------
    rows : array of shape (n, d)
        Anything the engine takes. Arrays on a device stay there, and the host does not wait for
        them; a dask array is summed by its workers while the chains run here.
    player : DataPlayer
        Holds the coefficients, beside the rows.
    n_frequencies : int
        How many.
    search : Search
        How the peaks are found.
    random_state : RandomState
        Starts of the chains, rows of the rounds.
    n_threads, memory_budget : int, optional
        For the engine.
    after_round : callable, optional
        Called with the frequencies and the record so far; True ends the game.

    Returns
    -------
    frequencies : list of arrays of shape (d, p)
        Those of each round.
    record : Record
    """
    options = {"n_threads": n_threads, "memory_budget": memory_budget}
    found: list[Any] = []
    record, n_peaks = Record(), min(search.n_peaks, n_frequencies)
    hunt = _Hunt(rows, search, n_peaks, random_state, options)
    look = hunt.look if search.temperature else Replayed(hunt.look)  # noise comes from the host
    n_rounds = -(-n_frequencies // n_peaks)
    draws = _draws(rows, search, n_rounds, player.coefficients, random_state)
    if isinstance(player, CorrectiveMargin):
        player.expect(2 * n_frequencies)
    n_found, leftover = 0, None
    while n_found < n_frequencies:
        count = min(n_peaks, n_frequencies - n_found)
        try:
            xp, (starts, sample) = namespace(player.coefficients), next(draws)
            if leftover is not None:
                starts = xp.concat([leftover, starts], axis=1)
            new, columns, share, peak, leftover = look(player.coefficients, starts, sample)
            if count < n_peaks:
                new = new[:, :count]
                pairs = columns[:, :count], columns[:, n_peaks : n_peaks + count]
                columns = xp.concat(pairs, axis=1)
            value, objective = player.value(peak), player.move(columns)
        except KeyboardInterrupt:
            if not found:
                raise
            record.interrupted = True
            break
        found.append(new)
        record.potential.append(share)
        record.value.append(value)
        record.objective.append(objective)
        n_found += count
        if after_round is not None and after_round(found, record):
            break
    return found, record


class _Hunt:
    """The kernel player: chains, some of which go on where they were in the round before."""

    def __init__(
        self,
        rows: Any,
        search: Search,
        n_peaks: int,
        random_state: RandomState,
        options: dict[str, Any],
    ) -> None:
        self.rows, self.search, self.n_peaks, self.options = rows, search, n_peaks, options
        self.random_state, self.longest = random_state, _longest(rows)

    def look(self, coefficients: Any, starts: Any, sample: Any) -> tuple[Any, ...]:
        """One search, the same work in every round.

        Returns the best frequencies (d, p), their columns, the height of the first of them as
        a share and bare, and the best chains that gave no frequency, to go on from.
        """
        xp, search, A = namespace(starts), self.search, coefficients
        rows, A = (self.rows, A) if sample is None else _take(self.rows, A, sample)
        total = xp.sum(xp.abs(A))
        A = A / xp.where(total > 0, total, xp.ones_like(total))
        points, values = climb(
            self._potential(rows, A, starts.dtype),
            starts,
            n_steps=search.n_steps,
            temperature=search.temperature,
            longest=self.longest,
            random_state=self.random_state,
        )
        best = distinct_peaks(points, values, self.n_peaks, _APART / search.length)
        others = xp.argsort(-_without(xp, values, best), stable=True)
        leftover = xp.take(points, others[: int(_KEPT * search.n_chains)], axis=1)
        new = xp.take(points, best, axis=1)
        columns = beside(self._waves(new), coefficients)
        return new, columns, *_heights(columns, coefficients, self.n_peaks), leftover

    def _waves(self, W: Any) -> Any:
        if self.longest is None:
            return engine.features(self.rows, W, scale=1.0, **self.options)
        from bochner.engine import device

        # The phases are known to be small: the device need not be asked.
        return device.features(
            self.rows, W, scale=1.0, offset=None, out=None, small_phases=True, **self.options
        )

    def _potential(self, rows: Any, A: Any, dtype: Any) -> Callable[[Any], tuple[Any, Any]]:
        """The potential and its gradient within the band, in the dtype of the points."""
        search, small = self.search, self.longest is not None
        band = None if search.band is None else search.band / search.length

        def potential(points: Any) -> tuple[Any, Any]:
            xp = namespace(points)
            v, slope = engine.potential_and_gradient(
                rows, points, A, small_phases=small, **self.options
            )
            v, slope = cast(v, dtype), cast(slope, dtype)
            if band is None:
                return v, slope
            share = xp.exp(-xp.sum(points * points, axis=0) / (2 * band**2))
            return share * v, share * (slope - (v / band**2) * points)

        return potential


def _heights(columns: Any, A: Any, count: int) -> tuple[Any, Any]:
    """The potential of the first new frequency, without the band: over (sum |A|)^2, and bare."""
    xp = namespace(columns)
    sums = columns[:, ::count].T @ cast(A, columns.dtype)
    peak, total = xp.sum(sums * sums), xp.sum(xp.abs(A))
    return peak / xp.where(total > 0, total, xp.ones_like(total)) ** 2, peak


def _draws(
    rows: Any, search: Search, n_rounds: int, like: Any, random_state: RandomState
) -> Iterator[tuple[Any, Any]]:
    """Starts of new chains and row numbers, round by round, beside the coefficients."""
    d, n = int(rows.shape[1]), int(like.shape[0])
    spread = _START_VARIANCE**0.5 / search.length
    n_rows = None if search.n_rows is None or search.n_rows >= n else search.n_rows
    done = 0
    while done < n_rounds:
        fresh = search.n_chains - (int(_KEPT * search.n_chains) if done else 0)
        size = min(_BLOCK, n_rounds - done) if done else 1
        starts = spread * random_state.standard_normal((size, d, fresh))
        there = convert(starts, like)
        samples: Any = None
        if n_rows is not None:
            samples = random_state.randint(n, size=(size, n_rows))
            if not isinstance(like, np.ndarray):
                samples = convert(samples, like, namespace(like).int64)
        for r in range(size):
            yield there[r, :, :], None if samples is None else samples[r, :]
        done += size


def _take(rows: Any, A: Any, sample: Any) -> tuple[Any, Any]:
    if isinstance(A, np.ndarray):
        return take_rows(rows, sample), A[sample]
    xp = namespace(A)
    return xp.take(rows, sample, axis=0), xp.take(A, sample, axis=0)


def _without(xp: Any, values: Any, chosen: Any) -> Any:
    places = xp.cumulative_sum(xp.ones_like(values, dtype=xp.int64)) - 1
    taken = xp.any(places[:, None] == chosen[None, :], axis=1)
    return xp.where(taken, -xp.inf, values)


def _longest(rows: Any) -> float | None:
    """Longest frequency whose phases are known to be small; None where it does not matter."""
    if isinstance(rows, np.ndarray) or hasattr(rows, "tocsr") or is_dask(rows):
        return None  # the engine looks at the phases itself, at no cost
    xp = namespace(rows)
    norm = float(xp.max(xp.linalg.vector_norm(cast(rows, xp.float64), axis=1)))
    return _LONGEST_PHASE / norm if norm > 0 else None


def beside(columns: Any, like: Any) -> Any:
    """New columns where the coefficients are: a dask array's come to the client."""
    if is_dask(columns):
        columns = columns.compute()
    return columns if not isinstance(like, np.ndarray) else to_numpy(columns)
