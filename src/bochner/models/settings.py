"""Settings of a kernel model that a search tries, and their results on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.special import expit

from bochner.engine.pairs.distances import Distances
from bochner.engine.places import single_rows
from bochner.fourier.bandwidth import median_distance
from bochner.models.families import Family
from bochner.models.methods import Task
from bochner.models.scaling import Scaling
from bochner.nystroem.features import NystroemFeatures

FIRST_PENALTY = 1e-5
Loss = Literal["squared_error", "squared_hinge"]
SQUARES: Loss = "squared_error"
HINGE: Loss = "squared_hinge"
# Slope of the logistic loss of a decision, for targets -1 and 1. A slope that suits each setting,
# and the squared hinge loss, were measured: they prefer stronger penalties, which more rows do not
# bear.
_SLOPE = 2.0
_DISTANCE_ROWS = 500  # enough to know the median distance to a hundredth

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Labelled:
    """Rows with their targets as columns and their weights; `y` holds the targets as given."""

    X: Any
    y: NDArray[Any]
    columns: Float
    weights: Float | None

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(len(self.y) if self.weights is None else self.weights.sum())


@dataclass(frozen=True)
class Space:
    """Rows to fit on and rows to judge by, after a scaling and a metric."""

    X: Any
    held_X: Any
    _distances: dict[str, float] = field(default_factory=dict)
    _pairs: dict[tuple[int, bool, bool], Distances] = field(default_factory=dict)
    _lock: Any = field(default_factory=RLock)  # what several threads need is computed once

    @cached_property
    def single(self) -> Space:
        """The same rows in float32 if they are dense and on the host: half of the work."""
        return Space(single_rows(self.X), single_rows(self.held_X))

    def distance(self, name: str) -> float:
        """Return the median distance between rows, for the distance of this name."""
        with self._lock:
            if name not in self._distances:
                rows = self.X[:_DISTANCE_ROWS, :]
                self._distances[name] = median_distance(rows, name, RandomState(0)) or 1.0
            return self._distances[name]

    def pairs(self, n_rows: int, single: bool, *, held: bool) -> Distances:
        """Return distances to the first `n_rows` rows to fit on, from these or held-out rows.

        They are kept for other kernels, in float32 if `single`.
        """
        key = n_rows, single, held
        with self._lock:
            if key not in self._pairs:
                dtype = np.float32 if single else np.float64
                first = self.X[:n_rows].astype(dtype, copy=False)
                others = self.held_X.astype(dtype, copy=False) if held else first
                self._pairs[key] = Distances(others, first)
            return self._pairs[key]

    def forget_pairs(self) -> None:
        """Discard the distances that are kept."""
        self._pairs.clear()


@dataclass(frozen=True)
class Setting:
    """The choices that define a model."""

    scaling: Scaling
    metric: str | None
    family: Family
    bandwidth: float | None
    width: int | None  # None: all rows are landmarks
    penalty: float = FIRST_PENALTY
    loss: Loss = SQUARES

    def record(self, n_rows: int) -> dict[str, Any]:
        """Return the setting for `n_rows` rows as plain values."""
        return {
            "scaling": self.scaling,
            "metric": self.metric,
            "kernel": self.family.kernel,
            "features": self.family.features if self.width else NystroemFeatures.__name__,
            "bandwidth": self.bandwidth,
            "n_components": self.width or n_rows,
            "all_rows": self.width is None,
            "penalty": self.penalty,
            "loss": self.loss,
        }


@dataclass(frozen=True)
class Tried:
    """A setting, and its results on held-out rows.

    Settings are compared by the mean of `losses`, one per held-out row: its squared error, or for
    classes the logistic loss of its margin, which distinguishes settings that err on the same
    rows. For classes, `wrong` says which rows are misclassified. `single` says whether float32 was
    precise enough for the kernel's factor.
    """

    setting: Setting
    score: float
    losses: Float
    wrong: NDArray[np.bool_] | None
    decisions: Float
    weights: Float | None
    n_rows: int
    seconds: float
    single: bool = True
    second: Setting | None = None  # of the other model, where decisions are the mean of two

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The setting of the model, or those of both models that are averaged."""
        return (self.setting,) if self.second is None else (self.setting, self.second)

    @property
    def loss(self) -> float:
        """The weighted mean of the losses, which the search minimises."""
        return float(np.average(self.losses, weights=self.weights))

    @property
    def record(self) -> dict[str, Any]:
        """The setting and its results as plain values."""
        return {
            **self.setting.record(self.n_rows),
            "averaged_with": None if self.second is None else self.second.record(self.n_rows),
            "n_rows": self.n_rows,
            "score": self.score,
            "seconds": self.seconds,
        }


def losses_of(
    decisions: Float, held: Labelled, task: Task
) -> tuple[float, Float, NDArray[np.bool_] | None]:
    """Return the score, the loss of every held-out row, and which rows are misclassified."""
    targets, weights = held.columns, held.weights
    if task == "regression":
        losses = ((decisions - targets) ** 2).mean(axis=1)
        spread = ((targets - np.average(targets, axis=0, weights=weights)) ** 2).mean(axis=1)
        whole = float(np.average(spread, weights=weights))
        error = float(np.average(losses, weights=weights))
        return 1 - error / whole if whole else 0.0, losses, None
    margins = _margins(decisions, targets, decisions)
    wrong = margins <= 0
    score = 1 - float(np.average(wrong, weights=weights))
    return score, np.logaddexp(0, -_SLOPE * margins), wrong


def loss_slope(decisions: Float, slopes: Float, held: Labelled, task: Task) -> float:
    """Return the rate of change of the mean loss when decisions change by `slopes`."""
    if task == "regression":
        changes = 2 * ((decisions - held.columns) * slopes).mean(axis=1)
    else:
        margins = _margins(decisions, held.columns, decisions)
        share = expit(-_SLOPE * margins)
        changes = -_SLOPE * share * _margins(slopes, held.columns, decisions)
    return float(np.average(changes, weights=held.weights))


def _margins(values: Float, targets: Float, decisions: Float) -> Float:
    """Return the margins of each row's own class over the best other one by `decisions`."""
    if targets.shape[1] == 1:
        result: Float = (values * targets)[:, 0]
        return result
    own = targets > 0
    other = np.where(own, -np.inf, decisions).argmax(axis=1)
    return 0.5 * (values[own] - np.take_along_axis(values, other[:, None], axis=1)[:, 0])


def mean_of(one: Tried, other: Tried, held: Labelled, task: Task) -> Tried:
    """Return the mean of two models, fitted to equally many rows, by their decisions."""
    decisions = 0.5 * (one.decisions + other.decisions)
    score, losses, wrong = losses_of(decisions, held, task)
    return replace(
        one,
        score=score,
        losses=losses,
        wrong=wrong,
        decisions=decisions,
        seconds=one.seconds + other.seconds,
        second=other.setting,
    )


def one_target(y: NDArray[Any]) -> NDArray[Any]:
    """Return the targets as one column: of several, the combination that varies most."""
    if y.ndim == 1:
        return y
    centred = y - y.mean(axis=0)
    spread = centred.std(axis=0)
    scaled = centred / np.where(spread > 0, spread, 1.0)
    combined: NDArray[Any] = scaled @ np.linalg.eigh(scaled.T @ scaled)[1][:, -1]
    return combined
