"""Data to try the feature maps on."""

from bochner.datasets.bundled import BUNDLED, Dataset, load_bundled
from bochner.datasets.local import LOCAL, LocalDataset, data_folder, load_local

__all__ = [
    "BUNDLED",
    "LOCAL",
    "Dataset",
    "LocalDataset",
    "data_folder",
    "load_bundled",
    "load_local",
]
