"""Kernels that are learned: fast feature maps for scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

# Where they are, in this order. They are imported when they are used: who needs one of them does
# not wait for all.
_MODULES = dict(
    zip(
        __all__,
        (
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
        ),
        strict=True,
    )
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        globals()[name] = getattr(import_module(_MODULES[name]), name)
        return globals()[name]
    if not name.startswith("_"):
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
