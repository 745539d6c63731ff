"""skops, without the search through all of scikit-learn that it begins with.

skops lists what it trusts by importing every module of scikit-learn, and with them its adapters of
other libraries: most of the start of a program that only reads a model. A file of ours holds few
types; to read it a copy of skops is enough that trusts no others. What such a copy does not trust
is put to the whole of skops, so that nothing is trusted that it would not trust, and nothing that
it trusts is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

_ARRAY_LIBRARIES = ("cupy", "dask", "jax", "torch")
_importing = RLock()


@contextmanager
def _without_libraries_of_arrays() -> Iterator[None]:
    """Libraries that are not imported yet are not there meanwhile."""
    absent = [name for name in _ARRAY_LIBRARIES if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def whole_skops() -> Any:
    """``skops.io``; a ModuleNotFoundError where it is not installed."""
    with _importing, _without_libraries_of_arrays():
        import skops.io
    return skops.io


class _FewTypes(ModuleType):
    """In the place of ``skops.io._trusted_types``: short lists, all parts of its own."""

    SKLEARN_ESTIMATOR_TYPE_NAMES: ClassVar = [  # what our own preparation of columns is made of
        "sklearn.compose._column_transformer.ColumnTransformer",
        "sklearn.feature_selection._variance_threshold.VarianceThreshold",
        "sklearn.impute._base.MissingIndicator",
        "sklearn.impute._base.SimpleImputer",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.MaxAbsScaler",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._encoders.OneHotEncoder",
    ]
    PRIMITIVE_TYPE_NAMES: ClassVar = [f"builtins.{t}" for t in ("int", "float", "str", "bool")]
    NUMPY_DTYPE_TYPE_NAMES: ClassVar = [f"numpy.{t.__name__}" for t in {*np.sctypeDict.values()}]

    def __getattr__(self, name: str) -> list[str]:
        if name.endswith("_NAMES"):
            return []
        raise AttributeError(name)


@cache
def small_skops() -> Any:
    """A private copy of ``skops.io`` that trusts few types by itself.

    The whole one where it is imported already, or where it is made of other modules.
    """
    with _importing:
        if "skops.io" in sys.modules:
            return whole_skops()
        sys.modules["skops.io._trusted_types"] = _FewTypes("skops.io._trusted_types")
        try:
            with _without_libraries_of_arrays():
                import skops.io
        except ImportError:
            pass
        else:
            return skops.io
        finally:  # another importer gets the whole of it
            for name in [name for name in sys.modules if name.partition(".")[0] == "skops"]:
                del sys.modules[name]
        return whole_skops()
