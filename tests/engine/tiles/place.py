"""Where kernels are tested: on a CUDA device, or with TRITON_INTERPRET=1 slowly on the host."""

import os

import numpy as np
import pytest

from bochner.engine import places, tiles

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
needs_kernels = pytest.mark.skipif(
    not INTERPRETED and not torch.cuda.is_available(), reason="there is no CUDA device"
)


def take_kernels(monkeypatch):
    """However small the problem."""
    monkeypatch.setattr(tiles, "_FEWEST", 0)
    if INTERPRETED:
        monkeypatch.setattr(
            tiles, "runs_triton", lambda X: places.float_dtype(X) == np.dtype(np.float32)
        )
