"""Placing landmarks: centroids within each class, random rows, or given points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_array

from bochner.engine.places import check_entries, largest_squared
from bochner.engine.summaries import are_rows, take_rows
from bochner.targets import Target, as_columns, check_labels

_MANY_ROWS = 20_000  # of one class, above which k-means uses mini-batches


class Landmarks(NamedTuple):
    """Landmarks on the host, sorted by their classes."""

    points: Any
    labels: Any  # None where they have none
    in_sample: NDArray[np.bool_]  # whether they are rows with these labels

    def take(self, index: NDArray[np.intp]) -> Landmarks:
        """Return some of the landmarks."""
        return Landmarks(self.points[index], self.labels[index], self.in_sample[index])


def place_landmarks(
    rule: str, X: Any, y: NDArray[Any], target: Target, count: int, random_state: RandomState
) -> Landmarks:
    """Return `count` random rows (``"random"``) or centroids of k-means (``"kmeans"``)."""
    if rule == "random":
        index = random_state.choice(len(y), count, replace=False)
        if y.ndim == 1:
            index = index[np.argsort(y[index], kind="stable")]
        return Landmarks(take_rows(X, index), y[index], np.ones(count, bool))
    points, labels = _class_centroids(X, y, target, count, random_state)
    return Landmarks(points, labels, np.zeros(len(labels), bool))


def given_landmarks(
    points: Any, labels: Any, X: Any, y: NDArray[Any], target: Target
) -> Landmarks:
    """Check the user's own points and return them as landmarks."""
    points = check_array(points, accept_sparse="csr", dtype=[np.float64, np.float32])
    check_entries(points, largest_squared(points.dtype))
    if points.shape[1] != X.shape[1]:
        raise ValueError(f"landmarks have {points.shape[1]} columns, but X has {X.shape[1]}.")
    if labels is None:
        return Landmarks(points, None, np.zeros(points.shape[0], bool))
    labels = check_labels(labels, points.shape[0])
    if labels.shape[1:] != y.shape[1:]:
        raise ValueError(
            f"labels of landmarks must have the columns of y, got shape {labels.shape} where y "
            f"has shape {y.shape}."
        )
    if target.classes is None:
        Target.of(labels, "regression")  # raises for text
    else:
        target.indices(labels)  # raises for a class that y does not hold
        order = np.argsort(labels, kind="stable")
        points, labels = points[order], labels[order]
    return Landmarks(points, labels, are_rows(X, y, points, labels))


def _class_centroids(
    X: Any, y: NDArray[Any], target: Target, count: int, random_state: RandomState
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return centroids of k-means within each class (all rows for regression), and labels."""
    from sklearn.cluster import KMeans, MiniBatchKMeans

    groups = [np.arange(len(y))]
    if target.classes is not None:
        groups = [np.flatnonzero(y == c) for c in target.classes]
    points, labels = [], []
    for rows, share in zip(groups, equal_shares([len(g) for g in groups], count), strict=True):
        if not share:
            continue
        own = take_rows(X, rows)
        kind = MiniBatchKMeans if len(rows) > _MANY_ROWS else KMeans
        clusters = kind(share, n_init=1, random_state=random_state.randint(2**31 - 1)).fit(own)
        points.append(clusters.cluster_centers_)
        if target.classes is None:
            members, columns = clusters.labels_, as_columns(y[rows])
            totals = [np.bincount(members, column, share) for column in columns.T]
            means = np.stack(totals) / np.maximum(np.bincount(members, minlength=share), 1)
            labels.append(means.T.reshape(share, *y.shape[1:]))
        else:
            labels.append(y[rows[:share]])
    return np.vstack(points), np.concatenate(labels)


def equal_shares(sizes: list[int], count: int) -> list[int]:
    """Divide `count` equally among groups; the surplus of small groups goes to the others."""
    shares = [0] * len(sizes)
    while sum(shares) < count:
        open_groups = [i for i, size in enumerate(sizes) if shares[i] < size]
        each, rest = divmod(count - sum(shares), len(open_groups))
        for rank, i in enumerate(open_groups):
            shares[i] = min(sizes[i], shares[i] + each + (rank < rest))
    return shares
