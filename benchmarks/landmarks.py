"""Learned landmark similarities against a loop over landmarks in plain NumPy."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import PeakMemory, best_times, heading, row
from bochner import LandmarkSimilarities


def loop(X: np.ndarray, y: np.ndarray, points: np.ndarray, labels: np.ndarray, D: int) -> None:
    """Fit and transform as one would write it: one landmark after the other, in float64."""
    rng, n = np.random.default_rng(0), len(X)
    for point, label in zip(points, labels, strict=True):
        W = rng.normal(size=(X.shape[1], D)) * 0.1
        cosines = np.cos((X - point) @ W)
        losses = 0.5 - (label * y) @ cosines / (2 * n)
        weights = np.exp(-np.sqrt(n) * losses)
        cosines @ (weights / weights.sum())


def landmarks(n: int = 26048, d: int = 108, n_landmarks: int = 2604, D: int = 64) -> None:
    heading(f"landmarks, fit and transform: n={n}, d={d}, {n_landmarks} landmarks, D={D}")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), np.sign(rng.normal(size=n))
    points, labels = X[:n_landmarks] + 0.1, y[:n_landmarks]
    few = 50  # the loop is linear in the landmarks
    single = X.astype(np.float32)
    options = {"n_frequencies": D, "gamma": 0.005, "random_state": 0}

    def learned(rows: np.ndarray) -> None:
        LandmarkSimilarities(landmarks=(points, labels), **options).fit(rows, y).transform(rows)

    times = best_times(
        {
            "plain": lambda: loop(X, y, points[:few], labels[:few], D),
            "double": lambda: learned(X),
            "single": lambda: learned(single),
        },
        repeats=1,
    )
    with PeakMemory() as memory:
        learned(single)
    extra = memory.extra - n * n_landmarks * 4 / 1e6  # without the result itself
    plain = times["plain"] * n_landmarks / few
    row("", "time", "ratio", "extra MB")
    row(f"plain NumPy loop ({few} landmarks x {n_landmarks / few:.0f})", f"{plain:.1f} s", "1.0 x")
    row("bochner, float64", f"{times['double']:.1f} s", f"{plain / times['double']:.1f} x")
    row(
        "bochner, float32",
        f"{times['single']:.1f} s",
        f"{plain / times['single']:.1f} x",
        f"{extra:.0f}",
    )
