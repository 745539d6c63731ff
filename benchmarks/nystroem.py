"""NystroemFeatures against scikit-learn's Nystroem: time, and scores of the exponential kernel."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem

from benchmarks.harness import best_times, heading, row
from benchmarks.tables import TABLES, Task
from bochner import FourierFeatures, GradientMetric, NystroemFeatures
from bochner.linear import RidgeClassifier, RidgeRegressor
from bochner.linear.scoring import MEASURES
from bochner.models.scaling import ColumnScaler, Scaling
from bochner.models.selection import choose_map
from bochner.records.statistics import format_mean, mean_and_error

WIDTHS = (30, 12, 12, 12, 12, 12)
SCORES = (30, 16, 16, 16, 16)
ROWS: tuple[tuple[str, Scaling], ...] = (
    ("ijcnn1", "standard"),
    ("cpusmall", "standard"),
    ("cpusmall", "robust"),
)
KERNELS = ("gaussian", "exponential")


def nystroem(n: int = 20000, d: int = 50, m: int = 2000) -> None:
    heading(f"Nystroem features: n={n}, d={d}, m={m}, result allocated")
    row("transform", "theirs", "products", "ours", "theirs/ours", "ours/products", widths=WIDTHS)
    X = np.random.default_rng(0).normal(size=(n, d))
    for dtype in (np.float64, np.float32):
        transforms(X.astype(dtype), m)
    fits(X, 2 * m)
    called(X[:400], 100)
    scores(m)


def transforms(X: Any, m: int) -> None:
    theirs = Nystroem(gamma=1 / X.shape[1], n_components=m, random_state=0)
    gammas = {"gaussian": 1 / X.shape[1], "exponential": X.shape[1] ** -0.5}
    ours = {
        kind: NystroemFeatures(m, kernel=kind, gamma=gammas[kind], random_state=0).fit(X)
        for kind in KERNELS
    }
    # fitted by ours: an SVD of theirs would take a minute
    theirs.components_ = ours["gaussian"].landmarks_
    theirs.normalization_ = np.ascontiguousarray(ours["gaussian"].normalization_.T)
    theirs.n_features_in_ = X.shape[1]
    Z, R = theirs.components_, theirs.normalization_.T.copy()
    w = np.ones((m, 1))
    times = best_times(
        {
            "theirs": partial(theirs.transform, X),
            "products": lambda: (X @ Z.T) @ R,
            **{kind: partial(phi.transform, X) for kind, phi in ours.items()},
            **{f"{kind}, folded": partial(phi.linear, X, w) for kind, phi in ours.items()},
        },
        repeats=3,
    )
    for kind in times:
        if kind not in ("theirs", "products"):
            row(
                f"{kind}, {X.dtype.name}",
                *(f"{times[name]:.2f} s" for name in ("theirs", "products", kind)),
                f"{times['theirs'] / times[kind]:.1f} x",
                f"{times[kind] / times['products']:.2f} x",
                widths=WIDTHS,
            )


def fits(X: Any, m: int) -> None:
    theirs = Nystroem(gamma=1 / X.shape[1], n_components=m, random_state=0)
    ours = NystroemFeatures(m, gamma=1 / X.shape[1], random_state=0)
    times = best_times({"theirs": partial(theirs.fit, X), "ours": partial(ours.fit, X)}, repeats=1)
    row(
        f"fit, m={m}",
        f"{times['theirs']:.1f} s",
        "",
        f"{times['ours']:.1f} s",
        f"{times['theirs'] / times['ours']:.1f} x",
        widths=WIDTHS,
    )


def called(X: Any, m: int) -> None:
    """Time the exponential kernel, which scikit-learn calls once for each pair of rows."""
    gamma = X.shape[1] ** -0.5
    theirs = Nystroem(lambda x, y: np.exp(-gamma * np.linalg.norm(x - y)), n_components=m)
    ours = NystroemFeatures(m, kernel="exponential", gamma=gamma, random_state=0)
    times = best_times(
        {"theirs": partial(theirs.fit(X).transform, X), "ours": partial(ours.fit(X).transform, X)},
        repeats=2,
    )
    row(
        f"called, n={len(X)}, m={m}",
        f"{times['theirs']:.3f} s",
        "",
        f"{times['ours']:.4f} s",
        f"{times['theirs'] / times['ours']:.0f} x",
        widths=WIDTHS,
    )


def scores(m: int, seeds: int = 3) -> None:
    """Score ridge on a few thousand columns; gamma and the penalty are chosen on held-out rows."""
    row("test score, %", "Fourier", "gaussian", "exponential", "after a metric", widths=SCORES)
    maps: list[Any] = [partial(FourierFeatures, n_components=m)]
    maps += [partial(NystroemFeatures, n_components=m, kernel=kind) for kind in KERNELS]
    for name, scaling in ROWS:
        found: list[list[float]] = [[] for _ in range(4)]
        for seed in range(seeds):
            task = TABLES[name](seed)
            scaler = ColumnScaler(scaling).fit(task.X)
            task = task._replace(X=scaler.transform(task.X), X_test=scaler.transform(task.X_test))
            kind: Any = "classification" if task.classes else "regression"
            metric = GradientMetric(target=kind, random_state=seed).fit(task.X, task.y)
            turned = task._replace(
                X=metric.transform(task.X), X_test=metric.transform(task.X_test)
            )
            for values, make in zip(found, maps, strict=False):
                values.append(100 * best_score(make, task, seed))
            found[-1].append(100 * best_score(maps[-1], turned, seed))
        texts = [format_mean(*mean_and_error(values), ".2f") for values in found]
        row(f"{name}, {scaling}", *texts, widths=SCORES)


def best_score(make: Any, task: Task, seed: int) -> float:
    """Return the best score; no held-out row is a landmark of a map that it judges."""
    scale = make(gamma="scale", n_components=2).fit(task.X).kernel_.gamma
    gammas = scale * np.array([0.003, 0.01, 0.03, 0.1, 0.3, 1.0])
    candidates = {gamma: partial(make, gamma=gamma, random_state=seed) for gamma in gammas}
    head = RidgeClassifier() if task.classes else RidgeRegressor()
    measure = MEASURES["accuracy" if task.classes else "R2"]
    _, model = choose_map(candidates, task.X, task.y, head, measure, seed, max_rows=4000)
    return float(model.head.score(model.features(task.X_test), task.y_test))
