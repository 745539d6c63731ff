"""Gaussian bumps around centres, and features that are linear combinations of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ive

from bochner.engine.places import convert, namespace


@dataclass(frozen=True, eq=False)
class Bumps:
    r"""The map :math:`u \mapsto B\, [e^{-\gamma |u - w_1|^2}, e^{-\gamma |u - w_2|^2}, \dots]`.

    The original map of convolutional kernel networks is of this form, with a diagonal `B`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.images.bumps import Bumps
    >>> bumps = Bumps(np.eye(2), 1.0, np.array([1.0, 3.0]))
    >>> bumps(np.array([[1.0, 0.0]])).round(3)
    array([[1.   , 0.406]])
    """

    centers: NDArray[np.float64]  # (m, d): w_l
    gamma: float  # how narrow the bumps are
    mix: NDArray[np.float64]  # (maps, m): the matrix B, or (m,): its diagonal

    @property
    def n_maps(self) -> int:
        """Number of features."""
        return int(self.mix.shape[0])

    def __call__(self, U: Any) -> Any:
        """Return the features of the rows of `U`, on their device and in their dtype."""
        values = gaussian_bumps(U, self.centers, self.gamma)
        mix = convert(self.mix, U)
        return values @ mix.T if mix.ndim == 2 else values * mix


def gaussian_bumps(U: Any, centers: Any, gamma: float) -> Any:
    r"""Return the values :math:`e^{-\gamma |u_i - w_l|^2}`, of shape (n, m)."""
    xp = namespace(U)
    centers = convert(centers, U)
    exponents = U @ (2.0 * gamma * centers.T)
    exponents -= gamma * xp.sum(U * U, axis=1)[:, None]
    exponents -= gamma * xp.sum(centers * centers, axis=1)[None, :]
    # Exponents above zero are rounding errors, which a narrow bump would amplify.
    if xp is np:
        return np.exp(np.minimum(exponents, 0, out=exponents), out=exponents)
    return xp.exp(xp.minimum(exponents, xp.zeros_like(exponents)))


def orientation_bumps(n_orientations: int) -> Bumps:
    r"""Return the features of directions in the plane that gradient maps are made of.

    They are :math:`\sqrt{\eta}\, e^{-|u - w_l|^2 / \sigma^2}`, where
    :math:`\sigma^2 = (1 - \cos \tau)^2 + \sin^2 \tau` for the angle :math:`\tau = 2 \pi / n`
    between neighbours. The mean over the circle of the sum of their squares,
    :math:`\eta\, n\, e^{-4 / \sigma^2} I_0(4 / \sigma^2)`, is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.images.bumps import orientation_bumps
    >>> phi = orientation_bumps(12)(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> (phi @ phi.T).round(3)
    array([[1.018, 0.015],
           [0.015, 1.018]])
    """
    angles = 2 * np.pi * np.arange(n_orientations) / n_orientations
    variance = float(2 - 2 * np.cos(2 * np.pi / n_orientations))
    weight = 1 / (n_orientations * ive(0, 4 / variance))
    centers = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return Bumps(centers, 1 / variance, np.full(n_orientations, weight**0.5))
