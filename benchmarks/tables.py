"""Tables for the benchmarks: rows as they are in the file, split at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_friedman1,
)
from sklearn.preprocessing import StandardScaler

from bochner.data.local import REGRESSION, find_file

TRAIN, TEST = 10_000, 10_000  # at most
_FILES = ("adult", "a9a", "ijcnn1", "covtype", "cpusmall", "cadata", "internet_ads", "mnist")


class Task(NamedTuple):
    """Training and test rows with their targets."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any

    @property
    def classes(self) -> bool:
        return np.asarray(self.y).dtype.kind != "f"

    def first(self, n_rows: int) -> Self:
        """Return the same task with the first training rows only; their order is random."""
        return self._replace(X=self.X[:n_rows], y=self.y[:n_rows])

    def standardised(self) -> Self:
        scaler = StandardScaler().fit(self.X)
        return self._replace(X=scaler.transform(self.X), X_test=scaler.transform(self.X_test))


def split(X: Any, y: Any, seed: int) -> Task:
    order = np.random.RandomState(seed).permutation(len(y))
    n = min(TRAIN, int(0.75 * len(y)))
    train, test = order[:n], order[n : n + TEST]
    return Task(X[train], y[train], X[test], y[test])


def friedman(seed: int, n: int = TRAIN + TEST, d: int = 50) -> Task:
    X, y = make_friedman1(n, d, noise=1.0, random_state=seed)
    return split(X, y, seed)


def local(name: str, seed: int) -> Task:
    """Read rows of a file; its own training and test rows, if any, are pooled."""
    path = find_file(f"{name}.npz")
    if path is None:
        raise FileNotFoundError(f"there is no {name}.npz in the folder of the data.")
    with np.load(path) as file:
        parts = [key for key in file.files if key.startswith("X")]
        X = np.concatenate([file[key] for key in parts])
        y = np.concatenate([file[key.replace("X", "y")] for key in parts])
    return split(X.astype(np.float32), y.astype(float if name in REGRESSION else int), seed)


def bundled(load: Callable[..., Any], seed: int) -> Task:
    """Return a table that comes with scikit-learn."""
    X, y = load(return_X_y=True)
    return split(X, y, seed)


TABLES: Mapping[str, Callable[[int], Task]] = {
    **{name: partial(local, name) for name in _FILES},
    "friedman": friedman,
}
SMALL: Mapping[str, Callable[[int], Task]] = {
    "breast_cancer": partial(bundled, load_breast_cancer),
    "wine": partial(bundled, load_wine),
    "digits": partial(bundled, load_digits),
    "diabetes": partial(bundled, load_diabetes),
}
