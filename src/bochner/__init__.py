"""Kernels that are learned: fast feature maps for scikit-learn."""

from bochner.fourier.features import FourierFeatures
from bochner.fourier.landmarks import LandmarkSimilarities
from bochner.fourier.posterior_features import PosteriorFourierFeatures
from bochner.images.network import ConvolutionalKernelNetwork
from bochner.margin.features import MarginFourierFeatures
from bochner.margin.sphere.features import MarginHarmonicFeatures
from bochner.mercer.features import MercerFeatures
from bochner.metric.gradient_metric import GradientMetric
from bochner.models.classifier import KernelClassifier
from bochner.models.regressor import KernelRegressor
from bochner.nystroem.features import NystroemFeatures

__version__ = "0.1.0.dev0"

__all__ = [
    "ConvolutionalKernelNetwork",
    "FourierFeatures",
    "GradientMetric",
    "KernelClassifier",
    "KernelRegressor",
    "LandmarkSimilarities",
    "MarginFourierFeatures",
    "MarginHarmonicFeatures",
    "MercerFeatures",
    "NystroemFeatures",
    "PosteriorFourierFeatures",
]
