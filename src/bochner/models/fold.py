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

from bochner.engine.places import cast, is_host, to_numpy, wide_dtype
from bochner.engine.rowwise import concat_rows
from bochner.linear.kernel_ridge import (
    FactorisedKernel,
    KernelEquations,
    RidgeEquations,
    ridge_equations,
)
from bochner.linear.normal_equations import NormalEquations
from bochner.metric.gradient_metric import GradientMetric, Mode
from bochner.models.methods import Task
from bochner.models.scaling import ColumnScaler, Scaling
from bochner.models.settings import Labelled, Setting, Space, one_target

FEWEST_METRIC_ROWS = 50
COARSE_WIDTH = 512  # up to which landmarks are as they come
_PAIRS_ROWS = 3000  # up to which distances are kept for other kernels
_METRIC = 384  # frequencies of the metric's regressions: most of the time is theirs


class Candidate:
    """A map with the ridge regressions on its features, for all penalties.

    Parameters
    ----------
    fitted : callable
        The fitted map, which not everybody needs.
    equations : NormalEquations or KernelEquations
        Of the rows to fit on.
    held : callable
        From the dtype of a kernel's factor, None for features, to those of the held-out rows.
    """

    def __init__(
        self, fitted: Callable[[], Any], equations: Any, held: Callable[[Any], Any]
    ) -> None:
        self._fitted, self.equations, self._make_held = fitted, equations, held
        # one factor: it is as large as the kernel
        self._settled: tuple[float, Any] | None = None
        self._held: tuple[Any, Any] | None = None  # a dtype, and features of the held-out rows

    @property
    def feature_map(self) -> Any:
        """The fitted map."""
        return self._fitted()

    def _held_features(self, settled: Any) -> Any:
        """Features of the held-out rows, rounded as those of the others."""
        dtype = settled.dtype if isinstance(settled, FactorisedKernel) else None
        if self._held is None or self._held[0] != dtype:
            self._held = dtype, self._make_held(dtype)
        return self._held[1]

    def settled(self, penalty: float, *, last: bool = False) -> Any:
        """The equations with one penalty."""
        if self._settled is None or self._settled[0] != penalty:
            self._settled = None
            alpha = penalty * self.equations.weight
            self._settled = penalty, self.equations.settled(alpha, last=last)
        return self._settled[1]

    def decide(self, penalty: float, *, last: bool) -> tuple[Any, Any]:
        """Values for the held-out rows and their derivatives with respect to the logarithm of the
        penalty, on the host; with `last` there is no other penalty, and derivatives are zero."""
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
    """Rows to fit on, and rows to judge by, after every scaling and metric that was asked for.

    Parameters
    ----------
    rows, held : Labelled
        To fit on, in random order, and to judge by.
    task : {"classification", "regression"}
        What the targets are.
    seed : int
        Of maps and metric.
    n_jobs : int or None
        Of maps, unless they say it themselves, and metric.
    """

    def __init__(
        self, rows: Labelled, held: Labelled, task: Task, seed: int, n_jobs: int | None
    ) -> None:
        self.rows, self.held, self.task = rows, held, task
        self.seed, self.n_jobs = seed, n_jobs
        self._scalers: dict[str, ColumnScaler] = {}
        self._metrics: dict[str, GradientMetric] = {}  # by scaling
        self._spaces: dict[tuple[str, str | None], Space] = {}
        self._lock = RLock()  # what several threads need is computed once

    def without_split(self) -> Fold:
        """All rows to fit on; the last of them, to have some, to judge by."""
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

    def candidate(self, setting: Setting, n_rows: int) -> Candidate:
        """The map of a setting and the first rows."""
        space = self.space(setting.scaling, setting.metric)
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
        """The exact method of a kernel whose distances may be known."""

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
        """The fitted scaling, and the metric where there is one."""
        steps: list[tuple[str, Any]] = [("scaling", self._scalers[setting.scaling])]
        if setting.metric is not None:
            steps.append(("metric", self.metric_of(setting.scaling, setting.metric)))
        return steps

    def with_held_rows(
        self, setting: Setting, feature_map: Any, equations: Any
    ) -> tuple[Any, RidgeEquations, float]:
        """The map of all rows, what it needs of them out of those to fit on, and the penalty."""
        space, held = self.space(setting.scaling, setting.metric), self.held
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
        """The unfitted map of a setting for so many rows."""
        feature_map = self._open_map(setting, n_rows)
        if feature_map.get_params(deep=False).get("n_jobs", self.n_jobs) is None:
            feature_map.set_params(n_jobs=self.n_jobs)
        return feature_map

    def _open_map(self, setting: Setting, n_rows: int) -> Any:
        length = None
        if setting.bandwidth is not None:
            space = self.space(setting.scaling, setting.metric)
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
        """The metric of scaled rows, in all modes that are worth it; None of too few rows."""
        X = self.space(scaling, None).X
        if X.shape[0] < FEWEST_METRIC_ROWS:
            return None
        metric = GradientMetric(
            mode,
            n_frequencies=_METRIC,
            target=self.task,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )
        self._metrics[scaling] = metric.fit(X, one_target(self.rows.y))
        return metric

    def learn_again(self, scaling: Scaling, metric: GradientMetric) -> None:
        """The metric of these rows, with the settings that one of others has found."""
        X = self.space(scaling, None).X
        self._metrics[scaling] = metric.refit(X, one_target(self.rows.y))

    @property
    def importances(self) -> Any:
        """Of the columns, by the metric that was learned first; None without one."""
        return next((metric.importances_ for metric in self._metrics.values()), None)

    def metric_of(self, scaling: str, mode: str) -> GradientMetric:
        """The metric of a mode for scaled rows."""
        return self._metrics[scaling].with_mode(mode)

    def space(self, scaling: Scaling, metric: str | None) -> Space:
        """The rows after a scaling and a metric."""
        key = scaling, metric
        with self._lock:
            if key not in self._spaces:
                self._spaces[key] = self._new_space(scaling, metric)
            return self._spaces[key]

    def _new_space(self, scaling: Scaling, metric: str | None) -> Space:
        if metric is None:
            step: Any = ColumnScaler(scaling).fit(self.rows.X)
            self._scalers[scaling] = step
            before = Space(self.rows.X, self.held.X)
        else:
            step, before = self.metric_of(scaling, metric), self.space(scaling, None)
        return Space(step.transform(before.X), step.transform(before.held_X))
