"""What a model file may hold: the types that are trusted, and arrays that fit each other.

A file names the types of the objects in it. Only types of this list, and the estimators of
scikit-learn that skops trusts itself, are ever imported. That is not all: compiled loops of
:mod:`bochner.mercer` follow indices without looking, so that a trusted type with forged contents
could read and write foreign memory. :func:`check_contents` looks at them once, after loading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from bochner.kernels import KERNELS
from bochner.mercer.features import MercerFeatures
from bochner.mercer.marginals import Marginal
from bochner.mercer.plan import GaussianPlan
from bochner.mercer.products import Products
from bochner.mercer.separable import SeparablePlan
from bochner.mercer.union import UnionPlan
from bochner.models.methods import METHODS

# Names, not classes: nothing is imported before it is found in a file. What the maps hold is
# declared by their entries in the registry of methods.
_COMMON = frozenset(
    {
        "bochner.linear.heads.RidgeClassifier",
        "bochner.linear.heads.RidgeRegressor",
        "bochner.linear.heads.SquaredHingeClassifier",
        "bochner.models.preparation.CategoryNames",
        "bochner.models.preparation.DaysSinceEpoch",
        "bochner.models.preparation.PixelScaler",
        "bochner.targets.Target",
        "numpy.dtype",  # of an array that skops reads itself
        "scipy.sparse._csr.csr_array",  # their indices are looked at below
        "scipy.sparse._csr.csr_matrix",
    }
)

_HIGHEST = 2**20  # order of a Hermite function; the loops count in 32 bits


def trusted_types() -> frozenset[str]:
    """Full names of the types that a model file may hold: what is common, kernels, and maps.

    Examples
    --------
    >>> from bochner.models.trust import trusted_types
    >>> "bochner.kernels.Gaussian" in trusted_types(), "os.system" in trusted_types()
    (True, False)
    """
    kernels = {f"{kind.__module__}.{kind.__qualname__}" for kind in KERNELS.values()}
    return _COMMON | kernels | {name for m in METHODS.values() for name in m.saved_types}


def foreign_types(found: Iterable[str]) -> list[str]:
    """Those of the types that skops does not trust that we do not trust either.

    Examples
    --------
    >>> from bochner.models.trust import foreign_types
    >>> foreign_types(["os.system", "bochner.kernels.Gaussian"])
    ['os.system']
    """
    return sorted(set(found) - trusted_types())


def check_contents(thing: Any) -> None:
    """An error unless all indices within `thing` point to something.

    Parameters
    ----------
    thing : object
        Anything; what is in it is looked at too.

    Raises
    ------
    ValueError
        Where a plan of features or a sparse matrix points outside of its arrays, or an object of
        ours holds something under the name of one of its methods.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.products import select_products
    >>> from bochner.models.trust import check_contents
    >>> products = select_products([[1.0, 2.0]], 0.0, 3)
    >>> check_contents({"of a model": [products]})
    >>> products.parents[2] = 7
    >>> check_contents({"of a model": [products]})
    Traceback (most recent call last):
    ...
    ValueError: the contents of Products do not fit each other.
    """
    for part in _parts(thing):
        if sparse.issparse(part) and hasattr(part, "check_format"):
            part.check_format(full_check=True)
        elif _is_ours(part) and (_hides_a_method(part) or not _fits(part)):
            raise ValueError(f"the contents of {type(part).__name__} do not fit each other.")


def _parts(thing: Any) -> Iterator[Any]:
    """Everything that can be reached, each once."""
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
    check = _CHECKS.get(type(part))
    try:
        return check is None or check(part)
    except (AttributeError, TypeError, ValueError, IndexError):  # not even of the right kinds
        return False


def _is_array(values: Any, kind: str, *shape: int) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == kind and values.shape == shape


def _products_fit(products: Products) -> bool:
    if not isinstance(products.parents, np.ndarray) or products.parents.ndim != 1:
        return False
    n = len(products.parents)
    arrays = (products.parents, products.axes, products.orders)
    if not all(_is_array(array, "i", n) for array in arrays):
        return False
    if not _is_array(products.log_values, "f", n):
        return False
    if n == 0:
        return True
    parents, axes, orders = (array[1:] for array in arrays)
    first = products.parents[0] == -1 and products.axes[0] == -1 and products.orders[0] == 0
    return bool(
        first
        and np.all((parents >= 0) & (parents <= np.arange(n - 1)))
        and np.all(axes >= 0)
        and np.all((orders >= 1) & (orders <= _HIGHEST))
    )


def _axes_fit(products: Any, n_axes: int) -> bool:
    return isinstance(products, Products) and bool(np.all(products.axes < n_axes))


def _gaussian_fits(plan: GaussianPlan) -> bool:
    rotation = plan.rotation
    if not isinstance(rotation, np.ndarray) or rotation.ndim != 2:
        return False
    d, m = rotation.shape
    numbers = _is_array(plan.mean, "f", d) and _is_array(plan.ratios, "f", m)
    if not (rotation.dtype.kind == "f" and numbers and m <= d and _axes_fit(plan.products, m)):
        return False
    columns = plan.columns
    if columns is None:
        return True
    if not isinstance(columns, np.ndarray) or not _is_array(columns, "i", columns.size):
        return False
    return bool(np.all((columns >= 0) & (columns < len(plan.products))))


def _separable_fits(plan: SeparablePlan) -> bool:
    if not _axes_fit(plan.products, len(plan.marginals)):
        return False
    n_orders = plan.products.n_orders(len(plan.marginals))
    return all(
        isinstance(marginal, Marginal)
        and isinstance(marginal.nodes, np.ndarray)
        and isinstance(marginal.coefficients, np.ndarray)
        and marginal.nodes.ndim == 1
        and marginal.coefficients.ndim == 2
        and len(marginal.coefficients) == len(marginal.nodes)
        and marginal.coefficients.shape[1] >= count
        for marginal, count in zip(plan.marginals, n_orders, strict=True)
    )


def _union_fits(plan: UnionPlan) -> bool:
    if not all(isinstance(part, GaussianPlan) for part in plan.plans):
        return False
    width = sum(part.width for part in plan.plans)
    return isinstance(plan.join, np.ndarray) and plan.join.shape[:1] == (width,)


def _mercer_fits(mercer: MercerFeatures) -> bool:
    plan = vars(mercer).get("_plan")
    if plan is None:  # not fitted
        return True
    # the loops write a constant product first, so that there has to be room for it
    return isinstance(plan, (GaussianPlan, SeparablePlan, UnionPlan)) and plan.width >= 1


_CHECKS: dict[type, Callable[[Any], bool]] = {
    Products: _products_fit,
    GaussianPlan: _gaussian_fits,
    SeparablePlan: _separable_fits,
    UnionPlan: _union_fits,
    MercerFeatures: _mercer_fits,
}
