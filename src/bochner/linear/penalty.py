"""The penalty of a head, chosen from its path on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bochner.engine.places import to_numpy
from bochner.linear.scoring import Measure

if TYPE_CHECKING:
    from bochner.linear.base import LinearHead

PATIENCE = 2  # penalties in a row that do worse than an earlier one before the path ends
_SAYS_NOTHING = 0.02  # share of the way from a constant to no error: too little to stop at


@dataclass(frozen=True)
class PenaltyChoice:
    """The penalty that did best on held-out rows, at `position` of the path.

    `C` is its value for the rows that were fitted during the choice. The choice was made by
    `judged`, see :meth:`bochner.linear.scoring.Measure.judge`; `score` is the measure on the
    held-out rows, and `scores` are the values of `judged` for all penalties that were tried.
    """

    position: int
    C: float
    judged: float
    score: float
    scores: tuple[float, ...]


def choose_penalty(
    head: LinearHead,
    features: Any,
    y: Any,
    held_features: Any,
    held_y: Any,
    measure: Measure,
    *,
    Cs: Sequence[float] | None = None,
    sample_weight: Any = None,
    patience: int | None = PATIENCE,
) -> PenaltyChoice:
    """Choose the penalty of the path that is best on held-out rows; on ties, the strongest.

    The path, by default the head's own, ends when `patience` penalties in a row did worse than the
    best so far, provided that the best is better than a constant: before that, penalties may be so
    strong that only noise is fitted. With None the path is followed to its end.
    """
    best: tuple[int, float, Any] | None = None
    scores: list[float] = []
    worse = 0
    fitted: Any
    for position, fitted in enumerate(head.path(features, y, Cs, sample_weight)):
        decide = getattr(fitted, "decision_function", fitted.predict)
        decisions = to_numpy(decide(held_features))
        classes = getattr(fitted, "classes_", None)
        judged = measure.judge(held_y, decisions, classes, squares=head.squares)
        scores.append(judged)
        if best is None or judged > best[1]:
            best, worse = (position, judged, fitted), 0
        else:
            worse += judged < best[1]
        if patience is not None and worse >= patience:
            skill = measure.skill(best[1], held_y, classes, squares=head.squares)
            if skill > _SAYS_NOTHING:
                break
    assert best is not None, "the path has no penalty"
    position, judged, fitted = best
    score = measure.score(held_y, to_numpy(fitted.predict(held_features)))
    return PenaltyChoice(position, fitted.C_, judged, score, tuple(scores))
