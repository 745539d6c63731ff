"""The engine: a few operations, as fast as the hardware allows, wherever the rows are."""

from bochner.engine.operations import (
    features,
    fourier_sums,
    gradient_outer_product,
    grouped_waves,
    kernel_rows,
    mixed_waves,
    potential_and_gradient,
)

__all__ = [
    "features",
    "fourier_sums",
    "gradient_outer_product",
    "grouped_waves",
    "kernel_rows",
    "mixed_waves",
    "potential_and_gradient",
]
