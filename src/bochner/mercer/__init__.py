"""Mercer features: eigenfunctions of the kernel under the density of the data."""
