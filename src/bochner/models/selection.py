"""Everything that a method leaves open, chosen on held-out training rows.

Gamma, the strength of a posterior, and the `C` of the machine on top. Test rows are no part of
this module, and a map that learns does not see the rows that its settings are chosen on. Each
setting is climbed in turn, from a common start, along a short list of values, with the others at
the best so far; for every candidate the whole path of `C` is looked at.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline

from bochner.engine.places import to_numpy
from bochner.models.comparison_machines import machine_for, strength_to_C
from bochner.models.linear_machine import HELD_OUT, PATIENCE, Linear, Machine
from bochner.models.methods import (
    METHODS,
    Method,
    find_method,
    make_exact,
    make_map,
    make_model,
    scale_rule,
)
from bochner.models.preparation import make_preparation

GAMMAS = tuple(4.0**k for k in range(-3, 4))  # multiples of the scale rule
EXACT_CS = tuple(10.0**k for k in range(-2, 5))  # a machine each: climbed, not all looked at
CHOOSING_ROWS = 4000  # training rows that settings are chosen with; `C` with all

N_CANDIDATES = 20_000  # of a posterior, unless their frequencies have more numbers than
MOST_DRAWN = 10_000_000

Place = Callable[[Any], Any]


@dataclass(frozen=True)
class Problem:
    """Prepared training rows, coded labels, and what is learned from them.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
        Prepared rows.
    y : array of shape (n,)
        -1 and +1 for two classes, 0, 1, .. for more, or numbers.
    task : {"classification", "regression"}
        Which.
    n_classes : int or None
        None for regression.
    balanced : bool
        Whether every class weighs the same.
    seed : int
        Of the map, and of which rows are held out.
    gamma : float or None
        Given by the user; None: chosen among multiples of the scale rule.
    place : callable
        Puts rows where the maps of this package are to work.
    image_shape : tuple of int or None
        Height, width and channels, where rows are images.
    """

    X: Any
    y: NDArray[Any]
    task: str
    n_classes: int | None
    balanced: bool = False
    seed: int = 0
    gamma: float | None = None
    place: Place = field(default=lambda X: X)
    image_shape: tuple[int, int, int] | None = None

    @property
    def machine(self) -> Machine:
        """What is put on top of a map."""
        return machine_for(self.n_classes, self.balanced)


@dataclass(frozen=True)
class Chosen:
    """What did best on held-out rows.

    `settings` are those of the map, with its `gamma`; `strength` is that of the linear machine's
    path (`C` of the exact machine); `score` what the held-out rows gave.
    """

    settings: dict[str, Any]
    strength: float
    judged: float
    score: float


@dataclass(frozen=True)
class Learned:
    """A map and a machine with chosen settings, fitted; `seconds` is what fitting took."""

    decide: Callable[[Any], NDArray[Any]]
    feature_map: Any
    linear: Linear | None
    chosen: Chosen
    C: float
    seconds: float


def climb(values: Sequence[float], start: float, judge: Callable[[float], float]) -> float:
    """The value reached by going to a neighbour as long as that is better.

    Examples
    --------
    >>> from bochner.models.selection import climb
    >>> climb([1, 2, 4, 8, 16], 2, lambda value: -abs(value - 7))
    8
    """
    here = list(values).index(start)
    best = judge(values[here])
    for step in (1, -1):
        begun = here
        while 0 <= here + step < len(values):
            score = judge(values[here + step])
            if not score > best:
                break
            here, best = here + step, score
        if here != begun:
            break
    return values[here]


def learn(method: str, width: int | None, problem: Problem) -> Learned:
    """Choose what is open on held-out rows, then fit on all.

    Parameters
    ----------
    method : str
        A key of `METHODS`.
    width : int or None
        Columns of the map; None for the exact machine.
    problem : Problem
        What to learn.
    """
    found = find_method(method)
    with warnings.catch_warnings():
        # Widths that cut a shell of eigenvalues, searches that stop early: what they are worth
        # is measured.
        warnings.simplefilter("ignore")
        chosen = choose(found, width, problem)
        return _fit(found, width, problem, chosen)


def tune_model(
    method: str,
    X: Any,
    y: NDArray[Any],
    task: str,
    *,
    width: int | None = 256,
    balanced: bool = False,
    gamma: float | None = None,
    random_state: int = 0,
    image_shape: tuple[int, int, int] | None = None,
) -> tuple[Pipeline, dict[str, Any], float]:
    """An unfitted pipeline with its settings chosen on held-out rows.

    Parameters
    ----------
    method, X, y, task, width, balanced
        As for :func:`bochner.models.methods.make_model`.
    gamma : float or None, default=None
        None: chosen among multiples of the scale rule.
    random_state : int, default=0
        Of the map, and of which rows are held out.
    image_shape : tuple of int or None, default=None
        Height, width and channels, where rows are images.

    Returns
    -------
    model : Pipeline
        Not fitted.
    chosen : dict
        `gamma`, `C`, and the settings of the map.
    score : float
        Of the held-out rows: share of the rows classified rightly (the mean over classes where
        `balanced`), or R2. The best of all that were tried, so a little too good.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner.models.selection import tune_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model, chosen, score = tune_model("FourierFeatures", X, y, "classification", width=40)
    >>> sorted(chosen), bool(model.fit(X, y).score(X, y) > 0.9)
    (['C', 'gamma'], True)
    """
    found = find_method(method)
    rows = make_preparation(X, image_shape).fit_transform(X)
    codes, n_classes = code_labels(y, task)
    problem = Problem(
        rows, codes, task, n_classes, balanced, random_state, gamma, image_shape=image_shape
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        picked = choose(found, width, problem)
    C = picked.strength
    if found.make is not None:
        C = strength_to_C(C, n_classes, len(codes))
    settings = {**picked.settings, "C": C}
    model = make_model(
        method,
        X,
        y,
        task,
        width=width,
        balanced=balanced,
        random_state=random_state,
        image_shape=image_shape,
        **settings,
    )
    return model, settings, picked.score


def code_labels(y: NDArray[Any], task: str) -> tuple[NDArray[Any], int | None]:
    """Labels as the machines take them, and the number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.models.selection import code_labels
    >>> code_labels(np.array(["no", "yes", "no"]), "classification")
    (array([-1,  1, -1]), 2)
    """
    if task == "regression":
        return np.asarray(y, dtype=np.float64), None
    classes, index = np.unique(y, return_inverse=True)
    return (2 * index - 1 if len(classes) == 2 else index), len(classes)


def choose(method: Method, width: int | None, problem: Problem) -> Chosen:
    """Settings and strength that are best on held-out rows."""
    trial = _Trial(method, width, problem, CHOOSING_ROWS)
    base = scale_rule(problem.X) if problem.gamma is None else problem.gamma
    settings: dict[str, Any] = {} if method.images else {"gamma": base}
    if method.name.startswith("Posterior"):
        settings.update(fewer_candidates(problem.X.shape[1], width))
    lists: dict[str, tuple[float, ...]] = {}
    if problem.gamma is None and method.uses_gamma:
        lists["gamma"] = tuple(base * factor for factor in GAMMAS)
    for name, values in method.grid.items():
        settings[name] = values[len(values) // 2]
        lists[name] = values
    for name, values in lists.items():

        def judge(value: float, name: str = name) -> float:
            return trial({**settings, name: value}).judged

        settings[name] = climb(values, settings[name], judge)
    best = trial(settings)
    if method.make is not None and trial.cut:
        # The strength with all training rows, for the settings chosen with fewer.
        best = _Trial(method, width, problem, None)(best.settings)
    return best


def fewer_candidates(n_columns: int, width: int | None) -> dict[str, int]:
    """A limit of the posterior's candidates, where rows have very many columns.

    Examples
    --------
    >>> from bochner.models.selection import fewer_candidates
    >>> fewer_candidates(64, 32), fewer_candidates(5000, 32)
    ({}, {'n_candidates': 2000})
    """
    affordable = max(MOST_DRAWN // n_columns, width or 1)
    return {"n_candidates": affordable} if affordable < N_CANDIDATES else {}


class _Trial:
    """Candidates fitted on some training rows and judged on others, each once."""

    def __init__(
        self, method: Method, width: int | None, problem: Problem, max_rows: int | None
    ) -> None:
        self.method, self.width, self.problem = method, width, problem
        rows = np.arange(len(problem.y))
        self.cut = max_rows is not None and len(rows) > max_rows
        if self.cut:
            rows = np.random.RandomState(problem.seed).permutation(len(rows))[:max_rows]
        self.kept, self.held = _hold_out(rows, problem)
        self._found: dict[tuple[Any, ...], Chosen] = {}
        self._losses: dict[float, Any] = {}

    def __call__(self, settings: Mapping[str, Any]) -> Chosen:
        key = tuple(sorted(settings.items()))
        if key not in self._found:
            judge = self._exact if self.method.make is None else self._map
            self._found[key] = judge(dict(settings))
        return self._found[key]

    def _exact(self, settings: dict[str, Any]) -> Chosen:
        problem, machine = self.problem, self.problem.machine
        X, y = problem.X, problem.y
        scores: dict[float, float] = {}

        def score(C: float) -> float:
            exact = make_exact(problem.task, C=C, balanced=problem.balanced, **settings)
            exact.fit(X[self.kept], y[self.kept])
            decisions = _decisions(exact.predict(X[self.held]), problem)
            scores[C] = machine.score(decisions, y[self.held])
            return scores[C]

        C = climb(EXACT_CS, EXACT_CS[len(EXACT_CS) // 2], score)
        return Chosen(settings, C, scores[C], scores[C])

    def _map(self, settings: dict[str, Any]) -> Chosen:
        problem, machine = self.problem, self.problem.machine
        y = problem.y
        kept = placed(self.method, problem, self.kept)
        held = placed(self.method, problem, self.held)
        feature_map = self._fitted(settings, kept)
        features = to_numpy(feature_map.transform(kept))
        held_features = to_numpy(feature_map.transform(held))
        best: tuple[float, float, float] | None = None
        worse = 0
        path = machine.path(features, machine.columns(y[self.kept]), machine.strengths)
        for strength, linear in zip(machine.strengths, path, strict=False):
            decisions = linear(held_features)
            judged = machine.judge(decisions, y[self.held])
            if best is None or judged > best[1]:
                best, worse = (strength, judged, machine.score(decisions, y[self.held])), 0
            else:
                worse += judged < best[1]
            if worse == PATIENCE:
                break
        assert best is not None
        if self.method.name == "MarginFourierFeatures":
            # Chosen by the map itself, on held-out rows of its own; not to be chosen again.
            setting = feature_map.setting_
            settings = {
                **settings,
                "dual_update": setting.dual_update,
                "band": setting.band,
                "damping": setting.damping,
            }
        return Chosen(settings, *best)

    def _fitted(self, settings: dict[str, Any], kept: Any) -> Any:
        y = self.problem.y[self.kept]
        feature_map = self._new(settings)
        if not hasattr(feature_map, "with_posterior"):
            return feature_map.fit(kept, y)
        # The losses of the candidates do not depend on the posterior.
        gamma = settings["gamma"]
        if gamma not in self._losses:
            self._losses[gamma] = feature_map.fit(kept, y)
        changes = {name: settings[name] for name in self.method.grid}
        return self._losses[gamma].with_posterior(**changes)

    def _new(self, settings: Mapping[str, Any]) -> Any:
        assert self.width is not None
        return make_map(
            self.method.name,
            width=self.width,
            task=self.problem.task,
            random_state=self.problem.seed,
            image_shape=self.problem.image_shape,
            **settings,
        )


def _fit(method: Method, width: int | None, problem: Problem, chosen: Chosen) -> Learned:
    X, y, machine = problem.X, problem.y, problem.machine
    if method.make is None:
        exact = make_exact(
            problem.task, balanced=problem.balanced, C=chosen.strength, **chosen.settings
        )
        start = time.perf_counter()
        exact.fit(X, y)
        seconds = time.perf_counter() - start
        return Learned(
            lambda rows: _decisions(exact.predict(rows), problem),
            None,
            None,
            chosen,
            chosen.strength,
            seconds,
        )
    assert width is not None
    feature_map = make_map(
        method.name,
        width=width,
        task=problem.task,
        random_state=problem.seed,
        image_shape=problem.image_shape,
        **chosen.settings,
    )
    rows = placed(method, problem)
    start = time.perf_counter()
    features = to_numpy(feature_map.fit(rows, y).transform(rows))
    (linear,) = machine.path(features, machine.columns(y), [chosen.strength])
    seconds = time.perf_counter() - start

    def decide(X: Any) -> NDArray[Any]:
        given = replace(problem, X=X)
        return linear(to_numpy(feature_map.transform(placed(method, given))))

    C = strength_to_C(chosen.strength, problem.n_classes, len(y))
    return Learned(decide, feature_map, linear, chosen, C, seconds)


def placed(method: Method, problem: Problem, rows: NDArray[Any] | None = None) -> Any:
    """Rows where the method works: scikit-learn's on the host."""
    X = problem.X if rows is None else problem.X[rows]
    return X if METHODS[method.name].baseline else problem.place(X)


def _decisions(predictions: NDArray[Any], problem: Problem) -> NDArray[Any]:
    """Predictions as columns of decisions, as linear machines give them."""
    if problem.n_classes is None or problem.n_classes == 2:
        return np.asarray(predictions, dtype=np.float64)[:, None]
    return np.asarray(predictions[:, None] == np.arange(problem.n_classes), dtype=np.float64)


def _hold_out(
    rows: NDArray[np.intp], problem: Problem
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    kept, held = train_test_split(
        rows,
        test_size=HELD_OUT,
        random_state=problem.seed,
        stratify=stratification(problem.y[rows], problem.n_classes, HELD_OUT),
    )
    return kept, held


def stratification(y: NDArray[Any], n_classes: int | None, share: float) -> NDArray[Any] | None:
    """Labels to keep in proportion in a split, None where that cannot be done."""
    if n_classes is None:
        return None
    _, counts = np.unique(y, return_counts=True)
    return y if counts.min() >= 2 and int(share * len(y)) >= len(counts) else None
