"""The kernels that feature maps accept by name, as objects."""

from bochner.spectral.kernels import Cauchy, Gaussian, Laplacian, Matern, SpectralKernel

__all__ = ["Cauchy", "Gaussian", "Laplacian", "Matern", "SpectralKernel"]
