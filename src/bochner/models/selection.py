"""Selection of the open settings of a method on held-out training rows.

These are gamma, the strength of a posterior, and the `C` of the head. Test rows are no part of
this module, and a map that learns does not see the rows that its settings are chosen on: a penalty
chosen on rows that the features were fitted to would be too weak. Each setting is searched in
turn, from a common start, along a short list of values, with the others at the best so far. This
is done on a part of the rows and with ridge regression, where one set of sums serves all
penalties. Then the path of `C` of the head is followed once, with all training rows, until two
values do worse. The chosen model is fitted again on all rows, and so is a metric, which is first
learned without the held-out rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer

from bochner.engine.places import to_numpy
from bochner.engine.summaries import rows_at
from bochner.linear.base import LinearHead
from bochner.linear.penalty import PATIENCE
from bochner.linear.scoring import Measure
from bochner.linear.search import search_along
from bochner.linear.splits import fold_rows, hold_out
from bochner.models.folding import fold
from bochner.models.method import Method
from bochner.models.methods import find_method
from bochner.models.pipelines import check_metric, gamma_by_rule, make_exact, make_whole
from bochner.models.problem import NO_METRIC, LearnedMetric, Problem
from bochner.models.trials import (
    Chosen,
    ExactTrial,
    SettingTrial,
    Trial,
    judge_map,
    new_map,
    search,
)

__all__ = [
    "Chosen",
    "FittedModel",
    "Problem",
    "choose",
    "choose_map",
    "fit",
    "learn",
    "learn_whole",
]

GAMMAS = tuple(4.0**k for k in range(-3, 4))  # multiples of the rule
CHOOSING_ROWS = 2500  # training rows that settings are chosen with; `C` is chosen with all
_MANY = 2  # with so many times these rows, the gamma found with few is too small for all

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class FittedModel:
    """A fitted metric, map and head for prepared rows, and the `seconds` that all fits took."""

    feature_map: Any
    head: Any
    place: Callable[[Any], Any]
    seconds: float
    settings: dict[str, Any]
    score: float
    metric: LearnedMetric = NO_METRIC

    @property
    def C(self) -> float:
        """The penalty of the head."""
        return float(self.settings["C"])

    def features(self, X: Any) -> Any:
        """Return the features of prepared rows that the head sees, on the host."""
        X = self.metric(self.place(X))
        return to_numpy(X if self.feature_map is None else self.feature_map.transform(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return predictions for prepared rows."""
        X = self.metric(self.place(X))
        if self.feature_map is None:
            return to_numpy(self.head.predict(X))
        feature_map, head = fold(self.feature_map, self.head)
        return to_numpy(head.predict(feature_map.transform(X)))

    def predict_in_blocks(self, X: Any, block: int = 5000) -> NDArray[Any]:
        """Return predictions for many prepared rows, a block at a time."""
        starts = range(0, X.shape[0], block)
        return np.concatenate([self.predict(X[start : start + block]) for start in starts])


def learn(method: str, width: int | None, problem: Problem) -> FittedModel:
    """Choose the open settings on held-out rows, then fit on all rows.

    `width` is the number of columns of the map, or None for the exact kernel method.
    """
    found = find_method(method)
    before = sum(metric.seconds for metric in problem.metrics.values())
    start = time.perf_counter()
    chosen = choose(found, width, problem)
    settings = {**chosen.settings, "C": chosen.Cs(len(problem.y))}
    model = fit(found, width, problem, settings, chosen.score, chosen.complete)
    return replace(model, seconds=before + time.perf_counter() - start)


def learn_whole(method: Method, X: Any, problem: Problem) -> FittedModel:
    """Fit a method that is a whole model, on rows as they are in a file.

    They are the rows that `problem` holds in prepared form. The fitted model takes unprepared
    rows.
    """
    start = time.perf_counter()
    pipeline = make_whole(
        method,
        X,
        problem.task,
        balanced=problem.measure.balanced,
        random_state=problem.seed,
        image_shape=problem.image_shape,
    )
    if not method.baseline:
        there = FunctionTransformer(problem.place)
        pipeline.steps.insert(1, ("device", there))
    with _quiet():
        pipeline.fit(X, problem.y)
    chosen = getattr(pipeline[-1], "chosen_", {})
    results = ("score", "seconds", "n_rows")
    settings = {name: value for name, value in chosen.items() if name not in results}
    if other := settings.pop("averaged_with", None):  # one word is enough for a table
        settings["averaged_with"] = other["kernel"]
    seconds = time.perf_counter() - start
    return FittedModel(None, pipeline, _as_they_are, seconds, settings, chosen.get("score", 0.0))


