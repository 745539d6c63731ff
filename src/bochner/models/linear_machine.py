"""A linear model on top of a feature map, with everything chosen on held-out training rows.

The held-out rows come from the training part alone, and a map that learns does not see them while
choices are made: a penalty chosen on rows that the features were fitted to would be too weak.
What was chosen is then fitted again on all training rows. Test rows are no part of this module.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from bochner.linear.squared_hinge import squared_hinge_path

HELD_OUT = 0.25  # of the training rows

TOLERANCE = 1e-4  # of the squared hinge's gradient, relative to that at zero

# From the strongest regularisation to the weakest; of equally good ones the strongest is taken.
# A path ends early when so many in a row did worse than an earlier one.
PATIENCE = 2
PENALTIES = tuple(float(10.0**k) for k in range(-4, 5))  # C of the squared hinge
RIDGES = tuple(float(10.0**k) for k in range(0, -9, -1))  # alpha, a multiple of the rows


@dataclass(frozen=True)
class Linear:
    """``features @ coefficients + intercepts``, one column per class (one for two classes)."""

    coefficients: NDArray[Any]
    intercepts: NDArray[Any]

    def __call__(self, features: NDArray[Any]) -> NDArray[Any]:
        return features @ self.coefficients + self.intercepts


@dataclass(frozen=True)
class Machine:
    """How columns of targets are made, fitted for every strength of a path, and judged."""

    columns: Callable[[NDArray[Any]], NDArray[np.float64]]
    path: Callable[[NDArray[Any], NDArray[np.float64], Sequence[float]], Iterator[Linear]]
    strengths: tuple[float, ...]
    score: Callable[[NDArray[Any], NDArray[Any]], float]  # what is reported
    judge: Callable[[NDArray[Any], NDArray[Any]], float]  # what choices are made by
    classes: bool = True


@dataclass(frozen=True)
class Fitted:
    """A feature map and a linear model, fitted on all training rows.

    `name` is the candidate and `strength` the regularisation that did best, with `held_out_score`,
    on the held-out rows; `fit` the time in seconds of the map's last fit.
    """

    name: Any
    feature_map: Any
    linear: Linear
    strength: float
    held_out_score: float
    fit: float

    def decide(self, X: NDArray[Any], block: int = 5000) -> NDArray[Any]:
        """The linear model's values at rows, computed block by block."""
        parts = [
            self.linear(self.feature_map.transform(X[start : start + block]))
            for start in range(0, len(X), block)
        ]
        return np.concatenate(parts)


def hinge_path(
    features: NDArray[Any], signs: NDArray[np.float64], penalties: Sequence[float]
) -> Iterator[Linear]:
    """Support vector machines with the squared hinge, one for each penalty, each from the last."""
    n, width = features.shape
    turn = None
    if 3 * width > n and min(n, width) <= 2000:
        # So many columns of few rows are almost combinations of fewer.
        turn = principal_directions(features)
        features = features @ turn
    # float32 is precise enough for these penalties, and three times as fast.
    features = features.astype(np.float32, copy=False)
    last = None
    # The first five share what the solver computes of the features. The others come one by one: a
    # path that is not read to its end does not pay for the largest, which cost most.
    for group in (penalties[:5], *([C] for C in penalties[5:])):
        with warnings.catch_warnings():
            # The largest may stop short of the optimum; they are judged by their score on
            # held-out rows like all others.
            warnings.simplefilter("ignore", ConvergenceWarning)
            solutions = squared_hinge_path(features, signs, group, start=last, tol=TOLERANCE)
        last = solutions[-1]
        for solution in solutions:
            coefficients = solution.coefficients
            yield Linear(
                coefficients if turn is None else turn @ coefficients, solution.intercepts
            )


def principal_directions(features: NDArray[Any], smallest: float = 1e-9) -> NDArray[np.float64]:
    """Orthonormal columns V for which ``features @ V @ V.T`` is (almost) the features.

    Directions in which the rows' squares sum to less than `smallest` times the largest are left
    out. As V is orthonormal, a penalty on the coefficients of ``features @ V`` is one on those of
    the features.
    """
    features = features.astype(np.float64, copy=False)
    n, width = features.shape
    gram = features @ features.T if n < width else features.T @ features
    values, vectors = linalg.eigh(gram, overwrite_a=True, check_finite=False)
    large = values > smallest * values[-1]
    values, vectors = values[large], vectors[:, large]
    return features.T @ (vectors / np.sqrt(values)) if n < width else vectors


def ridge_path(
    features: NDArray[Any],
    targets: NDArray[np.float64],
    alphas: Sequence[float],
    block: int = 4096,
) -> Iterator[Linear]:
    r"""Least squares with a ridge and a free intercept, one machine for each alpha.

    .. math:: \min_{W, b} \|Y - X W - 1 b^\top\|^2 + \alpha n \|W\|^2

    Rows are added up in float64, in blocks: a float32 sum of squares would hide the weakest
    ridges.
    """
    n, width = features.shape
    gram = np.zeros((width, width))
    moments = np.zeros((width, targets.shape[1]))
    mean, target_mean = features.mean(axis=0, dtype=np.float64), targets.mean(axis=0)
    for start in range(0, n, block):
        rows = features[start : start + block].astype(np.float64) - mean
        gram += rows.T @ rows
        moments += rows.T @ (targets[start : start + block] - target_mean)
    diagonal = gram.diagonal().copy()
    for alpha in alphas:
        np.fill_diagonal(gram, diagonal + alpha * n)
        factor = linalg.cho_factor(gram, check_finite=False)
        coefficients = linalg.cho_solve(factor, moments, check_finite=False)
        yield Linear(coefficients, target_mean - mean @ coefficients)


