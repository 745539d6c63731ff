r"""Translation-invariant kernels and the frequencies they are made of.

By Bochner's theorem a continuous kernel :math:`k(x, y) = \kappa(x - y)` with
:math:`\kappa(0) = 1` is an average of cosines,

.. math:: k(x, y) = \mathbb{E}_{w \sim p} \cos \langle w, x - y \rangle,

over a probability density `p`, the Fourier transform of :math:`\kappa`. A kernel here is an object
that can be called (the exact kernel) and can draw frequencies from its `p`.

A kernel of your own is a class with the two methods of :class:`SpectralKernel`. Further methods
and attributes declare what else it can do, and are looked up where they are needed:

======================================  ======================================================
method or attribute                     what it allows
======================================  ======================================================
``sample_norms(n, d, random_state)``    orthogonal sampling
``uniforms(d)``, ``from_uniforms(U)``   quasi-random sampling
``gaussian = True``, ``width``          closed forms that hold for ``exp(-width |x - y|^2)``
``product = True``, ``log_profile(t)``  Mercer features by columns: the kernel is the product
                                        over the axes of ``exp(log_profile(x_j - y_j))``
``over_axes()``                         the same, for a kernel that is not a product: it returns
                                        another kernel that is
``isotropic = True``, ``profile``       a program (ONNX) that computes the kernel; ``product``
                                        and ``profile`` allow it as well
======================================  ======================================================

A kernel that can be selected by name is a subclass of :class:`StandardKernel` with an entry in
:data:`KERNELS`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bochner.engine.places import dense

__all__ = [
    "KERNELS",
    "Cauchy",
    "Exponential",
    "Gaussian",
    "Laplacian",
    "Matern",
    "ProductMatern",
    "Profile",
    "SpectralKernel",
    "StandardKernel",
    "kernel_object",
]

Float = NDArray[np.float64]


@runtime_checkable
class SpectralKernel(Protocol):
    """Protocol that every kernel must implement."""

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """Return the exact kernel between the rows of `X` and of `Y` (`X` itself if None)."""

    def sample(self, n: int, d: int, random_state: RandomState) -> Float:
        """Draw `n` independent frequencies in `d` dimensions, shape ``(n, d)``."""


@dataclass(frozen=True)
class Profile:
    r"""Closed form of a kernel of distance: :math:`\log \kappa(t) = m \log p(t) - q(t)`.

    Parameters
    ----------
    multiple : float
        The factor `m`.
    inner : tuple of two floats
        Coefficients of the polynomial `p`, ``1 + inner[0] t + inner[1] t^2``.
    outer : tuple of two floats
        Coefficients of the polynomial `q`, ``outer[0] t + outer[1] t^2``.

    Examples
    --------
    >>> from bochner.kernels import Cauchy
    >>> Cauchy(gamma=0.5).profile
    Profile(multiple=-1.0, inner=(0.0, 0.5), outer=(0.0, 0.0))
    """

    multiple: float
    inner: tuple[float, float]
    outer: tuple[float, float]

    def __call__(self, t: Any) -> Any:
        """Return the logarithm of the kernel at distances `t`."""
        return self.multiple * np.log1p(_polynomial(self.inner, t)) - _polynomial(self.outer, t)


def _polynomial(coefficients: tuple[float, float], t: Any) -> Any:
    """Return ``a t + b t^2``; zero coefficients are skipped, for distances that are infinite."""
    terms = (c * t**power for power, c in enumerate(coefficients, 1) if c)
    return sum(terms, start=np.zeros_like(t))


@dataclass(frozen=True, kw_only=True)
class StandardKernel:
    """Base class of the kernels of this module, whose `gamma` may be left to the data.

    Parameters
    ----------
    gamma : float, optional
        Inverse squared length scale (inverse length for the Laplacian and the exponential kernel).
        A kernel created without one takes the ``gamma`` of the feature map it is passed to; it
        cannot be called or sampled until `gamma` is a number.
    """

    gamma: float | None = None

    metric: ClassVar[str] = "euclidean"  # the distance that gamma refers to, for "median"
    # What the kernel can do, see the table above.
    gaussian: ClassVar[bool] = False
    product: ClassVar[bool] = False
    isotropic: ClassVar[bool] = False

    @property
    def profile(self) -> Profile | None:
        """Closed form of the kernel as a function of one distance; None where there is none."""
        return None

    def log_profile(self, differences: ArrayLike) -> Any:
        r"""Return the logarithm of the kernel along one axis, :math:`\log \kappa(x_j - y_j)`.

        Examples
        --------
        >>> from bochner.kernels import Laplacian
        >>> float(Laplacian(gamma=0.5).log_profile(-3.0))
        -1.5
        """
        if self.profile is None:
            raise ValueError(f"{self!r} is not known along one axis.")
        return self.profile(np.abs(np.asarray(differences, dtype=np.float64)))

    def over_axes(self) -> StandardKernel:
        """Return the product over the axes of one-dimensional kernels that equal this one there.

        A kernel that is a product already returns itself.
        """
        return self

    def with_gamma(self, gamma: float) -> Self:
        return replace(self, gamma=gamma)

    @property
    def width(self) -> float:
        """The value of `gamma`, checked to be a positive finite number."""
        if self.gamma is None:
            raise ValueError(
                f"{type(self).__name__} has no gamma yet: give it one, as in "
                f"{type(self).__name__}(gamma=0.5), or pass it to a feature map."
            )
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be a positive finite number, got {self.gamma!r}.")
        return float(self.gamma)

    def uniforms(self, d: int) -> int:
        """Return how many uniform numbers make one frequency, for quasi-random sampling."""
        return d

    @staticmethod
    def gamma_for_distance(distance: float) -> float:
        """Return the gamma of length scale `distance`; Gaussian: ``exp(-|x-y|^2 / (2 l^2))``."""
        return 0.5 / distance**2

    @staticmethod
    def gamma_for_variance(n_features: int, variance: float) -> float:
        """Return the gamma of the rule ``"scale"``."""
        return 1.0 / (n_features * variance)


@dataclass(frozen=True, kw_only=True)
class Gaussian(StandardKernel):
    r"""Gaussian kernel, :math:`\exp(-\gamma \|x - y\|_2^2)`.

    Its frequencies follow :math:`N(0, 2 \gamma I)`.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> Gaussian(gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    gaussian: ClassVar[bool] = True
    product: ClassVar[bool] = True
    isotropic: ClassVar[bool] = True

    @property
    def profile(self) -> Profile:
        return Profile(0.0, (0.0, 0.0), (0.0, self.width))

    def __call__(self, X: Any, Y: Any = None) -> Any:
        from sklearn.metrics.pairwise import rbf_kernel

        return rbf_kernel(X, Y, gamma=self.width)

    def sample(self, n: int, d: int, random_state: RandomState) -> Float:
        return np.sqrt(2 * self.width) * random_state.standard_normal((n, d))

    def sample_norms(self, n: int, d: int, random_state: RandomState) -> Float:
        """Draw the lengths of `n` independent frequencies, for orthogonal sampling."""
        return np.sqrt(2 * self.width * random_state.chisquare(d, n))

    def from_uniforms(self, U: Float) -> Float:
        """Turn uniform points of the cube into frequencies."""
        return np.sqrt(2 * self.width) * special.ndtri(U)


@dataclass(frozen=True, kw_only=True)
class Laplacian(StandardKernel):
    r"""Laplacian kernel, :math:`\exp(-\gamma \|x - y\|_1)`.

    Each coordinate of its frequencies is Cauchy with scale :math:`\gamma`.

    Examples
    --------
    >>> from bochner.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    metric: ClassVar[str] = "cityblock"
    product: ClassVar[bool] = True

    @property
    def profile(self) -> Profile:
        return Profile(0.0, (0.0, 0.0), (self.width, 0.0))

    @staticmethod
    def gamma_for_distance(distance: float) -> float:
        return 1.0 / distance

    @staticmethod
    def gamma_for_variance(n_features: int, variance: float) -> float:
        return 1.0 / (n_features * float(np.sqrt(variance)))

    def __call__(self, X: Any, Y: Any = None) -> Any:
        from sklearn.metrics.pairwise import laplacian_kernel

        return laplacian_kernel(X, Y, gamma=self.width)

    def sample(self, n: int, d: int, random_state: RandomState) -> Float:
        return self.width * random_state.standard_cauchy((n, d))

    def from_uniforms(self, U: Float) -> Float:
        return self.width * np.tan(np.pi * (U - 0.5))


@dataclass(frozen=True, kw_only=True)
class Cauchy(StandardKernel):
    r"""Cauchy kernel, :math:`\prod_j 1 / (1 + \gamma (x_j - y_j)^2)`.

    Each coordinate of its frequencies is Laplace with scale :math:`\sqrt\gamma`.

    Examples
    --------
    >>> from bochner.kernels import Cauchy
    >>> Cauchy(gamma=1.0)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.25]])
    """

    product: ClassVar[bool] = True

    @property
    def profile(self) -> Profile:
        return Profile(-1.0, (0.0, self.width), (0.0, 0.0))

    def __call__(self, X: Any, Y: Any = None) -> Any:
        X, Y = _dense_pair(X, Y)
        K = np.ones((len(X), len(Y)), dtype=np.result_type(X, Y))
        for x, y in zip(X.T, Y.T, strict=True):
            K /= 1 + self.width * np.subtract.outer(x, y) ** 2
        return K

    def sample(self, n: int, d: int, random_state: RandomState) -> Float:
        return random_state.laplace(scale=np.sqrt(self.width), size=(n, d))

    def from_uniforms(self, U: Float) -> Float:
        V = U - 0.5
        return -np.sqrt(self.width) * np.sign(V) * np.log1p(-2 * np.abs(V))


@dataclass(frozen=True, kw_only=True)
class Matern(StandardKernel):
    r"""Matern kernel of the scaled distance :math:`r = \sqrt{2 \gamma} \|x - y\|_2`.

    .. math:: k = \frac{2^{1 - \nu}}{\Gamma(\nu)} \bigl(\sqrt{2 \nu}\, r\bigr)^\nu
                  K_\nu\bigl(\sqrt{2 \nu}\, r\bigr)

    The limit :math:`\nu \to \infty` is :class:`Gaussian`. Frequencies are multivariate Student t
    with :math:`2 \nu` degrees of freedom and scale :math:`\sqrt{2 \gamma}`.

    Parameters
    ----------
    nu : float, default=1.5
        Smoothness, at most 100.
    gamma : float, optional
        Inverse squared length scale.

    Examples
    --------
    >>> from bochner.kernels import Matern
    >>> Matern(nu=0.5, gamma=0.5)([[0.0]], [[1.0]]).round(4)     # exp(-r)
    array([[0.3679]])
    """

    nu: float = 1.5

    isotropic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.nu <= 100:
            raise ValueError(
                f"nu must be positive and at most 100, got {self.nu!r}; for a smoother kernel "
                "use Gaussian, which differs by less than one part in nu."
            )

    @property
    def profile(self) -> Profile | None:
        """Closed form of the kernel for a `nu` of 0.5, 1.5 or 2.5; None otherwise."""
        c = float(np.sqrt(4 * self.nu * self.width))
        inner = {0.5: (0.0, 0.0), 1.5: (c, 0.0), 2.5: (c, c**2 / 3)}.get(self.nu)
        return None if inner is None else Profile(float(self.nu > 0.5), inner, (c, 0.0))

    def log_profile(self, differences: ArrayLike) -> Any:
        if self.profile is not None:
            return super().log_profile(differences)
        t = np.abs(np.asarray(differences, dtype=np.float64))
        return _log_bessel(self.nu, np.sqrt(4 * self.nu * self.width) * t)

    def over_axes(self) -> ProductMatern:
        return ProductMatern(nu=self.nu, gamma=self.gamma)

    def __call__(self, X: Any, Y: Any = None) -> Any:
        from sklearn.metrics.pairwise import euclidean_distances

        t = np.sqrt(4 * self.nu * self.width) * euclidean_distances(*_dense_pair(X, Y))
        return np.exp(_log_bessel(self.nu, t))

    def sample(self, n: int, d: int, random_state: RandomState) -> Float:
        normal = random_state.standard_normal((n, d))
        return normal * self._stretch(random_state.chisquare(2 * self.nu, (n, 1)))

    def sample_norms(self, n: int, d: int, random_state: RandomState) -> Float:
        norms = np.sqrt(random_state.chisquare(d, n))
        return norms * self._stretch(random_state.chisquare(2 * self.nu, n))

    def uniforms(self, d: int) -> int:
        return d + 1  # the last one stretches the whole frequency

    def from_uniforms(self, U: Float) -> Float:
        chi2 = special.chdtri(2 * self.nu, 1 - U[:, -1:])
        return special.ndtri(U[:, :-1]) * self._stretch(chi2)

    def _stretch(self, chi2: Float) -> Float:
        return np.sqrt(2 * self.width * 2 * self.nu / chi2)


@dataclass(frozen=True, kw_only=True)
class ProductMatern(StandardKernel):
    r"""Product over the axes of one-dimensional :class:`Matern` kernels.

    The isotropic Matern kernel is not a product in more than one dimension. The coordinates of a
    frequency are independent Student t.

    Parameters
    ----------
    nu, gamma : float
        As for :class:`Matern`.

    Examples
    --------
    >>> from bochner.kernels import ProductMatern
    >>> ProductMatern(nu=0.5, gamma=0.5)([[0.0, 0.0]], [[1.0, 2.0]]).round(4)      # exp(-3)
    array([[0.0498]])
    """

    nu: float = 1.5

    product: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Matern(nu=self.nu)  # checks nu

    @property
    def _factor(self) -> Matern:
        return Matern(nu=self.nu, gamma=self.gamma)

    @property
    def profile(self) -> Profile | None:
        return self._factor.profile

    def log_profile(self, differences: ArrayLike) -> Any:
        return self._factor.log_profile(differences)

    def __call__(self, X: Any, Y: Any = None) -> Any:
        X, Y = _dense_pair(X, Y)
        logarithm = np.zeros((len(X), len(Y)))
        for x, y in zip(X.T, Y.T, strict=True):
            logarithm += self.log_profile(np.subtract.outer(x, y))
        return np.exp(logarithm, out=logarithm)

    def sample(self, n: int, d: int, random_state: RandomState) -> Float:
        return self._factor.sample(n * d, 1, random_state).reshape(n, d)


@dataclass(frozen=True, kw_only=True)
class Exponential(StandardKernel):
    r"""Exponential kernel, :math:`\exp(-\gamma \|x - y\|_2)`.

    The Matern kernel with :math:`\nu = 1/2`, the roughest in closed form. Its frequencies are
    multivariate Cauchy with scale :math:`\gamma`, and so long that even thousands of them
    approximate the kernel poorly: its features are better made from landmarks, see
    :class:`bochner.NystroemFeatures`.

    Examples
    --------
    >>> from bochner.kernels import Exponential
    >>> Exponential(gamma=0.2)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    isotropic: ClassVar[bool] = True

    @property
    def profile(self) -> Profile:
        return Profile(0.0, (0.0, 0.0), (self.width, 0.0))

    def over_axes(self) -> Laplacian:
        return Laplacian(gamma=self.gamma)

    @staticmethod
    def gamma_for_distance(distance: float) -> float:
        return 1.0 / distance

    @staticmethod
    def gamma_for_variance(n_features: int, variance: float) -> float:
        return 1.0 / float(np.sqrt(n_features * variance))

    def __call__(self, X: Any, Y: Any = None) -> Any:
        from sklearn.metrics.pairwise import euclidean_distances

        return np.exp(-self.width * euclidean_distances(*_dense_pair(X, Y)))

    @property
    def _matern(self) -> Matern:
        return Matern(nu=0.5, gamma=self.width**2 / 2)

    def sample(self, n: int, d: int, random_state: RandomState) -> Float:
        return self._matern.sample(n, d, random_state)

    def sample_norms(self, n: int, d: int, random_state: RandomState) -> Float:
        return self._matern.sample_norms(n, d, random_state)

    def uniforms(self, d: int) -> int:
        return self._matern.uniforms(d)

    def from_uniforms(self, U: Float) -> Float:
        return self._matern.from_uniforms(U)


