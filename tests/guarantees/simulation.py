"""Losses whose law is known, and how often a valid bound may fail on them."""

import numpy as np


def allowed(repetitions, delta):
    """A rate that a valid bound exceeds with probability about 1/1000."""
    return delta + 3 * np.sqrt(delta * (1 - delta) / repetitions)


def coins(rng, repetitions, n, candidates):
    """Empirical and true losses of independent candidates of the largest variance there is.

    With x in {0, pi}^N and the unit vectors as frequencies, y exp(i w x) is a coin in {-1, 1} for
    each candidate; bias squared (n - 2) / (2 n - 3) makes the variance of the loss v_n.
    """
    square = (n - 2) / (2 * n - 3)
    F = 2 * rng.binomial(n, (1 + np.sqrt(square)) / 2, (repetitions, candidates)) - n
    return 0.5 - (F.astype(float) ** 2 - n) / (2 * n * (n - 1)), (1 - square) / 2


def waves(X, W):
    """The values of every frequency, a column of `W`, at every row."""
    return np.exp(1j * (X @ W))
