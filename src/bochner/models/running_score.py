"""Scores of predictions that come in pieces: sums are kept, the rows are not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.records.wording import counted


class RunningScore(ABC):
    """A score to which rows are added. `value` is None where it cannot be told."""

    n_rows = 0

    @abstractmethod
    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Count rows whose labels are known."""

    @property
    @abstractmethod
    def notes(self) -> list[str]:
        """Sentences for the user."""

    @property
    @abstractmethod
    def value(self) -> float | None:
        """The score of the rows so far."""


class Accuracy(RunningScore):
    """The share of labels that are right: of all rows, or the mean of the shares of each class.

    Parameters
    ----------
    classes : sequence
        Those that the model knows.
    balanced : bool, default=False
        Whether every class weighs the same.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.models.running_score import Accuracy
    >>> score = Accuracy(["a", "b"], balanced=True)
    >>> score.add(np.array(["a", "a", "a", "b"]), np.array(["a", "a", "a", "a"]))
    >>> score.value
    0.5
    """

    def __init__(self, classes: Sequence[Any], balanced: bool = False) -> None:
        self._known = {class_text(value) for value in classes}
        self._balanced = balanced
        self._rows: Counter[str] = Counter()
        self._right: Counter[str] = Counter()

    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        labels = [class_text(value) for value in truth]
        self._rows.update(labels)
        pairs = zip(labels, predicted, strict=True)
        self._right.update(label for label, found in pairs if label == class_text(found))
        self.n_rows += len(labels)

    @property
    def notes(self) -> list[str]:
        unknown = sum(count for label, count in self._rows.items() if label not in self._known)
        if not unknown:
            return []
        verb = "is" if unknown == 1 else "are"
        return [f"{counted(unknown, 'row')} {verb} of classes that the model never saw"]

    @property
    def value(self) -> float | None:
        if not self.n_rows:
            return None
        if not self._balanced:
            return self._right.total() / self.n_rows
        return float(np.mean([self._right[label] / n for label, n in self._rows.items()]))


class Determination(RunningScore):
    r"""The coefficient of determination of predicted numbers.

    .. math:: R^2 = 1 - \frac{\sum_i (y_i - \hat y_i)^2}{\sum_i (y_i - \bar y)^2}

    The squares around the mean are merged from piece to piece without cancellation.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.models.running_score import Determination
    >>> score = Determination()
    >>> score.add(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    >>> score.add(np.array([3.0]), np.array([4.0]))
    >>> score.value
    0.5
    """

    def __init__(self) -> None:
        self._is_number = True
        self._mean = self._spread = self._errors = 0.0
        self._lowest, self._highest = np.inf, -np.inf

    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        if not self._is_number or not len(truth):
            return
        try:
            y = np.asarray(truth).astype(np.float64)
        except (TypeError, ValueError):
            self._is_number = False
            return
        mean, n = float(y.mean()), len(y)
        step, share = mean - self._mean, n / (self.n_rows + n)
        self._spread += float(((y - mean) ** 2).sum()) + step**2 * self.n_rows * share
        self._mean += step * share
        self._errors += float(((y - predicted) ** 2).sum())
        self._lowest = min(self._lowest, float(y.min()))
        self._highest = max(self._highest, float(y.max()))
        self.n_rows += n

    @property
    def notes(self) -> list[str]:
        no_numbers = "the target of these rows does not hold numbers: no score"
        return [] if self._is_number else [no_numbers]

    @property
    def value(self) -> float | None:
        if not self._is_number or not self._lowest < self._highest:
            return None
        return 1 - self._errors / self._spread


_SCORES: dict[str, Callable[[Sequence[Any]], RunningScore]] = {
    "accuracy": Accuracy,
    "balanced-accuracy": lambda classes: Accuracy(classes, balanced=True),
    "R2": lambda classes: Determination(),
}


def running_score(measure: str, classes: Sequence[Any] = ()) -> RunningScore | None:
    """The score of a measure, without rows yet; None for a measure that is not known.

    Parameters
    ----------
    measure : {"accuracy", "balanced-accuracy", "R2"}
    classes : sequence
        Those that the model knows.
    """
    make = _SCORES.get(measure)
    return None if make is None else make(classes)


def class_text(value: Any) -> str:
    """A class as text: 3.0 is the class 3, which a column with gaps makes of it.

    Examples
    --------
    >>> from bochner.models.running_score import class_text
    >>> class_text(3.0), class_text(" b"), class_text(True)
    ('3', 'b', 'True')
    """
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()
