"""Densities other than one gaussian: fitted to rows on the host, and evaluated by their plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.kernels import KERNELS, SpectralKernel, kernel_object
from bochner.mercer.mixtures import fit_mixture
from bochner.mercer.plan import Plan
from bochner.mercer.separable import fit_separable
from bochner.mercer.union import plan_union

Density = Literal["gaussian", "mixture", "weighted-mixture", "marginals"]

DENSITIES: tuple[Density, ...] = ("gaussian", "mixture", "weighted-mixture", "marginals")


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


def kernel_for(density: Density, kernel: str | SpectralKernel) -> SpectralKernel:
    """The kernel that a density can be used with, or an error.

    With ``"marginals"`` a Matern kernel is the product of one-dimensional ones.

    Examples
    --------
    >>> from bochner.kernels import Matern
    >>> from bochner.mercer.densities import kernel_for
    >>> kernel_for("marginals", Matern(nu=2.5))
    ProductMatern(gamma=None, nu=2.5)
    """
    kernel = kernel_object(kernel)
    if density == "marginals":
        kernel = kernel.over_axes() if hasattr(kernel, "over_axes") else kernel
        if getattr(kernel, "product", False):
            return kernel
        raise ValueError(
            f"kernel={kernel!r} is not known along one axis: density='marginals' takes kernels "
            f"that are products over the columns, {_names('product')} among those with a name."
        )
    if getattr(kernel, "gaussian", False):
        return kernel
    raise ValueError(
        f"kernel={kernel!r} has no eigenfunctions in closed form under density={density!r}: use "
        "density='marginals', or kernel='gaussian'."
    )


def _names(capability: str) -> str:
    able = (name for name, kind in KERNELS.items() if getattr(kind().over_axes(), capability))
    return ", ".join(sorted(able))
