"""Features against RBFSampler, sums against the plain expression, sparse against dense."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.kernel_approximation import RBFSampler

from benchmarks.harness import best_times, heading, row, traced_peak
from bochner import FourierFeatures, engine


def features(n: int = 20000, d: int = 100, columns: int = 4000) -> None:
    heading(f"transform: n={n}, d={d}, {columns} columns, result allocated")
    row("", "RBFSampler", "bochner", "ratio", "product", widths=(34, 12, 12, 12, 12))
    for dtype in (np.float64, np.float32):
        X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
        theirs = RBFSampler(n_components=columns, random_state=0).fit(X)
        ours = FourierFeatures(n_components=columns, random_state=0).fit(X)
        product = np.empty((n, columns // 2), dtype)
        times = best_times(
            {
                "theirs": partial(theirs.transform, X),
                "ours": partial(ours.transform, X),
                # the matrix product inside, a lower bound
                "product": partial(np.matmul, X, ours.frequencies_, out=product),
            }
        )
        row(
            np.dtype(dtype).name,
            f"{times['theirs']:.3f} s",
            f"{times['ours']:.3f} s",
            f"{times['theirs'] / times['ours']:.1f} x",
            f"{times['product']:.3f} s",
        )


def sums(n: int = 26048, d: int = 108, N: int = 20000) -> None:
    heading(f"fourier_sums: n={n}, d={d}, N={N}, one column of coefficients")
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(n, d)), rng.normal(size=(d, N)) * 0.1
    y = np.sign(rng.normal(size=n))
    single, single_W = X.astype(np.float32), W.astype(np.float32)

    part = 2000  # frequencies at a time: all 20000 would need 8 to 16 GB per matrix

    def exponentials() -> None:
        for first in range(0, N, part):
            np.exp(1j * (X @ W[:, first : first + part])).T @ y

    def cosines_and_sines() -> None:
        for first in range(0, N, part):
            phases = X @ W[:, first : first + part]
            np.cos(phases).T @ y, np.sin(phases).T @ y

    product = np.empty((n, part), np.float32)

    def products() -> None:
        for first in range(0, N, part):
            np.matmul(single, single_W[:, first : first + part], out=product)

    double = partial(engine.fourier_sums, X, W, y)
    float32 = partial(engine.fourier_sums, single, single_W, y)
    candidates: dict[str, Callable[[], Any]] = {
        "NumPy float64: exp(1j X W).T @ y": exponentials,
        "NumPy float64: cosines, sines": cosines_and_sines,
        "bochner, float64": double,
        "bochner, float32": float32,
        "the float32 product alone": products,
    }
    times = best_times(candidates, repeats=2)
    extra = {"bochner, float64": traced_peak(double), "bochner, float32": traced_peak(float32)}
    plain, apart = list(times.values())[:2]
    row("", "time", "over exp", "over cos,sin", "extra MB")
    for name, seconds in times.items():
        row(
            name,
            f"{seconds:.2f} s",
            f"{plain / seconds:.1f} x",
            f"{apart / seconds:.1f} x",
            f"{extra[name]:.0f}" if name in extra else "",
        )


def gradient(n: int = 12000, d: int = 784, N: int = 500) -> None:
    heading(f"potential_and_gradient: n={n}, d={d}, N={N}, float32")
    rng = np.random.default_rng(0)
    X, W = (rng.normal(size=s).astype(np.float32) for s in ((n, d), (d, N)))
    W *= np.float32(d**-0.5)
    a, product = rng.normal(size=n).astype(np.float32), np.empty((n, N), np.float32)
    back = np.empty((d, N), np.float32)

    def products() -> None:
        np.matmul(X, W, out=product)
        np.matmul(X.T, product, out=back)

    times = best_times(
        {
            "two matrix products": products,
            "bochner": partial(engine.potential_and_gradient, X, W, a),
            "bochner, waves not kept": partial(
                engine.potential_and_gradient, X, W, a, memory_budget=1
            ),
        }
    )
    row("", "time", "of products")
    for name, seconds in times.items():
        ratio = seconds / times["two matrix products"]
        row(name, f"{seconds:.3f} s", f"{ratio:.2f} x")


def sparse_rows(n: int = 20000, d: int = 2000, columns: int = 1000) -> None:
    heading(f"sparse against dense: n={n}, d={d}, {columns} columns, float32")
    row("share of non-zeros", "dense", "sparse", "ratio")
    for density in (0.001, 0.01, 0.05):
        X = sparse.random(n, d, density, format="csr", dtype=np.float32, random_state=0)
        dense = X.toarray()
        ours = FourierFeatures(n_components=columns, random_state=0).fit(X)
        times = best_times(
            {"dense": partial(ours.transform, dense), "sparse": partial(ours.transform, X)},
            repeats=3,
        )
        row(
            f"{density:.1%}",
            f"{times['dense']:.3f} s",
            f"{times['sparse']:.3f} s",
            f"{times['dense'] / times['sparse']:.1f} x",
        )
