"""The losses as their definition says: a double sum over pairs of rows."""

import numpy as np


def label_similarity(y, kind):
    if kind == "regression":
        y = y - y.mean()
        y = y / np.abs(y).max()
        return np.outer(y, y)
    return np.where(np.equal.outer(y, y), 1.0, -1.0)


def centred_similarity(y, weights=None):
    """Of classes, less their shares, over the norm of the columns' covariance."""
    columns = (y[:, None] == np.unique(y)).astype(float)
    shares = np.average(columns, axis=0, weights=weights)
    covariance = np.diag(shares) - np.outer(shares, shares)
    return (columns - shares) @ (columns - shares).T / np.linalg.norm(covariance)


def centred_score(X, y, w, weights=None):
    """Mean of lambda h over pairs, with what the centring takes off a random order added."""
    weights = np.ones(len(X)) if weights is None else weights
    similarity = centred_similarity(y, weights)
    pairs = weights.sum() ** 2 - weights.sum()
    wave = np.average(np.exp(1j * X @ w), weights=weights)
    chance = weights @ similarity.diagonal() * abs(wave) ** 2 / pairs
    return 1 - 2 * alignment_loss(X, similarity, w, weights) + chance


def alignment_loss(X, similarity, w, weights=None):
    """Mean of (1 - lambda h) / 2 over ordered pairs of different rows; weights are counts."""
    n = len(X)
    weights = np.ones(n) if weights is None else weights
    total = norm = 0.0
    for i in range(n):
        for j in range(n):
            pair = weights[i] * (weights[j] - (i == j))  # a copy pairs with the other copies
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
