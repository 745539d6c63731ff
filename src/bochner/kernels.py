r"""Translation-invariant kernels and the frequencies they are made of.

By Bochner's theorem a continuous kernel :math:`k(x, y) = \kappa(x - y)` with
:math:`\kappa(0) = 1` is an average of cosines,

.. math:: k(x, y) = \mathbb{E}_{w \sim p} \cos \langle w, x - y \rangle,

over a probability density `p`, the Fourier transform of :math:`\kappa`. A kernel here is an object
that can be called (the exact kernel) and can draw from its `p`.

To use a kernel of your own, write a class with the two methods of :class:`SpectralKernel`. It may
have one more to allow orthogonal sampling (``sample_norms``) and two to allow quasi-random
sampling (``uniforms`` and ``from_uniforms``), as the kernels below do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse, special

__all__ = ["Cauchy", "Gaussian", "Laplacian", "Matern", "SpectralKernel"]

Float = NDArray[np.float64]


@runtime_checkable
class SpectralKernel(Protocol):
    """What every kernel must be able to do."""

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """The exact kernel between the rows of `X` and of `Y` (of `X` itself when None)."""

    def sample(self, n: int, d: int, random_state: RandomState) -> Float:
        """Draw `n` independent frequencies in `d` dimensions, shape ``(n, d)``."""


@dataclass(frozen=True, kw_only=True)
class StandardKernel:
    """What the kernels of this module share: a `gamma` that may be left to the data.

    Parameters
    ----------
    gamma : float, optional
        The inverse length. A kernel made without one takes the ``gamma`` of the feature map it
        is given to; it cannot be called or sampled before it has a number.
    """

    gamma: float | None = None

    # The distance that gamma belongs to, for the median rule.
    metric: ClassVar[Literal["euclidean", "cityblock"]] = "euclidean"

    def with_gamma(self, gamma: float) -> Self:
        return replace(self, gamma=gamma)

    @property
    def width(self) -> float:
        """`gamma` as a number that can be used."""
        if self.gamma is None:
            raise ValueError(
                f"{type(self).__name__} has no gamma yet: give it one, as in "
                f"{type(self).__name__}(gamma=0.5), or pass it to a feature map."
            )
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be a positive finite number, got {self.gamma!r}.")
        return float(self.gamma)

    @staticmethod
    def gamma_for_distance(distance: float) -> float:
        """The gamma whose length scale is `distance`; Gaussian: ``exp(-|x-y|^2 / (2 l^2))``."""
        return 0.5 / distance**2

    @staticmethod
    def gamma_for_variance(n_features: int, variance: float) -> float:
        """The rule ``"scale"``."""
        return 1.0 / (n_features * variance)


@dataclass(frozen=True, kw_only=True)
class Gaussian(StandardKernel):
    r""":math:`\exp(-\gamma \|x - y\|_2^2)`; frequencies from :math:`N(0, 2 \gamma I)`.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> Gaussian(gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    def __call__(self, X: Any, Y: Any = None) -> Any:
        from sklearn.metrics.pairwise import rbf_kernel

        return rbf_kernel(X, Y, gamma=self.width)

    def sample(self, n: int, d: int, random_state: RandomState) -> Float:
        return np.sqrt(2 * self.width) * random_state.standard_normal((n, d))

    def sample_norms(self, n: int, d: int, random_state: RandomState) -> Float:
        """Lengths of `n` independent frequencies, for orthogonal sampling."""
        return np.sqrt(2 * self.width * random_state.chisquare(d, n))

    def uniforms(self, d: int) -> int:
        """How many uniform numbers make one frequency, for quasi-random sampling."""
        return d

    def from_uniforms(self, U: Float) -> Float:
        """Turn uniform points of the cube into frequencies."""
        return np.sqrt(2 * self.width) * special.ndtri(U)


@dataclass(frozen=True, kw_only=True)
class Laplacian(StandardKernel):
    r""":math:`\exp(-\gamma \|x - y\|_1)`; each coordinate Cauchy with scale :math:`\gamma`.

    Examples
    --------
    >>> from bochner.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    metric: ClassVar[Literal["euclidean", "cityblock"]] = "cityblock"

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

    def uniforms(self, d: int) -> int:
        return d

    def from_uniforms(self, U: Float) -> Float:
        return self.width * np.tan(np.pi * (U - 0.5))


@dataclass(frozen=True, kw_only=True)
class Cauchy(StandardKernel):
    r""":math:`\prod_j 1 / (1 + \gamma (x_j - y_j)^2)`; each coordinate Laplace, scale
    :math:`\sqrt\gamma`.

    Examples
    --------
    >>> from bochner.kernels import Cauchy
    >>> Cauchy(gamma=1.0)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.25]])
    """

    def __call__(self, X: Any, Y: Any = None) -> Any:
        X, Y = _dense_pair(X, Y)
        K = np.ones((len(X), len(Y)), dtype=np.result_type(X, Y))
        for x, y in zip(X.T, Y.T, strict=True):
            K /= 1 + self.width * np.subtract.outer(x, y) ** 2
        return K

    def sample(self, n: int, d: int, random_state: RandomState) -> Float:
        return random_state.laplace(scale=np.sqrt(self.width), size=(n, d))

    def uniforms(self, d: int) -> int:
        return d

    def from_uniforms(self, U: Float) -> Float:
        V = U - 0.5
        return -np.sqrt(self.width) * np.sign(V) * np.log1p(-2 * np.abs(V))


@dataclass(frozen=True, kw_only=True)
class Matern(StandardKernel):
    r"""The Matern kernel in :math:`r = \sqrt{2 \gamma} \|x - y\|_2`, so that
    :math:`\nu \to \infty` gives :class:`Gaussian`; frequencies are Student t with
    :math:`2 \nu` degrees of freedom and scale :math:`\sqrt{2 \gamma}`.

    .. math:: k = \frac{2^{1 - \nu}}{\Gamma(\nu)} \bigl(\sqrt{2 \nu}\, r\bigr)^\nu
                  K_\nu\bigl(\sqrt{2 \nu}\, r\bigr)

    Parameters
    ----------
    nu : float, default=1.5
        Smoothness, at most 100.
    gamma : float, optional
        The inverse squared length.

    Examples
    --------
    >>> from bochner.kernels import Matern
    >>> Matern(nu=0.5, gamma=0.5)([[0.0]], [[1.0]]).round(4)     # exp(-r)
    array([[0.3679]])
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        if not 0 < self.nu <= 100:
            raise ValueError(
                f"nu must be positive and at most 100, got {self.nu!r}; for a smoother kernel "
                "use Gaussian, which differs by less than one part in nu."
            )

    def __call__(self, X: Any, Y: Any = None) -> Any:
        from sklearn.metrics.pairwise import euclidean_distances

        X, Y = _dense_pair(X, Y)
        nu = self.nu
        t = np.sqrt(4 * nu * self.width) * euclidean_distances(X, Y)
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithm = (1 - nu) * np.log(2) - special.gammaln(nu) + nu * np.log(t)
            K = np.exp(logarithm + np.log(special.kve(nu, t)) - t)
        # Where K_nu overflows t is so small (below 0.1) that two terms of the series are exact
        # to rounding; where nu <= 1 that only happens at t = 0.
        series = np.exp(-(t**2) / (4 * (nu - 1))) if nu > 1 else np.ones_like(t)
        return np.where(np.isfinite(special.kve(nu, t)), K, series)

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
        stretch: Float = np.sqrt(2 * self.width * 2 * self.nu / chi2)
        return stretch


STANDARD: dict[str, type[StandardKernel]] = {
    "gaussian": Gaussian,
    "rbf": Gaussian,
    "laplacian": Laplacian,
    "cauchy": Cauchy,
    "matern": Matern,
}


def _dense_pair(X: Any, Y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    X = np.asarray(X.toarray() if sparse.issparse(X) else X)
    Y = X if Y is None else np.asarray(Y.toarray() if sparse.issparse(Y) else Y)
    return X, Y
