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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from bochner.engine.places import cast, dense, to_numpy, wide_dtype
from bochner.engine.rowwise import concat_rows
from bochner.fourier.bandwidth import median_distance
from bochner.linear.kernel_ridge import RidgeEquations, ridge_equations
from bochner.linear.normal_equations import NormalEquations
from bochner.linear.search import search_along
from bochner.metric.gradient_metric import GradientMetric, Mode
from bochner.metric.matrices import MODES
from bochner.models.families import Family
from bochner.models.methods import Task
from bochner.models.scaling import SCALINGS, ColumnScaler, Scaling
from bochner.nystroem.features import NystroemFeatures

PENALTIES = tuple(10.0**k for k in range(0, -10, -1))  # alpha for each row
FEWEST_METRIC_ROWS = 50
_FIRST_PENALTY = 1e-5
EXACT_ROWS = 12_500  # of which all may be landmarks: their kernel matrix has a gigabyte
WIDTH = 2048  # of maps for more
_COARSE_ROWS, _COARSE_WIDTH = 4000, 512
_FINALISTS = 2
_FIRST_ROWS, _SECOND_ROWS = 1500, 3000  # of exact methods, which are compared on more and more
_HEAD = 256  # rows that tell scalings apart
_CLEAR = 1.0  # standard errors of a difference that needs no more rows
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
    width: int | None  # None: all rows are landmarks
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
            "features": s.family.features if s.width else NystroemFeatures.__name__,
            "bandwidth": s.bandwidth,
            "n_components": s.width or self.n_rows,
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
    width : int or None
        Number of features. None: all rows are landmarks where they are few.
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
        width: int | None,
        scalings: Sequence[Scaling] = SCALINGS,
        metric: Mode | None = "auto",
        penalty: float | None = None,
        seed: int = 0,
        deadline: float = float("inf"),
        report: Callable[[Tried], None] = lambda tried: None,
    ) -> None:
        self.rows, self.held, self.task, self.families = rows, held, task, families
        self.exact = (
            width is None
            and len(rows.y) + len(held.y) <= EXACT_ROWS
            and all(family.kernel_at for family in families)
        )
        self.width = None if self.exact else width or WIDTH
        self.mode, self.penalty = metric, penalty
        self.scalings = scalings
        if sparse.issparse(rows.X):  # which keep their zeros
            self.scalings = [s for s in scalings if s in ("standard", "none")] or ["standard"]
        self.seed, self.deadline, self.report = seed, deadline, report
        self.tried: list[Tried] = []
        self._found: dict[tuple[Setting, int], Tried] = {}
        self._fitted: dict[Setting, tuple[Any, Any]] = {}  # maps and their NormalEquations
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
        best_mode = self._best(by_mode)
        others = [one for one in by_mode if one is not best_mode]
        other = min(others, key=lambda one: one.loss).setting if others else None
        compete = self._exact_finalists if self.exact else self._finalists
        finalists = compete(best_mode.setting, other)
        order = [family.name for family in self.families]
        modes = [None, *MODES]
        finalists.sort(
            key=lambda one: (
                order.index(one.setting.family.name),
                modes.index(one.setting.metric),
            )
        )
        return self._best(finalists)

    def _by_family(self, setting: Setting, n_rows: int) -> list[Tried]:
        """The best of every family otherwise set as given, the best first."""
        found = [
            self._along_bandwidths(replace(setting, family=family), n_rows)
            for position, family in enumerate(self.families)
            if position == 0 or self._in_time()
        ]
        return sorted(found, key=lambda one: one.loss)

    def _finalists(self, setting: Setting, other: Setting | None) -> list[Tried]:
        """The best families, and the best one with the next mode of the metric, at full width."""
        settings = [one.setting for one in self._by_family(setting, _COARSE_ROWS)[:_FINALISTS]]
        if other is not None:  # few features favour few directions
            settings.append(replace(settings[0], metric=other.metric))
        finalists: list[Tried] = []
        for one in settings:
            if not finalists or self._in_time():
                finalists.append(self.judge(replace(one, width=self.width)))
        return finalists

    def _exact_finalists(self, setting: Setting, other: Setting | None) -> list[Tried]:
        """Exact methods on more and more rows, of which fewer and fewer go on."""
        found = self._by_family(replace(setting, width=None), _FIRST_ROWS)
        if other is not None and self._in_time():
            second = replace(found[0].setting, metric=other.metric)
            found.append(self._along_bandwidths(second, _FIRST_ROWS))
        for n_rows, n_kept in ((_SECOND_ROWS, 1 + _FINALISTS), (len(self.rows.y), _FINALISTS)):
            found = _going_on(found, n_kept)
            if found[0].n_rows < len(self.rows.y):
                found = [
                    self.judge(one.setting, n_rows, self._weaker(one.setting, n_rows))
                    for position, one in enumerate(found)
                    if position == 0 or self._in_time()
                ]
        return found

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
        equations = ridge_equations(feature_map, X, columns, weights)
        held_X = space.held_X
        if setting.width is None:
            held_X = cast(held_X, wide_dtype(held_X))
        held = feature_map.transform(held_X)
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

        start = self.penalty or setting.penalty
        if self.penalty is not None:
            penalties = [start]
        penalty = search_along(PENALTIES if penalties is None else penalties, start, judge)
        tried = replace(found[penalty], seconds=time.perf_counter() - begun)
        self._found[key] = tried
        if setting.width and setting.width == self.width and n_rows == len(self.rows.y):
            self._fitted[tried.setting] = feature_map, equations
        self.tried.append(tried)
        self.report(tried)
        return tried

    def with_held_rows(self, setting: Setting) -> tuple[Any, RidgeEquations]:
        """The fitted map of a finalist, and what it needs of all rows, the held-out ones too."""
        space = self._space(setting.scaling, setting.metric)
        if setting.width is None:
            X = concat_rows([space.X, space.held_X])
            columns = np.vstack([self.rows.columns, self.held.columns])
            weights = None
            if self.rows.weights is not None and self.held.weights is not None:
                weights = np.concatenate([self.rows.weights, self.held.weights])
            feature_map = self.new_map(setting, len(columns)).fit(X)
            return feature_map, ridge_equations(feature_map, X, columns, weights)
        feature_map, equations = self._fitted[setting]
        return feature_map, equations + NormalEquations.from_map(
            feature_map.transform, space.held_X, self.held.columns, self.held.weights
        )

    def new_map(self, setting: Setting, n_rows: int) -> Any:
        """The unfitted map of a setting for so many rows."""
        length = None
        if setting.bandwidth is not None:
            length = setting.bandwidth * self._space(setting.scaling, setting.metric).distance
        if setting.width is None:
            return setting.family.make_exact(length)
        width = min(setting.width, 2 * (n_rows // 2)) or setting.width
        return setting.family.make(width, length, self.seed, self.task)

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
            self.mode, n_frequencies=_METRIC, target=self.task, random_state=self.seed
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
        setting = replace(setting, bandwidth=None, penalty=_FIRST_PENALTY)
        if not bandwidths:
            return self.judge(setting, n_rows)
        found: dict[float, Tried] = {}
        start = _FIRST_PENALTY

        def judge(bandwidth: float) -> float:
            nonlocal start
            here = replace(setting, bandwidth=bandwidth, penalty=start)
            found[bandwidth] = self.judge(here, n_rows)
            start = found[bandwidth].setting.penalty
            return -found[bandwidth].loss

        middle = bandwidths[(len(bandwidths) - 1) // 2]
        return found[search_along(bandwidths, middle, judge)]

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

        return next(one for one in candidates if not _clearly_worse(one, top, 0.5))


def _going_on(found: list[Tried], n_kept: int) -> list[Tried]:
    """The best, as many as asked for and as may still be better than the first."""
    found = sorted(found, key=lambda one: one.loss)[:n_kept]
    return [one for one in found if not _clearly_worse(one, found[0], _CLEAR)]


def _clearly_worse(one: Tried, top: Tried, errors: float) -> bool:
    """Whether the mean loss is larger by so many standard errors of the difference."""
    excess = one.losses - top.losses
    return one.loss - top.loss > errors * float(excess.std()) / len(excess) ** 0.5


def one_target(y: NDArray[Any]) -> NDArray[Any]:
    """Targets as one column: of several the combination that varies most."""
    if y.ndim == 1:
        return y
    centred = y - y.mean(axis=0)
    spread = centred.std(axis=0)
    scaled = centred / np.where(spread > 0, spread, 1.0)
    combined: NDArray[Any] = scaled @ np.linalg.eigh(scaled.T @ scaled)[1][:, -1]
    return combined
