"""The engine: three operations, as fast as the hardware allows, wherever the rows are."""

from bochner.engine.operations import features, fourier_sums, potential_and_gradient

__all__ = ["features", "fourier_sums", "potential_and_gradient"]
