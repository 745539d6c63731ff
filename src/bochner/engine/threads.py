"""One Python thread per core, each with a single-threaded BLAS.

A multi-threaded BLAS and a pool of Python threads fight for the same cores. Here the pool wins:
while any of our parallel regions is open, BLAS is held to one thread, and each pool thread runs
its matrix product and its compiled loop on a block that stays in its own cache.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
Result = TypeVar("Result")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def default_threads() -> int:
    """Return the number of threads that the caller's BLAS may use now.

    A limit set by the environment, by joblib in a worker process, or by
    ``threadpoolctl.threadpool_limits`` thus also applies here, and a second caller that arrives
    while our own region is open gets one thread instead of oversubscribing.
    """
    limits = [library.num_threads for library in _blas().lib_controllers]
    return min(limits) if limits else os.cpu_count() or 1


def _take_control() -> None:
    """Let this thread set the number of BLAS threads, whichever thread set it last.

    From threadpoolctl 3.8 on, other threads are ignored until the one that began is done or dead.
    """
    for library in _blas().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@contextmanager
def limited_threads(n_threads: int | None) -> Iterator[None]:
    """Limit BLAS, and all code that uses as many threads as BLAS may, to `n_threads` threads.

    None leaves the number as it is.
    """
    if n_threads is None:
        yield
        return
    _take_control()
    with _blas().limit(limits=n_threads):
        yield


class _SingleThreadedBlas:
    """Context manager that holds BLAS at one thread while at least one region is open.

    Nested ``threadpool_limits`` from concurrent threads restore each other's values; counting
    the open regions restores the caller's value once, when the last one closes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._open == 0:
                _take_control()
                self._limit = _blas().limit(limits=1)
            self._open += 1

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._open -= 1
            if self._open == 0:
                _take_control()
                self._limit.restore_original_limits()
                _take_control()  # and leave control to the next thread


single_threaded_blas = _SingleThreadedBlas()


class _AtWork(threading.local):
    """Whether this thread is working on one of several tasks."""

    now = False


_at_work = _AtWork()


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the pool of threads that help the caller, kept for the life of the process."""
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="bochner")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork: a child makes its own
    os.register_at_fork(after_in_child=_pool.cache_clear)


def ordered_map(
    work: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int
) -> Iterator[Result]:
    """Yield ``work(task)`` in the order of `tasks`, computed by `n_threads` threads.

    The order is what makes sums reproducible: a reduction over the results adds them in the
    same order on any number of threads. The calling thread works too. When the consumer stops
    early or is interrupted, tasks that have not begun are dropped. A task runs entirely in its
    own thread: there are no other threads to wait for.
    """
    n_threads = 1 if _at_work.now else min(n_threads, len(tasks))
    if n_threads <= 1:
        # A single task is small: more BLAS threads would only wait for each other.
        with single_threaded_blas:
            yield from map(work, tasks)
        return

    waiting = deque(range(len(tasks)))
    futures: list[Future[Result]] = [Future() for _ in tasks]

    def help_out() -> None:
        while waiting:
            try:
                index = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            _at_work.now = True
            try:
                futures[index].set_result(work(tasks[index]))
            except BaseException as error:
                # Tasks begin in order, so whoever waits meets this error before any task that
                # now never begins.
                futures[index].set_exception(error)
                waiting.clear()
            finally:
                _at_work.now = False

    with single_threaded_blas:
        helpers = [_pool().submit(help_out) for _ in range(n_threads - 1)]
        try:
            help_out()
            for index in range(len(tasks)):
                yield futures[index].result()
                futures[index] = Future()  # lets go of the result
        finally:
            waiting.clear()
            wait(helpers)


def side_by_side(
    work: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int | None = None
) -> Iterator[Result]:
    """Run :func:`ordered_map` for a few large tasks; a single task may use all BLAS threads.

    With `n_threads` of one, the tasks run in turn, each with all BLAS threads.
    """
    n_threads = n_threads or default_threads()
    if len(tasks) < 2 or n_threads < 2:
        return map(work, tasks)
    return ordered_map(work, tasks, n_threads)


class Scratch(threading.local):
    """Named buffers that a thread reuses from tile to tile, so that pages are touched once."""

    def __init__(self) -> None:
        self._buffers: dict[str, NDArray[Any]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        size = math.prod(shape)
        if name not in self._buffers or self._buffers[name].size < size:
            self._buffers.pop(name, None)  # freed before the larger one is made
            self._buffers[name] = np.empty(size, dtype)
        return self._buffers[name][:size].reshape(shape)


def for_each(work: Callable[[Task], Any], tasks: Sequence[Task], n_threads: int | None) -> None:
    """Call ``work(task)`` for every task; by default in as many threads as BLAS may use."""
    for _ in ordered_map(work, tasks, n_threads or default_threads()):
        pass
