"""Checks of what a model file may hold: trusted types, and arrays that fit each other.

A file names the types of the objects in it. Only types of this list, and the estimators of
scikit-learn that skops trusts itself, are ever imported. This is not sufficient: compiled loops
follow indices without checking them, so that a trusted type with forged contents could read and
write foreign memory. A type whose arrays have to fit each other has a method ``__bochner_check__``
that says whether they do; :func:`check_contents` calls all of them once, after loading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from bochner.kernels import KERNELS
from bochner.models.methods import METHODS

# Names, not classes: nothing is imported before it is found in a file. The types that maps hold
# are declared by their entries in the registry of methods.
_COMMON = frozenset(
    {
        "bochner.linear.exact.GaussianKernelRidge",
        "bochner.linear.heads.RidgeClassifier",
        "bochner.linear.heads.RidgeRegressor",
        "bochner.linear.heads.SquaredHingeClassifier",
        "bochner.linear.normal_equations.NormalEquations",
        "bochner.metric.gradient_metric.GradientMetric",
        "bochner.metric.relevance.RelevanceMetric",
        "bochner.models.averaging.JoinedMaps",
        "bochner.models.preparation.CategoryNames",
        "bochner.models.preparation.DaysSinceEpoch",
        "bochner.models.preparation.PixelScaler",
        "bochner.models.scaling.ColumnScaler",
        "bochner.targets.Target",
        "numpy.dtype",  # of an array that skops reads itself
        "scipy.sparse._csr.csr_array",  # their indices are checked below
        "scipy.sparse._csr.csr_matrix",
    }
)


def trusted_types() -> frozenset[str]:
    """Return full names of the types that a model file may hold: common ones, kernels, maps."""
    kernels = {f"{kind.__module__}.{kind.__qualname__}" for kind in KERNELS.values()}
    return _COMMON | kernels | {name for m in METHODS.values() for name in m.saved_types}


def foreign_types(found: Iterable[str]) -> list[str]:
    """Return the types that neither skops nor this package trusts."""
    return sorted(set(found) - trusted_types())


def check_contents(thing: Any) -> None:
    """Raise a ValueError unless all indices within `thing` are valid.

    It is raised if a plan of features or a sparse matrix points outside of its arrays, or if an
    object of this package holds something under the name of one of its methods.
    """
    for part in _parts(thing):
        if sparse.issparse(part) and hasattr(part, "check_format"):
            part.check_format(full_check=True)
        elif _is_ours(part) and (_hides_a_method(part) or not _fits(part)):
            raise ValueError(f"the contents of {type(part).__name__} do not fit each other.")


def _parts(thing: Any) -> Iterator[Any]:
    """Yield every object that can be reached from `thing`, each once."""
    seen: set[int] = set()
    stack = [thing]
    while stack:
        part = stack.pop()
        if part is None or isinstance(part, (str, bytes, int, float, complex, type)):
            continue
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            stack.extend(part.values())
        elif isinstance(part, (list, tuple, set, frozenset)):
            stack.extend(part)
        elif isinstance(part, np.ndarray):
            if part.dtype == object:
                stack.extend(part.ravel().tolist())
        else:
            stack.extend(getattr(part, "__dict__", {}).values())


def _is_ours(part: Any) -> bool:
    return type(part).__module__.startswith("bochner.")


def _hides_a_method(part: Any) -> bool:
    """Whether an attribute would be called in place of a method of the class."""
    return any(callable(getattr(type(part), name, None)) for name in vars(part))


def _fits(part: Any) -> bool:
    check = getattr(type(part), "__bochner_check__", None)
    try:
        return check is None or check(part)
    except (AttributeError, TypeError, ValueError, IndexError):  # not even of the right kinds
        return False
