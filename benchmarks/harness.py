"""Timing: candidates run alternately, several times, and the best time of each counts.

On a shared machine, whatever runs at a busy moment is slowed down. Alternating spreads this over
all candidates, and the best time is the one that was disturbed least.
"""

from __future__ import annotations

import gc
import os
import threading
import time
import tracemalloc
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import psutil


def best_times(candidates: Mapping[str, Callable[[], Any]], repeats: int = 5) -> dict[str, float]:
    """Return the best time of each candidate over `repeats` rounds, after a warm-up round."""
    best = dict.fromkeys(candidates, float("inf"))
    for round_ in range(repeats + 1):
        for name, function in candidates.items():
            gc.collect()
            start = time.perf_counter()
            result = function()
            seconds = time.perf_counter() - start
            del result
            if round_:
                best[name] = min(best[name], seconds)
    return best


def traced_peak(function: Callable[[], Any]) -> float:
    """Return the peak memory, in megabytes, allocated during a call (NumPy included)."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


class PeakMemory:
    """Peak private memory of this process inside a ``with`` block, relative to its start.

    Pages of a memory-mapped file are not counted: the system reclaims them when needed.
    """

    extra: float  # megabytes

    def __enter__(self) -> Self:
        gc.collect()
        self._process = psutil.Process(os.getpid())
        self._start = self._peak = self._now()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _now(self) -> int:
        memory = self._process.memory_info()
        return int(memory.rss - getattr(memory, "shared", 0))

    def _watch(self) -> None:
        while not self._stop.wait(0.002):
            self._peak = max(self._peak, self._now())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._peak = max(self._peak, self._now())
        self.extra = (self._peak - self._start) / 1e6


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def row(*cells: object, widths: tuple[int, ...] = (34, 12, 12, 12, 12)) -> None:
    """Print one line of a table: the first cell to the left, the others to the right."""
    text = [str(cells[0]).ljust(widths[0])]
    text += [str(cell).rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=False)]
    print("".join(text), flush=True)
