"""Toy data in the plane for Figures 1 and 4 of Letarte, Morvant and Germain (2019).

The paper shows two toy datasets and gives no formula for them. These are two of our own: one
whose classes change along one direction only, and one where a ring surrounds a disc.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

TOY_SPLIT = (500, 500, 5000)  # rows to train, to validate, to test
NOISE = 0.1

Rows = tuple[NDArray[np.float64], NDArray[np.int64]]


def stripes(n: int, random_state: RandomState) -> Rows:
    r"""Three stripes in the square: :math:`y = \operatorname{sign}(\sin 5 x_1 + \text{noise})`.

    Examples
    --------
    >>> from numpy.random import RandomState
    >>> from bochner.papers.letarte.toys import stripes
    >>> X, y = stripes(4, RandomState(0))
    >>> X.shape, y
    ((4, 2), array([ 1,  1, -1, -1]))
    """
    X = random_state.uniform(-1, 1, size=(n, 2))
    values = np.sin(5 * X[:, 0]) + NOISE * random_state.standard_normal(n)
    return X, np.where(values > 0, 1, -1)


def ring(n: int, random_state: RandomState) -> Rows:
    r"""A ring around a disc in the square: the sign of :math:`0.45 - |x| + \text{noise}`.

    Examples
    --------
    >>> from numpy.random import RandomState
    >>> from bochner.papers.letarte.toys import ring
    >>> X, y = ring(4, RandomState(0))
    >>> X.shape, y
    ((4, 2), array([ 1, 1,  1, -1]))
    """
    X = random_state.uniform(-1, 1, size=(n, 2))
    # Half of the noise: the distance from the middle varies half as much as the sine.
    values = 0.45 - np.linalg.norm(X, axis=1) + NOISE / 2 * random_state.standard_normal(n)
    return X, np.where(values > 0, 1, -1)


TOYS: dict[str, Callable[[int, RandomState], Rows]] = {"stripes": stripes, "ring": ring}
