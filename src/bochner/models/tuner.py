"""Everything that a kernel model leaves open, chosen on held-out rows: from coarse to fine.

Scalings of the columns are told apart with few rows and few features; the metric is learned once,
for the best of them; then kernels are compared by exact kernel ridge regressions on more and more
rows, the best also with weights of the columns that were learned for them. Of few rows all are
landmarks, and the best of these regressions is the model, or its mean with another one; of many
the best few are compared at last with all rows and as many features as asked for.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from bochner.engine.places import dense, to_numpy
from bochner.metric.matrices import DIAGONAL, MODES
from bochner.metric.relevance import RELEVANCE
from bochner.models.families import Family
from bochner.models.fold import COARSE_WIDTH
from bochner.models.hinge import is_affordable
from bochner.models.judge import PENALTIES, Judge
from bochner.models.limits import FEW_COLUMNS, are_many, may_be_exact
from bochner.models.methods import Task
from bochner.models.pipelines import METRICS
from bochner.models.scaling import SCALINGS, Scaling
from bochner.models.settings import (
    HINGE,
    Labelled,
    Loss,
    Setting,
    Tried,
    clearly_worse,
    going_on,
    mean_of,
    suited,
)

WIDTH = 2048  # of maps for more rows than may all be landmarks
_COARSE_ROWS = 4000
_KEPT, _FINALISTS = 3, 2
_FIRST_ROWS, _SECOND_ROWS = 1500, 3000  # of exact methods, which are compared on more and more
_FEWEST_ROWS = 300  # that half of the rows, if these are fewer, must have
_NEARBY = (0.7, 1.4)  # bandwidths between those of the first rows
_AVERAGE = 1.0  # standard errors that the mean of two models must gain: it takes twice the time
_HARDLY_FELT = 1e-8  # a penalty for each row
_CLEARLY = 1.5  # standard errors: of a few candidates one is ahead by one by chance
# Standard errors that the squared hinge loss may be behind with a part of the rows. With all it
# was better by .05 to 1.0 points in ten fits to four tables; with the part, in six of them.
_UNDERSTATED = 2.0
_MOST_COLUMNS = 1000  # for kernels that look at them one by one, which takes time
_HEAD = 256  # rows that tell scalings apart


class Tuner:
    """The search for a model.

    Parameters
    ----------
    splits, task, penalty, **options
        Of :class:`bochner.models.judge.Judge`.
    families : sequence of Family
        To choose from, the simplest first.
    width : int or None
        Number of features. None: all rows are landmarks where they are few.
    scalings : sequence of str
        To choose from, the simplest first.
    metric : str or None
        ``"auto"``, or the name of one, see :data:`bochner.models.pipelines.METRICS`.
    loss : str
        ``"auto"``, or one of the losses.
    deadline : float
        Of :func:`time.perf_counter`; after it no setting is tried that can be left out.
    n_total : int or None
        How many rows the model will be fitted to, where these are a part of them.
    """

    def __init__(
        self,
        splits: Sequence[tuple[Labelled, Labelled]],
        task: Task,
        families: Sequence[Family],
        *,
        width: int | None,
        scalings: Sequence[Scaling] = SCALINGS,
        metric: str | None = "auto",
        penalty: float | None = None,
        loss: Loss | Literal["auto"] = "auto",
        deadline: float = float("inf"),
        n_total: int | None = None,
        **options: Any,
    ) -> None:
        self.task, self.mode, self.penalty, self.deadline = task, metric, penalty, deadline
        (rows, held), *_ = splits
        narrow = rows.X.shape[1] <= _MOST_COLUMNS
        self.families = [f for f in families if narrow or not f.by_columns] or list(families)
        self._few_columns = rows.X.shape[1] <= FEW_COLUMNS
        n_rows = len(rows.y) + len(held.y)
        self._asks_hinge = task == "classification" and loss == HINGE
        self._tries_hinge = self._asks_hinge or (
            task == "classification" and loss == "auto" and are_many(n_rows)
        )
        self._have_kernels = all(family.kernel_at for family in self.families)
        self.exact = (
            width is None and not self._asks_hinge and may_be_exact(n_rows) and self._have_kernels
        )
        # kernels are compared without features; those of the last family of one are used
        self._maps = {family.kernel: family for family in self.families}
        if self._have_kernels:
            first = {family.kernel: family for family in reversed(self.families)}
            self.families = [f for f in self.families if first[f.kernel] is f]
        self.width = None if self.exact else width or WIDTH
        self._share = n_rows / max(n_rows, n_total or 0)
        self.judge = Judge(splits, task, width=self.width, penalty=penalty, **options)
        self.scalings = scalings
        if not self.judge.rows_are_dense:  # they keep their zeros
            self.scalings = [s for s in scalings if s in ("standard", "none")] or ["standard"]

    def n_settings(self, best: Tried) -> int:
        """How many settings a certificate is for at once, before any row has been seen.

        Where the mean of any two may be chosen, models by themselves share one half of the
        probability of an error, and pairs of them the other.
        """
        nearby = 1 + len(_NEARBY) if self._have_kernels else 1
        bandwidths = sum(max(1, nearby * len(family.bandwidths)) for family in self.families)
        penalties = len(PENALTIES) if self.penalty is None else 1
        metrics = {"auto": 1 + len(METRICS), None: 1}.get(self.mode, 2)
        losses = 1 + self._tries_hinge
        single = len(self.scalings) * metrics * bandwidths * penalties * losses
        return 2 * single ** len(best.settings) if self.exact else single

    def run(self) -> Tried:
        """The best setting, tried with all rows and features."""
        first, coarse = self.families[0], self._coarse
        by_scaling = self.judge.side_by_side(
            lambda s: self.judge.along_bandwidths(
                Setting(s, None, first, None, coarse[0]), coarse[1]
            ),
            list(self._open_scalings()),
        )
        plain = self._best(by_scaling)
        with_metric = self._with_metric(plain.setting)
        asked = self.mode not in ("auto", None) and bool(with_metric)
        by_mode = with_metric if asked else [plain, *with_metric]
        if self._have_kernels:
            found = self._kernels(by_mode, by_scaling)
        else:
            found = self._by_family(by_mode, *coarse)[:_FINALISTS]
        finalists = found if self.exact else self._finalists(found, by_scaling)
        return self._with_better_loss(self._decided_by_part(finalists))

    @property
    def _few_rows(self) -> int:
        """Rows that kernels are compared on at first: half of them, if they are few."""
        return min(_FIRST_ROWS, max(_FEWEST_ROWS, self.judge.n_rows // 2))

    @property
    def _coarse(self) -> tuple[int | None, int]:
        """Features and rows that tell scalings and metrics apart; the kernel itself of few."""
        if self.exact and self._few_rows < _FIRST_ROWS:
            return None, self._few_rows
        return min(self.width or COARSE_WIDTH, COARSE_WIDTH), _COARSE_ROWS

    def _with_better_loss(self, squares: Tried) -> Tried:
        """A finalist; with the squared hinge loss where that is asked for, or clearly better."""
        held = self.judge.held
        affordable = self._asks_hinge or (self._in_time() and is_affordable(squares, held))
        if self.exact or not (self._tries_hinge and affordable):
            return squares
        compared, setting = squares, squares.setting
        if self._share < 1 and setting.width is not None and setting.width > COARSE_WIDTH:
            # as many rows for each feature as the model will have: few make all losses alike
            width = max(COARSE_WIDTH, int(self._share * setting.width))
            compared = self.judge.judge_narrow(setting, width)
        hinge = self.judge.judge_hinge(compared)
        if not (self._asks_hinge or self._is_better_loss(hinge, compared)):
            return squares
        if compared is squares:
            return hinge
        return self.judge.judge_hinge(squares, hinge.setting.penalty)

    def _is_better_loss(self, hinge: Tried, squares: Tried) -> bool:
        """By decisions alone: the margins have different scales.

        Of a part of the rows, which understates what all of them gain, the squared hinge loss must
        only not be clearly worse.
        """
        if self._share < 1:
            return not clearly_worse(hinge, squares, _UNDERSTATED, counted=True)
        return clearly_worse(squares, hinge, 0.5, counted=True)

    def _complexity(self, one: Tried) -> tuple[int, int]:
        kernels, setting = [family.kernel for family in self.families], one.setting
        return kernels.index(setting.family.kernel), (None, *METRICS).index(setting.metric)

    def _finalists(self, found: Sequence[Tried], by_scaling: Sequence[Tried]) -> list[Tried]:
        """What was found, with all rows and features; without a metric in another scaling, too.

        Few rows favour few directions: the columns as they are, or in another scaling, may be
        better with more of them.
        """
        settings = [one.setting for one in found]
        if self.mode in ("auto", None):
            plain = [one for one in settings if one.metric is None]
            known = [one.scaling for one in plain]
            others = [scaling for scaling in _ranked(by_scaling) if scaling not in known]
            top = (plain or settings)[0]
            settings += [replace(top, scaling=scaling, metric=None) for scaling in others[:1]]
        return [
            self.judge.judge(self._at_full_width(setting))
            for position, setting in enumerate(settings)
            if position == 0 or self._in_time()
        ]

    def _at_full_width(self, setting: Setting) -> Setting:
        family = self._maps[setting.family.kernel] if self._have_kernels else setting.family
        return replace(setting, family=family, width=self.width)

    def _decided(self, finalists: Sequence[Tried]) -> Tried:
        """The best finalist; or one that is clearly right more often, whatever its margins."""
        best = self._best(sorted(finalists, key=self._complexity))
        if self.task == "regression":
            return best
        right = max(finalists, key=lambda one: one.score)
        return right if clearly_worse(best, right, _CLEARLY, counted=True) else best

    def _decided_by_part(self, finalists: Sequence[Tried]) -> Tried:
        """The best finalist; of a part of the rows, which favours few directions, the best without
        a metric unless one that turns them is clearly right more often."""
        best, plain = self._decided(finalists), self._plain(finalists)
        turns = best.setting.metric not in (None, RELEVANCE)
        if self.task == "regression" or not (self._share < 1 and turns and plain):
            return best
        simple = self._decided(plain)
        return best if clearly_worse(simple, best, _CLEARLY, counted=True) else simple

    def _kernels(self, by_mode: Sequence[Tried], by_scaling: Sequence[Tried]) -> list[Tried]:
        """Exact methods on more and more rows, of which fewer and fewer go on; the best first."""
        few = self._few_rows
        first = self._by_family(by_mode, None, few)
        first += self.judge.side_by_side(
            lambda setting: self.judge.along_bandwidths(setting, few) if self._in_time() else None,
            self._more_spaces(first, by_mode, by_scaling),
        )
        weighted = self._with_relevance(first)
        first = weighted if self.mode == RELEVANCE and weighted else [*first, *weighted]
        kept = self._of_each_kind(self._going_on(first, _KEPT, 2.0), first)
        if self._has_many_directions:
            kept += [one for one in self._plain(first)[:2] if all(one is not k for k in kept)]
        found = self._on_more(kept, _SECOND_ROWS)
        best = self._decided(found)
        near = min([best, *self._nearby(best)], key=lambda one: one.loss)
        found = [near if one is best else one for one in found]
        ahead = self._going_on(found, _FINALISTS, 1.0)
        if self.exact:
            return [self._on_all_rows(self._decided(ahead), first)]
        return ahead if self._plain(ahead) else [ahead[0], *self._plain(found)[:1]]

    @property
    def _has_many_directions(self) -> bool:
        """Whether columns or rows are many: few rows favour few directions, more bear all."""
        return not (self.exact and self._few_columns)

    def _plain(self, found: Sequence[Tried]) -> list[Tried]:
        """Those without a metric, unless one is asked for, the best first."""
        plain = [one for one in found if one.setting.metric is None]
        return sorted(plain, key=lambda one: one.loss) if self.mode in ("auto", None) else []

    def _with_relevance(self, found: Sequence[Tried]) -> list[Tried]:
        """Kernels with weights of the columns, each with those that were learned for it.

        It takes time: the best kernel of each kind, and unless columns or splits are many those
        that are not clearly behind it; all of them where weights are asked for.
        """
        if not self._weighs_columns:
            return []
        several = self._few_columns and len(self.judge.folds) == 1

        def is_near(one: Tried, first: Tried) -> bool:
            return self.mode == RELEVANCE or not clearly_worse(one, first, 1.0)

        firsts = [_first_of_kind(one, found) for one in found]
        pairs = zip(found, firsts, strict=True)
        tops = [one for one, first in pairs if one is first or (several and is_near(one, first))]
        new = {one.setting.family.kernel: one.setting for one in reversed(tops)}
        settings = [one for one in new.values() if one.family.unit_kernel is not None]
        settings.sort(key=lambda one: not one.family.by_columns)  # what takes longest first

        def learned(one: Setting) -> Tried | None:
            if not (self._in_time() and self.judge.learn_relevance(one.scaling, one.family)):
                return None
            return self.judge.along_bandwidths(replace(one, metric=RELEVANCE), self._few_rows)

        return self.judge.side_by_side(learned, settings)

    @staticmethod
    def _of_each_kind(kept: Sequence[Tried], found: Sequence[Tried]) -> list[Tried]:
        """What goes on, and the best of a kind of kernels that would not: kinds gain differently
        from more rows."""
        ranked = sorted(found, key=lambda one: one.loss)
        best = [one for one in ranked if one is _first_of_kind(one, ranked)]
        kinds = {one.setting.family.by_columns for one in kept}
        return [*kept, *(one for one in best if one.setting.family.by_columns not in kinds)]

    def _going_on(self, found: Sequence[Tried], n_kept: int, errors: float) -> list[Tried]:
        """Those whose loss is close to the best one, and what is clearly right more often."""
        kept = going_on(list(found), n_kept, errors)
        right = self._decided(found)
        return kept if any(one is right for one in kept) else [*kept, right]

    def _more_spaces(
        self, found: Sequence[Tried], by_mode: Sequence[Tried], by_scaling: Sequence[Tried]
    ) -> list[Setting]:
        """The best kernels with another metric: the first one was judged with few features.

        The best of each kind is tried with the next mode. Where columns or rows are many, the best
        of all and the simplest kernel are tried without a metric; of many rows also in the next
        scaling.
        """
        again = [one for one in found if one is _first_of_kind(one, found)]
        settings = [other for one in again for other in self._next_mode(one.setting, by_mode)]
        if self.mode in ("auto", None) and self._has_many_directions:
            best = found[0].setting
            scalings = list(dict.fromkeys([best.scaling, *_ranked(by_scaling)]))
            settings += [
                replace(best, scaling=scaling, metric=None, family=family)
                for scaling in scalings[: 1 if self.exact else 2]
                for family in (best.family, self.families[0])
            ]
        new = {_kind(one): one for one in settings}
        known = {_kind(one.setting) for one in found}
        return [setting for kind, setting in new.items() if kind not in known]

    def _on_all_rows(self, best: Tried, first: Sequence[Tried]) -> Tried:
        """The best one with all rows, or its mean with another: a factor of them takes long."""
        other = self._partner(best, first)
        best = self._with_all_rows(best)
        if other is None or not self._in_time():
            return best
        other = self._with_all_rows(other)
        both = self.judge.noted(self._mean(best, other))
        return both if self._is_worth_it(both, best) else best

    def _with_all_rows(self, one: Tried) -> Tried:
        """The same with all rows, of which more need no more of a penalty in all.

        It stands for the variance of noise, whatever their number. One that is hardly felt stays
        as it is for each row: float32 would not bear less.
        """
        n_rows, penalty = self.judge.n_rows, one.setting.penalty
        if one.n_rows >= n_rows:
            return one
        if self.penalty is None:
            penalty = max(penalty * one.n_rows / n_rows, min(penalty, _HARDLY_FELT))
        return self.judge.judge(replace(one.setting, penalty=penalty), n_rows, (penalty,))

    def _partner(self, best: Tried, first: Sequence[Tried]) -> Tried | None:
        """What makes a better mean with the best one, of all kernels at `first`.

        A model that is worse by itself may be the one that errs elsewhere. Where another factor of
        all rows would have to be computed, the mean must be clearly better.
        """
        (own,) = [one for one in first if _kind(one.setting) == _kind(best.setting)]
        others = [one for one in first if one is not own]
        if not (others and self._in_time()):
            return None
        other = min(others, key=lambda one: self._mean(own, one).loss)
        penalties = self._weaker(other.setting)
        other = self.judge.judge(other.setting, best.n_rows, penalties)
        if self._takes_long and not other.single:  # three times as long for what is rarely much
            return None
        return other if self._is_worth_it(self._mean(best, other), best) else None

    def _is_worth_it(self, both: Tried, best: Tried) -> bool:
        """Whether the loss of the mean is lower, and it is not clearly right less often."""
        if self.task == "classification" and clearly_worse(both, best, _CLEARLY, counted=True):
            return False
        return clearly_worse(best, both, _AVERAGE if self._takes_long else 0.0)

    @property
    def _takes_long(self) -> bool:
        """Whether a factor of all rows is more than those that kernels are compared with."""
        return self.judge.n_rows > _SECOND_ROWS

    def _mean(self, one: Tried, other: Tried) -> Tried:
        return mean_of(one, other, self.judge.held, self.task)

    def _on_more(self, found: Sequence[Tried], n_rows: int) -> list[Tried]:
        """The same with more rows, the best first."""

        def again(one: Tried) -> Tried | None:
            if one is not found[0] and not self._in_time():
                return None
            return self.judge.judge(one.setting, n_rows, self._weaker(one.setting))

        if found[0].n_rows < self.judge.n_rows:
            found = self.judge.side_by_side(again, found)
        return sorted(found, key=lambda one: one.loss)

    def _nearby(self, one: Tried) -> list[Tried]:
        """The same with bandwidths between those that were tried."""
        setting, n_rows = one.setting, one.n_rows
        bandwidth = setting.bandwidth
        if bandwidth is None:
            return []

        def near(factor: float) -> Tried | None:
            if not self._in_time():
                return None
            here = replace(setting, bandwidth=factor * bandwidth)
            return self.judge.judge(here, n_rows, self._weaker(setting))

        return self.judge.side_by_side(near, _NEARBY)

    def _by_family(self, by_mode: Sequence[Tried], width: int | None, n_rows: int) -> list[Tried]:
        """The best of every family, with the best mode of the metric for it; the best first."""

        def along(family: Family) -> Tried | None:
            if family is not self.families[0] and not self._in_time():
                return None
            best = self._best(suited(family, by_mode)).setting
            return self.judge.along_bandwidths(replace(best, family=family, width=width), n_rows)

        found = self.judge.side_by_side(along, self.families)
        return sorted(found, key=lambda one: one.loss)

    def _next_mode(self, setting: Setting, by_mode: Sequence[Tried]) -> list[Setting]:
        """A setting with another mode of the metric, the best of the others, if there is one."""
        modes = suited(setting.family, by_mode)
        others = [one for one in modes if one.setting.metric != setting.metric]
        if not others:
            return []
        best = min(others, key=lambda one: one.loss)
        return [replace(setting, metric=best.setting.metric)]

    def _weaker(self, setting: Setting) -> Sequence[float]:
        """Penalties to look at with more rows."""
        if self.penalty is not None:
            return (self.penalty,)
        return PENALTIES[PENALTIES.index(setting.penalty) :]

    def _in_time(self) -> bool:
        return time.perf_counter() < self.deadline

    def _open_scalings(self) -> Iterable[Scaling]:
        """Those that make other rows than the ones before."""
        seen: list[Any] = []
        for scaling in self.scalings:
            if not seen or self._in_time():
                head = to_numpy(dense(self.judge.space(scaling).X[:_HEAD, :]))
                if not any(np.array_equal(head, other) for other in seen):
                    seen.append(head)
                    yield scaling

    def _with_metric(self, setting: Setting) -> list[Tried]:
        """The setting with the metric of each mode, the simplest first."""
        if self.mode in (None, RELEVANCE) or not self._in_time():
            return []
        return self.judge.side_by_side(
            lambda mode: self.judge.along_bandwidths(
                replace(setting, metric=mode), self._coarse[1]
            ),
            self.judge.learn_metric(setting.scaling, self._gradient_modes),
        )

    @property
    def _gradient_modes(self) -> Any:
        """Of the metric of directions; weights of the columns are found by descent, if rows are
        many: others are no better, and take time."""
        if self.mode == "auto" and self._weighs_columns and self._takes_long:
            return tuple(mode for mode in MODES if mode != DIAGONAL)
        return self.mode

    @property
    def _weighs_columns(self) -> bool:
        """Whether weights of the columns are learned by descent."""
        return self.mode in ("auto", RELEVANCE) and self.judge.rows_are_dense

    def _best(self, candidates: Sequence[Tried]) -> Tried:
        """Of candidates, the simplest first: the best one, or a simpler one as good as that.

        For classes as good is a loss within half a standard error of the difference, row by row.
        """
        top = min(candidates, key=lambda one: one.loss)
        if self.task == "regression":
            return top
        return next(one for one in candidates if not clearly_worse(one, top, 0.5))


def _ranked(by_scaling: Sequence[Tried]) -> list[Scaling]:
    """Scalings, the best first."""
    return [one.setting.scaling for one in sorted(by_scaling, key=lambda one: one.loss)]


def _kind(one: Setting) -> tuple[str, str | None, str]:
    """What distinguishes those that are compared with few rows."""
    return one.family.kernel, one.metric, one.scaling


def _first_of_kind(one: Tried, found: Sequence[Tried]) -> Tried:
    """The best that looks at columns one by one, or at distances, as `one` does; in order."""
    return next(f for f in found if f.setting.family.by_columns == one.setting.family.by_columns)
