"""What the tests of figures share."""

import warnings

import numpy as np


def labelled_rows(rng):
    X = rng.normal(size=(40, 2))
    return X, np.where(X[:, 0] > 0, 1, -1)


def naive_potential(X, A, axis):
    """One frequency at a time; rows of the image are the second coordinate."""
    A = np.reshape(A, (len(X), -1))
    return np.array(
        [
            [sum(abs(a @ np.exp(1j * (X @ [w1, w2]))) ** 2 for a in A.T) for w1 in axis]
            for w2 in axis
        ]
    ) / sum(np.abs(a).sum() ** 2 for a in A.T)


def saves(figure, path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(path, dpi=40)
    assert path.read_bytes().startswith(b"\x89PNG")