def one_sign(y: NDArray[Any]) -> NDArray[np.float64]:
    """Labels -1 and +1 as one column."""
    return np.asarray(y, dtype=np.float64)[:, None]


def one_column_a_class(y: NDArray[Any]) -> NDArray[np.float64]:
    """Labels 0, 1, .. as one column of -1 and +1 for each."""
    return np.where(y[:, None] == np.arange(y.max() + 1), 1.0, -1.0)


def accuracy_of_signs(decisions: NDArray[Any], y: NDArray[Any]) -> float:
    """Share of the rows on the right side."""
    return float(np.mean(np.where(decisions[:, 0] > 0, 1, -1) == y))


def hinge_of_signs(decisions: NDArray[Any], y: NDArray[Any]) -> float:
    """Mean hinge loss, negative: it tells machines apart that err on the same few rows."""
    return -float(np.mean(np.maximum(0, 1 - decisions[:, 0] * y)))


def accuracy_of_classes(decisions: NDArray[Any], y: NDArray[Any]) -> float:
    """Share of the rows whose own class has the largest value."""
    return float(np.mean(decisions.argmax(axis=1) == y))


def r_squared(decisions: NDArray[Any], y: NDArray[Any]) -> float:
    """1 minus the squared error relative to that of the rows' mean."""
    return float(1 - np.mean((decisions[:, 0] - y) ** 2) / np.var(y))


TWO_CLASSES = Machine(one_sign, hinge_path, PENALTIES, accuracy_of_signs, hinge_of_signs)
MANY_CLASSES = Machine(
    one_column_a_class, ridge_path, RIDGES, accuracy_of_classes, accuracy_of_classes
)
NUMBERS = Machine(one_sign, ridge_path, RIDGES, r_squared, r_squared, classes=False)


def hold_out(
    y: NDArray[Any], seed: int, stratify: bool, max_rows: int | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of training rows to fit on, and of those to choose on; `max_rows` in all."""
    rows = np.arange(len(y))
    if max_rows is not None and len(y) > max_rows:
        rows = np.random.RandomState(seed).permutation(len(y))[:max_rows]
    kept, held = train_test_split(
        rows, test_size=HELD_OUT, random_state=seed, stratify=y[rows] if stratify else None
    )
    return kept, held


def tune(
    candidates: Mapping[Any, Callable[[], Any]],
    X: NDArray[Any],
    y: NDArray[Any],
    machine: Machine,
    seed: int,
    max_rows: int | None = None,
    folds: int = 1,
) -> Fitted:
    """The candidate map and the strength that are best on held-out rows, fitted on all rows.

    Parameters
    ----------
    candidates : mapping
        From a name to a function that makes an unfitted feature map.
    X, y : arrays of shape (n, d) and (n,)
        Training rows and their labels.
    machine : Machine
        What is put on top.
    seed : int
        Decides which rows are held out.
    max_rows : int or None, default=None
        When there are several candidates, one is chosen with at most so many rows; the strength
        is then chosen again with all.
    folds : int, default=1
        With more than one every row is held out once, and scores are averaged: for few rows.
    """
    names = list(candidates)
    if len(names) > 1 and max_rows is not None and len(y) > max_rows:
        name, _, _ = _choose(candidates, X, y, machine, seed, max_rows, folds)
        names = [name]
    name, strength, score = _choose(
        {n: candidates[n] for n in names}, X, y, machine, seed, None, folds
    )
    feature_map = candidates[name]()
    start = time.perf_counter()
    feature_map.fit(X, y)
    fit = time.perf_counter() - start
    (linear,) = machine.path(feature_map.transform(X), machine.columns(y), [strength])
    return Fitted(name, feature_map, linear, strength, score, fit)


def _choose(
    candidates: Mapping[Any, Callable[[], Any]],
    X: NDArray[Any],
    y: NDArray[Any],
    machine: Machine,
    seed: int,
    max_rows: int | None,
    folds: int,
) -> tuple[Any, float, float]:
    if folds > 1:
        kind = StratifiedKFold if machine.classes else KFold
        splits = list(kind(folds, shuffle=True, random_state=seed).split(X, y))
    else:
        splits = [hold_out(y, seed, machine.classes, max_rows)]
    best: tuple[Any, float, float] | None = None
    for name, make in candidates.items():
        scores = [
            _scores(make(), X, y, machine, kept, held, hurry=folds == 1) for kept, held in splits
        ]
        # A path that stopped early has fewer.
        for strength, values in zip(machine.strengths, zip(*scores, strict=True), strict=False):
            score = float(np.mean(values))
            if best is None or score > best[2]:
                best = name, strength, score
    assert best is not None, "there are no candidates"
    return best


def _scores(
    feature_map: Any,
    X: NDArray[Any],
    y: NDArray[Any],
    machine: Machine,
    kept: NDArray[np.intp],
    held: NDArray[np.intp],
    hurry: bool,
) -> list[float]:
    """Scores on held-out rows along the path of strengths, of which a hurry skips the end."""
    feature_map.fit(X[kept], y[kept])
    features, held_features = feature_map.transform(X[kept]), feature_map.transform(X[held])
    scores: list[float] = []
    worse = 0
    for linear in machine.path(features, machine.columns(y[kept]), machine.strengths):
        scores.append(machine.judge(linear(held_features), y[held]))
        worse = worse + 1 if scores[-1] < max(scores) else 0
        if hurry and worse == PATIENCE:
            break
    return scores
