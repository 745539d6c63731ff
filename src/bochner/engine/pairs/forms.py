"""Forms of kernels that the engine has a formula for: of one distance, or over the axes.

The engine knows no kernel by name. It looks for the attributes that :mod:`bochner.kernels`
defines: ``isotropic`` or ``product``, and a ``profile`` with `multiple`, `inner` and `outer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_MOST = 1e30  # for rows of size 1e-15, whose squares float32 can still hold


@dataclass(frozen=True)
class Form:
    r"""A kernel in closed form, as a function of distances `t`.

    A radial form is :math:`(1 + a t + b t^2) e^{c t + e t^2}` of the Euclidean distance. Any other
    form is the product over the axes of :math:`e^{c t + e t^2} / (1 + a t + b t^2)`.
    """

    radial: bool
    inner: tuple[float, float]  # a, b
    outer: tuple[float, float]  # c, e: zero or less

    @property
    def is_of_one_distance(self) -> bool:
        """Whether the form is a function of one distance or one sum of absolute differences."""
        return self.radial or (not any(self.inner) and self.outer[1] == 0)

    @property
    def slope(self) -> tuple[float, float, float, float]:
        r"""Coefficients `p, q, r, s` of the derivative of a radial form.

        The derivative with respect to the squared distance is
        :math:`(p / t + q + r t + s t^2) e^{c t + e t^2}`."""
        (a, b), (c, e) = self.inner, self.outer
        return (a + c) / 2, b + a * c / 2 + e, b * c / 2 + a * e, b * e


def fits_in_single(kernel: Any) -> bool:
    """Whether float32 can hold the constants of a kernel and squared distances of its scale."""
    form = form_of(kernel)
    return form is None or max(map(abs, (*form.inner, *form.outer))) < _MOST


def form_of(kernel: Any) -> Form | None:
    """Return the form of a kernel; None if it can only be called."""
    profile = getattr(kernel, "profile", None)
    if profile is None or not (profile.multiple == 0 or any(profile.inner)):
        return None
    inner = tuple(profile.inner) if profile.multiple else (0.0, 0.0)
    outer = (-profile.outer[0], -profile.outer[1])
    if getattr(kernel, "isotropic", False) and profile.multiple in (0, 1):
        return Form(True, inner, outer)
    if getattr(kernel, "product", False) and profile.multiple in (0, -1):
        return Form(False, inner, outer)
    return None
