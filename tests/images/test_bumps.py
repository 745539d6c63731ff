"""Bumps are what their formula says, at any width."""

import numpy as np
import pytest

from bochner.images.bumps import gaussian_bumps
from tests.places import PLACES, on_host


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
def test_narrow_bumps_do_not_exceed_one(place, rng):
    """Rounding of distances, times a gamma of 1e10, was the exponent of an overflow."""
    U = rng.normal(size=(50, 4)).astype(np.float32)
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    values = on_host(gaussian_bumps(PLACES[place](U), U, 1e10))
    assert np.isfinite(values).all()
    assert values.max() <= 1
