r"""Class probabilities from the scores of a linear model.

Support vector machines and ridge classifiers give scores, not probabilities. A logistic
regression of the labels on the scores of rows that took no part in training turns scores into
probabilities,

.. math:: P(y = c \mid s) \propto \exp(a_c \cdot s + b_c)

(for two classes, Platt's sigmoid). They are estimates, and the more such rows there are, the
better they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

Floats = NDArray[np.float64]


def fit_calibration(scores: Any, y: Any, classes: Any) -> dict[str, Any] | None:
    """Fit the ``"coef"`` and ``"intercept"`` that turn scores into probabilities, as lists.

    `scores` and `y` belong to rows that the model was not trained with. The result is None if one
    of the `classes` does not occur among them.

    >>> scores, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    >>> calibration = fit_calibration(scores, y, [0, 1])
    >>> probabilities([0.0, 5.0], calibration).round(2)
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    y = np.asarray(y)
    if not np.isin(classes, y).all():
        return None
    from sklearn.linear_model import LogisticRegression  # late: `import bochner` is light

    model = LogisticRegression(C=10.0, max_iter=1000).fit(as_columns(scores), y)
    return {"coef": model.coef_.tolist(), "intercept": model.intercept_.tolist()}


def probabilities(scores: Any, calibration: Mapping[str, Any]) -> Floats:
    """Return class probabilities of shape (n, n_classes), given a :func:`fit_calibration`."""
    coef = np.asarray(calibration["coef"], np.float64)
    logits = as_columns(scores) @ coef.T + np.asarray(calibration["intercept"], np.float64)
    if logits.shape[1] == 1:
        logits = np.hstack([np.zeros_like(logits), logits])
    return softmax(logits, axis=1)


def fit_slope(scores: Any, index: NDArray[np.intp]) -> float:
    r"""Fit the slope `a` of :math:`P(y = c \mid s) \propto \exp(a s_c)` on held-out rows.

    Unlike :func:`fit_calibration`, it never changes which class is the most probable one. `scores`
    belong to rows that the model was not trained with; `index` holds the positions of their
    classes.

    >>> scores = np.array([-2.0, -1.0, 1.0, 2.0, 1.5])
    >>> round(fit_slope(scores, np.array([0, 0, 1, 1, 0])), 2)
    0.44
    """
    columns = _two_columns(scores)
    own = columns[np.arange(len(index)), index]

    def loss(exponent: float) -> float:
        slope = np.exp(exponent)
        return float(np.mean(logsumexp(slope * columns, axis=1) - slope * own))

    return float(np.exp(minimize_scalar(loss, bounds=(-5.0, 5.0), method="bounded").x))


def sloped_probabilities(scores: Any, slope: float) -> Floats:
    """Return class probabilities with the slope of :func:`fit_slope`."""
    return softmax(slope * _two_columns(scores), axis=1)


def _two_columns(scores: Any) -> Floats:
    columns = as_columns(scores)
    return np.hstack([-columns, columns]) if columns.shape[1] == 1 else columns


def as_columns(scores: Any) -> Floats:
    """Return scores as float64 of shape (n, k), also for two classes, whose shape is (n,)."""
    scores = np.asarray(scores, np.float64)
    return scores[:, None] if scores.ndim == 1 else scores
