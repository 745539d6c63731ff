"""Densities beside the one gaussian: fitted to rows on the host, and evaluated by their plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.arrays import cast, namespace, wide_dtype
from bochner.engine.operations import is_dask, is_device
from bochner.kernels import Cauchy, Gaussian, Laplacian, Matern, SpectralKernel
from bochner.mercer.evaluate import gaussian_features, residuals
from bochner.mercer.marginals import ProductMatern
from bochner.mercer.mixtures import fit_mixture
from bochner.mercer.plan import GaussianPlan
from bochner.mercer.separable import SeparablePlan, fit_separable, separable_features
from bochner.mercer.union import UnionPlan, plan_union, union_features

Density = Literal["gaussian", "mixture", "weighted-mixture", "marginals"]
Plan = GaussianPlan | UnionPlan | SeparablePlan

DENSITIES: tuple[Density, ...] = ("gaussian", "mixture", "weighted-mixture", "marginals")

_CHUNK = 2**26  # bytes of features that are reduced at once


@dataclass(frozen=True, eq=False)
class FittedDensity:
    """A plan, and what the estimator shows of it by the names of its attributes."""

    plan: Plan
    attributes: dict[str, Any]


def fit_density(
    density: Density,
    rows: NDArray[Any],
    kernel: Any,
    count: int,
    n_mixture: int,
    random_state: RandomState,
) -> FittedDensity:
    """Fit one of the densities that look at rows, not at moments.

    Parameters
    ----------
    density : {"mixture", "weighted-mixture", "marginals"}
    rows : array of shape (n, d)
        Dense.
    kernel : kernel object
        With its `gamma`; see :func:`kernel_for`.
    count : int
        Number of features; there may be fewer.
    n_mixture : int
        Components of a mixture.
    random_state : RandomState
        Where k-means starts.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.kernels import Laplacian
    >>> from bochner.mercer.densities import fit_density
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> fitted = fit_density("marginals", X, Laplacian(gamma=0.1), 5, 1, np.random.RandomState(0))
    >>> fitted.plan.width
    5
    """
    if density == "marginals":
        separable = fit_separable(rows, kernel, count)
        return FittedDensity(separable, {"marginals_": list(separable.marginals)})
    mixture = fit_mixture(rows, n_mixture, random_state)
    kind: Literal["orthogonal", "weighted"]
    kind = "orthogonal" if density == "mixture" else "weighted"
    plan = plan_union(mixture, kernel.width, count, kind)
    attributes = {
        "mean_": mixture.center,
        "rotation_": mixture.rotation,
        "variances_": mixture.variances,
        "mixture_": mixture,
    }
    return FittedDensity(plan, attributes)


def kernel_for(density: Density, kernel: str | SpectralKernel) -> str | SpectralKernel:
    """The kernel that a density can be used with, or an error.

    With ``"marginals"`` a Matern kernel is the product of one-dimensional ones.

    Examples
    --------
    >>> from bochner.kernels import Matern
    >>> from bochner.mercer.densities import kernel_for
    >>> kernel_for("marginals", Matern(nu=2.5))
    ProductMatern(gamma=None, nu=2.5)
    """
    if density == "marginals":
        if kernel == "matern":
            return ProductMatern()
        if isinstance(kernel, Matern):
            return ProductMatern(nu=kernel.nu, gamma=kernel.gamma)
        if isinstance(kernel, str | Gaussian | Laplacian | Cauchy | ProductMatern):
            return kernel
        raise ValueError(
            f"kernel={kernel!r} is not known along one axis: density='marginals' takes the "
            "gaussian, laplacian, cauchy and matern kernels."
        )
    if kernel in ("gaussian", "rbf") or isinstance(kernel, Gaussian):
        return kernel
    raise ValueError(
        f"kernel={kernel!r} has no eigenfunctions in closed form under density={density!r}: use "
        "density='marginals', or kernel='gaussian'."
    )


def plan_features(X: Any, plan: Plan, **options: Any) -> Any:
    """The features of rows of any kind; options as `gaussian_features`."""
    if isinstance(plan, UnionPlan):
        return union_features(X, plan, **options)
    if isinstance(plan, SeparablePlan):
        return separable_features(X, plan, **options)
    return gaussian_features(X, plan, **options)


def plan_residuals(X: Any, plan: Plan, *, n_threads: int | None, memory_budget: int | None) -> Any:
    """``1 - |phi(x)|^2`` of every row, in float64 where there is float64.

    What rounding takes below zero counts as zero: some 1e-15 for one gaussian, up to 1e-7 where
    whitening enlarges it.
    """
    options = {"n_threads": n_threads, "memory_budget": memory_budget}
    if isinstance(plan, GaussianPlan):
        return residuals(X, plan, **options)
    if is_dask(X):
        return _residuals_on_cluster(X, plan, memory_budget)
    there = is_device(X)
    xp: Any = namespace(X) if there else np
    height = max(16, (memory_budget or _CHUNK) // (8 * plan.width))
    parts = []
    for first in range(0, X.shape[0], height):
        rows = slice(first, min(first + height, X.shape[0]))
        block = cast(X[rows, :], wide_dtype(X)) if there else X[rows].astype(np.float64)
        phi = plan_features(block, plan, **options)
        left = 1.0 - xp.sum(phi * phi, axis=1)
        parts.append(xp.where(left > 0, left, xp.zeros_like(left)))
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)


def _residuals_on_cluster(X: Any, plan: Plan, memory_budget: int | None) -> Any:
    import dask

    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    return X.map_blocks(
        _block_residuals,
        plan=dask.delayed(plan, pure=True),  # once in the graph, not once a block
        memory_budget=memory_budget,
        drop_axis=1,
        dtype=np.float64,
        meta=np.empty(0),
    )


def _block_residuals(block: Any, plan: Plan, memory_budget: int | None) -> Any:
    return plan_residuals(block, plan, n_threads=1, memory_budget=memory_budget)
