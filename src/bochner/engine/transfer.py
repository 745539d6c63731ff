"""Transfer of blocks of rows to a device: the next block is read and copied during computation.

A thread reads a block, rounds it into pinned memory, from which the device can copy by itself, and
starts the copy on a separate stream. The stream that computes waits for the copy. The host does
not wait, except for the block before the last: no more than three blocks are on the device.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy import sparse

from bochner.engine.places import is_numpy_device

Block = tuple[Any, ...]


def staged(blocks: Iterable[Block], device: Any) -> Iterator[Block]:
    """Yield blocks ``(X, ...)`` with `X` where the user wants it, in float32 on a device.

    Parameters
    ----------
    blocks : iterable of tuples
        Rows on the host, and data aligned with them, which stay there. Read ahead by one block.
    device : str or torch.device
        Device for the rows. ``"cpu"`` leaves everything as it is; sparse rows stay on the host
        with any device.

    Yields
    ------
    block : tuple
        `X` on the device, and the data aligned with it.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine.transfer import staged
    >>> [X.tolist() for X, y in staged([(np.eye(1), "a"), (np.zeros((1, 1)), "b")], "cpu")]
    [[[1.0]], [[0.0]]]
    """
    if is_numpy_device(device):
        yield from blocks
        return
    lane, source = _Lane(device), iter(blocks)
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(lane.send_next, source)
        while (sent := coming.result()) is not None:
            coming = reader.submit(lane.send_next, source)
            yield lane.receive(sent)


class _Lane:
    """Copies to a PyTorch device: on CUDA, in a stream beside the one that computes."""

    def __init__(self, device: Any) -> None:
        import torch

        self._torch, self._device = torch, torch.device(device)
        self._is_cuda = self._device.type == "cuda"
        self._stream = torch.cuda.Stream(self._device) if self._is_cuda else None
        self._used: list[Any] = []  # events after the last computation with earlier blocks

    def send_next(self, blocks: Iterator[Block]) -> tuple[Block, Any] | None:
        """Start the copy of the next block; return None if there is none."""
        block = next(blocks, None)
        if block is None:
            return None
        X, *aligned = block
        if sparse.issparse(X):
            return block, None
        waiting = self._torch.empty(X.shape, dtype=self._torch.float32, pin_memory=self._is_cuda)
        np.copyto(waiting.numpy(), X, casting="same_kind")
        with self._torch.cuda.stream(self._stream) if self._is_cuda else nullcontext():
            there = waiting.to(self._device, non_blocking=True)
            arrived = self._stream.record_event() if self._stream is not None else None
        return (there, *aligned), arrived

    def receive(self, sent: tuple[Block, Any]) -> Block:
        """Return a block ready for computation; work on the block before the last is done."""
        block, arrived = sent
        if arrived is not None:
            current = self._torch.cuda.current_stream(self._device)
            self._used.append(current.record_event())
            if len(self._used) > 1:
                self._used.pop(0).synchronize()
            current.wait_event(arrived)
            block[0].record_stream(current)
        return block
