"""Candidates fitted on some training rows and judged on others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import single_rows
from bochner.linear.base import LinearHead
from bochner.linear.penalty import PATIENCE, PenaltyChoice, choose_penalty
from bochner.linear.scoring import Measure
from bochner.linear.search import search_along
from bochner.linear.splits import hold_out
from bochner.models.method import Method, Rows
from bochner.models.pipelines import make_exact
from bochner.models.problem import Problem

EXACT_CS = tuple(10.0**k for k in range(-2, 5))  # one fit each: searched, not all tried
_JUDGES = 1000  # rows held out of many: more than a quarter, as they cost the least


@dataclass(frozen=True)
class Chosen:
    """The best choice on held-out rows: settings of the map with its `gamma`, and the penalty.

    `Cs` returns the penalty for a number of rows. The choice was made by `judged`; `score` is the
    measure on the held-out rows, the best of all that were tried and hence optimistic. `complete`
    makes the map of all rows from the one that was judged, if that is less work than a fit;
    `refit` does so for any rows, if the map supports it.
    """

    settings: dict[str, Any]
    Cs: Callable[[int], float]
    judged: float
    score: float
    complete: Callable[[], Any] | None = None
    refit: Callable[[Any, Any], Any] | None = None


def search(
    trial: Trial, settings: dict[str, Any], lists: Mapping[str, tuple[float, ...]]
) -> Chosen:
    """Search one setting after the other, each from its start along its list."""
    for name, values in lists.items():

        def judge(value: float, name: str = name) -> float:
            return trial({**settings, name: value}).judged

        settings[name] = search_along(values, settings[name], judge)
    return trial(settings)


class Trial:
    """Candidates fitted on some training rows and judged on others, each of them once."""

    def __init__(
        self, method: Method, width: int | None, problem: Problem, max_rows: int | None = None
    ) -> None:
        self.method, self.width, self.problem = method, width, problem
        X, y = problem.X, problem.y
        fewer = max_rows is not None and len(y) > max_rows
        kept, held = hold_out(
            y,
            problem.seed,
            classes=problem.measure.classes,
            n_held=min(_JUDGES, max_rows // 2) if fewer and max_rows else None,
            max_rows=max_rows,
        )
        self.y, self.held_y = y[kept], y[held]
        metric = problem.learn_metric(kept)
        parts = (metric(problem.rows_for(method, X[rows])) for rows in (kept, held))
        # float32 takes half of the time; the chosen model is fitted to the rows as they are.
        self.X, self.held_X = parts if method.exact else map(single_rows, parts)
        self.maps: dict[tuple[Any, ...], Any] = {}
        self._found: dict[tuple[Any, ...], Chosen] = {}

    def __call__(self, settings: Mapping[str, Any]) -> Chosen:
        key = _key(settings)
        if key not in self._found:
            self._found[key] = self._judge(dict(settings))
        return self._found[key]

    def take_over(self, other: Trial) -> None:
        """Reuse the maps of another trial of the same rows, and with the same head its results."""
        self.maps = other.maps
        if type(other.head()) is type(self.head()):
            self._found = other._found

    def head(self) -> LinearHead:
        return self.problem.head()

    def _judge(self, settings: dict[str, Any]) -> Chosen:
        head, key = self.head(), _key(settings)
        if key not in self.maps:
            self.maps[key] = self._fitted(settings)
        feature_map = self.maps[key]
        rows = self.X, self.y, self.held_X, self.held_y
        choice = judge_map(feature_map, head, *rows, self.problem.measure)
        return Chosen(
            {**settings, **self.method.settle(feature_map)},
            lambda n_rows: head.default_Cs(n_rows)[choice.position],
            choice.judged,
            choice.score,
            partial(self._completed, feature_map) if self._can_complete(feature_map) else None,
            getattr(feature_map, "refit", None) if self._can_go_on() else None,
        )

    def _fitted(self, settings: dict[str, Any]) -> Any:
        return new_map(self.method, self.width, self.problem, settings).fit(self.X, self.y)

    def _can_complete(self, feature_map: Any) -> bool:
        """Whether the held-out rows can be learned from as well."""
        if not self._can_go_on():
            return False
        as_they_are = self.X.dtype == self.problem.rows_for(self.method, self.problem.X[:1]).dtype
        in_parts = hasattr(feature_map, "partial_fit") and as_they_are
        return hasattr(feature_map, "refit") or (in_parts and self.problem.measure.classes)

    def _can_go_on(self) -> bool:
        """Whether a map of these rows can be extended to all: not after a metric of these."""
        problem = self.problem
        if problem.metric is not None:
            return False
        return not problem.measure.classes or set(np.unique(self.y)) == set(np.unique(problem.y))

    def _completed(self, feature_map: Any) -> Any:
        if hasattr(feature_map, "refit"):
            problem = self.problem
            return feature_map.refit(problem.rows_for(self.method, problem.X), problem.y)
        return feature_map.partial_fit(self.held_X, self.held_y)


class SettingTrial(Trial):
    """Trial of settings of a map, with ridge regression and, for costly maps, fewer columns."""

    def __init__(
        self, method: Method, width: int | None, problem: Problem, max_rows: int | None = None
    ) -> None:
        narrow = method.trial_width
        rows = Rows(len(problem.y), problem.X.shape[1], problem.task, problem.image_shape)
        self.is_narrower = bool(
            width and narrow and width > narrow and method.why_not(narrow, rows) is None
        )
        if self.is_narrower:
            width = narrow
        super().__init__(method, width, problem, max_rows)
        self._by_gamma: dict[float, Any] = {}

    @property
    def is_whole(self) -> bool:
        """Whether the rows and maps are those that the penalty is chosen with."""
        fewer_rows = len(self.problem.y) > len(self.y) + len(self.held_y)
        cheaper = self.method.trial_limits or self.method.trial_settings
        return not (fewer_rows or self.is_narrower or cheaper)

    def cheaper(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings with the limits and values that apply in trials."""
        limits = self.method.trial_limits.items()
        limited = {name: min(most, settings.get(name, most)) for name, most in limits}
        return {**settings, **limited, **self.method.trial_settings}

    def head(self) -> LinearHead:
        return self.problem.head(squares=True)

    def _fitted(self, settings: dict[str, Any]) -> Any:
        unfitted = new_map(self.method, self.width, self.problem, settings)
        if not self.method.grid or not hasattr(unfitted, "with_posterior"):
            return super()._fitted(settings)
        # The losses of the candidates do not depend on the posterior.
        gamma = settings["gamma"]
        if gamma not in self._by_gamma:
            self._by_gamma[gamma] = super()._fitted(settings)
        changes = {name: settings[name] for name in self.method.grid}
        return self._by_gamma[gamma].with_posterior(**changes)

    def _can_complete(self, feature_map: Any) -> bool:
        return False


