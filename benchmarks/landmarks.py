"""Learned landmark similarities against a loop over landmarks in plain NumPy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import PeakMemory, best_times, heading, row
from bochner import LandmarkSimilarities

FEW = 40  # landmarks that the plain loop is timed on; it is linear in their number


class PlainLoop:
    """One landmark after the other, in float64, as one would write it first."""

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


def landmarks(n: int = 26048, d: int = 108, n_landmarks: int = 2604, D: int = 64) -> None:
    heading(f"landmarks at the size of Adult: n={n}, d={d}, {n_landmarks} landmarks, D={D}")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), np.sign(rng.normal(size=n))
    points, labels = X[:n_landmarks] + 0.1, y[:n_landmarks]
    plain = PlainLoop(points[:FEW], labels[:FEW], d, D)
    ours = LandmarkSimilarities(
        landmarks=(points, labels), n_frequencies=D, gamma=0.005, random_state=0
    )
    single = X.astype(np.float32)
    row("", "plain", "float64", "float32", "ratios", widths=(14, 12, 12, 12, 18))
    for name in ("fit", "transform"):
        arguments: tuple[Any, ...] = (y,) if name == "fit" else ()
        times = best_times(
            {
                "plain": partial(getattr(plain, name), X, *arguments),
                "double": partial(getattr(ours, name), X, *arguments),
                "single": partial(getattr(ours, name), single, *arguments),
            },
            repeats=1,
        )
        slow = times["plain"] * n_landmarks / FEW
        ratios = f"{slow / times['double']:.1f} x, {slow / times['single']:.1f} x"
        seconds = (slow, times["double"], times["single"])
        row(name, *[f"{s:.1f} s" for s in seconds], ratios, widths=(14, 12, 12, 12, 18))
    with PeakMemory() as memory:
        ours.fit(single, y)
    row("memory of fit", f"{memory.extra:.0f} MB", widths=(14, 12))
