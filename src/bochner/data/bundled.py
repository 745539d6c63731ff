"""Registry of datasets that are available by name, without files or downloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.images import Shape


@dataclass(frozen=True)
class Bundled:
    """A dataset that is always available: a loader of its rows and labels, and image shape."""

    load: Callable[[], tuple[Any, Any]]
    image_shape: Shape | None = None  # of every row, if rows are images


def _load_from_scikit_learn(loader: str) -> tuple[Any, Any]:
    from sklearn import datasets

    X, y = getattr(datasets, loader)(return_X_y=True)
    return X, y


def _draw_windmill() -> tuple[Any, Any]:
    from bochner.data.toys import windmill

    X, y = windmill(2000, random_state=0)
    return X, y


BUNDLED: dict[str, Bundled] = {
    "digits": Bundled(partial(_load_from_scikit_learn, "load_digits"), (8, 8, 1)),
    "breast-cancer": Bundled(partial(_load_from_scikit_learn, "load_breast_cancer")),
    "wine": Bundled(partial(_load_from_scikit_learn, "load_wine")),
    "iris": Bundled(partial(_load_from_scikit_learn, "load_iris")),
    "diabetes": Bundled(partial(_load_from_scikit_learn, "load_diabetes")),
    "windmill": Bundled(_draw_windmill),
}


@dataclass(frozen=True)
class Dataset:
    """Rows and their labels: integers for classes, float64 for numbers."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    image_shape: Shape | None = None

    def __str__(self) -> str:
        n, d = self.X.shape
        is_number = self.y.dtype.kind == "f"
        kind = "numbers to predict" if is_number else f"{len(np.unique(self.y))} classes"
        return f"{self.name}: {n} rows, {d} columns, {kind}"


def load_bundled(name: str) -> Dataset:
    """Load one of scikit-learn's bundled datasets, or one that is drawn by a formula.

    Parameters
    ----------
    name : {"digits", "breast-cancer", "wine", "iris", "diabetes", "windmill"}
        Name of the dataset; for ``"diabetes"`` the labels are numbers.

    Returns
    -------
    Dataset
        Rows and labels.

    Examples
    --------
    >>> from bochner.data import load_bundled
    >>> print(load_bundled("digits"))
    digits: 1797 rows, 64 columns, 10 classes
    """
    if name not in BUNDLED:
        raise ValueError(f"unknown dataset {name!r}; there are {', '.join(BUNDLED)}.")
    entry = BUNDLED[name]
    X, y = entry.load()
    return Dataset(name, np.asarray(X, dtype=np.float64), np.asarray(y), entry.image_shape)
