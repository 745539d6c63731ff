"""Data to try the feature maps on, and a user's own files."""

from bochner.data.bundled import BUNDLED, Dataset, load_bundled
from bochner.data.local import (
    LOCAL,
    PAIRS,
    REGRESSION,
    LocalDataset,
    data_folder,
    load_cifar10_hog,
    load_images,
    load_local,
    load_mnist,
    load_pair,
    load_regression,
    load_yearmsd,
)
from bochner.data.tables import Table, TableError, read_table
from bochner.data.toys import checkerboard_sphere, windmill

__all__ = [
    "BUNDLED",
    "LOCAL",
    "PAIRS",
    "REGRESSION",
    "Dataset",
    "LocalDataset",
    "Table",
    "TableError",
    "checkerboard_sphere",
    "data_folder",
    "load_bundled",
    "load_cifar10_hog",
    "load_images",
    "load_local",
    "load_mnist",
    "load_pair",
    "load_regression",
    "load_yearmsd",
    "read_table",
    "windmill",
]
