"""Mercer features against scikit-learn's Nystroem and random features of the same width."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem

from benchmarks.harness import best_times, heading, row
from bochner import FourierFeatures, MercerFeatures

WIDTHS = (26, 12, 12, 12, 16, 16)
SHAPES = ((784, 10240, np.float32), (784, 2560, np.float32), (10, 2560, np.float64))


def mercer(n: int = 20000, shapes: tuple[tuple[int, int, Any], ...] = SHAPES) -> None:
    heading(f"Mercer features: n={n}, result allocated")
    row(
        "transform",
        "Nystroem",
        "Fourier",
        "Mercer",
        "Nystroem/Mercer",
        "Mercer/Fourier",
        widths=WIDTHS,
    )
    fitted = []
    for d, columns, dtype in shapes:
        X = rows(n, d).astype(dtype)
        gamma = 0.5 / float(X.var(axis=0, dtype=np.float64).sum())
        few = max(1, n // 10) if columns > 5000 else n  # its cost per row does not depend on n
        theirs = landmarks(X, columns, gamma)
        fourier = FourierFeatures(n_components=columns, gamma=gamma, random_state=0).fit(X)
        ours = MercerFeatures(n_components=columns, gamma=gamma)
        fit(ours, X)
        times = best_times(
            {
                "theirs": partial(theirs.transform, X[:few]),
                "fourier": partial(fourier.transform, X),
                "ours": partial(ours.transform, X),
            },
            repeats=2 if columns > 5000 else 3,
        )
        slow = times["theirs"] * n / few
        row(
            f"d={d}, D={columns}, {np.dtype(dtype).name}",
            f"{slow:.2f} s",
            f"{times['fourier']:.3f} s",
            f"{times['ours']:.3f} s",
            f"{slow / times['ours']:.1f} x",
            f"{times['ours'] / times['fourier']:.2f} x",
            widths=WIDTHS,
        )
        fitted.append((X, ours))
    row("fit", "covariance", "Mercer", "difference", widths=WIDTHS)
    for X, ours in fitted:
        times = best_times(
            {"covariance": partial(np.cov, X, rowvar=False), "ours": partial(fit, ours, X)},
            repeats=2,
        )
        row(
            f"d={X.shape[1]}, D={ours.n_components}, {X.dtype.name}",
            f"{times['covariance']:.2f} s",
            f"{times['ours']:.2f} s",
            f"{times['ours'] - times['covariance']:.2f} s",
            widths=WIDTHS,
        )


def rows(n: int, d: int) -> Any:
    """Return randomly rotated rows whose variances decay like those of images."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (rng.normal(size=(n, d)) / np.sqrt(1 + np.arange(d))) @ turn


def landmarks(X: Any, columns: int, gamma: float) -> Nystroem:
    """Return a Nystroem map with arbitrary numbers: fitting it would take minutes.

    Only `transform` is measured, whose time does not depend on the numbers.
    """
    nystroem = Nystroem(n_components=2, gamma=gamma, random_state=0).fit(X)
    random_state = np.random.RandomState(0)
    nystroem.components_ = X[random_state.randint(len(X), size=columns)]
    nystroem.normalization_ = random_state.standard_normal((columns, columns)).astype(X.dtype)
    return nystroem


def fit(feature_map: MercerFeatures, X: Any) -> None:
    with warnings.catch_warnings():
        # The widths are given; that they cut a shell of eigenvalues does not matter to time.
        warnings.simplefilter("ignore", UserWarning)
        feature_map.fit(X)
