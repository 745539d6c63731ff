"""Cells measured one after the other or in several processes, with a way to stop at any time.

A cell that fails does not stop the others: a :class:`Failure` takes the place of its result.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from bochner.records.cells import Cell, Notebook, Result

Measurer = Callable[[Cell], Result]

_MOST_JOBS = 8
_CELLS_PER_JOB = 6  # below that a process is not worth starting
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Failure:
    """A cell that could not be measured, and why."""

    cell: Cell
    message: str


@dataclass
class Stop:
    """Whether the user asked to stop."""

    asked: bool = False


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Ctrl-C is remembered as well as raised: some of what runs here catches it to save its work.

    A request to terminate is treated in the same way.

    Yields
    ------
    Stop
        Its `asked` is True after Ctrl-C.
    """
    stop = Stop()

    def handle(number: int, frame: FrameType | None) -> None:
        stop.asked = True
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread is told of signals
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def default_jobs(n_cells: int, device: str = "cpu") -> int:
    """How many processes are worth starting.

    Examples
    --------
    >>> from bochner.records.run import default_jobs
    >>> default_jobs(3), default_jobs(1000, "cuda")
    (1, 1)
    """
    if device != "cpu":
        return 1
    from joblib import cpu_count

    return max(1, min(cpu_count(), _MOST_JOBS, n_cells // _CELLS_PER_JOB))


def measure_all(
    cells: Sequence[Cell], measurer: Measurer, *, n_jobs: int = 1, deadline: float | None = None
) -> Iterator[Cell | Result | Failure]:
    """Measure cells; of each comes the cell when it is begun, and then its result or failure.

    Parameters
    ----------
    cells : sequence of Cell
        What to measure, in this order.
    measurer : Measurer
        Measures one.
    n_jobs : int, default=1
        Processes; with several, each has one thread.
    deadline : float, optional
        Time of ``time.monotonic()`` after which no cell is begun.
    """
    if n_jobs > 1:
        yield from _measure_in_processes(cells, measurer, n_jobs, deadline)
        return
    for cell in cells:
        if deadline is not None and time.monotonic() >= deadline:
            return
        yield cell
        yield _measured(measurer, cell)


@dataclass
class Run:
    """Measures the cells that are not on file, and remembers what failed.

    Called with cells, it returns the results that there are, in order. After Ctrl-C nothing more
    is measured, and only what is on file is returned.

    Parameters
    ----------
    measurer : Measurer
        Measures one cell.
    notebook : Notebook
        What has been measured; only this process writes to its file.
    n_jobs : int, default=1
        Processes.
    say : callable
        Is given one line per cell.

    Attributes
    ----------
    planned : list of Cell
        All that was asked for so far, each once.
    failures : dict
        From cells that could not be measured to the reason.
    interrupted : bool
        Whether Ctrl-C was pressed.

    Examples
    --------
    >>> from bochner.records.cells import Cell, Notebook, Result
    >>> from bochner.records.run import Run
    >>> def measure(cell):
    ...     return Result(cell, 1 / cell.seed, 0.0, 0.5)
    >>> run = Run(measure, Notebook(), say=print)
    >>> results = run([Cell("study", "task", "method", None, seed) for seed in (0, 2)])
    [1/2] study task method seed 0: failed: ZeroDivisionError: division by zero
    [2/2] study task method seed 2: 0.5000 (0.5 s)
    >>> [result.score for result in results], len(run.failures)
    ([0.5], 1)
    """

    measurer: Measurer
    notebook: Notebook
    n_jobs: int = 1
    say: Callable[[str], None] = lambda line: None
    planned: list[Cell] = field(default_factory=list)
    failures: dict[Cell, str] = field(default_factory=dict)
    interrupted: bool = False

    def __call__(self, cells: Iterable[Cell]) -> list[Result]:
        cells = list(cells)
        self.planned = list(dict.fromkeys([*self.planned, *cells]))
        unknown = [cell for cell in dict.fromkeys(cells) if cell not in self.notebook]
        missing = [cell for cell in unknown if cell not in self.failures]
        if missing and not self.interrupted:
            with stoppable() as stop:
                try:
                    self._measure(missing, stop)
                except KeyboardInterrupt:
                    self.interrupted = True
        return [self.notebook[cell] for cell in cells if cell in self.notebook]

    @property
    def results(self) -> list[Result]:
        """All that was measured of what was asked for."""
        return [self.notebook[cell] for cell in self.planned if cell in self.notebook]

    def _measure(self, cells: Sequence[Cell], stop: Stop) -> None:
        n_done = 0
        for event in measure_all(cells, self.measurer, n_jobs=min(self.n_jobs, len(cells))):
            if stop.asked:  # the measurement may have been cut short
                raise KeyboardInterrupt
            if isinstance(event, Cell):
                continue
            n_done += 1
            if isinstance(event, Failure):
                self.failures[event.cell] = event.message
                text = f"failed: {event.message}"
            else:
                self.notebook.add(event)
                notes = [f"{name} {value:.4g}" for name, value in event.details.items()]
                text = f"{event.score:.4f} ({', '.join([*notes, f'{event.seconds:.1f} s'])})"
            self.say(f"[{n_done}/{len(cells)}] {event.cell}: {text}")


def _measured(measurer: Measurer, cell: Cell) -> Result | Failure:
    try:
        return measurer(cell)
    except MemoryError:
        return Failure(cell, "there was not enough memory")
    except Exception as error:  # one method's trouble is not the others'
        return Failure(cell, " ".join(f"{type(error).__name__}: {error}".split()))


def _measure_in_processes(
    cells: Sequence[Cell], measurer: Measurer, n_jobs: int, deadline: float | None
) -> Iterator[Cell | Result | Failure]:
    from joblib.externals.loky import BrokenProcessPool, get_reusable_executor

    waiting = list(reversed(cells))
    running: dict[Any, Cell] = {}
    executor: Any = None
    try:
        while waiting or running:
            late = deadline is not None and time.monotonic() >= deadline
            if executor is None and waiting and not late:
                executor = get_reusable_executor(
                    max_workers=n_jobs,
                    initializer=_begin_process,
                    initargs=(measurer,),
                    env=dict.fromkeys(_THREADS, "1"),
                    reuse=False,
                )
            while waiting and len(running) < n_jobs and not late:
                cell = waiting.pop()
                running[executor.submit(_measure_in_process, cell)] = cell
                yield cell
            if not running:
                return
            done, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                cell = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    # All that were running are lost with it; the others get a new one.
                    result = Failure(cell, "its process ended; perhaps memory ran out")
                    executor = None
                yield result
    finally:
        if executor is not None:
            with _quiet_threads():
                executor.shutdown(wait=True, kill_workers=bool(running))


@contextmanager
def _quiet_threads() -> Iterator[None]:
    """The executor's own threads may complain of workers that were killed while they listened."""
    before = threading.excepthook
    threading.excepthook = lambda arguments: None
    try:
        yield
    finally:
        threading.excepthook = before


_measurer: Measurer | None = None


def _begin_process(measurer: Measurer) -> None:
    """Ctrl-C is for the process that collects the results; when that dies, so does this one."""
    global _measurer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    _measurer = measurer


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _measure_in_process(cell: Cell) -> Result | Failure:
    assert _measurer is not None
    return _measured(_measurer, cell)
