"""Data to try the feature maps on, and a user's own files."""

from typing import TYPE_CHECKING

from bochner.lazy import lazy_names

if TYPE_CHECKING:
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

# Names defined in modules other than `local`.
_MODULES = {
    "bundled": ("BUNDLED", "Dataset", "load_bundled"),
    "tables": ("Table", "TableError", "read_table"),
    "toys": ("checkerboard_sphere", "windmill"),
}
_ELSEWHERE = {name: module for module, names in _MODULES.items() for name in names}
__getattr__, __dir__ = lazy_names(
    globals(), {name: f"bochner.data.{_ELSEWHERE.get(name, 'local')}" for name in __all__}
)
