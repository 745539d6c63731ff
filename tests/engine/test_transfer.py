"""Blocks on their way to a device."""

import threading

import numpy as np
import pytest
from scipy import sparse

from bochner.engine.transfer import staged

BLOCKS = [(np.full((2, 3), value, dtype), str(value)) for value, dtype in ((1, int), (2.5, "f8"))]


def test_blocks_arrive_in_order_and_as_float32():
    torch = pytest.importorskip("torch")
    found = list(staged(iter(BLOCKS), torch.device("cpu")))
    for (X, label), (there, same) in zip(BLOCKS, found, strict=True):
        assert there.dtype == torch.float32
        assert label == same
        np.testing.assert_array_equal(there.numpy(), X)


def test_what_stays_where_it_is():
    assert list(staged(BLOCKS, "cpu")) == BLOCKS
    torch = pytest.importorskip("torch")
    rows = sparse.csr_array(np.eye(3))
    assert next(staged([(rows, 1)], torch.device("cpu")))[0] is rows
    frozen = np.eye(3)
    frozen.setflags(write=False)  # as rows of a memory map are
    np.testing.assert_array_equal(next(staged([(frozen,)], torch.device("cpu")))[0], frozen)


def test_the_next_block_is_read_meanwhile():
    """One ahead, and not more; the reader is another thread."""
    torch = pytest.importorskip("torch")
    read, threads = [threading.Event() for _ in range(4)], set()

    def blocks():
        for event in read:
            threads.add(threading.get_ident())
            event.set()
            yield (np.eye(2),)

    source = staged(blocks(), torch.device("cpu"))
    next(source)
    assert read[1].wait(5)
    assert not read[2].is_set()
    assert sum(1 for _ in source) == 3
    assert threading.get_ident() not in threads


def test_errors_of_the_reader_are_raised():
    torch = pytest.importorskip("torch")

    def blocks():
        yield (np.eye(2),)
        raise ValueError("damaged")

    source = staged(blocks(), torch.device("cpu"))
    next(source)
    with pytest.raises(ValueError, match="damaged"):
        next(source)
