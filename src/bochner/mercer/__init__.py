"""Mercer features: the eigenfunctions of the kernel under the data's own density."""
