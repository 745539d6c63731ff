"""Support vector machines with a whole kernel matrix, a baseline in two of the papers.

A kernel is a function of one matrix, which is computed once for all of them: the Gaussian kernels
of several bandwidths are functions of the squared distances.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import SVC

from bochner.engine.rowwise import row_slices

Matrix = NDArray[np.float64]
Pairwise = Callable[[Any, Any], Matrix]
Kernel = Callable[[Matrix], Matrix]


def squared_distances(X: Any, Y: Any) -> Matrix:
    """Return squared distances in float64; float32 would lose the small ones."""
    return euclidean_distances(X.astype(np.float64), Y.astype(np.float64), squared=True)


def gaussian(gamma: float) -> Kernel:
    """Return the kernel ``exp(-gamma |x - y|^2)``, a function of squared distances."""

    def kernel(distances: Matrix) -> Matrix:
        values = -gamma * distances
        return np.exp(values, out=values)

    return kernel


def arccosine_kernel(X: NDArray[Any], Y: NDArray[Any]) -> Matrix:
    r"""Compute the arc-cosine kernel of order 1 (Cho and Saul, 2009) exactly.

    .. math::

        k(x, y) = \tfrac{1}{\pi} \|x\| \|y\| (\sin \theta + (\pi - \theta) \cos \theta),

    with :math:`\theta` the angle between x and y.
    """
    lengths = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(Y, axis=1)
    cosines = np.clip((X @ Y.T) / np.where(lengths > 0, lengths, 1), -1, 1)
    angles = np.arccos(cosines)
    return lengths * (np.sin(angles) + (np.pi - angles) * cosines) / np.pi


def held_out_scores(
    pairwise: Pairwise,
    kernels: Sequence[Kernel],
    penalties: Sequence[float],
    X: Any,
    y: NDArray[Any],
    held_X: Any,
    held_y: NDArray[Any],
    most_steps: int = -1,
) -> Matrix:
    """Return the accuracy on held-out rows, of shape (kernels, penalties).

    Larger penalties take more steps. From the first penalty that takes more than `most_steps` on,
    they are left out, with a score of minus infinity.
    """
    matrix, held_matrix = pairwise(X, X), pairwise(held_X, X)
    scores = np.full((len(kernels), len(penalties)), -np.inf)
    for row, kernel in zip(scores, kernels, strict=True):
        gram, held_gram = kernel(matrix), kernel(held_matrix)
        for k, C in enumerate(penalties):
            svm = _svm(C).set_params(max_iter=most_steps)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                svm.fit(gram, y)
            if svm.fit_status_:
                break
            row[k] = svm.score(held_gram, held_y)
    return scores


def fit_svm(
    pairwise: Pairwise, kernel: Kernel, C: float, X: Any, y: NDArray[Any], block: int = 5000
) -> Callable[[Any], NDArray[Any]]:
    """Fit a support vector machine; return its predictions as a function of rows."""
    svm = _svm(C).fit(kernel(pairwise(X, X)), y)

    def predict(rows: Any) -> NDArray[Any]:
        parts = (rows[part] for part in row_slices(rows.shape[0], block))
        return np.concatenate([svm.predict(kernel(pairwise(part, X))) for part in parts])

    return predict


def _svm(C: float) -> SVC:
    return SVC(C=C, kernel="precomputed", cache_size=1000)
