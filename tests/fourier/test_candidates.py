import numpy as np
import pytest

from bochner.fourier import candidates
from bochner.fourier.candidates import Candidates
from bochner.kernels import Gaussian


@pytest.mark.parametrize("multiple", [1, 7])
def test_blocks_and_choices_agree(monkeypatch, multiple):
    monkeypatch.setattr(candidates, "_BLOCK_BYTES", 8 * 5 * 100)
    drawn = Candidates(Gaussian(gamma=0.5), 350, 5, seed=3, multiple=multiple)
    blocks = list(drawn.blocks())
    assert len(blocks) > 2
    assert all((block.stop - block.start) % multiple == 0 for block, _ in blocks)
    whole = np.hstack([W for _, W in blocks])
    assert whole.shape == (5, 350)
    index = np.array([349, 0, 120, 121, 7])
    np.testing.assert_array_equal(drawn.take(index), whole[:, index])
    assert whole.std() == pytest.approx(1, abs=0.1)


def test_a_block_is_never_larger_than_its_limit():
    wide = Candidates(Gaussian(gamma=0.5), 640, 50_000, seed=0, multiple=64)
    block, W = next(wide.blocks(np.float32))
    assert block == slice(0, 128)
    assert W.shape == (50_000, 128)
    assert W.dtype == np.float32
