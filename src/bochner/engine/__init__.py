"""The engine: a few operations, as fast as the hardware allows, wherever the rows are."""

from bochner.engine.operations import (
    features,
    fourier_sums,
    grouped_waves,
    kernel_rows,
    potential_and_gradient,
)

__all__ = [
    "features",
    "fourier_sums",
    "grouped_waves",
    "kernel_rows",
    "potential_and_gradient",
]
