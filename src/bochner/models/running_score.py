"""Scores of predictions that come in pieces: only counts and sums are kept, not the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.labels import class_text
from bochner.linear.scoring import Measure
from bochner.records.wording import counted


class RunningScore(ABC):
    """A score that rows can be added to."""

    n_rows = 0

    @abstractmethod
    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Add rows whose labels are known."""

    @abstractmethod
    def __add__(self, other: Any) -> RunningScore:
        """Return the score of the rows of both."""

    @abstractmethod
    def value(self) -> float | None:
        """Return the score of all rows so far; None if there is none."""

    @abstractmethod
    def notes(self) -> list[str]:
        """Return sentences for the user."""


class _ClassScore(RunningScore):
    """Score of classes, from the counts of each pair of a label and a prediction."""

    def __init__(self, score: Callable[[Any, Any, Any], float], classes: Sequence[Any]) -> None:
        self._score = score
        self._known = {class_text(value) for value in classes}
        self._pairs: Counter[tuple[str, str]] = Counter()

    def __add__(self, other: _ClassScore) -> _ClassScore:
        both = _ClassScore(self._score, ())
        both._known, both._pairs = self._known | other._known, self._pairs + other._pairs
        both.n_rows = self.n_rows + other.n_rows
        return both

    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        pairs = zip(map(class_text, truth), map(class_text, predicted), strict=True)
        self._pairs.update(pairs)
        self.n_rows += len(truth)

    def value(self) -> float | None:
        if not self.n_rows:
            return None
        truth, predicted = np.array(list(self._pairs)).T
        return self._score(truth, predicted, np.array(list(self._pairs.values())))

    def notes(self) -> list[str]:
        unknown = sum(n for (label, _), n in self._pairs.items() if label not in self._known)
        verb = "is" if unknown == 1 else "are"
        note = f"{counted(unknown, 'row')} {verb} of classes that the model never saw"
        return [note] if unknown else []


class _NumberScore(RunningScore):
    """Score of numbers, from squared errors and squares around the mean, merged by pieces."""

    def __init__(self, score: Callable[[float, float], float]) -> None:
        self._score = score
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
        piece = _NumberScore(self._score)
        piece.n_rows, piece._mean = len(y), float(y.mean())
        piece._spread = float(((y - piece._mean) ** 2).sum())
        piece._errors = float(((y - predicted) ** 2).sum())
        piece._lowest, piece._highest = float(y.min()), float(y.max())
        vars(self).update(vars(self + piece))

    def __add__(self, other: _NumberScore) -> _NumberScore:
        both = _NumberScore(self._score)
        both.n_rows = self.n_rows + other.n_rows
        both._are_numbers = self._are_numbers and other._are_numbers
        step, share = other._mean - self._mean, other.n_rows / max(1, both.n_rows)
        both._mean = self._mean + step * share
        both._spread = self._spread + other._spread + step**2 * self.n_rows * share
        both._errors = self._errors + other._errors
        both._lowest = min(self._lowest, other._lowest)
        both._highest = max(self._highest, other._highest)
        return both

    def value(self) -> float | None:
        varies = self._lowest < self._highest
        return self._score(self._errors, self._spread) if self._are_numbers and varies else None

    def notes(self) -> list[str]:
        note = "the target of these rows does not hold numbers: no score"
        return [] if self._are_numbers else [note]


def running_score(measure: Measure, classes: Sequence[Any] = ()) -> RunningScore | None:
    """Return the score of a measure, without rows yet; None if it needs all rows at once.

    >>> import numpy as np
    >>> from bochner.linear.scoring import MEASURES
    >>> score = running_score(MEASURES["R2"])
    >>> score.add(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    >>> score.add(np.array([3.0]), np.array([4.0]))
    >>> score.value()
    0.5
    """
    if measure.classes:
        return _ClassScore(measure.score, classes)
    return None if measure.of_squares is None else _NumberScore(measure.of_squares)
