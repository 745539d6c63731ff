"""The datasets that come with scikit-learn: no download, no files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# name: scikit-learn's loader
BUNDLED = {
    "digits": "load_digits",
    "breast-cancer": "load_breast_cancer",
    "wine": "load_wine",
    "iris": "load_iris",
}


@dataclass(frozen=True)
class Dataset:
    """Rows and their labels."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]

    def __str__(self) -> str:
        n, d = self.X.shape
        return f"{self.name}: {n} rows, {d} columns, {len(np.unique(self.y))} classes"


def load_bundled(name: str) -> Dataset:
    """Load one of scikit-learn's own classification datasets.

    Parameters
    ----------
    name : {"digits", "breast-cancer", "wine", "iris"}
        Which one.

    Examples
    --------
    >>> from bochner.data import load_bundled
    >>> print(load_bundled("digits"))
    digits: 1797 rows, 64 columns, 10 classes
    """
    if name not in BUNDLED:
        raise ValueError(f"unknown dataset {name!r}; there are {', '.join(BUNDLED)}.")
    from sklearn import datasets

    X, y = getattr(datasets, BUNDLED[name])(return_X_y=True)
    return Dataset(name, np.asarray(X, dtype=np.float64), np.asarray(y))
