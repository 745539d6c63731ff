"""Measures that are reported for a model, and that choices are made by.

A measure scores predictions. Choices between models use the same score, except for two classes:
there the hinge loss distinguishes models that err on the same few rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from bochner.engine.places import to_numpy

_FEWER_THAN_EVEN = 0.2


class ScoredOnHost(RegressorMixin):
    """A regressor whose predictions may be on a device, where scikit-learn cannot score them."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R2, of the predictions.

        Parameters
        ----------
        X : array of shape (n, n_features)
            Rows.
        y : array of shape (n,) or (n, k)
            Targets.
        sample_weight : array of shape (n,) or None, default=None
            Weights of the rows.

        Returns
        -------
        float
            R2; the mean over the outputs, if there are several.
        """
        from sklearn.metrics import r2_score

        predictions = to_numpy(self.predict(X))
        return float(r2_score(to_numpy(y), predictions, sample_weight=sample_weight))


@dataclass(frozen=True)
class Measure:
    """A score of predictions; larger is better."""

    name: str  # in options and files
    unit: str  # "%" where scores are fractions, which are shown times 100
    classes: bool  # whether it is for classes
    score: Callable[..., float]  # from targets, predictions and, if given, weights of the rows
    balanced: bool = False  # whether every class weighs the same, however many rows it has
    # For numbers: the score from the sum of the squared errors and the sum of the squared
    # distances of the targets from their mean, which can be added up piece by piece.
    of_squares: Callable[[float, float], float] | None = None

    @property
    def factor(self) -> float:
        """Factor that a score is multiplied by to be shown."""
        return 100.0 if self.unit == "%" else 1.0

    def by_row(self, y: NDArray[Any], predictions: NDArray[Any]) -> NDArray[np.float64]:
        """Return the contribution of each row to the score, which is the mean of these numbers."""
        if not self.classes:
            spread = float(np.mean((y - y.mean()) ** 2))
            # without any spread there is no score, and nothing to tell predictions apart
            return 1 - (y - predictions) ** 2 / spread if spread else np.zeros(len(y))
        right = np.asarray(predictions == y, dtype=np.float64)
        if not self.balanced:
            return right
        _, position, counts = np.unique(y, return_inverse=True, return_counts=True)
        shares: NDArray[np.float64] = right * (len(y) / len(counts) / counts)[position]
        return shares

    def judge(
        self,
        y: NDArray[Any],
        decisions: NDArray[Any],
        classes: NDArray[Any] | None,
        *,
        squares: bool = False,
    ) -> float:
        """Return what choices are made by: for two classes minus the mean hinge loss, else score.

        `decisions` are values of `decision_function`, or predicted numbers, for which `classes`
        is None. Decisions of least squares lie within the margin, where the hinge loss would
        reward them for being large: with `squares` it is squared.
        """
        if classes is None:
            return self.score(y, decisions)
        if decisions.ndim == 2:
            return self.score(y, classes[decisions.argmax(axis=1)])
        signs = np.where(y == classes[1], 1.0, -1.0)
        losses = np.maximum(0, 1 - decisions * signs) ** (2 if squares else 1)
        return -_class_mean(y, losses) if self.balanced else -float(np.mean(losses))

    def skill(
        self,
        judged: float,
        y: NDArray[Any],
        classes: NDArray[Any] | None,
        *,
        squares: bool = False,
    ) -> float:
        """Rescale a value of :meth:`judge` so that the best constant is at 0 and no error at 1."""
        perfect = self.score(y, y)
        if classes is None:
            constant = self.score(y, np.full(np.shape(y), np.mean(y, axis=0)))
        elif len(classes) > 2:
            labels, counts = np.unique(y, return_counts=True)
            constant = self.score(y, np.full(len(y), labels[counts.argmax()]))
        else:
            mean = 0.0 if self.balanced else float(np.mean(np.where(y == classes[1], 1.0, -1.0)))
            same = np.full(len(y), mean if squares else np.sign(mean))
            perfect, constant = 0.0, self.judge(y, same, classes, squares=squares)
        return (judged - constant) / (perfect - constant) if perfect > constant else 0.0


def _class_mean(y: NDArray[Any], values: NDArray[Any], weights: Any = None) -> float:
    """Return the mean over the classes of their own means."""
    means = []
    for label in np.unique(y):
        rows = y == label
        means.append(np.average(values[rows], weights=None if weights is None else weights[rows]))
    return float(np.mean(means))


def _accuracy(y: Any, predictions: Any, weights: Any = None) -> float:
    # scikit-learn's takes a hundred times as long to check its input, and choices are many
    return float(np.average(np.asarray(predictions) == np.asarray(y), weights=weights))


def _balanced_accuracy(y: Any, predictions: Any, weights: Any = None) -> float:
    # scikit-learn's warns of predicted classes that are not in y
    y = np.asarray(y)
    return _class_mean(y, (np.asarray(predictions) == y).astype(np.float64), weights)


def _r2(y: Any, predictions: Any, weights: Any = None) -> float:
    from sklearn.metrics import r2_score

    with np.errstate(all="ignore"):
        return float(r2_score(y, predictions, sample_weight=weights, force_finite=False))


def _share_explained(errors: float, spread: float) -> float:
    return 1 - errors / spread


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("accuracy", "%", True, _accuracy),
        Measure("balanced-accuracy", "%", True, _balanced_accuracy, balanced=True),
        Measure("R2", "", False, _r2, of_squares=_share_explained),
    )
}


def choose_measure(y: NDArray[Any], task: str, name: str = "auto") -> Measure:
    """Return the measure of this name; ``"auto"`` is the one that suits the target.

    For classes this is the accuracy, unless the smallest class has less than a fifth of the rows
    it would have if all classes were equal in size: then it is the balanced accuracy, the mean
    over the classes of the fraction that was classified correctly.
    """
    classes = task == "classification"
    fitting = [measure.name for measure in MEASURES.values() if measure.classes == classes]
    if name != "auto":
        if name not in MEASURES:
            raise ValueError(f"measure must be one of auto, {', '.join(fitting)}, got {name!r}.")
        if name not in fitting:
            other = "numbers" if classes else "classes"
            raise ValueError(f"measure {name!r} is for {other}; this target takes {fitting[0]!r}.")
        return MEASURES[name]
    if not classes:
        return MEASURES["R2"]
    _, counts = np.unique(y, return_counts=True)
    unbalanced = counts.min() * len(counts) < _FEWER_THAN_EVEN * len(y)
    return MEASURES["balanced-accuracy" if unbalanced else "accuracy"]
