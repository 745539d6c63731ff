"""The models to compare: ours, and others that a person would try instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.tables import Task
from bochner import KernelClassifier, KernelRegressor

_HELD_OUT = 0.2  # of the training rows, to choose with
_C = (1.0, 10.0, 100.0)
_GAMMAS = (0.2, 1.0, 5.0)  # divided by the number of columns
# Converged to 1e-4, the default, covtype takes five times as long for .35 points more; other
# tables differ by at most .24 points, mostly less and in both directions.
_TOLERANCE = 1e-2


def ours(task: Task, seed: int) -> Any:
    return (KernelClassifier if task.classes else KernelRegressor)(random_state=seed)


def boosting(task: Task, seed: int) -> Any:
    if task.classes:
        return HistGradientBoostingClassifier(random_state=seed)
    return HistGradientBoostingRegressor(random_state=seed)


def lightgbm(task: Task, seed: int) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if task.classes else LGBMRegressor)(random_state=seed, verbose=-1)


class XRFM(BaseEstimator):  # type: ignore[misc]
    """xRFM with default parameters, on the CPU; a fifth of the rows is its validation set."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        import torch
        from xrfm import xRFM

        order = np.random.RandomState(self.random_state).permutation(len(y))
        targets: Any = np.asarray(y, dtype=np.float32)[:, None]
        self.classes_: Any = None
        if np.asarray(y).dtype.kind != "f":
            self.classes_, targets = np.unique(y, return_inverse=True)
        parts = []
        for rows in np.split(order, [int((1 - _HELD_OUT) * len(order))]):
            parts += [torch.tensor(X[rows], dtype=torch.float32), torch.tensor(targets[rows])]
        self.model_ = xRFM(device="cpu", random_state=self.random_state, verbose=False)
        self.model_.fit(*parts)
        return self

    def predict(self, X: Any) -> Any:
        import torch

        found = np.asarray(self.model_.predict(torch.tensor(X, dtype=torch.float32))).ravel()
        return found if self.classes_ is None else self.classes_[found.astype(int)]


def xrfm(task: Task, seed: int) -> Any:
    return make_pipeline(StandardScaler(), XRFM(seed))


def _tuned(model: Any, grid: dict[str, Any], seed: int) -> Any:
    split = ShuffleSplit(1, test_size=_HELD_OUT, random_state=seed)
    return GridSearchCV(model, grid, cv=split, n_jobs=-1)


def _on_scaled_target(model: Any) -> Any:
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def exact(task: Task, seed: int) -> Any:
    """Return the exact Gaussian kernel method: a support vector machine, or ridge regression."""
    gammas = [gamma / task.X.shape[1] for gamma in _GAMMAS]
    if task.classes:
        model = _tuned(SVC(cache_size=1000), {"C": _C, "gamma": gammas}, seed)
    else:
        alphas = [0.5 / C for C in _C]
        grid = {"alpha": alphas, "gamma": gammas}
        model = _on_scaled_target(_tuned(KernelRidge(kernel="rbf"), grid, seed))
    return make_pipeline(StandardScaler(), model)


def random_features(task: Task, seed: int) -> Any:
    """Return scikit-learn's random Fourier features with a linear model."""
    if task.classes:
        model = _tuned(LinearSVC(dual=False, tol=_TOLERANCE), {"C": _C}, seed)
    else:
        model = _on_scaled_target(_tuned(Ridge(), {"alpha": [0.5 / C for C in _C]}, seed))
    sampler = RBFSampler(gamma="scale", n_components=2048, random_state=seed)
    return make_pipeline(StandardScaler(), sampler, model)


@dataclass(frozen=True)
class Peer:
    """A function that makes an unfitted model, and the package that it needs."""

    title: str
    make: Callable[[Task, int], Any]
    package: str = "scikit-learn"

    @property
    def version(self) -> str | None:
        """Version of the package; None if it is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


PEERS: Mapping[str, Peer] = {
    "ours": Peer("bochner", ours, "bochner"),
    "boosting": Peer("HistGradientBoosting", boosting),
    "lightgbm": Peer("LightGBM", lightgbm, "lightgbm"),
    "xrfm": Peer("xRFM", xrfm, "xrfm"),
    "exact": Peer("SVC, KernelRidge", exact),
    "random": Peer("RBFSampler, linear", random_features),
}
