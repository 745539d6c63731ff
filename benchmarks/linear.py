"""Squared-hinge classifiers against scikit-learn's LinearSVC (liblinear's Newton method)."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.harness import best_times, heading, row
from bochner.linear import GrowingRidge, solve_squared_hinge

WIDTHS = (26, 13, 13, 13, 11, 15)


def problem(n: int, D: int, n_classes: int, d: int = 20) -> tuple[Any, Any]:
    """Return Fourier features of Gaussian clusters, and -1/+1 labels of one class."""
    rng = np.random.default_rng(0)
    centres = 1.1 * rng.normal(size=(4 * n_classes, d))
    cluster = rng.integers(len(centres), size=n)
    X = centres[cluster] + rng.normal(size=(n, d))
    phases = X @ (0.2 * rng.normal(size=(d, D // 2)))
    features = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(D / 2)
    classes = np.arange(1 if n_classes == 2 else n_classes)
    signs = np.where((cluster % n_classes)[:, None] == classes, 1.0, -1.0)
    return np.ascontiguousarray(features), signs


def liblinear(features: Any, signs: Any, C: float) -> tuple[Any, Any]:
    # liblinear penalises the intercept; scaled up, that hardly counts
    coefficients, intercepts = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for y in signs.T:
            svc = LinearSVC(C=C, dual=False, tol=1e-6, max_iter=1000, intercept_scaling=10.0)
            svc.fit(features, y)
            coefficients.append(svc.coef_[0])
            intercepts.append(svc.intercept_[0])
    return np.transpose(coefficients), np.array(intercepts)


def objective(features: Any, signs: Any, C: float, solution: tuple[Any, Any]) -> float:
    w, b = (np.asarray(part, dtype=np.float64) for part in solution)
    loss = np.maximum(0, 1 - signs * (features @ w + b)) ** 2
    return float(0.5 * (w**2).sum() + C * loss.sum())


def ours(features: Any, signs: Any, C: float, **options: Any) -> tuple[Any, Any]:
    solution = solve_squared_hinge(features, signs, C, **options)
    return solution.coefficients, solution.intercepts


def squared_hinge(C: float = 1.0) -> None:
    heading(f"squared-hinge classifiers, C={C:g}, against scikit-learn's LinearSVC (primal)")
    row("", "LinearSVC", "float64", "float32", "ratio", "objectives", widths=WIDTHS)
    sizes = [(12000, 100, 2), (12000, 500, 2), (12000, 1000, 2), (20000, 500, 10)]
    for n, D, n_classes in sizes:
        features, signs = problem(n, D, n_classes)
        single = features.astype(np.float32)
        candidates = {
            "theirs": partial(liblinear, features, signs, C),
            "double": partial(ours, features, signs, C),
            "single": partial(ours, single, signs, C),
        }
        times = best_times(candidates, repeats=1 if n_classes > 2 else 3)
        best = {name: objective(features, signs, C, run()) for name, run in candidates.items()}
        errors = [f"{best[name] / best['theirs'] - 1:+.0e}" for name in ("double", "single")]
        row(
            f"n={n}, D={D}, {signs.shape[1]} columns",
            *[f"{1e3 * times[name]:.1f} ms" for name in ("theirs", "double", "single")],
            f"{times['theirs'] / times['single']:.1f} x",
            " ".join(errors),
            widths=WIDTHS,
        )
    print("objectives: ours in float64 and float32 relative to LinearSVC's, less one")


def growing_features(n: int = 12000, before: int = 100, after: int = 110, C: float = 0.01) -> None:
    heading(f"one round more of a growing representation: n={n}, D={before} to {after}, C={C:g}")
    features, signs = problem(n, 1000, 2)
    mixed = np.random.default_rng(1).permutation(1000)
    features = features[:, mixed[:after]].astype(np.float32) * np.float32(np.sqrt(1000 / after))
    start = solve_squared_hinge(features[:, :before], signs, C)
    ridge_targets = np.random.default_rng(2).normal(size=(n, 10))

    def ridge() -> GrowingRidge:
        return GrowingRidge(ridge_targets, capacity=after).append(features[:, :before])

    grown = ridge()

    def one_more() -> Any:
        grown._columns.n_columns = before  # forget the columns of the repetition before
        return grown.append(features[:, before:]).residuals(1.0)

    times = best_times(
        {
            "theirs": partial(liblinear, features, signs, C),
            "cold": partial(ours, features, signs, C),
            "warm": partial(ours, features, signs, C, start=start),
            "rough": partial(ours, features, signs, C, start=start, tol=1e-3),
            "ridge": lambda: ridge().append(features[:, before:]).residuals(1.0),
            "grown": one_more,
        }
    )
    names = {
        "theirs": "LinearSVC, from zero",
        "cold": "ours, from zero",
        "warm": "ours, from the round before",
        "rough": "the same, tol=1e-3",
        "ridge": "ridge, 10 targets, from scratch",
        "grown": "ridge, appended to",
    }
    for key, name in names.items():
        row(name, f"{1e3 * times[key]:.2f} ms", widths=(34, 12))


def linear() -> None:
    squared_hinge()
    growing_features()