def _as_they_are(X: Any) -> Any:
    return X


def fit(
    method: Method,
    width: int | None,
    problem: Problem,
    settings: Mapping[str, Any],
    score: float = float("nan"),
    complete: Callable[[], Any] | None = None,
) -> FittedModel:
    """Fit the map and the head with given settings on all rows.

    `score` is the score of these settings on held-out rows; `complete` makes the fitted map, if
    that is possible with less work.
    """
    check_metric(method, problem.metric)
    y, given = problem.y, dict(settings)
    C = given.pop("C")
    with _quiet():
        metric = problem.learn_metric()
        rows = metric(problem.rows_for(method, problem.X))
        start = time.perf_counter()
        feature_map = None
        if method.exact:
            head: Any = make_exact(problem.task, C=C, balanced=problem.measure.balanced, **given)
            head.fit(rows, y)
        else:
            if complete is not None:
                feature_map = complete()
            else:
                feature_map = new_map(method, width, problem, given).fit(rows, y)
            head = problem.head().set_params(C=C)
            head.fit(feature_map.transform(rows), y).to_host()
        seconds = time.perf_counter() - start + metric.seconds
    place = partial(problem.rows_for, method)
    return FittedModel(feature_map, head, place, seconds, dict(settings), score, metric)


@contextmanager
def _quiet() -> Iterator[None]:
    """Ignore warnings about widths that cut a shell of eigenvalues and searches that stop early.

    How much these matter is measured by the score.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def choose(method: Method, width: int | None, problem: Problem) -> Chosen:
    """Choose the best settings and penalty on held-out rows; arguments as for :func:`learn`."""
    check_metric(method, problem.metric)
    base = gamma_by_rule(problem.X) if problem.gamma is None else problem.gamma
    settings: dict[str, Any] = {} if method.images else {"gamma": base}
    settings.update(method.start(problem.X.shape[1], width))
    lists: dict[str, tuple[float, ...]] = {}
    if problem.gamma is None and method.uses_gamma:
        lists["gamma"] = tuple(base * factor for factor in GAMMAS)
    for name, values in method.grid.items():
        settings[name] = values[len(values) // 2]
        lists[name] = values
    with _quiet():
        if method.exact:
            return search(ExactTrial(method, width, problem, CHOOSING_ROWS), settings, lists)
        last = Trial(method, width, problem)
        if lists:
            trial = SettingTrial(method, width, problem, CHOOSING_ROWS)
            settings.update(_found(trial, settings, lists))
            if trial.is_whole:
                last.take_over(trial)
            elif len(problem.y) >= _MANY * CHOOSING_ROWS and "gamma" in lists:
                whole = SettingTrial(method, width, problem)
                settings["gamma"] = _raised_gamma(whole, settings, lists["gamma"])
                if not whole.is_narrower:
                    last.maps.update(whole.maps)
        return last(settings)


def _found(
    trial: SettingTrial, settings: Mapping[str, Any], lists: Mapping[str, tuple[float, ...]]
) -> dict[str, Any]:
    """Find the best values of `lists`, once for all widths tried with the same narrower map."""
    known, key = trial.problem.found, (trial.method.name, trial.width)
    if key not in known or not trial.is_narrower:
        best = search(trial, trial.cheaper(settings), lists).settings
        known[key] = {name: best[name] for name in lists}
    return known[key]


def _raised_gamma(
    trial: SettingTrial, settings: Mapping[str, Any], gammas: tuple[float, ...]
) -> float:
    """Return the gamma found with few rows, or a larger one: more rows bear a narrower kernel."""
    known, key = trial.problem.found, (trial.method.name, trial.width, "raised")
    if key not in known or not trial.is_narrower:
        limited = trial.cheaper(settings)
        larger = gammas[gammas.index(settings["gamma"]) :]
        best = search_along(
            larger, larger[0], lambda gamma: trial({**limited, "gamma": gamma}).judged
        )
        known[key] = {"gamma": best}
    return float(known[key]["gamma"])


def choose_map(
    candidates: Mapping[Any, Callable[[], Any]],
    X: Any,
    y: NDArray[Any],
    head: LinearHead,
    measure: Measure,
    seed: int,
    *,
    max_rows: int | None = None,
    folds: int = 1,
    settle: Callable[[Any], dict[str, Any]] = lambda feature_map: {},
) -> tuple[Any, FittedModel]:
    """Choose the map and the penalty that are best on held-out rows, and fit them on all rows.

    Parameters
    ----------
    candidates : mapping
        Functions that make an unfitted feature map, by name.
    X : array of shape (n, d)
        Training rows, on the host or on a device.
    y : array of shape (n,)
        Their labels, on the host.
    head : LinearHead
        The unfitted linear model on the features.
    measure : Measure
        The measure that the choice is made by.
    seed : int
        Seed that decides which rows are held out.
    max_rows : int or None, default=None
        If there are several candidates, one is chosen with at most this many rows; the penalty is
        then chosen again with all.
    folds : int, default=1
        Number of splits. With more than one, every row is held out once and scores are averaged,
        which is meant for few rows.
    settle : callable, default: nothing
        Returns the settings that the map used to choose the penalty found by itself. The map of
        all rows takes them over, as the settings it would find again need not suit the penalty.

    Returns
    -------
    name : object
        Name of the candidate that was chosen.
    model : FittedModel
        The fitted model, whose `seconds` are those of the map's fit alone.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import FourierFeatures
    >>> from bochner.linear import RidgeClassifier
    >>> from bochner.linear.scoring import MEASURES
    >>> from bochner.models.selection import choose_map
    >>> X, y = load_iris(return_X_y=True)
    >>> maps = {
    ...     gamma: lambda gamma=gamma: FourierFeatures(gamma=gamma, random_state=0)
    ...     for gamma in (1e-6, 0.3)}
    >>> choose_map(maps, X, y, RidgeClassifier(), MEASURES["accuracy"], 0)[0]
    0.3
    """
    if len(candidates) > 1 and max_rows is not None and len(y) > max_rows:
        split = hold_out(y, seed, classes=measure.classes, max_rows=max_rows)
        name, *_ = _best_candidate(candidates, X, y, head, measure, [split])
        candidates = {name: candidates[name]}
    if folds > 1:
        splits = fold_rows(y, seed, folds, classes=measure.classes)
    else:
        splits = [hold_out(y, seed, classes=measure.classes)]
    name, position, score, judged = _best_candidate(candidates, X, y, head, measure, splits)
    start = time.perf_counter()
    feature_map = candidates[name]().set_params(**settle(judged)).fit(X, y)
    seconds = time.perf_counter() - start
    settings = {"C": head.default_Cs(len(y))[position]}
    fitted = clone(head).set_params(**settings).fit(feature_map.transform(X), y)
    return name, FittedModel(feature_map, fitted, lambda rows: rows, seconds, settings, score)


def _best_candidate(
    candidates: Mapping[Any, Callable[[], Any]],
    X: Any,
    y: NDArray[Any],
    head: LinearHead,
    measure: Measure,
    splits: Sequence[Split],
) -> tuple[Any, int, float, Any]:
    """Return the best candidate's name, penalty position and mean score, and its last map."""
    best: tuple[Any, int, float, Any] | None = None
    patience = PATIENCE if len(splits) == 1 else None  # means need whole paths
    for name, make in candidates.items():
        paths = []
        for kept, held in splits:
            X_kept, y_kept = rows_at(X, kept), y[kept]
            feature_map = make().fit(X_kept, y_kept)
            held_out = rows_at(X, held), y[held]
            choice = judge_map(feature_map, head, X_kept, y_kept, *held_out, measure, patience)
            paths.append(choice.scores)
        means = np.mean(paths, axis=0)
        position = int(np.argmax(means))
        if best is None or means[position] > best[2]:
            best = name, position, float(means[position]), feature_map
    assert best is not None, "there are no candidates"
    return best
