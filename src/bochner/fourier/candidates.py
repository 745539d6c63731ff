"""Candidate frequencies that are drawn when they are needed, not stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.rowwise import row_slices
from bochner.fourier.sampling import draw_frequencies
from bochner.kernels import SpectralKernel

_BLOCK_BYTES = 2**26
_FIRST = 2000
_FIRST_NUMBERS = 2**25  # entries in the frequencies of the first candidates


def n_first(least: int, d: int) -> int:
    """Number of candidates a set is chosen from: 2000 or fewer (large `d`), at least `least`."""
    return max(least, min(_FIRST, _FIRST_NUMBERS // d))


@dataclass(frozen=True)
class Candidates:
    """`n` frequencies of a kernel in `d` dimensions, determined by a seed.

    With 50 000 columns, 20 000 candidates would fill 8 GB. They are drawn in blocks of at most
    64 MB, each from a seed of its own, and drawn again when they are needed again. Blocks hold a
    multiple of `multiple` candidates.
    """

    kernel: SpectralKernel
    n: int
    d: int
    seed: int
    multiple: int = 1

    def _slices(self) -> list[slice]:
        width = max(_BLOCK_BYTES // (8 * self.d) // self.multiple, 1) * self.multiple
        if self.multiple == 1:
            width = max(width, 64)
        return row_slices(self.n, width)

    @property
    def n_blocks(self) -> int:
        """Number of :meth:`blocks`."""
        return len(self._slices())

    def blocks(self, dtype: Any = np.float64) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield the blocks in order: a slice of candidates and their frequencies, as columns."""
        yield from self._draw(range(len(self._slices())), dtype)

    def _draw(self, numbers: Any, dtype: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
        slices = self._slices()
        seeds = RandomState(self.seed).randint(2**31 - 1, size=len(slices))
        for number in numbers:
            block = slices[number]
            random_state, size = RandomState(seeds[number]), block.stop - block.start
            W = draw_frequencies(
                self.kernel, size, self.d, sampling="iid", random_state=random_state
            )
            yield block, W.astype(dtype, copy=False)

    def take(self, index: NDArray[np.intp], dtype: Any = np.float64) -> NDArray[Any]:
        """Return the frequencies of some candidates; only their blocks are drawn."""
        chosen = np.empty((self.d, len(index)), dtype)
        width = self._slices()[0].stop
        for block, W in self._draw(np.unique(index // width), dtype):
            here = (index >= block.start) & (index < block.stop)
            chosen[:, here] = W[:, index[here] - block.start]
        return chosen

    def first(self, least: int, dtype: Any = np.float64) -> NDArray[Any]:
        """Return the first :func:`n_first` candidates, or all of them."""
        return self.take(np.arange(min(n_first(least, self.d), self.n)), dtype)
