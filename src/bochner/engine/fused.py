"""One pass from phases to cosines and sines on a CUDA device, as a Triton kernel.

PyTorch would read the phases twice and go over the result twice more to scale it. Triton comes
with PyTorch wherever this module is used; elsewhere device.py does without it.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

_BLOCK = 1024


@triton.jit
def _waves(phases, scale, out, n_frequencies, total, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < total
    row, column = index // n_frequencies, index % n_frequencies
    phase = tl.load(phases + index, mask=inside)
    amplitude = tl.load(scale + column, mask=inside)
    cosine = out + row * 2 * n_frequencies + column
    tl.store(cosine, tl.cos(phase) * amplitude, mask=inside)
    tl.store(cosine + n_frequencies, tl.sin(phase) * amplitude, mask=inside)


def waves(phases: Any, scale: Any, out: Any) -> None:
    """``out = scale * [cos(phases) | sin(phases)]`` for contiguous tensors on one device."""
    import torch

    total = phases.numel()
    if total:
        with torch.cuda.device(phases.device):
            _waves[(triton.cdiv(total, _BLOCK),)](
                phases, scale, out, phases.shape[1], total, BLOCK=_BLOCK
            )
