"""Data to try the feature maps on."""

from bochner.datasets.bundled import BUNDLED, Dataset, load_bundled

__all__ = ["BUNDLED", "Dataset", "load_bundled"]
