"""One split of the rows: maps fitted on some of them, and their decisions on the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from threading import RLock
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from scipy import sparse
from sklearn.base import clone

from bochner.engine.places import cast, is_host, to_numpy, wide_dtype
from bochner.engine.rowwise import concat_rows
from bochner.linear.kernel_ridge import (
    SINGLE_ROWS,
    FactorisedKernel,
    KernelEquations,
    RidgeEquations,
    ridge_equations,
)
from bochner.linear.normal_equations import NormalEquations
from bochner.metric.gradient_metric import GradientMetric, Mode
from bochner.metric.relevance import RELEVANCE, RelevanceMetric
from bochner.models.families import Family
from bochner.models.methods import Task
from bochner.models.scaling import ColumnScaler, Scaling
from bochner.models.settings import Labelled, Setting, Space, one_target

FEWEST_METRIC_ROWS = 50
COARSE_WIDTH = 512  # width up to which landmarks are random rows
_PAIRS_ROWS = 3000  # number of rows up to which distances are kept for other kernels
_METRIC = 384  # frequencies of the metric's regressions, which take most of its time
_METRIC_ROWS = 5000  # most rows used to learn directions
_RELEVANCE_ROWS = 1000
_PAIRS = {True: 2**26, False: 2**29}  # pairs of numbers per step: by columns, or by products
_FAR = 100.0  # times its spread: a column farther from 0 would lose digits in float32
_LEAST_START = 1e-2  # of the largest weight: columns that seem useless still get a chance


class Candidate:
    """A map with the ridge regressions on its features, for all penalties.

    Parameters
    ----------
    fitted : callable
        Returns the fitted map, which is not always needed.
    equations : NormalEquations or KernelEquations
        Equations of the rows to fit on.
    held : callable
        Returns the features of the held-out rows, given the dtype of a kernel's factor, or None
        for a map with a width.
    """

    def __init__(
        self, fitted: Callable[[], Any], equations: Any, held: Callable[[Any], Any]
    ) -> None:
        self._fitted, self.equations, self._make_held = fitted, equations, held
        # only one factor is kept, as it is as large as the kernel
        self._settled: tuple[float, Any] | None = None
        self._held: tuple[Any, Any] | None = None  # a dtype, and features of the held-out rows

    @property
    def feature_map(self) -> Any:
        """The fitted map."""
        return self._fitted()

    def _held_features(self, settled: Any) -> Any:
        """Return features of the held-out rows, rounded like those of the rows to fit on."""
        dtype = settled.dtype if isinstance(settled, FactorisedKernel) else None
        if self._held is None or self._held[0] != dtype:
            self._held = dtype, self._make_held(dtype)
        return self._held[1]

    def settled(self, penalty: float, *, last: bool = False) -> Any:
        """Return the equations settled on one penalty."""
        if self._settled is None or self._settled[0] != penalty:
            self._settled = None
            alpha = penalty * self.equations.weight
            self._settled = penalty, self.equations.settled(alpha, last=last)
        return self._settled[1]

    def is_single(self, penalty: float) -> bool:
        """Whether float32 was precise enough for a settled penalty, or was not used at all."""
        return penalty * self.equations.weight > getattr(self.equations, "drowned", 0.0)

    def decide(self, penalty: float, *, last: bool) -> tuple[Any, Any]:
        """Return values for the held-out rows, and their derivatives, on the host.

        The derivatives are with respect to the logarithm of the penalty. With `last`, there is no
        other penalty, and they are zero.
        """
        settled, alpha = self.settled(penalty, last=last), penalty * self.equations.weight
        if last:
            values = self._values(settled, settled.solve(alpha))
            return values, np.zeros_like(values)
        values, slopes = settled.solve_with_slope(alpha)
        return self._values(settled, values), self._values(settled, slopes)

    def _values(self, settled: Any, solution: Any) -> Any:
        coefficients, intercepts = solution
        held = self._held_features(settled)
        values = cast(held @ cast(coefficients, held.dtype), intercepts.dtype)
        return to_numpy(values + intercepts)


class Fold:
    """Rows to fit on, and rows to judge by, after every scaling and metric that was requested.

    Parameters
    ----------
    rows, held : Labelled
        Rows to fit on, in random order, and rows to judge by.
    task : {"classification", "regression"}
        The kind of task.
    seed : int
        Seed of the maps and the metric.
    n_jobs : int or None
        Number of threads of the metric, and of maps that do not set it themselves.
    """

    def __init__(
        self, rows: Labelled, held: Labelled, task: Task, seed: int, n_jobs: int | None
    ) -> None:
        self.rows, self.held, self.task = rows, held, task
        self.seed, self.n_jobs = seed, n_jobs
        self._scalers: dict[str, ColumnScaler] = {}
        self._metrics: dict[str, GradientMetric] = {}  # by scaling
        self._relevance: dict[tuple[str, str], RelevanceMetric] = {}  # by scaling and kernel
        self._spaces: dict[tuple[str, ...], Space] = {}
        self._lock = RLock()  # what several threads need is computed once

    def without_split(self) -> Fold:
        """Return a fold that fits on all rows; its rows to judge by are the same held-out rows."""
        rows, held = self.rows, self.held
        weights = None
        if rows.weights is not None and held.weights is not None:
            weights = concat_rows([rows.weights, held.weights])
        both = Labelled(
            concat_rows([rows.X, held.X]),
            concat_rows([rows.y, held.y]),
            concat_rows([rows.columns, held.columns]),
            weights,
        )
        return Fold(both, held, self.task, self.seed, self.n_jobs)

    def candidate(self, setting: Setting, n_rows: int, *, rough: bool = False) -> Candidate:
        """Return the candidate of a setting on the first rows; `rough` ones are only judged."""
        space = self.space_of(setting)
        if rough and setting.width is not None:
            space = self._rough(space, setting.scaling)
        X, columns, y = space.X[:n_rows, :], self.rows.columns[:n_rows], self.rows.y[:n_rows]
        weights = None if self.rows.weights is None else self.rows.weights[:n_rows]
        unfitted = self.new_map(setting, len(columns))

        @cache
        def fitted() -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # few directions, early stops: the score tells
                return unfitted.fit(X, y)

        def held(dtype: Any) -> Any:
            if dtype is not None:
                return fitted().transform(cast(space.held_X, dtype))
            features = fitted().transform(space.held_X)
            return cast(features, wide_dtype(features))

        if setting.width is not None or len(columns) > _PAIRS_ROWS:
            self._make_room()
        elif setting.bandwidth is not None and is_host(X) and not sparse.issparse(X):
            return self._of_pairs(unfitted.kernel, space, fitted, columns, weights)
        return Candidate(fitted, ridge_equations(fitted(), X, columns, weights), held)

    def _of_pairs(
        self, kernel: Any, space: Space, fitted: Callable[[], Any], columns: Any, weights: Any
    ) -> Candidate:
        """Return the exact method of a kernel, reusing distances that are known."""

        def values(single: bool, held: bool = False) -> Any:
            return space.pairs(len(columns), single, held=held).kernel_rows(kernel)

        return Candidate(
            fitted,
            KernelEquations(values, columns, weights),
            lambda dtype: values(dtype == np.float32, held=True),
        )

    def _make_room(self) -> None:
        for space in list(self._spaces.values()):
            space.forget_pairs()

    def steps_of(self, setting: Setting) -> list[tuple[str, Any]]:
        """Return the fitted scaling, and the metric if there is one."""
        steps: list[tuple[str, Any]] = [("scaling", self._scalers[setting.scaling])]
        if setting.metric is not None:
            steps.append(("metric", self.metric_of(setting)))
        return steps

    def with_held_rows(
        self, setting: Setting, feature_map: Any, equations: Any
    ) -> tuple[Any, RidgeEquations, float]:
        """Extend a fitted setting to all rows; return the map, equations and total penalty."""
        space, held = self.space_of(setting), self.held
        if setting.width is not None:
            equations = equations + NormalEquations.from_map(
                feature_map.transform, space.held_X, held.columns, held.weights
            )
            return feature_map, equations, setting.penalty * equations.weight
        X, alpha = concat_rows([space.X, space.held_X]), equations.alpha
        feature_map = self.new_map(setting, 0).fit(X)
        rows = feature_map.transform(cast(space.held_X, equations.dtype))
        with suppress(LinAlgError):
            grown = equations.with_rows(rows, held.columns, held.weights)
            if grown.will_do:
                return feature_map, grown, alpha
        both = self.without_split().rows
        anew = ridge_equations(feature_map, X, both.columns, both.weights)
        return feature_map, anew.settled(alpha, last=True), alpha

    def new_map(self, setting: Setting, n_rows: int) -> Any:
        """Return the unfitted map of a setting for `n_rows` rows."""
        feature_map = self._open_map(setting, n_rows)
        if feature_map.get_params(deep=False).get("n_jobs", self.n_jobs) is None:
            feature_map.set_params(n_jobs=self.n_jobs)
        return feature_map

    def _open_map(self, setting: Setting, n_rows: int) -> Any:
        length = None
        if setting.bandwidth is not None:
            space = self.space_of(setting)
            length = setting.bandwidth * space.distance(setting.family.distance)
        if setting.width is None:
            return setting.family.make_exact(length)
        width = min(setting.width, 2 * (n_rows // 2)) or setting.width
        feature_map = setting.family.make(width, length, self.seed, self.task)
        if (
            setting.family.has_landmarks
            and width > COARSE_WIDTH
            and not sparse.issparse(self.rows.X)
        ):
            feature_map.set_params(landmarks="kmeans")  # as good as more of them
        return feature_map

    def learn_metric(self, scaling: Scaling, mode: Mode) -> GradientMetric | None:
        """Learn the metric of scaled rows in all modes that are worth it; None for few rows."""
        X = self._rough(self.space(scaling), scaling).X
        if X.shape[0] < FEWEST_METRIC_ROWS:
            return None
        metric = GradientMetric(
            mode,
            n_frequencies=_METRIC,
            target=self.task,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )
        y = one_target(self.rows.y)
        self._metrics[scaling] = metric.fit(X[:_METRIC_ROWS, :], y[:_METRIC_ROWS])
        return metric

    def learn_relevance(self, scaling: Scaling, family: Family) -> bool:
        """Learn weights of scaled columns for the kernel of a family; False for too few rows."""
        X = self._rough(self.space(scaling), scaling).X
        if X.shape[0] < FEWEST_METRIC_ROWS:
            return False
        start = None
        if scaling in self._metrics:
            roots = self._metrics[scaling].importances_ ** 0.5
            start = np.maximum(roots, _LEAST_START * roots.max())
        most = int((_PAIRS[family.by_columns] / X.shape[1]) ** 0.5)
        metric = RelevanceMetric(
            family.unit_kernel,
            n_rows=max(1, min(_RELEVANCE_ROWS, most)),
            start=start,
            target=self.task,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )
        key = scaling, family.kernel
        self._relevance[key] = metric.fit(X, one_target(self.rows.y))
        return True

    def learn_metric_as(self, other: Fold, scaling: Scaling) -> None:
        """Learn the metric of these rows, with the settings found by that of another fold."""
        if scaling not in self._metrics:
            X = self._rough(self.space(scaling), scaling).X
            self._metrics[scaling] = other._metrics[scaling].refit(X, one_target(self.rows.y))

    def learn_as(self, other: Fold, setting: Setting) -> None:
        """Learn the metric of a setting, if it has one, as another fold did."""
        scaling, kernel = setting.scaling, setting.family.kernel
        if setting.metric == RELEVANCE:
            X = self._rough(self.space(scaling), scaling).X
            fresh = clone(other._relevance[scaling, kernel])
            self._relevance[scaling, kernel] = fresh.fit(X, one_target(self.rows.y))
        elif setting.metric is not None:
            self.learn_metric_as(other, scaling)

    def importances(self, setting: Setting) -> Any:
        """Return column importances: from a setting's weights, or the metric learned first."""
        if setting.metric == RELEVANCE:
            return self.metric_of(setting).importances_
        return next((metric.importances_ for metric in self._metrics.values()), None)

    def metric_of(self, setting: Setting) -> Any:
        """Return the fitted metric of a setting that has one."""
        return self._metric(setting.scaling, setting.metric, setting.family.kernel)

    def _metric(self, scaling: Scaling, metric: str | None, kernel: str) -> Any:
        if metric == RELEVANCE:
            return self._relevance[scaling, kernel]
        return self._metrics[scaling].with_mode(metric)

    def space_of(self, setting: Setting) -> Space:
        """Return the rows as the map of a setting sees them."""
        return self.space(setting.scaling, setting.metric, setting.family.kernel)

    def _rough(self, space: Space, scaling: Scaling) -> Space:
        """Return rows for choosing or for learning a metric, in float32 where that is enough."""
        scaler = self._scalers[scaling]
        is_near = scaling != "none" or (np.abs(scaler.center_) <= _FAR * scaler.scale_).all()
        return space.single if is_near and space.X.shape[0] >= SINGLE_ROWS else space

    def space(self, scaling: Scaling, metric: str | None = None, kernel: str = "") -> Space:
        """Return the rows after a scaling and a metric; column weights belong to one kernel."""
        key = scaling, metric or "", kernel if metric == RELEVANCE else ""
        with self._lock:
            if key not in self._spaces:
                self._spaces[key] = self._new_space(scaling, metric, kernel)
            return self._spaces[key]

    def _new_space(self, scaling: Scaling, metric: str | None, kernel: str) -> Space:
        if metric is None:
            step: Any = ColumnScaler(scaling).fit(self.rows.X)
            self._scalers[scaling] = step
            before = Space(self.rows.X, self.held.X)
        else:
            step, before = self._metric(scaling, metric, kernel), self.space(scaling)
        return Space(step.transform(before.X), step.transform(before.held_X))
