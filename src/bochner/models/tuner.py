"""Everything that a kernel model leaves open, chosen on held-out rows: from coarse to fine.

Scalings of the columns are told apart with few rows and few features; the metric is learned once,
for the best of them; then kernels are compared, and the best few at last with all rows and all
features. Of few rows all are landmarks, and what is compared are exact kernel ridge regressions,
on more and more rows. Nothing is computed twice.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bochner.engine.places import cast, dense, to_numpy, wide_dtype
from bochner.engine.rowwise import concat_rows
from bochner.linear.kernel_ridge import KernelEquations, RidgeEquations, ridge_equations
from bochner.linear.normal_equations import NormalEquations
from bochner.linear.search import search_along
from bochner.metric.gradient_metric import GradientMetric, Mode
from bochner.metric.matrices import MODES
from bochner.models.families import Family
from bochner.models.hinge import is_affordable, try_hinge
from bochner.models.limits import are_many, may_be_exact
from bochner.models.methods import Task
from bochner.models.scaling import SCALINGS, ColumnScaler, Scaling
from bochner.models.settings import (
    FIRST_PENALTY,
    HINGE,
    Labelled,
    Loss,
    Setting,
    Space,
    Tried,
    clearly_worse,
    going_on,
    losses_of,
    one_target,
    suited,
)

PENALTIES = tuple(10.0**k for k in range(0, -10, -1))  # alpha for each row
FEWEST_METRIC_ROWS = 50
WIDTH = 2048  # of maps for more
_COARSE_ROWS, _COARSE_WIDTH = 4000, 512
_FINALISTS = 2
_FIRST_ROWS, _SECOND_ROWS = 1500, 3000  # of exact methods, which are compared on more and more
_MOST_COLUMNS = 1000  # for kernels that look at them one by one, which takes time
_HEAD = 256  # rows that tell scalings apart
_METRIC = 384  # frequencies of the metric's regressions: most of the time is theirs

Float = NDArray[np.float64]


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
    width : int or None
        Number of features. None: all rows are landmarks where they are few.
    scalings : sequence of str
        To choose from, the simplest first.
    metric : str or None
        Mode of the metric.
    penalty : float or None
        Given, or to be chosen.
    loss : str
        ``"auto"``, or one of the losses.
    seed : int
        Of maps and metric.
    n_jobs : int or None
        Of maps, unless they say it themselves, and metric.
    keep_sums : bool
        Whether :meth:`with_held_rows` will be asked for, which needs the sums of finalists.
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
        width: int | None,
        scalings: Sequence[Scaling] = SCALINGS,
        metric: Mode | None = "auto",
        penalty: float | None = None,
        loss: Loss | Literal["auto"] = "auto",
        seed: int = 0,
        n_jobs: int | None = None,
        keep_sums: bool = True,
        deadline: float = float("inf"),
        report: Callable[[Tried], None] = lambda tried: None,
    ) -> None:
        self.rows, self.held, self.task = rows, held, task
        narrow = rows.X.shape[1] <= _MOST_COLUMNS
        self.families = [f for f in families if narrow or not f.by_columns] or list(families)
        n_rows = len(rows.y) + len(held.y)
        self._asks_hinge = task == "classification" and loss == HINGE
        self._tries_hinge = self._asks_hinge or (
            task == "classification" and loss == "auto" and are_many(n_rows)
        )
        self.exact = (
            width is None
            and not self._asks_hinge
            and may_be_exact(n_rows)
            and all(family.kernel_at for family in self.families)
        )
        if self.exact:  # features of a kernel are all the same to it
            named = {family.kernel: family for family in reversed(self.families)}
            self.families = [f for f in self.families if named[f.kernel] is f]
        self.width = None if self.exact else width or WIDTH
        self.mode, self.penalty = metric, penalty
        self.scalings = scalings
        self.rows_are_dense = not sparse.issparse(rows.X)
        if not self.rows_are_dense:  # they keep their zeros
            self.scalings = [s for s in scalings if s in ("standard", "none")] or ["standard"]
        self.seed, self.deadline, self.report = seed, deadline, report
        self.n_jobs = n_jobs
        self._keep_sums = keep_sums
        self.tried: list[Tried] = []
        self._found: dict[tuple[Setting, int], Tried] = {}
        self._fitted: dict[Setting, tuple[Any, Any]] = {}  # maps, and their RidgeEquations
        self.metric: GradientMetric | None = None
        self.scalers: dict[str, ColumnScaler] = {}
        self._spaces: dict[tuple[str, str | None], Space] = {}

    @property
    def n_settings(self) -> int:
        """How many settings there are to choose from, before any row has been seen."""
        bandwidths = sum(max(1, len(family.bandwidths)) for family in self.families)
        penalties = len(PENALTIES) if self.penalty is None else 1
        metrics = {"auto": 1 + len(MODES), None: 1}.get(self.mode, 2)
        losses = 1 + self._tries_hinge
        return len(self.scalings) * metrics * bandwidths * penalties * losses

    def run(self) -> Tried:
        """The best setting, tried with all rows and features."""
        coarse = min(self.width or _COARSE_WIDTH, _COARSE_WIDTH)
        first = self.families[0]
        by_scaling = [
            self._along_bandwidths(Setting(s, None, first, None, coarse), _COARSE_ROWS)
            for s in self._open_scalings()
        ]
        plain = self._best(by_scaling)
        with_metric = self._with_metric(plain.setting)
        asked = self.mode not in ("auto", None) and bool(with_metric)
        by_mode = with_metric if asked else [plain, *with_metric]
        if self.exact:
            finalists = self._exact_finalists(by_mode)
        else:
            finalists = self._finalists(by_mode, by_scaling)
        finalists.sort(key=self._complexity)
        return self._with_better_loss(self._best(finalists))

    def _with_better_loss(self, squares: Tried) -> Tried:
        """A finalist; with the squared hinge loss where that is asked for, or clearly better."""
        affordable = self._asks_hinge or (self._in_time() and is_affordable(squares, self.held))
        if self.exact or not (self._tries_hinge and affordable):
            return squares
        setting = squares.setting
        feature_map, _ = self._fitted[setting]
        space = self._space(setting.scaling, setting.metric)
        hinge = try_hinge(squares, feature_map, space, self.rows, self.held, self.penalty)
        self.tried.append(hinge)
        self.report(hinge)
        # their margins have different scales: only decisions can be compared
        better = self._asks_hinge or clearly_worse(squares, hinge, 0.5, counted=True)
        return hinge if better else squares

    def _complexity(self, one: Tried) -> tuple[int, int]:
        names = [family.name for family in self.families]
        return names.index(one.setting.family.name), [None, *MODES].index(one.setting.metric)

    def _finalists(self, by_mode: Sequence[Tried], by_scaling: Sequence[Tried]) -> list[Tried]:
        """The best families, and the best one with other columns, at full width."""
        width = by_mode[0].setting.width
        found = self._by_family(by_mode, width, _COARSE_ROWS)
        settings = [one.setting for one in found[:_FINALISTS]]
        # few features and rows favour few directions: others may be better with more of them
        settings += self._next_mode(settings[0], by_mode)
        if self.mode in ("auto", None):
            others = [one for one in by_scaling if one.setting.scaling != settings[0].scaling]
            settings += [
                replace(settings[0], scaling=one.setting.scaling, metric=None)
                for one in sorted(others, key=lambda one: one.loss)[:1]
            ]
        finalists: list[Tried] = []
        for one in settings:
            if not finalists or self._in_time():
                finalists.append(self.judge(replace(one, width=self.width)))
        return finalists

    def _exact_finalists(self, by_mode: Sequence[Tried]) -> list[Tried]:
        """Exact methods on more and more rows, of which fewer and fewer go on."""
        found = self._by_family(by_mode, None, _FIRST_ROWS)
        # the metric was judged with another kernel: the best one, and the one that looks at
        # columns, are tried with another mode as well
        again = [found[0], *(one for one in found[1:] if one.setting.family.by_columns)]
        for one in again:
            for other in self._next_mode(one.setting, by_mode):
                if self._in_time():
                    found.append(self._along_bandwidths(other, _FIRST_ROWS))
        for n_rows, n_kept, errors in (
            (_SECOND_ROWS, 4, 2.0),
            (len(self.rows.y), _FINALISTS, 1.0),
        ):
            found = going_on(found, n_kept, errors)
            if found[0].n_rows < len(self.rows.y):
                found = [
                    self.judge(one.setting, n_rows, self._weaker(one.setting, n_rows))
                    for position, one in enumerate(found)
                    if position == 0 or self._in_time()
                ]
        return found

    def _by_family(self, by_mode: Sequence[Tried], width: int | None, n_rows: int) -> list[Tried]:
        """The best of every family, with the best mode of the metric for it; the best first."""
        found = [
            self._along_bandwidths(
                replace(self._best(suited(family, by_mode)).setting, family=family, width=width),
                n_rows,
            )
            for position, family in enumerate(self.families)
            if position == 0 or self._in_time()
        ]
        return sorted(found, key=lambda one: one.loss)

    def _next_mode(self, setting: Setting, by_mode: Sequence[Tried]) -> list[Setting]:
        """A setting with another mode of the metric, the best of the others, if there is one."""
        modes = suited(setting.family, by_mode)
        others = [one for one in modes if one.setting.metric != setting.metric]
        if not others:
            return []
        best = min(others, key=lambda one: one.loss)
        return [replace(setting, metric=best.setting.metric)]

    def _weaker(self, setting: Setting, n_rows: int) -> Sequence[float]:
        """Penalties to look at with more rows: weaker ones, but one only where rows are many."""
        if self.penalty is not None:
            return (self.penalty,)
        weaker = PENALTIES[PENALTIES.index(setting.penalty) :]
        return weaker if n_rows <= _SECOND_ROWS else weaker[:1]

    def judge(
        self, setting: Setting, n_rows: int | None = None, penalties: Sequence[float] | None = None
    ) -> Tried:
        """Fit on the first `n_rows` rows and judge on the held-out ones, for the best penalty.

        It is looked for from that of the setting on: among all, or the `penalties` given.
        """
        begun = time.perf_counter()
        n_rows = min(n_rows or len(self.rows.y), len(self.rows.y))
        key = replace(setting, penalty=FIRST_PENALTY), n_rows
        if key in self._found:
            return self._found[key]
        space = self._space(setting.scaling, setting.metric)
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
        if setting.width == self.width and n_rows == len(self.rows.y):
            sums = None
            if self._keep_sums:
                sums = solved.get(penalty) or equations.settled(penalty * equations.weight)
            self._fitted[tried.setting] = feature_map, sums
        self.tried.append(tried)
        self.report(tried)
        return tried

    def with_held_rows(self, setting: Setting) -> tuple[Any, RidgeEquations, float]:
        """The fitted map of a finalist, what it needs of all rows, and the penalty for them."""
        space, held = self._space(setting.scaling, setting.metric), self.held
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
            space = self._space(setting.scaling, setting.metric)
            length = setting.bandwidth * space.distance(setting.family.distance)
        if setting.width is None:
            return setting.family.make_exact(length)
        width = min(setting.width, 2 * (n_rows // 2)) or setting.width
        feature_map = setting.family.make(width, length, self.seed, self.task)
        if setting.family.has_landmarks and width > _COARSE_WIDTH and self.rows_are_dense:
            feature_map.set_params(landmarks="kmeans")  # as good as more of them
        return feature_map

    def metric_of(self, mode: str) -> GradientMetric:
        """The metric of a mode."""
        assert self.metric is not None
        return self.metric.with_mode(mode)

    def _in_time(self) -> bool:
        return time.perf_counter() < self.deadline

    def _open_scalings(self) -> Iterable[Scaling]:
        """Those that make other rows than the ones before."""
        seen: list[Any] = []
        for scaling in self.scalings:
            if not seen or self._in_time():
                head = to_numpy(dense(self._space(scaling, None).X[:_HEAD, :]))
                if not any(np.array_equal(head, other) for other in seen):
                    seen.append(head)
                    yield scaling

    def _with_metric(self, setting: Setting) -> list[Tried]:
        """The setting with the metric of each mode, the simplest first."""
        X, y = self._space(setting.scaling, None).X, self.rows.y
        if self.mode is None or X.shape[0] < FEWEST_METRIC_ROWS or not self._in_time():
            return []
        metric = GradientMetric(
            self.mode,
            n_frequencies=_METRIC,
            target=self.task,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )
        self.metric = metric.fit(X, one_target(y))
        return [
            self._along_bandwidths(replace(setting, metric=mode), _COARSE_ROWS)
            for mode in metric.modes_
            if mode is not None
        ]

    def _along_bandwidths(self, setting: Setting, n_rows: int) -> Tried:
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

    def _space(self, scaling: Scaling, metric: str | None) -> Space:
        key = scaling, metric
        if key not in self._spaces:
            if metric is None:
                step: Any = ColumnScaler(scaling).fit(self.rows.X)
                self.scalers[scaling] = step
                before = Space(self.rows.X, self.held.X)
            else:
                step, before = self.metric_of(metric), self._space(scaling, None)
            self._spaces[key] = Space(step.transform(before.X), step.transform(before.held_X))
        return self._spaces[key]

    def _best(self, candidates: Sequence[Tried]) -> Tried:
        """Of candidates, the simplest first: the best one, or a simpler one as good as that.

        For classes as good is a loss within half a standard error of the difference, row by row.
        """
        top = min(candidates, key=lambda one: one.loss)
        if self.task == "regression":
            return top
        return next(one for one in candidates if not clearly_worse(one, top, 0.5))
