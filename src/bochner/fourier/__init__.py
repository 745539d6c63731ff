"""Kernels as measures over frequencies, and the maps that draw or learn them."""
