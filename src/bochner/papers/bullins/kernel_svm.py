"""Support vector machines with a whole kernel matrix, beside which Figure 1 puts the features."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import SVC

from bochner.models.linear_machine import hold_out
from bochner.papers.bullins.common import GAMMA, Experiment, as_result, median_gamma, rows_of
from bochner.records.cells import Cell, Result

Kernel = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]]


def measure_gaussian_svm(
    experiment: Experiment, cell: Cell, multiples: Sequence[float], penalties: Sequence[float]
) -> Result:
    """A gaussian support vector machine; gamma and C chosen on held-out rows if there are several.

    `multiples` are of the median heuristic.
    """
    gamma = median_gamma(rows_of(experiment, cell).X_train, cell.seed)
    kernels: dict[float, Kernel] = {
        multiple: partial(gaussian_kernel, gamma=multiple * gamma) for multiple in multiples
    }
    return measure_svm(experiment, cell, kernels, penalties, GAMMA)


def measure_svm(
    experiment: Experiment,
    cell: Cell,
    kernels: Mapping[float, Kernel],
    penalties: Sequence[float],
    name: str = "",
) -> Result:
    """A support vector machine; `name` is what the keys of the kernels are called in the details.

    Its fit includes the choice of the kernel and of C.
    """
    data = rows_of(experiment, cell)
    start = time.perf_counter()
    predict, chosen, C = tune_svm(kernels, data.X_train, data.y_train, penalties, cell.seed)
    fit = time.perf_counter() - start
    details = {"C": C, name: chosen} if name else {"C": C}
    return as_result(
        cell, float(np.mean(predict(data.X_test) == data.y_test)), fit, start, details
    )


def tune_svm(
    kernels: Mapping[float, Kernel],
    X: NDArray[Any],
    y: NDArray[Any],
    penalties: Sequence[float],
    seed: int,
) -> tuple[Callable[[NDArray[Any]], NDArray[Any]], float, float]:
    """The support vector machine whose kernel and C are best on held-out rows.

    Trained again on all rows. Of equally good ones the first kernel, then the first penalty, is
    taken. With one kernel and one penalty nothing is held out.

    Returns
    -------
    predict : callable
        From rows to labels.
    name, C : float
        What was chosen.
    """
    choices = [(name, C) for name in kernels for C in penalties]
    best = 0
    if len(choices) > 1:
        kept, held = hold_out(y, seed, stratify=True)
        scores = []
        for kernel in kernels.values():
            gram, held_gram = kernel(X[kept], X[kept]), kernel(X[held], X[kept])
            for C in penalties:
                svm = SVC(C=C, kernel="precomputed").fit(gram, y[kept])
                scores.append(svm.score(held_gram, y[held]))
        best = int(np.argmax(scores))
    name, C = choices[best]
    kernel = kernels[name]
    svm = SVC(C=C, kernel="precomputed").fit(kernel(X, X), y)

    def predict(rows: NDArray[Any], block: int = 5000) -> NDArray[Any]:
        blocks = [rows[start : start + block] for start in range(0, len(rows), block)]
        return np.concatenate([svm.predict(kernel(part, X)) for part in blocks])

    return predict, name, C


def arccosine_kernel(X: NDArray[Any], Y: NDArray[Any]) -> NDArray[np.float64]:
    r"""The arc-cosine kernel of order 1 (Cho and Saul, 2009), exactly.

    .. math::

        k(x, y) = \tfrac{1}{\pi} \|x\| \|y\| (\sin \theta + (\pi - \theta) \cos \theta),

    with :math:`\theta` the angle between x and y.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.papers.bullins.kernel_svm import arccosine_kernel
    >>> arccosine_kernel(np.eye(2), np.array([[2.0, 0.0]])).round(3)
    array([[2.   ],
           [0.637]])
    """
    lengths = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(Y, axis=1)
    cosines = np.clip((X @ Y.T) / np.where(lengths > 0, lengths, 1), -1, 1)
    angles = np.arccos(cosines)
    return lengths * (np.sin(angles) + (np.pi - angles) * cosines) / np.pi


def gaussian_kernel(X: NDArray[Any], Y: NDArray[Any], gamma: float) -> NDArray[np.float64]:
    """``exp(-gamma |x - y|^2)``."""
    return np.exp(-gamma * euclidean_distances(X, Y, squared=True))
