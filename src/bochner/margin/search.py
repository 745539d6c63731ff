"""The kernel player on R^d: chains that find the peaks of the Fourier potential."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from numpy.random import RandomState

from bochner.engine.places import convert, namespace, on_cuda
from bochner.engine.replay import Replayed
from bochner.margin.game import Proposal
from bochner.margin.looks import PeakSearch, Search, longest_frequency, looks_of_games

_START_VARIANCE = 1.5  # of the frequencies that chains start from, relative to the kernel's
_BLOCK = 64  # rounds whose random numbers are drawn and moved to the device at once


class WaveFamily:
    """The waves of all frequencies; chains find the best for a game of `n_frequencies`.

    Rows are anything the engine takes. Arrays on a device stay there, and the host does not wait
    for them; a dask array is summed by its workers while the chains run here. `random_state`
    controls the starts of the chains and the rows of each round, `options` are the engine's
    `n_threads` and `memory_budget`. On a device no frequency is longer than `longest`, by default
    the :func:`longest_frequency` of the rows. To continue an earlier game, its frequencies `known`
    (one array of shape (d, p) per round) are proposed first, without a search; if the rows have
    changed, they move uphill for `search.n_followed` steps.
    """

    def __init__(
        self,
        rows: Any,
        search: Search,
        n_frequencies: int,
        *,
        random_state: RandomState,
        known: Sequence[Any] = (),
        longest: float | None = None,
        **options: Any,
    ) -> None:
        longest = longest_frequency(rows) if longest is None else longest
        self.search, self._known, self._n_found = search, list(known), 0
        self._most = n_frequencies
        n_rounds = -(-n_frequencies // min(search.n_peaks, n_frequencies))
        self._to_draw = search, n_rounds, int(rows.shape[1]), random_state
        options = {"n_threads": None, "memory_budget": None} | options
        self._peaks = PeakSearch(rows, search, random_state, longest, options)
        self._looks: dict[int, Callable[..., tuple[Any, ...]]] = {}
        self._draws: Iterator[tuple[Any, Any]] | None = None
        self._leftover: Any = None

    def propose(self, coefficients: Any, n_wanted: int) -> Proposal:
        """Return the highest peaks that the chains found, the highest first."""
        if self._known:
            frequencies = self._known.pop(0)[:, :n_wanted]
            if self.search.n_followed:
                frequencies = self._peaks.follow(coefficients, frequencies)
            found = self._peaks.measured(frequencies, coefficients)
            return self._proposal(frequencies, *found)
        starts, sample, n_peaks = self._next_chains(coefficients)
        result = self._look(n_peaks)(coefficients, starts, sample)
        return self._taken(result, n_peaks, n_wanted)

    def _next_chains(self, coefficients: Any) -> tuple[Any, Any, int]:
        """Return the starts of the chains of a round, its rows, and the number of peaks wanted."""
        if self._draws is None:
            self._draws = _draw_starts(*self._to_draw, coefficients)
        starts, sample = next(self._draws)
        if self._leftover is not None:
            starts = namespace(starts).concat([self._leftover, starts], axis=1)
        most = min(self._most, int(starts.shape[1]))
        return starts, sample, min(self.search.peaks_after(self._n_found), most)

    def _taken(self, result: tuple[Any, ...], n_peaks: int, n_wanted: int) -> Proposal:
        """Return the first frequencies found by a look as a proposal."""
        frequencies, columns, share, potential, self._leftover = result
        if n_wanted < n_peaks:
            xp = namespace(columns)
            frequencies = frequencies[:, :n_wanted]
            pairs = columns[:, :n_wanted], columns[:, n_peaks : n_peaks + n_wanted]
            columns = xp.concat(pairs, axis=1)
        return self._proposal(frequencies, columns, share, potential)

    def _proposal(self, frequencies: Any, columns: Any, share: Any, potential: Any) -> Proposal:
        count = int(frequencies.shape[1])
        self._n_found += count
        return Proposal(frequencies, count, columns, potential, share)

    def _look(self, n_peaks: int) -> Callable[..., tuple[Any, ...]]:
        if n_peaks not in self._looks:
            self._looks[n_peaks] = self._peaks.look(n_peaks)
        return self._looks[n_peaks]


def _draw_starts(
    search: Search, n_rounds: int, n_columns: int, state: RandomState, like: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield starts of new chains and row numbers, round by round, on the device of `like`.

    This is not a method, because the generator would then hold a reference to the family that
    holds it, with its recordings.
    """
    n, spread = int(like.shape[0]), _START_VARIANCE**0.5 / search.length
    n_rows = None if search.n_rows is None or search.n_rows >= n else search.n_rows
    done = 0
    while done < n_rounds:
        fresh = search.n_chains - (search.n_kept if done else 0)
        size = min(_BLOCK, n_rounds - done) if done else 1
        starts = convert(spread * state.standard_normal((size, n_columns, fresh)), like)
        samples: Any = None
        if n_rows is not None:
            samples = state.randint(n, size=(size, n_rows))
            samples = convert(samples, like, namespace(like).int64)
        for r in range(size):
            yield starts[r, :, :], None if samples is None else samples[r, :]
        done += size


class FamiliesTogether:
    """Families of several games on the same rows that differ in their bands.

    On a GPU the chains of all games climb together.
    """

    def __init__(self, families: Sequence[WaveFamily]) -> None:
        self.families, first = families, families[0]
        bands = [family._peaks.given[1] for family in families]
        rows, _, longest = first._peaks.given
        search, most = first.search, first.search.n_rows
        alike = len({family._peaks.same for family in families}) == 1
        sampled = most is not None and most < int(rows.shape[0])
        self._climb = len(families) > 1 and alike and on_cuda(rows) and None not in bands
        self._climb = self._climb and not (search.temperature or sampled or longest is None)
        self._given = rows, longest, *bands
        self._looks: dict[int, Replayed] = {}

    def propose(self, coefficients: Sequence[Any], n_wanted: int) -> list[Proposal]:
        """Return the proposal of each family."""
        games = list(zip(self.families, coefficients, strict=True))
        if not self._climb:
            return [family.propose(A, n_wanted) for family, A in games]
        starts, _, counts = zip(*(family._next_chains(A) for family, A in games), strict=True)
        if counts[0] not in self._looks:
            look = partial(looks_of_games, len(games), counts[0], *games[0][0]._peaks.same)
            self._looks[counts[0]] = Replayed(look, self._given)
        found = self._looks[counts[0]](*coefficients, *starts)
        return [
            family._taken(found[5 * k : 5 * k + 5], counts[0], n_wanted)
            for k, (family, _) in enumerate(games)
        ]
