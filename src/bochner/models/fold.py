"""One split of the rows: maps fitted on some of them, and their decisions on the others."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

from scipy import sparse

from bochner.engine.places import cast, to_numpy, wide_dtype
from bochner.engine.rowwise import concat_rows
from bochner.linear.kernel_ridge import KernelEquations, RidgeEquations, ridge_equations
from bochner.linear.normal_equations import NormalEquations
from bochner.metric.gradient_metric import GradientMetric, Mode
from bochner.models.methods import Task
from bochner.models.scaling import ColumnScaler, Scaling
from bochner.models.settings import Labelled, Setting, Space, one_target

FEWEST_METRIC_ROWS = 50
COARSE_WIDTH = 512  # up to which landmarks are as they come
_METRIC = 384  # frequencies of the metric's regressions: most of the time is theirs


class Candidate:
    """A fitted map with the ridge regressions on its features, for all penalties."""

    def __init__(self, feature_map: Any, equations: Any, held_X: Any) -> None:
        self.feature_map, self.equations, self._held_X = feature_map, equations, held_X
        # one factor: it is as large as the kernel
        self._settled: tuple[tuple[float, bool], Any] | None = None

    @cached_property
    def _held(self) -> Any:
        """Features of the held-out rows."""
        if isinstance(self.equations, KernelEquations):
            return self.feature_map.transform(cast(self._held_X, self.equations.kernel.dtype))
        held = self.feature_map.transform(self._held_X)
        return cast(held, wide_dtype(held))

    def settled(self, penalty: float, *, last: bool = False, roughly: bool = False) -> Any:
        """The equations with one penalty."""
        roughly = roughly and not last and isinstance(self.equations, KernelEquations)
        if self._settled is None or self._settled[0] != (penalty, roughly):
            self._settled = None
            how = {"last": last} | ({"roughly": True} if roughly else {})
            settled = self.equations.settled(penalty * self.equations.weight, **how)
            self._settled = (penalty, roughly), settled
        return self._settled[1]

    def decide(self, penalty: float, *, last: bool) -> Any:
        """Values for the held-out rows, on the host; with `last` there is no other penalty."""
        alpha = penalty * self.equations.weight
        coefficients, intercepts = self.settled(penalty, last=last, roughly=True).solve(alpha)
        held = self._held
        values = cast(held @ cast(coefficients, held.dtype), intercepts.dtype) + intercepts
        return to_numpy(values)


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

    def candidate(self, setting: Setting, n_rows: int, least_penalty: float) -> Candidate:
        """The map of a setting fitted on the first rows, for penalties from the least on."""
        space = self.space(setting.scaling, setting.metric)
        X, columns, y = space.X[:n_rows, :], self.rows.columns[:n_rows], self.rows.y[:n_rows]
        weights = None if self.rows.weights is None else self.rows.weights[:n_rows]
        feature_map = self.new_map(setting, len(columns))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few directions, early stops: the score tells
            feature_map.fit(X, y)
        weight = float(len(y) if weights is None else weights.sum())
        equations = ridge_equations(feature_map, X, columns, weights, least_penalty * weight)
        return Candidate(feature_map, equations, space.held_X)

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
        feature_map = self.new_map(setting, 0).fit(concat_rows([space.X, space.held_X]))
        rows = feature_map.transform(cast(space.held_X, equations.dtype))
        return feature_map, equations.with_rows(rows, held.columns, held.weights), equations.alpha

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
        if key not in self._spaces:
            if metric is None:
                step: Any = ColumnScaler(scaling).fit(self.rows.X)
                self._scalers[scaling] = step
                before = Space(self.rows.X, self.held.X)
            else:
                step, before = self.metric_of(scaling, metric), self.space(scaling, None)
            self._spaces[key] = Space(step.transform(before.X), step.transform(before.held_X))
        return self._spaces[key]
