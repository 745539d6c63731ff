"""Cells measured in several processes, each with one thread.

On Linux the processes are forked from one that has imported what they need, a *fork server*,
which :func:`prepare_processes` starts while this process still reads its data. On other systems
each process imports for itself.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bochner.records.cells import Cell

Measured = Callable[[Cell], Any]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_HAS_SERVER = sys.platform == "linux"  # the libraries of macOS do not survive a fork


class ProcessEnded(Exception):
    """Error for a cell whose process ended before the cell was measured."""


def prepare_processes(modules: Sequence[str]) -> None:
    """Start to import modules in the process that others are forked from; return at once.

    The import takes as long as it would here, but goes on in the background.
    """
    if _HAS_SERVER:
        multiprocessing.set_forkserver_preload(list(modules))
        with _environment(_single_threaded()):
            forkserver.ensure_running()


class Processes:
    """Processes that call one function with cells, and end with the context.

    Parameters
    ----------
    measure : callable
        Function to call with a cell; it must be picklable.
    n_jobs : int
        Number of processes.
    """

    def __init__(self, measure: Measured, n_jobs: int) -> None:
        self.measure, self.n_jobs = measure, n_jobs
        self.running: dict[Future[Any], Cell] = {}
        self._executor: ProcessPoolExecutor | None = None
        self._others: set[Any] = set()
        self._stack = ExitStack()

    def __enter__(self) -> Processes:
        self._shared = self._stack.enter_context(_on_file(self.measure))
        return self

    def __exit__(self, *error: object) -> None:
        if self._executor is not None:
            if self.running:  # nobody waits for them
                for process in set(multiprocessing.active_children()) - self._others:
                    process.kill()
            self._executor.shutdown(wait=True, cancel_futures=True)
        self._stack.close()

    @property
    def n_idle(self) -> int:
        """Number of processes that have nothing to do."""
        return self.n_jobs - len(self.running)

    def begin(self, cell: Cell) -> None:
        """Start to measure a cell."""
        if self._executor is None:
            self._others = set(multiprocessing.active_children())
            self._executor = ProcessPoolExecutor(
                self.n_jobs,
                mp_context=_context(),
                initializer=_begin_process,
                initargs=(self._shared, {**os.environ, **_single_threaded()}),
            )
        with _environment(_single_threaded()):  # for processes and their server
            self.running[self._executor.submit(_measure_in_process, cell)] = cell

    def ended(self, timeout: float = 1.0) -> Iterator[tuple[Cell, Any]]:
        """Yield cells that are done within some seconds, with their results or a ProcessEnded."""
        done, _ = wait(self.running, timeout=timeout, return_when=FIRST_COMPLETED)
        for future in done:
            cell = self.running.pop(future)
            try:
                yield cell, future.result()
            except BrokenProcessPool:
                # All running cells are lost with it; the others get new processes.
                self._executor = None
                yield cell, ProcessEnded()


def _context() -> BaseContext:
    return multiprocessing.get_context("forkserver" if _HAS_SERVER else "spawn")


def _single_threaded() -> dict[str, str]:
    return dict.fromkeys(_THREADS, "1")


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, for processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _on_file(measure: Measured) -> Iterator[bytes | Path]:
    """Yield the pickled function as a file, or as bytes if no file can be written.

    Sent through a pipe, its rows would make each process wait until the one before has started.
    """
    pickled = pickle.dumps(measure, pickle.HIGHEST_PROTOCOL)
    with ExitStack() as stack:
        shared: bytes | Path = pickled
        with suppress(OSError):
            folder = TemporaryDirectory(prefix="bochner-", ignore_cleanup_errors=True)
            path = Path(stack.enter_context(folder)) / "measure"
            path.write_bytes(pickled)
            shared = path
        yield shared


_measure: Measured | None = None


def _begin_process(shared: bytes | Path, environment: Mapping[str, str]) -> None:
    """Prepare a process: it ignores Ctrl-C, and ends when the process that started it ends."""
    global _measure
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(environment)  # the server has the environment of its start
    _measure = pickle.loads(shared.read_bytes() if isinstance(shared, Path) else shared)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()  # the server lives as long as one that it has forked
    os._exit(1)


def _measure_in_process(cell: Cell) -> Any:
    assert _measure is not None
    return _measure(cell)
