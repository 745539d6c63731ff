"""The projection onto the dual set in a kernel, against that of array operations."""

import numpy as np
import pytest

from bochner.engine import places, tiles
from bochner.linear import project_onto_dual_set
from tests.engine.tiles.place import DEVICE, INTERPRETED, needs_kernels, torch

pytestmark = needs_kernels


@pytest.mark.parametrize("C", [0.3, 2.0, float("inf")])
@pytest.mark.parametrize(("n", "k"), [(5000, 1), (60, 3), (2, 1), (1, 1)])
def test_it_is_that_of_array_operations(n, k, C, monkeypatch):
    if INTERPRETED:
        monkeypatch.setattr(tiles, "runs_triton", places.is_torch)
    rng = np.random.default_rng(n)
    alpha = rng.normal(0.2, 1, size=(n, k)).astype("f4")
    y = np.where(rng.random((n, k)) < 0.3, 1, -1)
    alpha[::3] = np.round(alpha[::3])
    there = torch.from_numpy(alpha).to(DEVICE), torch.from_numpy(y).to(DEVICE)
    found = project_onto_dual_set(*there, C)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.cpu(), project_onto_dual_set(alpha, y, C), atol=1e-6)
