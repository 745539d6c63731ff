"""Densities other than one Gaussian, fitted to rows on the host and evaluated by their plans."""

from __future__ import annotations

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


def fit_density(
    density: Density,
    rows: NDArray[Any],
    kernel: Any,
    count: int,
    n_mixture: int,
    random_state: RandomState,
) -> tuple[Plan, dict[str, Any]]:
    """Fit a density that needs rows; return its plan and the attributes of the estimator.

    `rows` are dense, `kernel` is an object with its `gamma` (see :func:`kernel_for`), and
    `random_state` decides where k-means starts. There may be fewer features than `count`.
    """
    if density == "marginals":
        separable = fit_separable(rows, kernel, count)
        return separable, {"marginals_": list(separable.marginals)}
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
    return plan, attributes


def kernel_for(density: Density, kernel: str | SpectralKernel) -> SpectralKernel:
    """Return the kernel as used with a density; raise an error if they do not go together.

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
