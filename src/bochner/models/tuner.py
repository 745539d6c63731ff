"""Everything that a kernel model leaves open, chosen on held-out rows: from coarse to fine.

Scalings of the columns are told apart with few rows and few features; the metric is learned once,
for the best of them; then kernels are compared, and the best few at last with all rows and all
features. Every candidate is a ridge regression whose penalties come from one set of sums, and
nothing is computed twice.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from bochner.engine.places import cast, to_numpy, wide_dtype
from bochner.fourier.bandwidth import median_distance
from bochner.linear.normal_equations import NormalEquations
from bochner.linear.search import search_along
from bochner.metric.gradient_metric import GradientMetric, Mode
from bochner.metric.matrices import MODES
from bochner.models.families import Family
from bochner.models.methods import Task
from bochner.models.scaling import SCALINGS, ColumnScaler, Scaling

PENALTIES = tuple(10.0**k for k in range(0, -10, -1))  # alpha for each row
FEWEST_METRIC_ROWS = 50
_FIRST_PENALTY = 1e-5
_COARSE_ROWS, _COARSE_WIDTH = 4000, 512
_FINALISTS = 2
_METRIC = 384  # frequencies of the metric's regressions: most of the time is theirs
_SLOPE = 2.0  # of the logistic loss of a decision, for targets -1 and 1

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Labelled:
    """Rows, their targets as columns, and weights; `y` are the targets as they were given."""

    X: Any
    y: NDArray[Any]
    columns: Float
    weights: Float | None


@dataclass(frozen=True)
class Setting:
    """What a model is made of."""

    scaling: Scaling
    metric: str | None
    family: Family
    bandwidth: float | None
    width: int
    penalty: float = _FIRST_PENALTY


@dataclass(frozen=True)
class Tried:
    """A setting, and how it did on held-out rows.

    Settings are compared by the mean of `losses`, one for each held-out row: its squared error, or
    for classes the logistic loss of its margin, which tells settings apart that err on the same
    rows. `wrong` says for classes which rows are misclassified.
    """

    setting: Setting
    score: float
    losses: Float
    wrong: NDArray[np.bool_] | None
    decisions: Float
    weights: Float | None
    n_rows: int
    seconds: float

    @property
    def loss(self) -> float:
        """What is made small."""
        return float(np.average(self.losses, weights=self.weights))

    @property
    def record(self) -> dict[str, Any]:
        """What was tried and what came of it, as plain values."""
        s = self.setting
        return {
            "scaling": s.scaling,
            "metric": s.metric,
            "kernel": s.family.kernel,
            "features": s.family.features,
            "bandwidth": s.bandwidth,
            "n_components": s.width,
            "penalty": s.penalty,
            "n_rows": self.n_rows,
            "score": self.score,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class _Space:
    """Rows to fit on and to judge by, after scaling and metric."""

    X: Any
    held_X: Any

    @cached_property
    def distance(self) -> float:
        return median_distance(self.X, "euclidean", RandomState(0)) or 1.0


class Tuner:
    """The search for a model.

    Parameters
    ----------
    rows, held : Labelled
        To fit on, and to judge by; the former in random order.
    task : {"classification", "regression"}
        What the targets are.
    families : sequence of Family
        To choose from, the simplest first.
    width : int
        Number of features.
    scalings : sequence of str
        To choose from, the simplest first.
    metric : str or None
        Mode of the metric.
    penalty : float or None
        Given, or to be chosen.
    seed : int
        Of maps and metric.
    deadline : float
        Of :func:`time.perf_counter`; after it no setting is tried that can be left out.
    report : callable
        Told of everything that was tried.
    """

    def __init__(
        self,
        rows: Labelled,
        held: Labelled,
        task: Task,
        families: Sequence[Family],
        *,
        width: int,
        scalings: Sequence[Scaling] = SCALINGS,
        metric: Mode | None = "auto",
        penalty: float | None = None,
        seed: int = 0,
        deadline: float = float("inf"),
        report: Callable[[Tried], None] = lambda tried: None,
    ) -> None:
        self.rows, self.held, self.task, self.families = rows, held, task, families
        self.width, self.mode, self.penalty = width, metric, penalty
        self.scalings = scalings
        if sparse.issparse(rows.X):  # which keep their zeros
            self.scalings = [s for s in scalings if s in ("standard", "none")] or ["standard"]
        self.seed, self.deadline, self.report = seed, deadline, report
        self.tried: list[Tried] = []
        self._found: dict[tuple[Setting, int], Tried] = {}
        self._fitted: dict[Setting, tuple[Any, NormalEquations]] = {}
        self.metric: GradientMetric | None = None
        self.scalers: dict[str, ColumnScaler] = {}
        self._spaces: dict[tuple[str, str | None], _Space] = {}

    @property
    def n_settings(self) -> int:
        """How many settings there are to choose from, before any row has been seen."""
        bandwidths = sum(max(1, len(family.bandwidths)) for family in self.families)
        penalties = len(PENALTIES) if self.penalty is None else 1
        metrics = {"auto": 1 + len(MODES), None: 1}.get(self.mode, 2)
        return len(self.scalings) * metrics * bandwidths * penalties

    def run(self) -> Tried:
        """The best setting, tried with all rows and features."""
        coarse = min(self.width, _COARSE_WIDTH)
        first = self.families[0]
        by_scaling = [
            self._along_bandwidths(s, None, first, coarse) for s in self._open_scalings()
        ]
        plain = self._best(by_scaling)
        scaling = plain.setting.scaling
        with_metric = self._with_metric(scaling, first, coarse)
        asked = self.mode not in ("auto", None) and bool(with_metric)
        by_mode = with_metric if asked else [plain, *with_metric]
        best_mode = self._best(by_mode)
        mode = best_mode.setting.metric
        by_family = [
            best_mode,
            *(
                self._along_bandwidths(scaling, mode, family, coarse)
                for family in self.families[1:]
                if self._in_time()
            ),
        ]
        by_family.sort(key=lambda one: one.loss)
        settings = [one.setting for one in by_family[:_FINALISTS]]
        others = [one for one in by_mode if one is not best_mode]
        if others:  # few features favour few directions: the next mode, with the best kernel
            other = min(others, key=lambda one: one.loss).setting.metric
            settings.append(replace(settings[0], metric=other))
        finalists: list[Tried] = []
        for setting in settings:
            if not finalists or self._in_time():
                finalists.append(self.judge(replace(setting, width=self.width)))
        order = [family.name for family in self.families]
        modes = [None, *MODES]
        finalists.sort(
            key=lambda one: (
                order.index(one.setting.family.name),
                modes.index(one.setting.metric),
            )
        )
        return self._best(finalists)

    def judge(self, setting: Setting, n_rows: int | None = None) -> Tried:
        """Fit on the first `n_rows` rows and judge on the held-out ones, for the best penalty."""
        begun = time.perf_counter()
        n_rows = min(n_rows or len(self.rows.y), len(self.rows.y))
        key = replace(setting, penalty=_FIRST_PENALTY), n_rows
        if key in self._found:
            return self._found[key]
        space = self._space(setting.scaling, setting.metric)
        X, columns, y = space.X[:n_rows, :], self.rows.columns[:n_rows], self.rows.y[:n_rows]
        weights = None if self.rows.weights is None else self.rows.weights[:n_rows]
        feature_map = self.new_map(setting, len(columns))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few directions, early stops: the score tells
            feature_map.fit(X, y)
        equations = NormalEquations.from_map(feature_map.transform, X, columns, weights)
        held = feature_map.transform(space.held_X)
        found: dict[float, Tried] = {}

        def judge(penalty: float) -> float:
            coefficients, intercepts = equations.solve(penalty * equations.weight)
            decisions = to_numpy(cast(held, wide_dtype(held)) @ coefficients + intercepts)
            found[penalty] = Tried(
                replace(setting, penalty=penalty),
                *self._losses(decisions),
                decisions,
                self.held.weights,
                len(columns),
                time.perf_counter() - begun,
            )
            return -found[penalty].loss

        if self.penalty is None:
            penalty = search_along(PENALTIES, setting.penalty, judge)
        else:
            penalty = self.penalty
            judge(penalty)
        tried = replace(found[penalty], seconds=time.perf_counter() - begun)
        self._found[key] = tried
        if setting.width == self.width and n_rows == len(self.rows.y):
            self._fitted[tried.setting] = feature_map, equations
        self.tried.append(tried)
        self.report(tried)
        return tried

    def with_held_rows(self, setting: Setting) -> tuple[Any, NormalEquations]:
        """The fitted map of a finalist, and its sums with those of the held-out rows."""
        feature_map, equations = self._fitted[setting]
        held = self._space(setting.scaling, setting.metric).held_X
        return feature_map, equations + NormalEquations.from_map(
            feature_map.transform, held, self.held.columns, self.held.weights
        )

    def new_map(self, setting: Setting, n_rows: int) -> Any:
        """The unfitted map of a setting for so many rows."""
        length = None
        if setting.bandwidth is not None:
            length = setting.bandwidth * self._space(setting.scaling, setting.metric).distance
        width = min(setting.width, 2 * (n_rows // 2)) or setting.width
        return setting.family.make(width, length, self.seed, self.task)

    def metric_of(self, mode: str) -> GradientMetric:
        """The metric of a mode."""
        assert self.metric is not None
        return self.metric.with_mode(mode)

    def _in_time(self) -> bool:
        return time.perf_counter() < self.deadline

    def _open_scalings(self) -> Iterable[Scaling]:
        for position, scaling in enumerate(self.scalings):
            if position == 0 or self._in_time():
                yield scaling

    def _with_metric(self, scaling: Scaling, family: Family, width: int) -> list[Tried]:
        """The best with the metric of each mode, the simplest first."""
        X, y = self._space(scaling, None).X, self.rows.y
        if self.mode is None or X.shape[0] < FEWEST_METRIC_ROWS or not self._in_time():
            return []
        metric = GradientMetric(
            self.mode, n_frequencies=_METRIC, target=self.task, random_state=self.seed
        )
        self.metric = metric.fit(X, one_target(y))
        return [
            self._along_bandwidths(scaling, mode, family, width)
            for mode in metric.modes_
            if mode is not None
        ]

    def _along_bandwidths(
        self, scaling: Scaling, metric: str | None, family: Family, width: int
    ) -> Tried:
        setting = Setting(scaling, metric, family, None, width)
        if not family.bandwidths:
            return self.judge(setting, _COARSE_ROWS)
        found: dict[float, Tried] = {}

        def judge(bandwidth: float) -> float:
            found[bandwidth] = self.judge(replace(setting, bandwidth=bandwidth), _COARSE_ROWS)
            return -found[bandwidth].loss

        middle = family.bandwidths[(len(family.bandwidths) - 1) // 2]
        return found[search_along(family.bandwidths, middle, judge)]

    def _space(self, scaling: Scaling, metric: str | None) -> _Space:
        key = scaling, metric
        if key not in self._spaces:
            if metric is None:
                step: Any = ColumnScaler(scaling).fit(self.rows.X)
                self.scalers[scaling] = step
                before = _Space(self.rows.X, self.held.X)
            else:
                step, before = self.metric_of(metric), self._space(scaling, None)
            self._spaces[key] = _Space(step.transform(before.X), step.transform(before.held_X))
        return self._spaces[key]

    def _losses(self, decisions: Float) -> tuple[float, Float, NDArray[np.bool_] | None]:
        """The score, the loss of every held-out row, and which of them are misclassified."""
        targets, weights = self.held.columns, self.held.weights
        if self.task == "regression":
            losses = ((decisions - targets) ** 2).mean(axis=1)
            spread = ((targets - np.average(targets, axis=0, weights=weights)) ** 2).mean(axis=1)
            whole = float(np.average(spread, weights=weights))
            error = float(np.average(losses, weights=weights))
            return 1 - error / whole if whole else 0.0, losses, None
        if targets.shape[1] == 1:
            margins = (decisions * targets)[:, 0]
        else:
            own = targets > 0
            others = np.where(own, -np.inf, decisions).max(axis=1)
            margins = 0.5 * (decisions[own] - others)
        wrong = margins <= 0
        score = 1 - float(np.average(wrong, weights=weights))
        return score, np.logaddexp(0, -_SLOPE * margins), wrong

    def _best(self, candidates: Sequence[Tried]) -> Tried:
        """Of candidates, the simplest first: the best one, or a simpler one as good as that.

        For classes as good is a loss within half a standard error of the difference, row by row.
        """
        top = min(candidates, key=lambda one: one.loss)
        if self.task == "regression":
            return top

        def as_good(one: Tried) -> bool:
            excess = one.losses - top.losses
            return one.loss - top.loss <= 0.5 * float(excess.std()) / len(excess) ** 0.5

        return next(one for one in candidates if as_good(one))


def one_target(y: NDArray[Any]) -> NDArray[Any]:
    """Targets as one column: of several the combination that varies most."""
    if y.ndim == 1:
        return y
    centred = y - y.mean(axis=0)
    spread = centred.std(axis=0)
    scaled = centred / np.where(spread > 0, spread, 1.0)
    combined: NDArray[Any] = scaled @ np.linalg.eigh(scaled.T @ scaled)[1][:, -1]
    return combined
