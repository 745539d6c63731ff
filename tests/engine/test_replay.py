"""Recorded work gives what the function gives, or is simply the function."""

import gc
import logging
import weakref
from functools import partial

import numpy as np
import pytest

from bochner.engine import replay
from bochner.engine.places import on_cuda
from bochner.engine.replay import Replayed
from tests.places import PLACES, on_host

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


class Counted:
    """A function that knows how often it ran on the host."""

    def __init__(self, offset=0.0):
        self.calls, self.offset = 0, offset

    def work(self, x, factor, other):
        self.calls += 1
        y = factor * (x @ x.T) + self.offset
        return y, None if other is None else y.sum() + other


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
def test_elsewhere_the_function_is_called(place, rng):
    x = rng.normal(size=(4, 3))
    counted = Counted()
    replayed = Replayed(lambda x: counted.work(x, 2.0, None))
    for _ in range(3):
        result, nothing = replayed(PLACES[place](x))
        np.testing.assert_allclose(on_host(result), 2 * x @ x.T)
        assert nothing is None
    assert counted.calls == 3
    assert not replayed.recordings


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
def test_what_is_given_comes_first(place, rng):
    x = rng.normal(size=(4, 3))
    replayed = Replayed(Counted().work, (PLACES[place](x), 2.0))
    for _ in range(3):
        np.testing.assert_allclose(on_host(replayed(None)[0]), 2 * x @ x.T)
    assert not replayed.recordings


def test_errors_of_the_function_come_through():
    def wrong(x):
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        Replayed(wrong)(np.ones(2))


@pytest.mark.parametrize("array", [np.ones(2), torch.ones(2), None, 1.0])
def test_only_cuda_tensors_are_on_cuda(array):
    assert not on_cuda(array)


@cuda
class TestOnCuda:
    def tensors(self, seed, shape=(40, 30)):
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(shape, generator=generator, dtype=torch.float64).cuda()

    def test_results_follow_the_arguments(self):
        counted = Counted()
        replayed = Replayed(counted.work)
        for seed in range(5):
            x, other = self.tensors(seed), self.tensors(seed + 100, ())
            y, total = replayed(x, float(seed), other)
            torch.testing.assert_close(y, seed * (x @ x.T))
            torch.testing.assert_close(total, seed * (x @ x.T).sum() + other)
        assert counted.calls <= 2  # once as it is, once to be recorded

    def test_earlier_results_are_kept(self):
        replayed = Replayed(Counted().work)
        inputs = [self.tensors(seed) for seed in range(4)]
        results = [replayed(x, 1.0, None)[0] for x in inputs]
        for x, y in zip(inputs, results, strict=True):
            torch.testing.assert_close(y, x @ x.T)

    def test_every_shape_has_its_own_recording(self):
        replayed = Replayed(Counted().work)
        for seed in range(6):
            x = self.tensors(seed, (5 + seed % 2, 3))
            torch.testing.assert_close(replayed(x, 1.0, None)[0], x @ x.T)
        assert len(replayed.recordings) == 2

    def test_transposed_arguments(self):
        replayed = Replayed(Counted().work)
        for seed in range(3):
            x = self.tensors(seed, (30, 40)).T
            torch.testing.assert_close(replayed(x, 1.0, None)[0], x @ x.T)

    def test_what_waits_is_called(self, caplog):
        def waits(x):
            return (x * float(x.sum()),)

        replayed = Replayed(waits)
        with caplog.at_level(logging.DEBUG, logger="bochner.engine.replay"):
            for seed in range(4):
                x = self.tensors(seed)
                torch.testing.assert_close(replayed(x)[0], x * x.sum())
        assert "cannot be recorded" in caplog.text
        # and nothing is left over: other work is recorded as before
        self.test_results_follow_the_arguments()

    def test_an_interrupt_is_not_taken_for_a_failure(self):
        def work(x, stop):
            if stop:
                raise KeyboardInterrupt
            return (x + 1,)

        x = self.tensors(0)
        Replayed(partial(work, stop=False))(x)
        with pytest.raises(KeyboardInterrupt):
            Replayed(partial(work, stop=True))(x)

    def test_memory_is_free_afterwards(self):
        def large(x):
            return (x.expand(2**24).contiguous().sum(),)

        def reserved():
            gc.collect()
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            return torch.cuda.memory_reserved()

        x = self.tensors(0, (1,))
        Replayed(large)(x)  # what libraries keep is there from now on
        Replayed(large)(x)
        before = reserved()
        replayed = Replayed(large)
        torch.testing.assert_close(replayed(x)[0], 2**24 * x[0])
        assert reserved() >= before + 2**27
        gone = weakref.ref(replayed)
        gc.disable()
        try:
            del replayed
            assert gone() is None  # no cycle
        finally:
            gc.enable()
        assert reserved() <= before

    def test_memory_does_not_pile_up(self):
        def large(x):
            return (x.expand(2**24).contiguous().sum(),)

        x = self.tensors(0, (1,))
        Replayed(large)(x)
        torch.cuda.empty_cache()
        before = torch.cuda.memory_reserved()
        for _ in range(12):
            Replayed(large)(x)
        assert torch.cuda.memory_reserved() <= before + 2**29 + 2**26

    def test_what_is_given_is_kept_for_the_next_object(self):
        counted = Counted()

        def work(offset, x, factor, other):
            y, total = counted.work(x, factor, other)
            return y + offset, total

        for seed in range(6):  # rows, factor and constants as they are now
            x, other = self.tensors(seed, (41, 3)), self.tensors(seed + 100, ())
            replayed = Replayed(partial(work, seed % 2), (x, float(seed)))
            y, total = replayed(other)
            torch.testing.assert_close(y, seed * (x @ x.T) + seed % 2)
            torch.testing.assert_close(total, seed * (x @ x.T).sum() + other)
        assert counted.calls == 3  # once as it is, once to be recorded for each constant

    def test_kept_recordings_are_few(self, monkeypatch):
        monkeypatch.setattr(replay, "_MOST_KEPT", 2**27)
        for seed in range(8):
            x = self.tensors(seed, (2 + seed // 2, 2**18))
            replayed = Replayed(partial(Counted.work, Counted()), (x, 2.0))
            torch.testing.assert_close(replayed(None)[0], 2 * x @ x.T)
            assert sum(recording.size for recording in replay._kept.values()) <= 2**27

    def test_what_is_large_is_not_copied(self, monkeypatch):
        monkeypatch.setattr(replay, "_MOST_GIVEN", 100)
        x = self.tensors(0, (43, 3))
        for _ in range(3):
            replayed = Replayed(Counted().work, (x, 2.0))
            torch.testing.assert_close(replayed(None)[0], 2 * x @ x.T)
            assert not replayed.given
