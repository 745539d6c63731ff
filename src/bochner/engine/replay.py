"""Work on a CUDA device, recorded once and replayed without the host's overhead.

Many small operations on a GPU take the time that Python needs to launch them. A CUDA graph
launches all of them at once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from bochner.engine.places import on_cuda

_log = logging.getLogger(__name__)
_one_at_a_time = threading.Lock()
_run_before: set[tuple[Any, ...]] = set()
_MOST_LEFT = 2**28  # bytes of deleted recordings before PyTorch is asked to free them
_left = {"bytes": 0}
_MOST_GIVEN = 2**26  # bytes of arguments that are copied into a recording at each call
_MOST_KEPT = 2**28  # bytes of recordings that are kept; the one used longest ago goes first
_kept: dict[tuple[Any, ...], _Recording] = {}


class Replayed:
    """A function of arrays and numbers that is recorded on a CUDA device, and then replayed.

    Anywhere else, and if recording fails, it is simply called. A recording is made for each
    combination of shapes; arguments are copied into it and results out of it.

    The function takes tensors, numbers and None, and returns a tuple of tensors. Apart from the
    values it must do the same each time: other arrays that it uses stay where they are and keep
    their meaning. During recording, numbers are passed as float64 tensors without dimensions.
    Operations that wait for the device or copy from the host cannot be recorded.

    The recording and its memory live as long as this object: do not store it in an object that
    the function refers to, or both stay until the garbage collector runs. Libraries load their
    kernels on first use, which cannot be recorded: for shapes that the process has not seen yet,
    the first call is a plain one.

    With arguments `given`, which come first in every call, the function must depend on nothing
    but its arguments and, if it is a ``partial``, on hashable constants. If the arguments given
    are small, its recordings are kept for later objects: the next game with the same shapes need
    not be recorded.
    """

    def __init__(
        self, function: Callable[..., tuple[Any, ...]], given: tuple[Any, ...] = ()
    ) -> None:
        size = sum(argument.nbytes for argument in given if on_cuda(argument))
        self.kept = bool(given) and size <= _MOST_GIVEN
        self.function, self.given = (
            (function, given) if self.kept else (partial(function, *given), ())
        )
        self.recordings: dict[tuple[Any, ...], _Recording | None] = {}  # None: not possible

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        arguments = (*self.given, *arguments)
        signature = _signature(arguments)
        if signature is None:
            return self.function(*arguments)
        if signature not in self.recordings:
            known = (_name(self.function), threading.get_ident(), signature)
            if known not in _run_before:
                _run_before.add(known)
                return self.function(*arguments)
            constants = getattr(self.function, "args", ()) if self.kept else None
            self.recordings[signature] = _kept_or_new(self.function, arguments, known, constants)
        recording = self.recordings[signature]
        return self.function(*arguments) if recording is None else recording(*arguments)


class _Recording:
    """A CUDA graph with the arrays it reads and writes."""

    def __init__(self, function: Callable[..., tuple[Any, ...]], arguments: tuple[Any, ...]):
        import torch

        device = next(a.device for a in arguments if on_cuda(a))
        _free_what_is_left()
        before = torch.cuda.memory_reserved(device)
        self.inputs = [_room_for(argument, device) for argument in arguments]
        self.numbers: dict[int, float] = {}  # values of the inputs that are numbers
        self.graph = torch.cuda.CUDAGraph()
        # Not torch.cuda.graph, which empties the allocator's cache and collects garbage.
        stream = _recording_stream(device)
        with torch.cuda.device(device), torch.cuda.stream(stream):
            self.graph.capture_begin(capture_error_mode="thread_local")
            try:
                self.results = function(*self.inputs)
            finally:
                self.graph.capture_end()
        self.size = torch.cuda.memory_reserved(device) - before

    def __del__(self, left: dict[str, int] = _left) -> None:  # globals are gone at exit
        left["bytes"] += getattr(self, "size", 0)

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        import torch

        rooms, tensors = [], []
        for k, (room, argument) in enumerate(zip(self.inputs, arguments, strict=True)):
            if on_cuda(argument):
                rooms.append(room)
                tensors.append(argument)
            elif argument is not None and self.numbers.get(k) != argument:
                room.fill_(argument)
                self.numbers[k] = argument
        torch._foreach_copy_(rooms, tensors)  # all in one kernel
        self.graph.replay()
        # The next replay overwrites them.
        return tuple(None if result is None else result.clone() for result in self.results)


def _kept_or_new(
    function: Callable[..., tuple[Any, ...]],
    arguments: tuple[Any, ...],
    known: tuple[Any, ...],
    constants: tuple[Any, ...] | None,
) -> _Recording | None:
    """Return a kept recording of this thread or a new one; keep it if there are constants."""
    key = (known, constants)
    with _one_at_a_time:
        recording = _kept.pop(key, None) if constants is not None else None
    if recording is None:
        recording = _record(function, arguments)
    if constants is not None and recording is not None:
        with _one_at_a_time:
            _kept[key] = recording  # the last one used
            while sum(one.size for one in _kept.values()) > _MOST_KEPT:
                _kept.pop(next(iter(_kept)))
    return recording


def _free_what_is_left() -> None:
    """Free the memory of deleted recordings, which PyTorch keeps but does not reuse."""
    if _left["bytes"] > _MOST_LEFT:
        import torch

        torch.cuda.empty_cache()
        _left["bytes"] = 0


def _record(
    function: Callable[..., tuple[Any, ...]], arguments: tuple[Any, ...]
) -> _Recording | None:
    stopped: list[BaseException] = []

    def watched(*inputs: Any) -> tuple[Any, ...]:
        try:
            return function(*inputs)
        except KeyboardInterrupt as interrupt:  # ending the recording would raise another error
            stopped.append(interrupt)
            raise

    try:
        with _one_at_a_time:
            return _Recording(watched, arguments)
    except Exception as error:
        if stopped:
            raise stopped[0] from None
        _log.debug("%s cannot be recorded: %s", _name(function), error)
        return None


def _signature(arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the signature that a recording is made for; None if recording is impossible."""
    parts: list[Any] = []
    devices = set()
    for argument in arguments:
        if on_cuda(argument):
            devices.add(argument.device)
            parts.append((tuple(argument.shape), argument.stride(), argument.dtype))
        elif argument is None or isinstance(argument, (int, float)):
            parts.append(type(argument))
        else:
            return None
    if len(devices) != 1:
        return None
    import torch

    if torch.cuda.is_current_stream_capturing():  # the caller is already recording
        return None
    return (*devices, *parts)


def _room_for(argument: Any, device: Any) -> Any:
    import torch

    if argument is None:
        return None
    if on_cuda(argument):
        return argument.detach().clone()
    return torch.zeros((), dtype=torch.float64, device=device)


@cache
def _recording_stream(device: Any) -> Any:
    """Return one stream per device. cuBLAS keeps memory for each; no recording should own it."""
    import torch

    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        matrix = torch.ones((2, 2), device=device)
        torch.mm(matrix, matrix)
        torch.mm(matrix.double(), matrix.double())
    stream.synchronize()
    return stream


def _name(function: Any) -> str:
    if isinstance(function, partial):
        function = function.func
    return f"{function.__module__}.{function.__qualname__}"
