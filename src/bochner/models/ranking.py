"""Comparison of settings on the same held-out rows: which is best, and which are tried further."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bochner.linear.paired import is_clearly_lower
from bochner.metric.matrices import DIAGONAL
from bochner.models.families import Family
from bochner.models.methods import Task
from bochner.models.pipelines import METRICS
from bochner.models.scaling import Scaling
from bochner.models.settings import Setting, Tried

CLEARLY = 1.5  # standard errors: among a few candidates, one leads by one of them by chance
_AS_GOOD = 0.5  # standard errors


def clearly_worse(one: Tried, top: Tried, errors: float, *, counted: bool = False) -> bool:
    """Whether the mean loss of `one` is larger by `errors` standard errors of the difference.

    With `counted`, the share of misclassified rows is compared instead of the loss.
    """
    weights = top.weights
    if weights is not None:  # as counts that add up to the number of rows
        weights = weights * (len(weights) / weights.sum())
    pair = (top.losses, one.losses)
    if counted:
        assert top.wrong is not None
        assert one.wrong is not None
        pair = (top.wrong.astype(np.float64), one.wrong.astype(np.float64))
    return is_clearly_lower(*pair, errors=errors, weights=weights)


def by_loss(found: Sequence[Tried]) -> list[Tried]:
    """Return what was tried, the smallest loss first."""
    return sorted(found, key=lambda one: one.loss)


@dataclass(frozen=True)
class Ranking:
    """The rules by which one setting is preferred to another.

    Attributes
    ----------
    task : str
        The task.
    kernels : sequence of str
        Names of the kernels, the simplest first.
    """

    task: Task
    kernels: Sequence[str]

    def best(self, candidates: Sequence[Tried]) -> Tried:
        """Return the best of the candidates, given the simplest first, or a simpler one as good.

        For classes, as good means a loss within half a standard error of the difference, row by
        row.
        """
        top = min(candidates, key=lambda one: one.loss)
        if self.task == "regression":
            return top
        return next(one for one in candidates if not clearly_worse(one, top, _AS_GOOD))

    def winner(self, finalists: Sequence[Tried]) -> Tried:
        """Return the best finalist, or one that is clearly right more often, by any margins."""
        best = self.best(sorted(finalists, key=self._complexity))
        if self.task == "regression":
            return best
        right = max(finalists, key=lambda one: one.score)
        return right if clearly_worse(best, right, CLEARLY, counted=True) else best

    def going_on(self, found: Sequence[Tried], n_kept: int, errors: float) -> list[Tried]:
        """Return at most the best `n_kept`, and the winner if it is not among them.

        None of the others is behind the best by more than `errors` standard errors of the
        difference.
        """
        top, winner = by_loss(found)[:n_kept], self.winner(found)
        kept = [one for one in top if not clearly_worse(one, top[0], errors)]
        return kept if any(one is winner for one in kept) else [*kept, winner]

    def _complexity(self, one: Tried) -> tuple[int, int]:
        setting = one.setting
        return self.kernels.index(setting.family.kernel), (None, *METRICS).index(setting.metric)


def ranked_scalings(by_scaling: Sequence[Tried]) -> list[Scaling]:
    """Return the scalings, the best first."""
    return [one.setting.scaling for one in by_loss(by_scaling)]


def space_of(one: Setting) -> tuple[str, str | None, str]:
    """Return the kernel, metric and scaling: what is compared with few rows."""
    return one.family.kernel, one.metric, one.scaling


def first_of_kind(one: Tried, found: Sequence[Tried]) -> Tried:
    """Return the first of `found` that, like `one`, treats columns one by one or does not."""
    return next(f for f in found if f.setting.family.by_columns == one.setting.family.by_columns)


def of_each_kind(kept: Sequence[Tried], found: Sequence[Tried]) -> list[Tried]:
    """Return what was kept, and the best of each kind of kernels that has none in it.

    Kinds of kernels gain differently from more rows.
    """
    ranked = by_loss(found)
    best = [one for one in ranked if one is first_of_kind(one, ranked)]
    kinds = {one.setting.family.by_columns for one in kept}
    return [*kept, *(one for one in best if one.setting.family.by_columns not in kinds)]


def suited(family: Family, by_mode: Sequence[Tried]) -> Sequence[Tried]:
    """Return the modes of the metric that make sense for a family."""
    if not family.by_columns:
        return by_mode
    return [one for one in by_mode if one.setting.metric in (None, DIAGONAL)] or by_mode
