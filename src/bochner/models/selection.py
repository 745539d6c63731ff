"""Everything that a method leaves open, chosen on held-out training rows.

Gamma, the strength of a posterior, and the `C` of the head. Test rows are no part of this module,
and a map that learns does not see the rows that its settings are chosen on: a penalty chosen on
rows that the features were fitted to would be too weak. Each setting is searched in turn, from a
common start, along a short list of values, with the others at the best so far: on a part of the
rows, and with ridge regression, whose penalties all come from one set of sums. Then the path of
`C` of the head is followed once, with all training rows, until two values do worse. What was
chosen is fitted again on all rows. So is a metric: learned without the held-out rows first, then
with all.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from bochner.engine.places import on_device, to_numpy
from bochner.linear.base import LinearHead
from bochner.linear.penalty import PATIENCE, PenaltyChoice, choose_penalty
from bochner.linear.scoring import Measure
from bochner.linear.search import search_along
from bochner.linear.splits import hold_out
from bochner.metric.gradient_metric import GradientMetric
from bochner.models.folding import fold
from bochner.models.methods import Method, find_method
from bochner.models.pipelines import (
    check_metric,
    count_classes,
    make_exact,
    make_head,
    make_metric,
    make_whole,
    scale_rule,
)

GAMMAS = tuple(4.0**k for k in range(-3, 4))  # multiples of the scale rule
EXACT_CS = tuple(10.0**k for k in range(-2, 5))  # one fit each: searched, not all looked at
CHOOSING_ROWS = 2500  # training rows that settings are chosen with; `C` with all
_JUDGES = 1000  # of them, held out: more than a quarter, as they cost least

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class LearnedMetric:
    """A fitted metric, and the seconds that it took; None does nothing to rows."""

    fitted: GradientMetric | None = None
    seconds: float = 0.0

    def __call__(self, X: Any) -> Any:
        """Rows as the map is to see them."""
        return X if self.fitted is None else self.fitted.transform(X)


@dataclass(frozen=True)
class Problem:
    """Prepared training rows, labels, and what is learned from them.

    `seed` is that of the map, and decides which rows are held out. `gamma` is given by the user;
    None is chosen among multiples of the scale rule. The maps of this package work on `device`:
    ``"cpu"`` for NumPy, otherwise a device of PyTorch. `image_shape` is height, width and
    channels, where rows are images. `metric` is the mode of a metric that is learned before any
    map, once for all methods that share the problem; None is no metric.
    """

    X: Any
    y: NDArray[Any]
    task: str
    measure: Measure
    seed: int = 0
    gamma: float | None = None
    device: str = "cpu"
    image_shape: tuple[int, int, int] | None = None
    metric: str | None = None
    metrics: dict[bytes, LearnedMetric] = field(init=False, repr=False, default_factory=dict)

    def head(self, *, squares: bool = False) -> LinearHead:
        """The unfitted linear model that is put on a map; with `squares` least squares."""
        n_classes = count_classes(self.y, self.task)
        return make_head(self.task, n_classes, balanced=self.measure.balanced, squares=squares)

    def learn_metric(self, rows: NDArray[np.intp] | None = None) -> LearnedMetric:
        """The metric of some rows, or of all."""
        if self.metric is None:
            return LearnedMetric()
        key = b"" if rows is None else rows.tobytes()
        if key not in self.metrics:
            X, y = (self.X, self.y) if rows is None else (self.X[rows], self.y[rows])
            start = time.perf_counter()
            metric = make_metric(self.metric, self.task, self.seed)
            metric.fit(on_device(X, self.device), y)
            self.metrics[key] = LearnedMetric(metric, time.perf_counter() - start)
        return self.metrics[key]

    def rows_for(self, method: Method, X: Any) -> Any:
        """Rows on the device, except for scikit-learn's own methods."""
        return X if method.baseline else on_device(X, self.device)


@dataclass(frozen=True)
class Chosen:
    """What did best on held-out rows: settings of the map with its `gamma`, and the penalty.

    `Cs` gives the penalty for a number of rows. The choice was made by `judged`; `score` is the
    measure on the held-out rows, the best of all that were tried, hence optimistic. `complete`
    makes the map of all rows out of the one that was judged, where that is less work than a fit.
    """

    settings: dict[str, Any]
    Cs: Callable[[int], float]
    judged: float
    score: float
    complete: Callable[[], Any] | None = None


