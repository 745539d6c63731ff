"""NystroemFeatures against scikit-learn's Nystroem: time, and scores of the exponential kernel."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import best_times, heading, row
from bochner import FourierFeatures, NystroemFeatures
from bochner.data.local import load_local, load_regression
from bochner.linear import RidgeClassifier, RidgeRegressor
from bochner.linear.scoring import MEASURES
from bochner.models.selection import choose_map

WIDTHS = (30, 12, 12, 12, 12, 12)
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
    """The exponential kernel, which scikit-learn calls once for every pair."""
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


def scores(m: int, n_train: int = 10_000) -> None:
    """Ridge on a few thousand columns; gamma and the penalty are chosen on held-out rows."""
    row("test score, %", "Fourier", "gaussian", "exponential", widths=WIDTHS)
    for name in ("ijcnn1", "cpusmall"):
        data = load_local(name) if name == "ijcnn1" else load_regression(name, test_size=0.2)
        rows = np.random.default_rng(0).permutation(len(data.y_train))[:n_train]
        scaler = StandardScaler().fit(data.X_train[rows])
        train, test = scaler.transform(data.X_train[rows]), scaler.transform(data.X_test)
        labels = data.y_train[rows], data.y_test
        maps: list[Any] = [partial(FourierFeatures, n_components=m)]
        maps += [partial(NystroemFeatures, n_components=m, kernel=kind) for kind in KERNELS]
        found = (best_score(make, name == "ijcnn1", train, test, *labels) for make in maps)
        row(name, *(f"{100 * score:.2f}" for score in found), widths=WIDTHS)


def best_score(make: Any, classes: bool, X: Any, X_test: Any, y: Any, y_test: Any) -> float:
    """Held-out rows are none of the landmarks of the maps that are judged by them."""
    scale = make(gamma="scale", n_components=2).fit(X).kernel_.gamma
    gammas = scale * np.array([0.03, 0.1, 0.3, 1.0])
    candidates = {gamma: partial(make, gamma=gamma, random_state=0) for gamma in gammas}
    head = RidgeClassifier() if classes else RidgeRegressor()
    measure = MEASURES["accuracy" if classes else "R2"]
    _, model = choose_map(candidates, X, y, head, measure, seed=0)
    return float(model.head.score(model.features(X_test), y_test))
