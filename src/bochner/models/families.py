"""Families of feature maps: the kernels, with features that suit them, to choose from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from bochner.engine.pairs.forms import form_of
from bochner.fourier.features import FourierFeatures
from bochner.kernels import Gaussian, Matern, SpectralKernel, StandardKernel, kernel_object
from bochner.models.methods import find_method
from bochner.nystroem.features import NystroemFeatures

_SMOOTH = (0.15, 0.3, 0.6, 1.2, 2.4, 4.8)
_ROUGH = (0.7, 3.0)  # a rough kernel with another penalty is nearly one of another bandwidth


@dataclass(frozen=True)
class Family:
    """A kind of feature map whose bandwidth is to be chosen.

    Attributes
    ----------
    kernel, features : str
        Names of the kernel and of the features.
    make : callable
        Makes an unfitted map from the number of columns, the length scale (None if there is no
        bandwidth), a seed and the task.
    bandwidths : tuple of float
        Multiples of the median distance between rows, from the narrowest to the widest; empty if
        the map has a bandwidth of its own.
    kernel_at : callable or None
        Makes the kernel from the length scale, if the exact kernel method may take the place of
        the map.
    distance : str
        Name of the distance whose median is the unit of the bandwidths.
    has_landmarks : bool
        Whether the map has landmarks, which may be chosen by any rule.
    """

    kernel: str
    features: str
    make: Callable[[int, float | None, int, str], Any]
    bandwidths: tuple[float, ...]
    kernel_at: Callable[[float | None], Any] | None = None
    distance: str = "euclidean"
    has_landmarks: bool = False

    @property
    def by_columns(self) -> bool:
        """Whether the kernel treats columns one by one, so that rotated directions do not suit."""
        return self.distance != "euclidean"

    @property
    def name(self) -> str:
        """The names of kernel and features."""
        return f"{self.kernel} {self.features}".strip()

    @property
    def unit_kernel(self) -> Any:
        """The kernel of unit length, for column weights; None if they have no slopes with it."""
        if self.kernel_at is None or not self.bandwidths:
            return None
        kernel = self.kernel_at(1.0)
        form = form_of(kernel)
        return kernel if form is not None and form.is_of_one_distance else None

    def make_exact(self, length: float | None) -> Any:
        """Return the unfitted map of the exact kernel method: the kernel at all rows."""
        assert self.kernel_at is not None
        return NystroemFeatures(kernel=self.kernel_at(length), landmarks="all", orthogonal=False)


def _of_kernel(kernel: SpectralKernel, name: str, features: Any, exact: bool = False) -> Family:
    def kernel_at(length: float | None) -> Any:
        if length is None or not isinstance(kernel, StandardKernel):
            return kernel
        return kernel.with_gamma(kernel.gamma_for_distance(length))

    def make(width: int, length: float | None, seed: int, task: str) -> Any:
        if features is FourierFeatures:
            width += width % 2  # a cosine and a sine
        return features(n_components=width, kernel=kernel_at(length), random_state=seed)

    bandwidths: tuple[float, ...] = _SMOOTH if isinstance(kernel, Gaussian) else _ROUGH
    if not isinstance(kernel, StandardKernel) or kernel.gamma is not None:
        bandwidths = ()  # it has its own
    distance = getattr(kernel, "metric", "euclidean")
    return Family(
        name,
        features.__name__,
        make,
        bandwidths,
        kernel_at if exact else None,
        distance,
        features is NystroemFeatures,
    )


def choose_families(features: Any = "auto", kernel: Any = "auto") -> list[Family]:
    """Return the families to choose from, the simplest first.

    Parameters
    ----------
    features : str or estimator
        ``"auto"``, a name of :data:`bochner.models.methods.METHODS`, or an unfitted map.
    kernel : str or kernel object
        ``"auto"``, one of the names that ``"auto"`` chooses from, a name of
        :data:`bochner.kernels.KERNELS`, or a kernel.

    Examples
    --------
    >>> from bochner.models.families import choose_families
    >>> [family.name for family in choose_families()]  # doctest: +NORMALIZE_WHITESPACE
    ['gaussian FourierFeatures', 'gaussian NystroemFeatures', 'matern 3/2 NystroemFeatures',
    'exponential NystroemFeatures', 'laplacian NystroemFeatures']
    """
    named: list[tuple[SpectralKernel, str]] = [
        (kernel_object("gaussian"), "gaussian"),
        (Matern(nu=1.5), "matern 3/2"),
        (kernel_object("exponential"), "exponential"),
        (kernel_object("laplacian"), "laplacian"),
    ]
    if not isinstance(kernel, str):
        named = [(kernel_object(kernel), type(kernel).__name__.lower())]
    elif kernel != "auto":
        known = [pair for pair in named if pair[1] == kernel]
        named = known or [(kernel_object(kernel), kernel)]
    if not isinstance(features, str):
        return [_given(features)]
    if features == "auto":
        return [
            _of_kernel(k, name, kind, exact=True)
            for k, name in named
            for kind in (FourierFeatures, NystroemFeatures)
            if kind is NystroemFeatures or isinstance(k, Gaussian)
        ]
    method = find_method(features)
    maker = getattr(method.make, "maker", method.make)
    if maker is FourierFeatures:
        return [_of_kernel(k, name, FourierFeatures) for k, name in named[:2]]
    if maker is NystroemFeatures:
        return [_of_kernel(k, name, NystroemFeatures) for k, name in named]
    return [_of_method(method)]


def _given(feature_map: Any) -> Family:
    def make(width: int, length: float | None, seed: int, task: str) -> Any:
        copy = clone(feature_map)
        known = copy.get_params(deep=False)
        if known.get("random_state", 0) is None:
            copy.set_params(random_state=seed)
        return copy if length is None else copy.set_params(gamma=_gamma(copy, length))

    open_gamma = isinstance(feature_map.get_params(deep=False).get("gamma"), str)
    return Family("", type(feature_map).__name__, make, _SMOOTH if open_gamma else ())


def _gamma(feature_map: Any, length: float) -> float:
    """Return the `gamma` of a map for a length scale: its meaning differs between kernels."""
    kernel: Any = kernel_object(feature_map.get_params(deep=False).get("kernel", "gaussian"))
    return float(kernel.gamma_for_distance(length))


def _of_method(method: Any) -> Family:
    def make(width: int, length: float | None, seed: int, task: str) -> Any:
        made = method.make_map(width=width, task=task, random_state=seed)
        return made if length is None else made.set_params(gamma=_gamma(made, length))

    if not method.has_width or method.images:
        raise ValueError(f"features={method.name!r} has no map of rows of numbers.")
    return Family("", method.name, make, _SMOOTH if method.uses_gamma else ())
