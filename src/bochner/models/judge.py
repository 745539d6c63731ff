"""Settings of a kernel model, each fitted on some rows and judged by others.

Rows after a scaling and a metric, fitted maps and sums are kept where they are needed again:
nothing is computed twice.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from scipy import sparse

from bochner.engine.places import cast, to_numpy, wide_dtype
from bochner.engine.rowwise import concat_rows
from bochner.linear.kernel_ridge import KernelEquations, RidgeEquations, ridge_equations
from bochner.linear.normal_equations import NormalEquations
from bochner.linear.search import search_along
from bochner.metric.gradient_metric import GradientMetric, Mode
from bochner.models.hinge import try_hinge
from bochner.models.methods import Task
from bochner.models.scaling import ColumnScaler, Scaling
from bochner.models.settings import (
    FIRST_PENALTY,
    Labelled,
    Setting,
    Space,
    Tried,
    losses_of,
    one_target,
)

PENALTIES = tuple(10.0**k for k in range(0, -10, -1))  # alpha for each row
FEWEST_METRIC_ROWS = 50
COARSE_WIDTH = 512  # up to which landmarks are as they come
_METRIC = 384  # frequencies of the metric's regressions: most of the time is theirs


class Judge:
    """How settings do on held-out rows.

    Parameters
    ----------
    rows, held : Labelled
        To fit on, and to judge by; the former in random order.
    task : {"classification", "regression"}
        What the targets are.
    width : int or None
        Number of features of finalists, which are kept; None where all rows are landmarks.
    penalty : float or None
        Given, or to be chosen.
    seed : int
        Of maps and metric.
    n_jobs : int or None
        Of maps, unless they say it themselves, and metric.
    keep_sums : bool
        Whether :meth:`with_held_rows` will be asked for, which needs the sums of finalists.
    report : callable
        Told of everything that was tried.
    """

    def __init__(
        self,
        rows: Labelled,
        held: Labelled,
        task: Task,
        *,
        width: int | None,
        penalty: float | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
        keep_sums: bool = True,
        report: Callable[[Tried], None] = lambda tried: None,
    ) -> None:
        self.rows, self.held, self.task = rows, held, task
        self.rows_are_dense = not sparse.issparse(rows.X)
        self.penalty, self.kept_widths = penalty, {width}
        self.seed, self.n_jobs, self.report = seed, n_jobs, report
        self._keep_sums = keep_sums
        self.tried: list[Tried] = []
        self.scalers: dict[str, ColumnScaler] = {}
        self.metrics: dict[str, GradientMetric] = {}  # by scaling
        self._spaces: dict[tuple[str, str | None], Space] = {}
        self._found: dict[tuple[Setting, int], Tried] = {}
        self._fitted: dict[Setting, tuple[Any, Any]] = {}  # maps, and their RidgeEquations

    @property
    def n_rows(self) -> int:
        """How many rows there are to fit on."""
        return len(self.rows.y)

    def judge(
        self, setting: Setting, n_rows: int | None = None, penalties: Sequence[float] | None = None
    ) -> Tried:
        """Fit on the first `n_rows` rows and judge on the held-out ones, for the best penalty.

        It is looked for from that of the setting on: among all, or the `penalties` given.
        """
        begun = time.perf_counter()
        n_rows = min(n_rows or self.n_rows, self.n_rows)
        key = replace(setting, penalty=FIRST_PENALTY), n_rows
        if key in self._found:
            return self._found[key]
        space = self.space(setting.scaling, setting.metric)
        X, columns, y = space.X[:n_rows, :], self.rows.columns[:n_rows], self.rows.y[:n_rows]
        weights = None if self.rows.weights is None else self.rows.weights[:n_rows]
        feature_map = self.new_map(setting, len(columns))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few directions, early stops: the score tells
            feature_map.fit(X, y)
        start = self.penalty or setting.penalty
        choices = PENALTIES if penalties is None else penalties
        if self.penalty is not None:
            choices = (start,)
        weight = float(n_rows if weights is None else weights.sum())
        equations = ridge_equations(feature_map, X, columns, weights, min(choices) * weight)
        if isinstance(equations, KernelEquations):
            held = feature_map.transform(cast(space.held_X, equations.kernel.dtype))
        else:
            held = feature_map.transform(space.held_X)
            held = cast(held, wide_dtype(held))
        found: dict[float, Tried] = {}
        solved: dict[float, Any] = {}

        def judge(penalty: float) -> float:
            alpha = penalty * equations.weight
            solved.clear()  # one factor at a time: it is as large as the kernel matrix
            settled = equations.settled(alpha, last=len(choices) == 1)
            solved[penalty] = settled
            coefficients, intercepts = settled.solve(alpha)
            values = cast(held @ cast(coefficients, held.dtype), intercepts.dtype) + intercepts
            decisions = to_numpy(values)
            found[penalty] = Tried(
                replace(setting, penalty=penalty),
                *losses_of(decisions, self.held, self.task),
                decisions,
                self.held.weights,
                len(columns),
                time.perf_counter() - begun,
            )
            return -found[penalty].loss

        penalty = search_along(choices, start, judge)
        tried = replace(found[penalty], seconds=time.perf_counter() - begun)
        self._found[key] = tried
        if setting.width in self.kept_widths and n_rows == self.n_rows:
            sums = None
            if self._keep_sums:
                sums = solved.get(penalty) or equations.settled(penalty * equations.weight)
            self._fitted[tried.setting] = feature_map, sums
        return self._noted(tried)

    def judge_hinge(self, squares: Tried, penalty: float | None = None) -> Tried:
        """What is kept, with the squared hinge loss in the place of squares.

        The penalty is the one that was given, that of the argument, or the best.
        """
        setting = squares.setting
        feature_map, _ = self._fitted[setting]
        space = self.space(setting.scaling, setting.metric)
        known = self.penalty or penalty
        return self._noted(try_hinge(squares, feature_map, space, self.rows, self.held, known))

    def judge_narrow(self, setting: Setting, width: int) -> Tried:
        """A setting with fewer features, kept as finalists are."""
        self.kept_widths.add(width)
        return self.judge(replace(setting, width=width))

    def _noted(self, tried: Tried) -> Tried:
        self.tried.append(tried)
        self.report(tried)
        return tried

    def along_bandwidths(self, setting: Setting, n_rows: int) -> Tried:
        """The best bandwidth and penalty for a setting that is otherwise given."""
        bandwidths = setting.family.bandwidths
        setting = replace(setting, bandwidth=None, penalty=FIRST_PENALTY)
        if not bandwidths:
            return self.judge(setting, n_rows)
        found: dict[float, Tried] = {}
        start = FIRST_PENALTY

        def judge(bandwidth: float) -> float:
            nonlocal start
            here = replace(setting, bandwidth=bandwidth, penalty=start)
            found[bandwidth] = self.judge(here, n_rows)
            start = found[bandwidth].setting.penalty
            return -found[bandwidth].loss

        middle = bandwidths[(len(bandwidths) - 1) // 2]
        return found[search_along(bandwidths, middle, judge)]

    def with_held_rows(self, setting: Setting) -> tuple[Any, RidgeEquations, float]:
        """The fitted map of a finalist, what it needs of all rows, and the penalty for them."""
        space, held = self.space(setting.scaling, setting.metric), self.held
        feature_map, equations = self._fitted.pop(setting)
        self._fitted.clear()
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
        if setting.family.has_landmarks and width > COARSE_WIDTH and self.rows_are_dense:
            feature_map.set_params(landmarks="kmeans")  # as good as more of them
        return feature_map

    def learn_metric(self, scaling: Scaling, mode: Mode) -> tuple[str, ...]:
        """The modes of the metric of scaled rows that were looked at, the simplest first."""
        X = self.space(scaling, None).X
        if X.shape[0] < FEWEST_METRIC_ROWS:
            return ()
        metric = GradientMetric(
            mode,
            n_frequencies=_METRIC,
            target=self.task,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )
        self.metrics[scaling] = metric.fit(X, one_target(self.rows.y))
        return tuple(mode for mode in metric.modes_ if mode is not None)

    @property
    def importances(self) -> Any:
        """Of the columns, by the metric that was learned first; None without one."""
        return next((metric.importances_ for metric in self.metrics.values()), None)

    def metric_of(self, scaling: str, mode: str) -> GradientMetric:
        """The metric of a mode for scaled rows."""
        return self.metrics[scaling].with_mode(mode)

    def space(self, scaling: Scaling, metric: str | None) -> Space:
        """The rows after a scaling and a metric."""
        key = scaling, metric
        if key not in self._spaces:
            if metric is None:
                step: Any = ColumnScaler(scaling).fit(self.rows.X)
                self.scalers[scaling] = step
                before = Space(self.rows.X, self.held.X)
            else:
                step, before = self.metric_of(scaling, metric), self.space(scaling, None)
            self._spaces[key] = Space(step.transform(before.X), step.transform(before.held_X))
        return self._spaces[key]