class ExactTrial(Trial):
    """Trial of the exact kernel method."""

    def _judge(self, settings: dict[str, Any]) -> Chosen:
        measure = self.problem.measure
        scores: dict[float, float] = {}

        def score(C: float) -> float:
            exact = make_exact(self.problem.task, C=C, balanced=measure.balanced, **settings)
            exact.fit(self.X, self.y)
            scores[C] = measure.score(self.held_y, exact.predict(self.held_X))
            return scores[C]

        C = search_along(EXACT_CS, EXACT_CS[len(EXACT_CS) // 2], score)
        return Chosen(settings, lambda n_rows: C, scores[C], scores[C])


def _key(settings: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted(settings.items()))


def new_map(
    method: Method, width: int | None, problem: Problem, settings: Mapping[str, Any]
) -> Any:
    return method.make_map(
        width=width,
        task=problem.task,
        random_state=problem.seed,
        image_shape=problem.image_shape,
        **settings,
    )


def judge_map(
    feature_map: Any,
    head: LinearHead,
    X: Any,
    y: NDArray[Any],
    held_X: Any,
    held_y: NDArray[Any],
    measure: Measure,
    patience: int | None = PATIENCE,
) -> PenaltyChoice:
    """Choose the best penalty on held-out rows for a fitted map."""
    features, held = (feature_map.transform(rows) for rows in (X, held_X))
    return choose_penalty(head, features, y, held, held_y, measure, patience=patience)
