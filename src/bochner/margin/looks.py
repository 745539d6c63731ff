r"""One search for the peaks of the Fourier potential, with the same work in every round.

.. math:: v(w) = \sum_k \Bigl| \sum_i A_{ik} e^{i \langle w, x_i \rangle} \Bigr|^2

Far from the origin the potential of a finite sample is noise, and a search would find the peaks of
that noise. The function searched is therefore :math:`v(w) e^{-|w|^2 / (2 s^2)}`, limited to a band
`s`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from numpy.random import RandomState

from bochner import engine
from bochner.engine.places import (
    cast,
    convert,
    is_dask,
    is_device,
    namespace,
    to_numpy,
    wide_dtype,
)
from bochner.engine.replay import Replayed
from bochner.engine.summaries import rows_at
from bochner.margin.game import share_of_largest
from bochner.margin.peaks import (
    Potential,
    ascend_potential,
    climb_in_tiles,
    peaks_and_rest,
    peaks_and_rest_of_games,
)

LONGEST_PHASE = 4000.0  # largest float32 phase that need not be checked
_KEPT = 0.5  # share of the chains that continue from the previous round
_APART = 0.4  # distance of the peaks of one round, in units of the kernel's frequencies
_FEWEST_ROUNDS = 20  # that the default number of peaks per round leaves
_MOST_PEAKS, _MOST_GROWN = 10, 3  # per round, and how many times as many after many were found
_MORE_PEAKS_AFTER = 200  # frequencies, each time
_CHAINS_PER_PEAK = 3  # at least, when there are more peaks


@dataclass(frozen=True)
class Search:
    """Settings of the kernel player's search for peaks."""

    length: float  # length scale of the rows: frequencies are measured in its inverse
    band: float | None = 12.0  # the band s, in units of 1 / length; None is no limit
    n_peaks: int = 5  # frequencies per round, at first
    most_peaks: int = 0  # n_peaks more for every 200 frequencies found, up to this number
    n_chains: int = 100
    n_steps: int = 12  # of each chain
    temperature: float = 0.0  # noise of the chains, see ascend_potential
    n_rows: int | None = None  # rows of a round, drawn anew each time; None is all
    n_followed: int = 0  # steps by which known frequencies move on to their peaks

    @classmethod
    def for_frequencies(
        cls, n_frequencies: int, n_peaks: int | str, *, grows: bool, n_chains: int, **values: Any
    ) -> Search:
        """Return a search for `n_frequencies` frequencies, for rows with a length scale of one.

        With ``n_peaks="auto"`` it leaves 20 rounds, with up to 10 peaks in each, or more once
        hundreds have been found if it `grows`.
        """
        most = 0
        if isinstance(n_peaks, str):
            n_peaks = min(-(-n_frequencies // _FEWEST_ROUNDS), _MOST_PEAKS)
            most = min(_MOST_GROWN * n_peaks, n_chains // _CHAINS_PER_PEAK) if grows else 0
        n_peaks = min(n_peaks, n_chains)
        return cls(1.0, n_peaks=n_peaks, most_peaks=most, n_chains=n_chains, **values)

    @property
    def n_kept(self) -> int:
        """Number of chains that continue from the previous round."""
        return int(_KEPT * self.n_chains)

    def peaks_after(self, n_found: int) -> int:
        """Number of peaks of the next round: the more were found, the less each one changes."""
        grown = self.n_peaks * (1 + n_found // _MORE_PEAKS_AFTER)
        return max(self.n_peaks, min(grown, self.most_peaks))


class PeakSearch:
    """A search that does the same work in every round."""

    def __init__(
        self,
        rows: Any,
        search: Search,
        random_state: RandomState,
        longest: float | None,
        options: dict[str, Any],
    ) -> None:
        self.options, self._random_state = options, random_state
        # if noise is drawn on the host, nothing is recorded
        state = random_state if search.temperature else None
        self.same = replace(search, band=None), state, tuple(options.items())
        band = None if search.band is None else search.band / search.length
        self.given = rows, band, longest

    def look(self, n_peaks: int) -> Callable[..., tuple[Any, ...]]:
        """Return the search for `n_peaks` peaks: :func:`_look` for these rows."""
        look = partial(_look, n_peaks, *self.same)
        if self.same[0].temperature:
            return partial(look, *self.given)
        return Replayed(look, self.given)

    def follow(self, coefficients: Any, frequencies: Any) -> Any:
        """Move frequencies found on other rows to the peaks for these rows."""
        search = self.same[0]
        n, most, sample = int(coefficients.shape[0]), search.n_rows, None
        if most is not None and n > most:
            sample = self._random_state.randint(n, size=most)
            sample = convert(sample, coefficients, namespace(coefficients).int64)
        still = replace(search, n_steps=search.n_followed, temperature=0.0)
        given = still, None, self.options, *self.given
        return _ascend(*given, coefficients, frequencies, sample)[0]

    def measured(self, frequencies: Any, coefficients: Any) -> tuple[Any, Any, Any]:
        """Call :func:`_measured` for these rows."""
        rows, _, longest = self.given
        return _measured(rows, longest, self.options, frequencies, coefficients)


def _look(
    n_peaks: int,
    search: Search,
    random_state: RandomState | None,
    options: tuple[tuple[str, Any], ...],
    rows: Any,
    band: Any,
    longest: Any,
    coefficients: Any,
    starts: Any,
    sample: Any,
) -> tuple[Any, ...]:
    """Look for the best frequencies, once.

    Returns the frequencies (d, p), their columns, the potential of the first one (as a share and
    as it is), and the best of the other chains, to continue from. The search is within the `band`;
    ``search.band`` is ignored.
    """
    given = dict(options)
    points, values = _ascend(
        search, random_state, given, rows, band, longest, coefficients, starts, sample
    )
    apart = _APART / search.length
    frequencies, leftover = peaks_and_rest(points, values, n_peaks, apart, search.n_kept)
    return frequencies, *_measured(rows, longest, given, frequencies, coefficients), leftover


def _ascend(
    search: Search,
    random_state: RandomState | None,
    options: dict[str, Any],
    rows: Any,
    band: Any,
    longest: Any,
    A: Any,
    starts: Any,
    sample: Any,
) -> tuple[Any, Any]:
    """Return points uphill from the starts, and their potential, on all rows or a sample."""
    if sample is not None:
        rows, A = rows_at(rows, sample), rows_at(A, sample)
    A = _of_sum_one(A)
    how = {"n_steps": search.n_steps, "longest": longest}
    if not search.temperature and longest is not None:
        found = climb_in_tiles(rows, A, starts, band=band, **how, **options)
        if found is not None:
            return found
    return ascend_potential(
        _potential(rows, A, starts.dtype, band, longest is not None, options),
        starts,
        **how,
        temperature=search.temperature,
        random_state=random_state,
    )


def _measured(
    rows: Any, longest: Any, options: dict[str, Any], frequencies: Any, coefficients: Any
) -> tuple[Any, Any, Any]:
    """Return the columns of the frequencies, and the potential of the first; see _first_peak."""
    columns = waves_of(rows, frequencies, small_phases=longest is not None, **options)
    return columns, *_first_peak(columns, coefficients)


def _first_peak(columns: Any, coefficients: Any) -> tuple[Any, Any]:
    """Return the potential of the first frequency without the band, as a share and as it is."""
    sums = columns[:, :: columns.shape[1] // 2].T @ cast(coefficients, columns.dtype)
    peak = namespace(sums).sum(sums * sums)
    return share_of_largest(peak, coefficients), peak


def _of_sum_one(A: Any) -> Any:
    xp = namespace(A)
    total = xp.sum(xp.abs(A))
    return A / xp.where(total > 0, total, xp.ones_like(total))


def looks_of_games(
    count: int,
    n_peaks: int,
    search: Search,
    random_state: RandomState | None,
    options: tuple[tuple[str, Any], ...],
    rows: Any,
    longest: Any,
    *arguments: Any,
) -> tuple[Any, ...]:
    """Return the results of :func:`_look` for `count` games, one after the other.

    The arguments are the bands of all games, then their coefficients, then their starts.
    """
    bands, A, starts = (arguments[k * count : (k + 1) * count] for k in range(3))
    xp, given = namespace(starts[0]), dict(options)
    wide = wide_dtype(starts[0])
    band = xp.stack(bands) if is_device(bands[0]) else convert(bands, starts[0], wide)
    found = climb_in_tiles(
        rows,
        xp.concat([_of_sum_one(own) for own in A], axis=1),
        xp.concat(starts, axis=1),
        n_steps=search.n_steps,
        longest=longest,
        band=band,
        n_games=count,
        **given,
    )
    if found is None:
        same = n_peaks, search, random_state, options, rows
        games = zip(bands, A, starts, strict=True)
        looks = (_look(*same, band, longest, own, start, None) for band, own, start in games)
        return tuple(part for look in looks for part in look)
    apart = _APART / search.length
    peaks = peaks_and_rest_of_games(*found, n_peaks, apart, search.n_kept, count)
    frequencies = xp.concat([chosen for chosen, _ in peaks], axis=1)
    waves = waves_of(rows, frequencies, small_phases=True, **given)
    results: list[Any] = []
    for k, (chosen, leftover) in enumerate(peaks):
        own = [slice(g * n_peaks, (g + 1) * n_peaks) for g in (k, count + k)]
        columns = xp.concat([waves[:, part] for part in own], axis=1)
        results += [chosen, columns, *_first_peak(columns, A[k]), leftover]
    return tuple(results)


def _potential(
    rows: Any, A: Any, dtype: Any, band: Any, small_phases: bool, options: dict[str, Any]
) -> Potential:
    """Return a function for the potential and its gradient within the band.

    Its results have the dtype of the points.
    """

    def potential(points: Any) -> tuple[Any, Any]:
        xp = namespace(points)
        v, slope = engine.potential_and_gradient(
            rows, points, A, small_phases=small_phases, **options
        )
        v, slope = cast(v, dtype), cast(slope, dtype)
        if band is None:
            return v, slope
        share = xp.exp(-xp.sum(points * points, axis=0) / (2 * band**2))
        return share * v, share * (slope - (v / band**2) * points)

    return potential


def waves_of(
    rows: Any, frequencies: Any, *, small_phases: bool, scale: float = 1.0, **options: Any
) -> Any:
    """Compute cosines and sines; if phases are known to be small, no sync with a device."""
    if not small_phases:
        return computed(engine.features(rows, frequencies, scale=scale, **options))
    from bochner.engine import device

    options = {"n_threads": None, "memory_budget": None} | options
    return device.features(
        rows, frequencies, scale=scale, offset=None, out=None, small_phases=True, **options
    )


def computed(columns: Any) -> Any:
    """Return columns on the device of the coefficients: those of a dask array on the host."""
    return to_numpy(columns.compute()) if is_dask(columns) else columns


def longest_frequency(*rows: Any) -> float | None:
    """Return a norm up to which phases of all rows are small; None if that does not matter."""
    if not is_device(rows[0]):
        return None  # the engine checks the phases itself, at no cost
    norm = max(longest_norm(part, 1) for part in rows)
    return LONGEST_PHASE / norm if norm > 0 else None


def longest_norm(X: Any, axis: int) -> float:
    """Return the largest norm of the vectors along an axis; the host waits for it."""
    xp = namespace(X)
    return float(xp.max(xp.linalg.vector_norm(cast(X, wide_dtype(X)), axis=axis)))
