"""Scores of predictions that come in pieces: sums are kept, the rows are not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.records.wording import counted


class RunningScore(ABC):
    """A score to which rows are added."""

    n_rows = 0

    @abstractmethod
    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Count rows whose labels are known."""

    @abstractmethod
    def value(self) -> float | None:
        """The score of all rows so far; None where it cannot be told."""

    @abstractmethod
    def notes(self) -> list[str]:
        """Sentences for the user."""


class _Accuracy(RunningScore):
    """The share of labels that are right: of all rows, or the mean of the shares of each class."""

    def __init__(self, classes: Sequence[Any], balanced: bool) -> None:
        self._known = {_class_text(value) for value in classes}
        self._balanced = balanced
        self._rows: Counter[str] = Counter()
        self._right: Counter[str] = Counter()

    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        labels = [_class_text(value) for value in truth]
        pairs = zip(labels, predicted, strict=True)
        self._rows.update(labels)
        self._right.update(label for label, found in pairs if label == _class_text(found))
        self.n_rows += len(labels)

    def value(self) -> float | None:
        if not self.n_rows:
            return None
        if not self._balanced:
            return self._right.total() / self.n_rows
        return float(np.mean([self._right[label] / n for label, n in self._rows.items()]))

    def notes(self) -> list[str]:
        unknown = sum(count for label, count in self._rows.items() if label not in self._known)
        verb = "is" if unknown == 1 else "are"
        note = f"{counted(unknown, 'row')} {verb} of classes that the model never saw"
        return [note] if unknown else []


class _Determination(RunningScore):
    """The coefficient of determination; squares around the mean are merged piece by piece."""

    def __init__(self) -> None:
        self._are_numbers = True
        self._mean = self._spread = self._errors = 0.0
        self._lowest, self._highest = np.inf, -np.inf

    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        if not len(truth):
            return
        try:
            y = np.asarray(truth).astype(np.float64)
        except (TypeError, ValueError):
            self._are_numbers = False
            return
        mean, n = float(y.mean()), len(y)
        step, share = mean - self._mean, n / (self.n_rows + n)
        self._spread += float(((y - mean) ** 2).sum()) + step**2 * self.n_rows * share
        self._mean += step * share
        self._errors += float(((y - predicted) ** 2).sum())
        self._lowest = min(self._lowest, float(y.min()))
        self._highest = max(self._highest, float(y.max()))
        self.n_rows += n

    def value(self) -> float | None:
        varies = self._lowest < self._highest
        return 1 - self._errors / self._spread if self._are_numbers and varies else None

    def notes(self) -> list[str]:
        note = "the target of these rows does not hold numbers: no score"
        return [] if self._are_numbers else [note]


def running_score(measure: str, classes: Sequence[Any] = ()) -> RunningScore | None:
    """The score of a measure, without rows yet; None for a measure that is not known.

    Parameters
    ----------
    measure : {"accuracy", "balanced-accuracy", "R2"}
    classes : sequence
        Those that the model knows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.models.running_score import running_score
    >>> score = running_score("R2")
    >>> score.add(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    >>> score.add(np.array([3.0]), np.array([4.0]))
    >>> score.value()
    0.5
    """
    if measure == "R2":
        return _Determination()
    if measure in ("accuracy", "balanced-accuracy"):
        return _Accuracy(classes, balanced=measure == "balanced-accuracy")
    return None


def _class_text(value: Any) -> str:
    """A class as text: 3.0 is the class 3, which a column with gaps makes of it."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()
