"""Choosing landmarks from rows, wherever these are: random, k-means, leverage, or all."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import cast, device_of, namespace, on_cuda, to_numpy
from bochner.engine.rowwise import row_slices, with_known_lengths
from bochner.engine.summaries import choose_rows, rows_at, sample_rows, take_rows
from bochner.nystroem.normalization import normalize

_KMEANS_ROWS, _KMEANS_SHARE, _KMEANS_STEPS = 20_000, 15, 25
_KMEANS_WORK = 1e12  # most multiplications: with many centroids the first steps matter most
_CUDA_ROWS, _TILE_ROWS = 100_000, 8192  # for k-means on the device that holds the rows
_FEW_CENTROIDS = 256  # up to which a careful start is worth its time
_LEVERAGE_ROWS, _LEVERAGE_SHARE, _PILOTS = 20_000, 5, 1000


def random_landmarks(X: Any, count: int, kernel: Any, random_state: RandomState) -> Any:
    """Draw distinct rows, each as likely as any other."""
    return sample_rows(X, count, random_state)


def all_landmarks(X: Any, count: int, kernel: Any, random_state: RandomState) -> Any:
    """Return all rows in their order, whatever the count."""
    X = with_known_lengths(X)
    return take_rows(X, np.arange(X.shape[0]))


def kmeans_landmarks(X: Any, count: int, kernel: Any, random_state: RandomState) -> Any:
    """Return centroids of k-means, on a sample if there are many rows."""
    if on_cuda(X):
        rows = rows_at(X, choose_rows(X.shape[0], _CUDA_ROWS, random_state))
        first = choose_rows(rows.shape[0], count, random_state)
        return to_numpy(lloyd(rows, rows_at(rows, first), _KMEANS_STEPS))
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    rows = sample_rows(X, max(_KMEANS_ROWS, _KMEANS_SHARE * count), random_state)
    n, d = rows.shape
    affordable = int(_KMEANS_WORK / (n * min(n, count) * d))
    clusters = KMeans(
        min(count, n),
        init="k-means++" if count <= _FEW_CENTROIDS else "random",
        n_init=1,
        max_iter=min(max(affordable, 2), _KMEANS_STEPS),
        random_state=random_state.randint(2**31 - 1),
    )
    with warnings.catch_warnings():  # about repeated centroids: their directions are dropped
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clusters.fit(rows).cluster_centers_


def lloyd(X: Any, centroids: Any, n_steps: int) -> Any:
    """Run Lloyd's algorithm where the rows are: move centroids to the means of their nearest rows.

    A centroid that is nearest to no row stays where it is.
    """
    xp = namespace(X)
    centre = xp.mean(X, axis=0)  # float32 has few digits for differences of long rows
    X, centroids = X - centre, centroids - centre
    numbers = xp.arange(centroids.shape[0], device=device_of(X))
    for _ in range(n_steps):
        half_lengths = xp.sum(centroids * centroids, axis=1) / 2
        sums, counts = 0 * centroids, 0 * half_lengths
        for tile in row_slices(X.shape[0], _TILE_ROWS):
            nearest = xp.argmax(X[tile, :] @ centroids.T - half_lengths, axis=1)
            is_nearest = cast(nearest[:, None] == numbers, X.dtype)
            sums = sums + is_nearest.T @ X[tile, :]
            counts = counts + xp.sum(is_nearest, axis=0)
        means = sums / xp.where(counts > 0, counts, 1 + 0 * counts)[:, None]
        centroids = xp.where(counts[:, None] > 0, means, centroids)
    return centroids + centre


def leverage_landmarks(X: Any, count: int, kernel: Any, random_state: RandomState) -> Any:
    """Draw rows by their ridge leverage: those that few others represent are likelier."""
    rows = sample_rows(X, max(_LEVERAGE_ROWS, _LEVERAGE_SHARE * count), random_state)
    n = rows.shape[0]
    if n <= count:
        return rows
    scores = leverage_scores(rows, count, kernel, random_state)
    chosen = random_state.choice(n, count, replace=False, p=scores / scores.sum())
    return rows[np.sort(chosen)]


def leverage_scores(
    rows: Any, count: int, kernel: Any, random_state: RandomState
) -> NDArray[np.float64]:
    r"""Estimate the ridge leverage :math:`(K (K + \lambda)^{-1})_{ii}` of rows on the host.

    The estimates come from features of random rows, after C. Musco and C. Musco, Recursive
    sampling for the Nystrom method, NIPS 2017. What these leave out of a row counts as a direction
    of its own, and :math:`\lambda` is the sum of the eigenvalues beyond the first `count` / 2,
    divided by `count` / 2.
    """
    rows = rows.astype(np.float64)
    pilots = sample_rows(rows, min(count, _PILOTS), random_state)
    found = normalize(engine.kernel_rows(pilots, pilots, kernel), 1e-12, kernel)
    features = engine.kernel_rows(rows, pilots, kernel, normalization=found.matrix)
    values, vectors = np.linalg.eigh(features.T @ features)
    values = np.maximum(values[::-1], 0.0)
    left = np.maximum(diagonal(kernel, rows) - np.einsum("ij,ij->i", features, features), 0.0)
    tail = float(left.sum() + values[(count + 1) // 2 :].sum())
    ridge = max(2 * tail / count, 1e-12 * max(float(values[0]), 1e-300))
    whitened = (features @ vectors[:, ::-1]) / np.sqrt(values + ridge)
    scores = np.einsum("ij,ij->i", whitened, whitened) + left / ridge
    return np.clip(scores, 1e-12, 1.0)


def diagonal(kernel: Any, rows: Any) -> NDArray[np.float64]:
    """Return ``k(x, x)`` for rows on the host: 1 for kernels declared isotropic or a product."""
    if getattr(kernel, "isotropic", False) or getattr(kernel, "product", False):
        return np.ones(rows.shape[0])
    height = 64  # the other values of a block are computed in vain
    blocks = (rows[i : i + height] for i in range(0, rows.shape[0], height))
    values = [np.diagonal(kernel(block, block)) for block in blocks]
    return np.concatenate(values).astype(np.float64) if values else np.ones(0)


LANDMARKS: dict[str, Callable[[Any, int, Any, RandomState], Any]] = {
    "random": random_landmarks,
    "kmeans": kmeans_landmarks,
    "leverage": leverage_landmarks,
    "all": all_landmarks,
}


def choose_landmarks(rule: str, X: Any, count: int, kernel: Any, random_state: RandomState) -> Any:
    """Return landmarks on the host, by a rule in `LANDMARKS`: at most `count`, or all rows."""
    return LANDMARKS[rule](X, count, kernel, random_state)
