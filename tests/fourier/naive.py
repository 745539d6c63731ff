"""The losses as their definition says: a double sum over pairs of rows."""

import numpy as np


def label_similarity(y, kind):
    if kind == "regression":
        y = y - y.mean()
        y = y / np.abs(y).max()
        return np.outer(y, y)
    return np.where(np.equal.outer(y, y), 1.0, -1.0)


def centred_similarity(y, weights=None):
    """Of classes, less their shares, with 1 for a row and itself on average."""
    columns = (y[:, None] == np.unique(y)).astype(float)
    shares = np.average(columns, axis=0, weights=weights)
    return (columns - shares) @ (columns - shares).T / (1 - shares @ shares)


def alignment_loss(X, similarity, w, weights=None):
    """Mean of (1 - lambda h) / 2 over ordered pairs of different rows."""
    n = len(X)
    weights = np.ones(n) if weights is None else weights
    total = norm = 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                pair = weights[i] * weights[j]
                cosine = np.cos(w @ (X[i] - X[j]))
                total += pair * (1 - similarity[i, j] * cosine) / 2
                norm += pair
    return total / norm


def landmark_loss(X, similarities, w, landmark, own=None):
    """Mean of (1 - lambda h) / 2 over the pairs with a landmark, its own row `own` left out."""
    losses = [
        (1 - similarities[j] * np.cos(w @ (landmark - X[j]))) / 2
        for j in range(len(X))
        if j != own
    ]
    return np.mean(losses)
