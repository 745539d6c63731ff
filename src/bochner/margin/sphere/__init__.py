"""Kernels on the unit sphere: harmonics, zonal functions, and the map that learns from them."""
