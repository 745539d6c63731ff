"""Layers of a convolutional kernel network, and the named architectures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

from bochner.images.optimized import OptimizedMap

APPROXIMATIONS = ("mercer", "fourier", "nystroem", "optimized")


@dataclass(frozen=True)
class PatchLayer:
    r"""A layer that compares patches by a Gaussian kernel of their directions.

    .. math::

        k(p, p') = |p|\, |p'|\, e^{-|u - u'|^2 / (2 \sigma^2)}, \qquad u = p / |p|,

    approximated by `maps` features, then pooled with Gaussian weights.

    Parameters
    ----------
    patch : int
        Side of the square patches.
    maps : int or None
        Number of features of a patch. None means as many as the transformer given as
        `approximation` has.
    stride : int
        Distance between neighbouring centres of the pooling.
    approximation : None, str, :class:`OptimizedMap` or transformer, default=None
        Approximation of the kernel, see :class:`ConvolutionalKernelNetwork`. None means that of
        the network.
    quantile : None, float in [0, 1] or "own", default=None
        Quantile of :math:`|u - u'|^2` over pairs of patches that is taken as :math:`\sigma^2`.
        None means that of the network. With ``"own"`` the transformer given as `approximation`
        keeps its own bandwidth.
    center : bool or None, default=None
        Whether to subtract the mean of a patch first, in every channel separately. None means in
        the first layer only, if the patch is larger than a pixel.
    width : float or None, default=None
        Width :math:`\beta` of the pooling weights :math:`e^{-|z - c|^2 / \beta^2}`. None means
        the stride.
    radius : int or None, default=None
        Largest distance along every axis from a centre to the positions it pools. None means the
        stride.

    Examples
    --------
    >>> from bochner.images.layers import PatchLayer
    >>> PatchLayer(patch=5, maps=50, stride=2).approximation is None
    True
    """

    patch: int
    maps: int | None
    stride: int = 1
    approximation: Any = None
    quantile: float | Literal["own"] | None = None
    center: bool | None = None
    width: float | None = None
    radius: int | None = None

    def __post_init__(self) -> None:
        _check_whole("patch", self.patch, 1)
        _check_whole("stride", self.stride, 1)
        if self.maps is not None:
            _check_whole("maps", self.maps, 1)
        if self.radius is not None:
            _check_whole("radius", self.radius, 0)
        _check_width(self.width)
        if self.center not in (None, True, False):
            raise ValueError(f"center must be True, False or None, got {self.center!r}.")
        if self.quantile != "own":
            check_quantile(self.quantile)
        if self.approximation is not None:
            check_approximation(self.approximation)
        own = hasattr(self.approximation, "fit")
        for name, value, meaning in (
            ("maps", self.maps, None),
            ("quantile", self.quantile, "own"),
        ):
            if value == meaning and not own:
                raise ValueError(
                    f"{name}={value!r} leaves {name} to a transformer, got "
                    f"approximation={self.approximation!r}: give {name} as a number, or a "
                    "transformer as approximation."
                )


@dataclass(frozen=True)
class GradientLayer:
    r"""A layer that compares the gradients of images by their orientation (a gradient map).

    With `maps` orientations :math:`w_l` equally spaced on the circle and :math:`\sigma^2 = |w_1
    - w_2|^2`, a gradient of norm `r` and direction `u` has the features :math:`r \sqrt{\eta}
    e^{-|u - w_l|^2 / \sigma^2}`, where :math:`\eta` is such that the mean over all directions of
    the sum of their squares is 1 for `r` = 1. Nothing is learned. Every channel of the image has
    its own features.

    Parameters
    ----------
    maps : int, default=12
        Number of orientations, at least 3.
    stride : int, default=2
        Distance between neighbouring centres of the pooling.
    width : float or None, default=None
        See :class:`PatchLayer`.
    radius : int or None, default=None
        See :class:`PatchLayer`.

    Examples
    --------
    >>> from bochner.images.layers import GradientLayer
    >>> GradientLayer()
    GradientLayer(maps=12, stride=2, width=None, radius=None)
    """

    maps: int = 12
    stride: int = 2
    width: float | None = None
    radius: int | None = None

    def __post_init__(self) -> None:
        _check_whole("maps", self.maps, 3)
        _check_whole("stride", self.stride, 1)
        if self.radius is not None:
            _check_whole("radius", self.radius, 0)
        _check_width(self.width)


def check_approximation(approximation: Any) -> None:
    """Raise an error unless `approximation` is a known name, an OptimizedMap or a transformer."""
    if isinstance(approximation, str):
        known = approximation in APPROXIMATIONS
    elif isinstance(approximation, type):
        known = False
    else:
        known = isinstance(approximation, OptimizedMap) or (
            hasattr(approximation, "fit") and hasattr(approximation, "transform")
        )
    if not known:
        raise ValueError(
            f"approximation={approximation!r} must be one of {list(APPROXIMATIONS)}, an "
            "OptimizedMap, or a transformer with fit and transform."
        )


def check_quantile(quantile: Any) -> None:
    """Raise an error unless `quantile` is None or a number from 0 to 1."""
    if quantile is not None and (not isinstance(quantile, Real) or not 0 <= float(quantile) <= 1):
        raise ValueError(f"quantile={quantile!r} must be a number from 0 to 1.")


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def _check_width(value: Any) -> None:
    if value is not None and (not isinstance(value, Real) or not float(value) > 0):
        raise ValueError(f"width must be a positive number or None, got {value!r}.")


Layer = PatchLayer | GradientLayer

# The networks behind the published results, as far as they are known: the last strides of the
# MNIST ones are ours.
ARCHITECTURES: dict[str, tuple[Layer, ...]] = {
    "mnist-gm": (GradientLayer(12, 2), PatchLayer(3, 400, 3)),
    "mnist-pm": (PatchLayer(5, 50, 2), PatchLayer(2, 200, 3)),
    "mnist-pm1": (PatchLayer(5, 200, 4),),
    "cifar-gm": (GradientLayer(12, 2), PatchLayer(2, 800, 4)),
    "cifar-pm": (PatchLayer(2, 100, 2), PatchLayer(2, 800, 4)),
}


def resolve_layers(layers: str | Sequence[Layer]) -> tuple[Layer, ...]:
    """Return the layers of a named architecture, or the given layers after checking them.

    Examples
    --------
    >>> from bochner.images.layers import resolve_layers
    >>> [layer.maps for layer in resolve_layers("cifar-pm")]
    [100, 800]
    """
    if isinstance(layers, str):
        if layers not in ARCHITECTURES:
            raise ValueError(
                f"layers={layers!r} is not the name of an architecture: use one of "
                f"{sorted(ARCHITECTURES)}, or a list of layers."
            )
        return ARCHITECTURES[layers]
    resolved = tuple(layers)
    if not resolved:
        raise ValueError("layers is empty: a network needs at least one layer.")
    for index, layer in enumerate(resolved):
        if not isinstance(layer, (PatchLayer, GradientLayer)):
            raise ValueError(
                f"layers[{index}] must be a PatchLayer or a GradientLayer, got {layer!r}."
            )
        if index and isinstance(layer, GradientLayer):
            raise ValueError(
                f"layers[{index}] is a GradientLayer, which looks at images: it can only be the "
                "first layer."
            )
    return resolved
