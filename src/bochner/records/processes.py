"""Cells measured in several processes, each with one thread.

On Linux they are forked from a process that has imported what they need, a *fork server*, which
:func:`prepare_processes` starts while this one still reads its data. Elsewhere each imports for
itself.
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
_HAS_SERVER = sys.platform == "linux"  # the libraries of macOS do not bear a fork


class ProcessEnded(Exception):
    """The process that measured a cell is gone, and the cell with it."""


def prepare_processes(modules: Sequence[str]) -> None:
    """Begin to import modules in the process that others are forked from; return at once.

    It takes as long as importing them here, and may be done meanwhile.
    """
    if _HAS_SERVER:
        multiprocessing.set_forkserver_preload(list(modules))
        with _environment(_single_threaded()):
            forkserver.ensure_running()


class Processes:
    """Processes that call one function with cells; as a context, they end with it.

    Parameters
    ----------
    measure : callable
        What is called with a cell; pickle must be able to write it.
    n_jobs : int
        How many processes.
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
        """How many processes have nothing to do."""
        return self.n_jobs - len(self.running)

    def begin(self, cell: Cell) -> None:
        """Have a cell measured."""
        if self._executor is None:
            self._others = set(multiprocessing.active_children())
            self._executor = ProcessPoolExecutor(
                self.n_jobs,
                mp_context=_context(),
                initializer=_begin_process,
                initargs=(self._shared, {**os.environ, **_single_threaded()}),
            )
        with _environment(_single_threaded()):  # what processes and their server start with
            self.running[self._executor.submit(_measure_in_process, cell)] = cell

    def ended(self, timeout: float = 1.0) -> Iterator[tuple[Cell, Any]]:
        """Cells that are done within some seconds, with what came of them or a ProcessEnded."""
        done, _ = wait(self.running, timeout=timeout, return_when=FIRST_COMPLETED)
        for future in done:
            cell = self.running.pop(future)
            try:
                yield cell, future.result()
            except BrokenProcessPool:
                # All that were running are lost with it; the others get new processes.
                self._executor = None
                yield cell, ProcessEnded()


def _context() -> BaseContext:
    return multiprocessing.get_context("forkserver" if _HAS_SERVER else "spawn")


def _single_threaded() -> dict[str, str]:
    return dict.fromkeys(_THREADS, "1")


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Variables of the environment, for processes that are started meanwhile."""
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
    """The function as bytes in a file, or as they are where none can be written.

    Its rows in a pipe would make each process wait until the one before has started.
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
    """Ctrl-C is for the process that collects the results; when that dies, so does this one."""
    global _measure
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(environment)  # the server's is that of when it was started
    _measure = pickle.loads(shared.read_bytes() if isinstance(shared, Path) else shared)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()  # the server lives as long as one that it has forked
    os._exit(1)


def _measure_in_process(cell: Cell) -> Any:
    assert _measure is not None
    return _measure(cell)
