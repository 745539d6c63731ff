"""Landmark similarities: time relative to a plain loop, and gain over the plain kernel."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.harness import PeakMemory, heading, row
from benchmarks.tables import TABLES, Task, split
from bochner import LandmarkSimilarities
from bochner.linear import RidgeClassifier, RidgeRegressor
from bochner.records.statistics import mean_and_error

NAMES = ("adult", "a9a", "ijcnn1", "cpusmall", "digits", "cadata", "friedman", "covtype")
FEW = 40  # landmarks that the plain loop is timed on; it is linear in their number


class PlainLoop:
    """Plain implementation: one landmark after the other, in float64."""

    def __init__(self, points: Any, labels: Any, n_features: int, D: int) -> None:
        rng = np.random.default_rng(0)
        self.points, self.labels = points, labels
        self.W = rng.normal(size=(len(points), n_features, D)) * 0.1

    def fit(self, X: Any, y: Any) -> None:
        self.posterior = np.empty((len(self.points), self.W.shape[2]))
        for index, (point, label) in enumerate(zip(self.points, self.labels, strict=True)):
            losses = 0.5 - (label * y) @ np.cos((X - point) @ self.W[index]) / (2 * len(X))
            weights = np.exp(-np.sqrt(len(X)) * losses)
            self.posterior[index] = weights / weights.sum()

    def transform(self, X: Any) -> Any:
        features = np.empty((len(X), len(self.points)))
        for index, point in enumerate(self.points):
            features[:, index] = np.cos((X - point) @ self.W[index]) @ self.posterior[index]
        return features


def landmarks(n: int = 32561, d: int = 108, n_landmarks: int = 2604, D: int = 64) -> None:
    heading(f"landmarks at the size of Adult, float32: n={n}, d={d}, {n_landmarks} landmarks")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.sign(X[:, 0] * X[:, 1] + rng.normal(size=n))
    points, labels = X[:n_landmarks] + np.float32(0.1), y[:n_landmarks]
    make = partial(LandmarkSimilarities, landmarks=(points, labels), gamma=0.005, random_state=0)
    loop = PlainLoop(points[:FEW].astype(np.float64), labels[:FEW], d, D)
    widths = (26, *[14] * 6)
    row("", "fit", "transform", "ratio", "ratio", "memory", "memory", widths=widths)
    # each with the rows it is timed on, and what to multiply by: the slow are linear in the rows
    by_own = make(frequencies="own", n_frequencies=D)
    candidates: dict[str, tuple[Any, int, float]] = {
        "frequencies of their own": (by_own, n // 8, n / (n // 8)),
        "plain loop": (loop, n // 16, n / (n // 16) * n_landmarks / FEW),
        "shared, beta=1": (make(beta=1.0), n, 1.0),
        "shared, beta chosen": (make(), n, 1.0),
        "the plain kernel": (make(posterior=None), n, 1.0),
    }
    own: list[float] = []
    for name, (each, n_rows, factor) in candidates.items():
        rows, targets = X[:n_rows], y[:n_rows]
        if name != "plain loop":  # to warm up
            each.fit(X[:n_landmarks], y[:n_landmarks]).transform(X[:10])
        seconds, memory = [], []
        for call in (partial(each.fit, rows, targets), partial(each.transform, rows)):
            with PeakMemory() as peak:
                start = time.perf_counter()
                call()
                seconds.append((time.perf_counter() - start) * factor)
            memory.append(f"{peak.extra:.0f} MB" if factor == 1 else "")
        own = own or seconds
        ratios = [f"{o / s:.1f} x" for o, s in zip(own, seconds, strict=True)]
        row(name, *(f"{s:.2f} s" for s in seconds), *ratios, *memory, widths=widths)
    print(f"Memory of transform includes its result, {n * n_landmarks * 4 / 1e6:.0f} MB.")


def _digits(seed: int) -> Task:
    X, y = load_digits(return_X_y=True)
    return split(X, y, seed)


def _score(task: Task, feature_map: Any) -> float:
    """Return the accuracy or R2, in percent."""
    head: Any = RidgeClassifier() if task.classes else RidgeRegressor()
    head.fit(feature_map.fit_transform(task.X, task.y), task.y)
    return 100 * float(head.score(feature_map.transform(task.X_test), task.y_test))


def gains(
    names: tuple[str, ...] = NAMES,
    counts: tuple[int, ...] = (40, 200),
    seeds: int = 3,
    n_rows: int = 4000,
) -> None:
    heading(f"landmarks: shared and own frequencies less the plain kernel, {n_rows} rows, "
            f"{seeds} seeds; accuracy or R2 in percent")  # fmt: skip
    widths = (12, 6, 10, 18, 18, 26)
    row("table", "", "plain", "own", "shared", "strengths", widths=widths)
    makers: dict[str, Callable[..., Any]] = {
        "plain": partial(LandmarkSimilarities, posterior=None),
        "own": partial(LandmarkSimilarities, frequencies="own"),
        "shared": LandmarkSimilarities,
    }
    for name in names:
        for count in counts:
            scores: dict[str, list[float]] = {kind: [] for kind in makers}
            strengths = []
            for seed in range(seeds):
                task = TABLES.get(name, _digits)(seed)
                task = task._replace(X=task.X[:n_rows], y=task.y[:n_rows]).standardised()
                target = "classification" if task.classes else "regression"
                for kind, make in makers.items():
                    each = make(n_components=count, target=target, random_state=seed)
                    scores[kind].append(_score(task, each))
                strengths.append(f"{each.beta_:g}")
            plain = np.array(scores["plain"])
            differences = [
                "{:+.2f} ± {:.2f}".format(*mean_and_error(list(scores[kind] - plain)))
                for kind in ("own", "shared")
            ]
            row(name, count, f"{plain.mean():.2f}", *differences, ", ".join(strengths),
                widths=widths)  # fmt: skip
