"""The runner of cells: one after the other or in several processes, stopped at any time.

A cell that fails does not stop the others: a :class:`Failure` takes the place of its result.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import FrameType

from bochner.records.cells import Cell, Notebook, Result
from bochner.records.processes import ProcessEnded, Processes

Measurer = Callable[[Cell], Result]
Plan = Callable[[Sequence[Result]], Iterable[Cell]]  # from results to the cells they call for

_MAX_JOBS = 8
_CELLS_PER_JOB = 6  # below that a process is not worth starting


@dataclass(frozen=True)
class Failure:
    """A cell that could not be measured, and why."""

    cell: Cell
    message: str


Event = Cell | Result | Failure  # a cell that is begun, or its outcome


def default_jobs(n_cells: int, device: str = "cpu") -> int:
    """Return how many processes are worth starting: one for few cells, and one on a device."""
    if device != "cpu":
        return 1
    from joblib import cpu_count

    return max(1, min(cpu_count(), _MAX_JOBS, n_cells // _CELLS_PER_JOB))


def measure_wanted(
    wanted: Callable[[], Sequence[Cell]],
    measurer: Measurer,
    *,
    n_jobs: int = 1,
    deadline: float | None = None,
) -> Generator[Event, None, None]:
    """Measure cells: each is yielded when it is begun, then its result or failure.

    The next cell is chosen when a process is free to measure it: the first of those that are
    still `wanted`, until there are none. With several processes each has one thread, and a cell
    that is no longer wanted is abandoned when nothing else is left to do. After the `deadline`, a
    time of ``time.monotonic()``, no cell is begun.
    """
    if n_jobs > 1:
        yield from _measure_in_processes(wanted, measurer, n_jobs, deadline)
        return
    while (cells := wanted()) and not _is_past(deadline):
        yield cells[0]
        yield _measured(measurer, cells[0])


@dataclass
class Run:
    """Run that measures the cells that are not on file, and remembers what failed.

    Called with cells, it returns the available results, in order. After Ctrl-C nothing more
    is measured, and only what is on file is returned.

    Parameters
    ----------
    measurer : Measurer
        Function that measures one cell.
    notebook : Notebook
        Results that have been measured; only this process writes to its file.
    n_jobs : int, default=1
        Number of processes.
    watch : callable
        Function called with every event, the number of cells done and the number to measure.
    deadline : float, optional
        Time of ``time.monotonic()`` after which no cell is begun.
    commit : str, optional
        Commit of this program, which is written down with each result.
    machine : str, optional
        Machine that it runs on, which is written down as well.

    Attributes
    ----------
    asked : list of Cell
        Cells of all calls so far, each once.
    planned : list of Cell
        Cells that were asked for, and those that followed from results.
    failures : dict
        Reason for each cell that could not be measured.
    interrupted : bool
        Whether Ctrl-C was pressed.
    n_measured : int
        Number of new results; the others were on file.

    Examples
    --------
    >>> from bochner.records.cells import Cell, Notebook, Result
    >>> from bochner.records.run import Run
    >>> def measure(cell):
    ...     return Result(cell, 1 / cell.seed, 0.0, 0.5)
    >>> run = Run(measure, Notebook())
    >>> results = run([Cell("study", "task", "method", None, seed) for seed in (0, 2)])
    >>> [result.score for result in results], list(run.failures.values())
    ([0.5], ['ZeroDivisionError: division by zero'])
    """

    measurer: Measurer
    notebook: Notebook
    n_jobs: int = 1
    watch: Callable[[Event, int, int], None] = lambda event, n_done, n_cells: None
    deadline: float | None = None
    commit: str | None = None
    machine: str | None = None
    asked: list[Cell] = field(default_factory=list)
    planned: list[Cell] = field(default_factory=list)
    failures: dict[Cell, str] = field(default_factory=dict)
    interrupted: bool = False
    n_measured: int = 0

    def __call__(self, cells: Iterable[Cell], then: Plan | None = None) -> list[Result]:
        """Measure cells, and those that `then` derives from all results so far.

        `then` is called after each result, until no cell that it wants is missing. Cells that it
        no longer wants are not begun.
        """
        cells = list(cells)
        self.asked = list(dict.fromkeys([*self.asked, *cells]))
        self._plan(then)
        known = self._n_known, self.missing

        def wanted() -> list[Cell]:
            nonlocal known
            if known[0] != self._n_known:
                if then is not None:
                    self._plan(then)
                known = self._n_known, self.missing
            return known[1]

        if not self.interrupted and wanted():
            with self._interruptible():
                self._measure(wanted)
        wanted()  # what was not begun is missing
        if then is not None:
            return self.results
        return [self.notebook[cell] for cell in cells if cell in self.notebook]

    def _plan(self, then: Plan | None) -> None:
        """Plan the cells that were asked for, and those that follow from the results so far."""
        n_there = -1
        while len(there := self._there()) > n_there:  # what is on file may call for more
            n_there = len(there)
            self.planned = list(dict.fromkeys([*there, *self.asked]))
            if then is not None:
                self.planned = list(dict.fromkeys([*self.planned, *then(self.results)]))

    def _there(self) -> list[Cell]:
        known = dict.fromkeys([*self.planned, *self.asked])
        return [cell for cell in known if not self._is_missing(cell)]

    @property
    def results(self) -> list[Result]:
        """Results of the planned cells that were measured."""
        return [self.notebook[cell] for cell in self.planned if cell in self.notebook]

    @property
    def missing(self) -> list[Cell]:
        """Planned cells that were neither measured nor failed."""
        return [cell for cell in self.planned if self._is_missing(cell)]

    @property
    def _n_known(self) -> int:
        return self.n_measured + len(self.failures)

    def _is_missing(self, cell: Cell) -> bool:
        return cell not in self.notebook and cell not in self.failures

    def _measure(self, wanted: Callable[[], Sequence[Cell]]) -> None:
        n_done, n_jobs = 0, min(self.n_jobs, len(wanted()))
        measured = measure_wanted(wanted, self.measurer, n_jobs=n_jobs, deadline=self.deadline)
        with closing(measured) as events:  # processes end before anything else goes on
            for event in events:
                if self.interrupted:  # the measurement may have been cut short
                    raise KeyboardInterrupt
                if isinstance(event, Failure):
                    self.failures[event.cell] = event.message
                elif isinstance(event, Result):
                    self.notebook.add(replace(event, commit=self.commit, machine=self.machine))
                    self.n_measured += 1
                n_done += not isinstance(event, Cell)
                self.watch(event, n_done, n_done + len(wanted()))

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """End the measurement on Ctrl-C or a request to terminate.

        The interruption is remembered as well as raised: some measurements catch Ctrl-C to save
        their work.
        """

        def handle(number: int, frame: FrameType | None) -> None:
            self.interrupted = True
            raise KeyboardInterrupt

        numbers = [signal.SIGINT, signal.SIGTERM]
        if threading.current_thread() is not threading.main_thread():
            numbers = []  # only the main thread receives signals
        before = {number: signal.signal(number, handle) for number in numbers}
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _is_past(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


def _measured(measurer: Measurer, cell: Cell) -> Result | Failure:
    try:
        return measurer(cell)
    except MemoryError:
        return Failure(cell, "there was not enough memory")
    except Exception as error:  # one method's trouble is not the others'
        return Failure(cell, " ".join(f"{type(error).__name__}: {error}".split()))


def _measure_in_processes(
    wanted: Callable[[], Sequence[Cell]],
    measurer: Measurer,
    n_jobs: int,
    deadline: float | None,
) -> Generator[Event, None, None]:
    with Processes(partial(_measured, measurer), n_jobs) as processes:
        while cells := wanted():
            running = set(processes.running.values())
            waiting = (cell for cell in cells if cell not in running)
            while processes.n_idle and not _is_past(deadline):
                cell = next(waiting, None)
                if cell is None:
                    break
                processes.begin(cell)
                yield cell
            if not processes.running:
                return
            for cell, result in processes.ended():
                if isinstance(result, ProcessEnded):
                    result = Failure(cell, "its process ended; perhaps memory ran out")
                yield result