@dataclass(frozen=True)
class FittedModel:
    """A fitted metric, map and head for prepared rows; `seconds` is what fitting all took."""

    feature_map: Any
    head: Any
    place: Callable[[Any], Any]
    seconds: float
    settings: dict[str, Any]
    score: float
    metric: LearnedMetric = LearnedMetric()

    @property
    def C(self) -> float:
        """The penalty of the head."""
        return float(self.settings["C"])

    def features(self, X: Any) -> Any:
        """What the head sees of prepared rows, on the host."""
        X = self.metric(X)
        if self.feature_map is None:
            return X
        return to_numpy(self.feature_map.transform(self.place(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predictions for prepared rows."""
        X = self.metric(X)
        if self.feature_map is None:
            return np.asarray(self.head.predict(X))
        feature_map, head = fold(self.feature_map, self.head)
        return np.asarray(head.predict(to_numpy(feature_map.transform(self.place(X)))))

    def predict_in_blocks(self, X: Any, block: int = 5000) -> NDArray[Any]:
        """Predictions for prepared rows of which there are many."""
        starts = range(0, X.shape[0], block)
        return np.concatenate([self.predict(X[start : start + block]) for start in starts])


def learn(method: str, width: int | None, problem: Problem) -> FittedModel:
    """Choose what is open on held-out rows, then fit on all.

    `width` is the number of columns of the map; None for the exact kernel method.
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

    They are those of the `problem`, which has them prepared. The fitted model takes such rows.
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
    with _quiet():
        pipeline.fit(X, problem.y)
    chosen = getattr(pipeline[-1], "chosen_", {})
    results = ("score", "seconds", "n_rows")
    settings = {name: value for name, value in chosen.items() if name not in results}
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

    `score` is what held-out rows gave for them; `complete` makes the fitted map, where there is
    a shorter way.
    """
    check_metric(method, problem.metric)
    y, given = problem.y, dict(settings)
    C = given.pop("C")
    with _quiet():
        metric = problem.learn_metric()
        X = metric(problem.X)
        start = time.perf_counter()
        feature_map = None
        if method.exact:
            head: Any = make_exact(problem.task, C=C, balanced=problem.measure.balanced, **given)
            head.fit(X, y)
        else:
            rows = problem.rows_for(method, X)
            if complete is not None:
                feature_map = complete()
            else:
                feature_map = _new_map(method, width, problem, given).fit(rows, y)
            head = problem.head().set_params(C=C)
            head.fit(to_numpy(feature_map.transform(rows)), y)
        seconds = time.perf_counter() - start + metric.seconds
    place = partial(problem.rows_for, method)
    return FittedModel(feature_map, head, place, seconds, dict(settings), score, metric)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without warnings: widths that cut a shell of eigenvalues, searches that stop early.

    What they are worth is measured.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def choose(method: Method, width: int | None, problem: Problem) -> Chosen:
    """Settings and penalty that are best on held-out rows; arguments as for :func:`learn`."""
    check_metric(method, problem.metric)
    base = scale_rule(problem.X) if problem.gamma is None else problem.gamma
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
            return _search(_ExactTrial(method, width, problem, CHOOSING_ROWS), settings, lists)
        last = _Trial(method, width, problem)
        if lists:
            trial = _SettingTrial(method, width, problem, CHOOSING_ROWS)
            found = _search(trial, trial.cheaper(settings), lists).settings
            settings.update({name: found[name] for name in lists})
            if trial.is_whole:
                last.maps = trial.maps
        return last(settings)


def _search(
    trial: _Trial, settings: dict[str, Any], lists: Mapping[str, tuple[float, ...]]
) -> Chosen:
    """One setting after the other, from its start along its list."""
    for name, values in lists.items():

        def judge(value: float, name: str = name) -> float:
            return trial({**settings, name: value}).judged

        settings[name] = search_along(values, settings[name], judge)
    return trial(settings)


class _Trial:
    """Candidates fitted on some training rows and judged on others, each once."""

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
        self.X, self.held_X = (problem.rows_for(method, metric(X[rows])) for rows in (kept, held))
        self.maps: dict[tuple[Any, ...], Any] = {}
        self._found: dict[tuple[Any, ...], Chosen] = {}

    def __call__(self, settings: Mapping[str, Any]) -> Chosen:
        key = _key(settings)
        if key not in self._found:
            self._found[key] = self._judge(dict(settings))
        return self._found[key]

    def head(self) -> LinearHead:
        return self.problem.head()

    def _judge(self, settings: dict[str, Any]) -> Chosen:
        head, key = self.head(), _key(settings)
        if key not in self.maps:
            self.maps[key] = self._fitted(settings)
        feature_map = self.maps[key]
        rows = self.X, self.y, self.held_X, self.held_y
        choice = _judge(feature_map, head, *rows, self.problem.measure)
        return Chosen(
            {**settings, **self.method.settle(feature_map)},
            lambda n_rows: head.default_Cs(n_rows)[choice.position],
            choice.judged,
            choice.score,
            partial(self._completed, feature_map) if self._can_complete(feature_map) else None,
        )

    def _fitted(self, settings: dict[str, Any]) -> Any:
        return _new_map(self.method, self.width, self.problem, settings).fit(self.X, self.y)

    def _can_complete(self, feature_map: Any) -> bool:
        """Whether the held-out rows can be learned from as well: not after a metric of others."""
        return (
            hasattr(feature_map, "partial_fit")
            and self.problem.metric is None
            and self.problem.measure.classes
            and len(np.unique(self.y)) == len(np.unique(self.problem.y))
        )

    def _completed(self, feature_map: Any) -> Any:
        return feature_map.partial_fit(self.held_X, self.held_y)


class _SettingTrial(_Trial):
    """Of settings of a map: with ridge regression, and where that is costly a smaller map."""

    def __init__(
        self, method: Method, width: int | None, problem: Problem, max_rows: int | None = None
    ) -> None:
        self.is_narrower = bool(width and method.trial_width and width > method.trial_width)
        if self.is_narrower:
            width = method.trial_width
        super().__init__(method, width, problem, max_rows)
        self._by_gamma: dict[float, Any] = {}

    @property
    def is_whole(self) -> bool:
        """Whether these are the rows and the maps that the penalty is chosen with."""
        fewer_rows = len(self.problem.y) > len(self.y) + len(self.held_y)
        return not (fewer_rows or self.is_narrower or self.method.trial_limits)

    def cheaper(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings with the limits that hold for trials."""
        limits = self.method.trial_limits.items()
        return {**settings, **{name: min(most, settings.get(name, most)) for name, most in limits}}

    def head(self) -> LinearHead:
        return self.problem.head(squares=True)

    def _fitted(self, settings: dict[str, Any]) -> Any:
        unfitted = _new_map(self.method, self.width, self.problem, settings)
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


class _ExactTrial(_Trial):
    """Of the exact kernel method."""

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


def _new_map(
    method: Method, width: int | None, problem: Problem, settings: Mapping[str, Any]
) -> Any:
    return method.make_map(
        width=width,
        task=problem.task,
        random_state=problem.seed,
        image_shape=problem.image_shape,
        **settings,
    )


def _judge(
    feature_map: Any,
    head: LinearHead,
    X: Any,
    y: NDArray[Any],
    held_X: Any,
    held_y: NDArray[Any],
    measure: Measure,
    patience: int | None = PATIENCE,
) -> PenaltyChoice:
    """The best penalty on held-out rows for a fitted map."""
    features, held = (to_numpy(feature_map.transform(rows)) for rows in (X, held_X))
    return choose_penalty(head, features, y, held, held_y, measure, patience=patience)


def choose_map(
    candidates: Mapping[Any, Callable[[], Any]],
    X: NDArray[Any],
    y: NDArray[Any],
    head: LinearHead,
    measure: Measure,
    seed: int,
    *,
    max_rows: int | None = None,
    folds: int = 1,
) -> tuple[Any, FittedModel]:
    """The candidate map and the penalty that are best on held-out rows, fitted on all rows.

    Parameters
    ----------
    candidates : mapping
        From a name to a function that makes an unfitted feature map.
    X, y : arrays of shape (n, d) and (n,)
        Training rows and their labels.
    head : LinearHead
        The unfitted linear model on the features.
    measure : Measure
        What counts.
    seed : int
        Decides which rows are held out.
    max_rows : int or None, default=None
        When there are several candidates, one is chosen with at most this many rows; the penalty
        is then chosen again with all.
    folds : int, default=1
        With more than one every row is held out once, and scores are averaged: for few rows.

    Returns
    -------
    name : object
        Of the candidate that was chosen.
    model : FittedModel
        Its `seconds` are those of the map's fit alone.

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
        name, _, _ = _best_candidate(candidates, X, y, head, measure, [split])
        candidates = {name: candidates[name]}
    splits = [hold_out(y, seed, classes=measure.classes)]
    if folds > 1:
        kind = StratifiedKFold if measure.classes else KFold
        splits = list(kind(folds, shuffle=True, random_state=seed).split(X, y))
    name, position, score = _best_candidate(candidates, X, y, head, measure, splits)
    start = time.perf_counter()
    feature_map = candidates[name]().fit(X, y)
    seconds = time.perf_counter() - start
    settings = {"C": head.default_Cs(len(y))[position]}
    fitted = clone(head).set_params(**settings).fit(to_numpy(feature_map.transform(X)), y)
    return name, FittedModel(feature_map, fitted, lambda rows: rows, seconds, settings, score)


def _best_candidate(
    candidates: Mapping[Any, Callable[[], Any]],
    X: NDArray[Any],
    y: NDArray[Any],
    head: LinearHead,
    measure: Measure,
    splits: Sequence[Split],
) -> tuple[Any, int, float]:
    """Name, position in the path of penalties, and mean score over the splits."""
    best: tuple[Any, int, float] | None = None
    patience = PATIENCE if len(splits) == 1 else None  # means need whole paths
    for name, make in candidates.items():
        paths = []
        for kept, held in splits:
            feature_map = make().fit(X[kept], y[kept])
            rows = X[kept], y[kept], X[held], y[held]
            paths.append(_judge(feature_map, head, *rows, measure, patience).scores)
        means = np.mean(paths, axis=0)
        position = int(np.argmax(means))
        if best is None or means[position] > best[2]:
            best = name, position, float(means[position])
    assert best is not None, "there are no candidates"
    return best