#: Kernels by name. A new kernel is a class and an entry here.
KERNELS: dict[str, type[StandardKernel]] = {
    "gaussian": Gaussian,
    "rbf": Gaussian,
    "laplacian": Laplacian,
    "cauchy": Cauchy,
    "matern": Matern,
    "exponential": Exponential,
}


def kernel_object(kernel: Any) -> SpectralKernel:
    """Return the kernel of a name, perhaps without a `gamma`, or a kernel object unchanged.

    Examples
    --------
    >>> from bochner.kernels import kernel_object
    >>> kernel_object("matern")
    Matern(gamma=None, nu=1.5)
    """
    if isinstance(kernel, str) and kernel in KERNELS:
        kernel = KERNELS[kernel]()
    if isinstance(kernel, SpectralKernel) and not isinstance(kernel, (str, type)):
        return kernel
    raise ValueError(
        f"kernel must be one of {sorted(KERNELS)}, or an object that can be called and has a "
        f"method sample(n, d, random_state), got {kernel!r}."
    )


def _dense_pair(X: Any, Y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    X = np.asarray(dense(X))
    return X, X if Y is None else np.asarray(dense(Y))


def _log_bessel(nu: float, t: Float) -> Float:
    """Return the logarithm of the Matern kernel, ``2^(1 - nu) / Gamma(nu) t^nu K_nu(t)``."""
    bessel = special.kve(nu, t)
    # Where K_nu overflows, t is so small (below 0.1) that two terms of the series are exact to
    # rounding; where nu <= 1 that only happens at t = 0.
    series = -(t**2) / (4 * (nu - 1)) if nu > 1 else np.zeros_like(t)
    with np.errstate(divide="ignore", invalid="ignore"):
        constant = (1 - nu) * np.log(2) - special.gammaln(nu)
        exact = constant + nu * np.log(t) + np.log(bessel) - t
    return np.minimum(np.where(np.isfinite(bessel) & (t > 0), exact, series), 0.0)
