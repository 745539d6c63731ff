"""Kernels that are learned: fast feature maps for scikit-learn."""

from bochner.images.network import ConvolutionalKernelNetwork
from bochner.mercer.features import MercerFeatures
from bochner.spectral.features import FourierFeatures
from bochner.spectral.landmarks import LandmarkSimilarities
from bochner.spectral.margin_features import MarginFourierFeatures
from bochner.spectral.posterior_features import PosteriorFourierFeatures
from bochner.spherical.features import MarginHarmonicFeatures

__version__ = "0.1.0.dev0"

__all__ = [
    "ConvolutionalKernelNetwork",
    "FourierFeatures",
    "LandmarkSimilarities",
    "MarginFourierFeatures",
    "MarginHarmonicFeatures",
    "MercerFeatures",
    "PosteriorFourierFeatures",
]
