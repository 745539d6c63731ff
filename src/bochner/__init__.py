"""Kernels that are learned: fast feature maps for scikit-learn."""

from typing import TYPE_CHECKING

from bochner.lazy import lazy_names

if TYPE_CHECKING:
    from bochner.fourier.features import FourierFeatures
    from bochner.fourier.landmarks import LandmarkSimilarities
    from bochner.fourier.posterior_features import PosteriorFourierFeatures
    from bochner.images.network import ConvolutionalKernelNetwork
    from bochner.margin.features import MarginFourierFeatures
    from bochner.margin.sphere.features import MarginHarmonicFeatures
    from bochner.mercer.features import MercerFeatures
    from bochner.metric.gradient_metric import GradientMetric
    from bochner.metric.relevance import RelevanceMetric
    from bochner.models.classifier import KernelClassifier
    from bochner.models.regressor import KernelRegressor
    from bochner.nystroem.features import NystroemFeatures

__version__ = "0.1.0"

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
    "RelevanceMetric",
]

# The modules that define them, in the same order.
_MODULES = (
    "bochner.images.network",
    "bochner.fourier.features",
    "bochner.metric.gradient_metric",
    "bochner.models.classifier",
    "bochner.models.regressor",
    "bochner.fourier.landmarks",
    "bochner.margin.features",
    "bochner.margin.sphere.features",
    "bochner.mercer.features",
    "bochner.nystroem.features",
    "bochner.fourier.posterior_features",
    "bochner.metric.relevance",
)
__getattr__, __dir__ = lazy_names(globals(), dict(zip(__all__, _MODULES, strict=True)))
