"""Rows in the plane and on the sphere whose classes are easy to see and hard to separate.

Both reproduce, with explicit formulas, the pictures in Bullins, Zhang and Zhang (2018), Figure 1,
whose formulas the paper does not give.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def windmill(
    n: int, arms: int = 2, twist: float = 1.0, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Draw rows of a windmill: bent arms of two classes, in turn, in the unit disc.

    x is uniform in the disc, and with its polar coordinates :math:`(r, \theta)`

    .. math:: y = \operatorname{sign} \sin(k (\theta + c r)),

    where k is the number of arms of either class and c their twist.

    Parameters
    ----------
    n : int
        Number of rows.
    arms : int, default=2
        Number of arms of either class, k in the formula.
    twist : float, default=1.0
        Twist of the arms, c in the formula; 0 gives straight arms.
    random_state : int, RandomState instance or None, default=None
        Source of the random rows.

    Returns
    -------
    X : ndarray of shape (n, 2)
        Rows.
    y : ndarray of shape (n,)
        Labels, -1 and +1.

    Examples
    --------
    >>> from bochner.data import windmill
    >>> X, y = windmill(4, arms=2, random_state=0)
    >>> y
    array([ 1, -1,  1,  1])
    """
    _check_counts(n=n, arms=arms)
    random_state = check_random_state(random_state)
    radius = np.sqrt(random_state.uniform(size=n))  # uniform in area
    angle = random_state.uniform(-np.pi, np.pi, size=n)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X, np.where(np.sin(arms * (angle + twist * radius)) >= 0, 1, -1)


def checkerboard_sphere(
    n: int, a: int = 3, b: int = 4, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Draw a checkerboard on the sphere: `b` bands of equal area, cut into `2a` fields each.

    x is uniform on the sphere, :math:`\phi` is its longitude, and z its last coordinate:

    .. math::

        y = +1 \quad\text{when}\quad \left\lfloor b \frac{z + 1}{2} \right\rfloor
            + \left\lfloor 2a \frac{\phi + \pi}{2 \pi} \right\rfloor \quad\text{is even.}

    Parameters
    ----------
    n : int
        Number of rows.
    a : int, default=3
        Half the number of fields in a band.
    b : int, default=4
        Number of bands.
    random_state : int, RandomState instance or None, default=None
        Source of the random rows.

    Returns
    -------
    X : ndarray of shape (n, 3)
        Rows, of length 1.
    y : ndarray of shape (n,)
        Labels, -1 and +1.

    Examples
    --------
    >>> from bochner.data import checkerboard_sphere
    >>> X, y = checkerboard_sphere(4, random_state=0)
    >>> y
    array([ 1, -1,  1, -1])
    """
    _check_counts(n=n, a=a, b=b)
    random_state = check_random_state(random_state)
    height = random_state.uniform(-1, 1, size=n)  # uniform on the sphere: Archimedes
    angle = random_state.uniform(-np.pi, np.pi, size=n)
    radius = np.sqrt(1 - height**2)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])
    field = np.floor(b * (height + 1) / 2) + np.floor(a * (angle + np.pi) / np.pi)
    return X, np.where(field % 2 == 0, 1, -1)


def _check_counts(**counts: Any) -> None:
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
