"""Scaling, metric, kernel, bandwidth and penalty of a kernel model, chosen on held-out rows.

From coarse to fine. Scalings are told apart with few rows and columns; then the metric is learned
once for the best of them; then kernels are compared with and without it; the best few at last with
all rows and columns. Every candidate is a ridge regression, whose penalty is found from one set of
sums.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import cast, convert, namespace, to_numpy, wide_dtype
from bochner.fourier.bandwidth import median_distance
from bochner.fourier.features import FourierFeatures
from bochner.kernels import Matern, StandardKernel, kernel_object
from bochner.linear.normal_equations import NormalEquations
from bochner.linear.search import search_along
from bochner.metric.gradient_metric import GradientMetric
from bochner.models.scaling import ColumnScaler
from bochner.nystroem.features import NystroemFeatures

PENALTIES = tuple(10.0**k for k in range(0, -10, -1))  # alpha for each row
_FIRST_PENALTY = 1e-5
_COARSE_ROWS, _COARSE_WIDTH = 4000, 512
_RAMP = 0.4  # width of the step between a wrong and a right decision, for targets -1 and 1

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Family:
    """A kernel with the features that suit it; bandwidths are multiples of the median distance."""

    name: str
    make: Callable[..., Any]
    kernel: StandardKernel
    bandwidths: tuple[float, ...]
    start: float

    def new_map(self, width: int, bandwidth: float, distance: float, seed: int) -> Any:
        gamma = self.kernel.gamma_for_distance(bandwidth * distance)
        return self.make(
            n_components=width, kernel=self.kernel.with_gamma(gamma), random_state=seed
        )


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "gaussian",
            FourierFeatures,
            kernel_object("gaussian"),
            (0.15, 0.3, 0.6, 1.2, 2.4, 4.8),
            0.6,
        ),
        Family(
            "matern",
            NystroemFeatures,
            Matern(nu=1.5),
            (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
            2.0,
        ),
        Family(
            "exponential",
            NystroemFeatures,
            kernel_object("exponential"),
            (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
            4.0,
        ),
    )
}


@dataclass(frozen=True)
class Candidate:
    """What a model is made of, but for its penalty."""

    scaling: str
    metric: str | None
    family: str
    bandwidth: float
    width: int


@dataclass(frozen=True)
class Judged:
    """A candidate, and how it did on held-out rows."""

    candidate: Candidate
    penalty: float
    judged: float  # what is made larger
    score: float  # accuracy or R2
    losses: Float  # of each held-out row
    decisions: Float
    seconds: float
    n_rows: int


@dataclass
class Space:
    """Rows to fit on and to judge by after scaling and metric."""

    X: Any
    held_X: Any

    @cached_property
    def distance(self) -> float:
        return median_distance(self.X, "euclidean", RandomState(0)) or 1.0


class Tuner:
    def __init__(self, X, columns, held_X, held_columns, classes, *, width, seed, log=None):
        self.raw = Space(X, held_X)
        self.columns, self.held_columns, self.classes = columns, held_columns, classes
        self.width, self.seed, self.log = width, seed, log
        self.tried: list[Judged] = []
        self.scalers: dict[str, Any] = {}
        self.metrics: dict[tuple[str, str], Any] = {}
        self.spaces: dict[tuple[str, str | None], Space] = {}

    def space(self, scaling: str, metric: str | None) -> Space:
        key = scaling, metric
        if key not in self.spaces:
            if metric is None:
                scaler = self.scalers.setdefault(scaling, ColumnScaler(scaling).fit(self.raw.X))
                self.spaces[key] = Space(scaler.transform(self.raw.X), scaler.transform(self.raw.held_X))
            else:
                plain, learned = self.space(scaling, None), self.metrics[scaling, metric]
                self.spaces[key] = Space(learned.transform(plain.X), learned.transform(plain.held_X))
        return self.spaces[key]

    def judge(self, candidate: Candidate, n_rows: int | None = None, start=_FIRST_PENALTY) -> Judged:
        begun = time.perf_counter()
        space = self.space(candidate.scaling, candidate.metric)
        X, columns = space.X[:n_rows], self.columns[:n_rows]
        family = FAMILIES[candidate.family]
        feature_map = family.new_map(min(candidate.width, len(columns)//2*2), candidate.bandwidth, space.distance, self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            features = feature_map.fit(X).transform(X)
        held = feature_map.transform(space.held_X)
        equations = NormalEquations.from_rows(features, columns)
        found = {}

        def of(penalty):
            coefficients, intercepts = equations.solve(penalty * equations.weight)
            decisions = to_numpy(cast(held, wide_dtype(held)) @ coefficients + intercepts)
            found[penalty] = *self._score(decisions), decisions
            return found[penalty][0]

        penalty = search_along(PENALTIES, start, of)
        judged, score, losses, decisions = found[penalty]
        result = Judged(candidate, penalty, judged, score, losses, decisions, time.perf_counter() - begun, len(columns))
        self.tried.append(result)
        if self.log: self.log(result)
        return result

    def _score(self, decisions):
        targets = self.held_columns
        if not self.classes:
            losses = ((decisions - targets) ** 2).mean(axis=1)
            spread = ((targets - targets.mean(axis=0)) ** 2).mean()
            return -losses.mean(), 1 - losses.mean() / spread, losses
        if targets.shape[1] == 1:
            margins = (decisions * targets)[:, 0]
        else:
            own = targets > 0
            right = decisions[own]
            margins = 0.5 * (right - np.where(own, -np.inf, decisions).max(axis=1))
        losses = (margins <= 0).astype(float)
        ramp = np.clip(0.5 + margins / _RAMP, 0, 1)
        return ramp.mean(), 1 - losses.mean(), losses

    def along_bandwidths(self, scaling, metric, family, width, n_rows, start=None) -> Judged:
        found = {}

        def of(bandwidth):
            found[bandwidth] = self.judge(Candidate(scaling, metric, family, bandwidth, width), n_rows)
            return found[bandwidth].judged

        found_at = search_along(FAMILIES[family].bandwidths, start or FAMILIES[family].start, of)
        return found[found_at]

    def best(self, results: Sequence[Judged]) -> Judged:
        """Simplest first."""
        top = max(results, key=lambda r: r.score if self.classes else r.judged)
        for one in results:
            excess = one.losses - top.losses
            if self.classes:
                margin = 0.5 * (top.score * (1 - top.score) / len(top.losses)) ** 0.5
            else:
                margin = 0.0
            if excess.mean() <= margin:
                return one
        return top

    def run(self, scalings=("standard", "none", "robust", "quantile"), metric="auto", families=tuple(FAMILIES), finalists=3):
        coarse = min(self.width, _COARSE_WIDTH)
        first = [self.along_bandwidths(s, None, "gaussian", coarse, _COARSE_ROWS) for s in scalings]
        scaling = self.best(first).candidate.scaling
        plain = self.space(scaling, None)
        learned = GradientMetric(metric, random_state=self.seed)
        labels = self.columns[:, 0] if self.columns.shape[1] == 1 else self.columns.argmax(axis=1)
        learned.target = "classification" if self.classes else "regression"
        learned.fit(plain.X, labels)
        metrics = [None]
        if learned.mode_ is not None:
            self.metrics[scaling, learned.mode_] = learned
            metrics.append(learned.mode_)
        second = [
            self.along_bandwidths(scaling, m, f, coarse, _COARSE_ROWS) for f in families for m in metrics
        ]
        second.sort(key=lambda r: -(r.score if not self.classes else r.judged))
        last = [
            self.judge(Candidate(scaling, r.candidate.metric, r.candidate.family, r.candidate.bandwidth, self.width), None, r.penalty)
            for r in second[:finalists]
        ]
        return self.best(last), learned
