"""Settings of a kernel model, each fitted on some rows and judged by others.

With several splits no row is held out more than once, and a setting is judged by the held-out rows
of all of them. Transformed rows, fitted maps and sums are kept where they are needed again, so
that nothing is computed twice.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from scipy import sparse

from bochner.engine.places import is_host
from bochner.engine.threads import side_by_side
from bochner.linear.kernel_ridge import RidgeEquations
from bochner.linear.search import search_along, search_by_slope
from bochner.metric.gradient_metric import Mode
from bochner.models.families import Family
from bochner.models.fold import Candidate, Fold
from bochner.models.hinge import try_hinge
from bochner.models.methods import Task
from bochner.models.penalties import PENALTIES
from bochner.models.ranking import clearly_worse
from bochner.models.scaling import Scaling
from bochner.models.settings import (
    FIRST_PENALTY,
    Labelled,
    Setting,
    Space,
    Tried,
    loss_slope,
    losses_of,
)

_AS_GOOD = 1.02  # times the loss
_LEAST_GAIN = 0.002  # of the loss: less is not worth another factor, least of all one in float64


class _Apart(threading.local):
    """What one of several threads has tried, to be recorded in order; None in other threads."""

    notes: list[Tried] | None = None


class Judge:
    """Evaluation of settings on held-out rows.

    Parameters
    ----------
    splits : sequence of pairs of Labelled
        Rows to fit on, in random order, and rows to judge by: one split, or several that hold out
        different rows.
    task : {"classification", "regression"}
        The kind of task.
    width : int or None
        Number of features of finalists, which are kept; None where all rows are landmarks.
    penalty : float or None
        The penalty per row; None if it is to be chosen.
    seed : int
        Seed of the maps and the metric.
    n_jobs : int or None
        Number of threads of the metric, and of maps that do not set it themselves.
    keep_sums : bool
        Whether :meth:`on_all_rows` will be called, which needs the sums of finalists.
    report : callable
        Called with every setting that was tried.
    """

    def __init__(
        self,
        splits: Sequence[tuple[Labelled, Labelled]],
        task: Task,
        *,
        width: int | None,
        penalty: float | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
        keep_sums: bool = True,
        report: Callable[[Tried], None] = lambda tried: None,
    ) -> None:
        self.folds = [Fold(rows, held, task, seed, n_jobs) for rows, held in splits]
        self.task, self.penalty, self.kept_widths = task, penalty, {width}
        self.held = together([held for _, held in splits])
        self.rows_are_dense = not sparse.issparse(self.folds[0].rows.X)
        self.report, self._keep_sums = report, keep_sums
        self.tried: list[Tried] = []
        self._apart = _Apart()
        self._found: dict[tuple[Setting, int], Tried] = {}
        self._fitted: dict[Setting, tuple[Any, Any]] = {}  # maps, and their RidgeEquations

    @property
    def n_rows(self) -> int:
        """Number of rows to fit on."""
        return min(len(fold.rows.y) for fold in self.folds)

    @cached_property
    def _whole(self) -> Fold:
        """All rows, to fit the final model on."""
        return self.folds[0].without_split()

    @property
    def parts(self) -> list[slice]:
        """The position of each split's held-out rows among all held-out rows."""
        ends = np.cumsum([len(fold.held.y) for fold in self.folds])
        return [
            slice(int(end) - len(f.held.y), int(end))
            for f, end in zip(self.folds, ends, strict=True)
        ]

    def judge(
        self, setting: Setting, n_rows: int | None = None, penalties: Sequence[float] | None = None
    ) -> Tried:
        """Fit on the first `n_rows` rows and judge on the held-out ones, for the best penalty.

        The search starts at the penalty of the setting, and goes through all penalties or those
        given as `penalties`.
        """
        begun = time.perf_counter()
        n_rows = min(n_rows or self.n_rows, self.n_rows)
        key = replace(setting, penalty=FIRST_PENALTY), n_rows
        if key in self._found:
            return self._found[key]
        start = self.penalty or setting.penalty
        choices = PENALTIES if penalties is None else penalties
        if self.penalty is not None:
            choices = (start,)
        rough = setting.width not in self.kept_widths
        candidates = [fold.candidate(setting, n_rows, rough=rough) for fold in self.folds]
        found: dict[float, Tried] = {}
        last = len(choices) == 1

        def judge(penalty: float) -> tuple[float, float]:
            pairs = [one.decide(penalty, last=last) for one in candidates]
            decisions, slopes = map(np.concatenate, zip(*pairs, strict=True))
            found[penalty] = Tried(
                replace(setting, penalty=penalty),
                *losses_of(decisions, self.held, self.task),
                decisions,
                self.held.weights,
                n_rows,
                time.perf_counter() - begun,
                all(one.is_single(penalty) for one in candidates),
            )
            if self._is_shrinking(found[penalty], found.values()):
                return -np.inf, 0.0
            # penalties become weaker along the list, by a factor of ten
            gain = log(10) * loss_slope(decisions, slopes, self.held, self.task)
            return -found[penalty].loss, gain

        best = found[search_by_slope(choices, start, judge, _LEAST_GAIN)]
        tried = replace(in_float32(best, found), seconds=time.perf_counter() - begun)
        self._found[key] = tried
        if not rough and n_rows == self.n_rows and len(candidates) == 1:
            self._keep(tried, candidates[0])
        return self.noted(tried)

    def _is_shrinking(self, tried: Tried, found: Iterable[Tried]) -> bool:
        """Whether a penalty is right clearly less often than another one.

        If most rows are misclassified, as with many classes, their margins are negative, and the
        loss decreases as all margins shrink to zero.
        """
        if self.task == "regression":
            return False
        return any(clearly_worse(tried, one, 1.0, counted=True) for one in found)

    def _keep(self, tried: Tried, candidate: Candidate) -> None:
        sums = candidate.settled(tried.setting.penalty) if self._keep_sums else None
        self._fitted[tried.setting] = candidate.feature_map, sums

    def judge_hinge(self, squares: Tried, penalty: float | None = None) -> Tried:
        """Judge a setting whose map is kept with the squared hinge loss instead of squares.

        The penalty is the one given to the judge, that of the argument, or else the best one.
        """
        setting, (fold,) = squares.setting, self.folds
        feature_map, _ = self._fitted[setting]
        space = fold.space_of(setting)
        known = self.penalty or penalty
        return self.noted(try_hinge(squares, feature_map, space, fold.rows, fold.held, known))

    def judge_narrow(self, setting: Setting, width: int) -> Tried:
        """Judge a setting with fewer features, keeping its map as for finalists."""
        self.kept_widths.add(width)
        return self.judge(replace(setting, width=width))

    def noted(self, tried: Tried) -> Tried:
        """Record and return what was tried; one of several threads records it in its turn."""
        if self._apart.notes is not None:
            self._apart.notes.append(tried)
            return tried
        self.tried.append(tried)
        self.report(tried)
        return tried

    def side_by_side(
        self, attempt: Callable[[Any], Tried | None], ways: Sequence[Any]
    ) -> list[Tried]:
        """Run `attempt` on each of `ways` in a thread of its own; leave out results of None.

        Matrices of few rows are too small for several BLAS threads. On a device, one thread runs
        all of them.
        """

        def apart(way: Any) -> tuple[Tried | None, list[Tried]]:
            notes: list[Tried] = []
            self._apart.notes = notes
            try:
                return attempt(way), notes
            finally:
                self._apart.notes = None

        found: list[Tried] = []
        n_threads = None if is_host(self.folds[0].rows.X) else 1
        # Filters are shared by all threads: one that restores its own would undo another's.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as each fit does
            for tried, notes in side_by_side(apart, ways, n_threads):
                for one in notes:
                    self.noted(one)
                found += [tried] if tried is not None else []
        return found

    def along_bandwidths(self, setting: Setting, n_rows: int) -> Tried:
        """Find the best bandwidth and penalty for a setting that is otherwise given."""
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

    def steps_of(self, setting: Setting) -> list[tuple[str, Any]]:
        """Return the fitted scaling, and the metric if there is one, of the only split."""
        (fold,) = self.folds
        return fold.steps_of(setting)

    def keep_only(self, settings: Sequence[Setting]) -> None:
        """Discard what was fitted for other settings."""
        self._fitted = {one: self._fitted[one] for one in settings if one in self._fitted}

    def on_all_rows(
        self, setting: Setting
    ) -> tuple[list[tuple[str, Any]], Any, RidgeEquations, float]:
        """Return a finalist's steps, map, equations of all rows, and total penalty."""
        if len(self.folds) == 1:
            (fold,) = self.folds
            feature_map, equations = self._fitted.pop(setting)
            return fold.steps_of(setting), *fold.with_held_rows(setting, feature_map, equations)
        first, whole = self.folds[0], self._whole
        whole.learn_as(first, setting)
        candidate = whole.candidate(setting, len(whole.rows.y))
        weight = candidate.equations.weight
        # as with one split: if all rows are landmarks, more rows need the same total penalty
        share = first.rows.weight / weight if setting.width is None else 1.0
        penalty = share * setting.penalty
        settled = candidate.settled(penalty, last=True)
        return whole.steps_of(setting), candidate.feature_map, settled, penalty * weight

    def new_map(self, setting: Setting, n_rows: int) -> Any:
        """Return the unfitted map of a setting for `n_rows` rows."""
        return self.folds[0].new_map(setting, n_rows)

    def learn_metric(self, scaling: Scaling, mode: Mode) -> tuple[str, ...]:
        """Learn the metric of scaled rows; return the modes considered, the simplest first."""
        first, *others = self.folds
        metric = first.learn_metric(scaling, mode)
        if metric is None:
            return ()
        for fold in others:
            fold.learn_metric_as(first, scaling)
        return tuple(mode for mode in metric.modes_ if mode is not None)

    def learn_relevance(self, scaling: Scaling, family: Family) -> bool:
        """Learn weights of scaled columns for a family on all splits; False for too few rows."""
        return all(fold.learn_relevance(scaling, family) for fold in self.folds)

    def importances(self, setting: Setting) -> Any:
        """Return the column importances for a tried setting; None without any metric."""
        found = [fold.importances(setting) for fold in self.folds]
        return None if found[0] is None else np.mean(found, axis=0)

    def space(self, scaling: Scaling) -> Space:
        """Return the rows of the first split after a scaling."""
        return self.folds[0].space(scaling)


def in_float32(best: Tried, found: Mapping[float, Tried]) -> Tried:
    """Return the best penalty, or one about as good for which float32 is precise enough.

    With all rows, a factor in float64 takes long.
    """
    if best.single:
        return best
    as_good = [one for one in found.values() if one.single and one.loss <= _AS_GOOD * best.loss]
    return min(as_good, key=lambda one: one.loss, default=best)


def together(parts: Sequence[Labelled]) -> Labelled:
    """Concatenate the targets and weights of several parts, without their rows."""
    if len(parts) == 1:
        return parts[0]
    weights = [part.weights for part in parts if part.weights is not None]
    return Labelled(
        None,
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.columns for part in parts]),
        np.concatenate(weights) if weights else None,
    )
