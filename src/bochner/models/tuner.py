"""The search for the settings of a kernel model on held-out rows, from coarse to fine.

Scalings of the columns are compared with few rows and few features, and the metric is learned
once, for the best scaling. Kernels are then compared by exact kernel ridge regressions on
increasing numbers of rows, the best kernels also with column weights learned for them. If there
are few rows, all of them are landmarks, and the model is the best of these regressions, or its
mean with another one. If there are many, the best few settings are finally compared with all rows
and the requested number of features.
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
from bochner.models.judge import Judge
from bochner.models.limits import FEW_COLUMNS, are_many
from bochner.models.methods import Task
from bochner.models.penalties import Penalties
from bochner.models.pipelines import METRICS
from bochner.models.ranking import (
    CLEARLY,
    Ranking,
    by_loss,
    clearly_worse,
    first_of_kind,
    of_each_kind,
    ranked_scalings,
    space_of,
    suited,
)
from bochner.models.scaling import SCALINGS, Scaling
from bochner.models.settings import (
    HINGE,
    Labelled,
    Loss,
    Setting,
    Tried,
    mean_of,
)

WIDTH = 2048  # of maps, with more rows than may all be landmarks
_COARSE_ROWS = 4000
_KEPT, _FINALISTS = 3, 2
_FIRST_ROWS, _SECOND_ROWS = 1500, 3000  # rows that exact methods are compared on in turn
_FEWEST_ROWS = 300  # fewest rows of the first comparison, if half of all rows are fewer
_NEARBY = (0.7, 1.4)  # factors for bandwidths between those of the first comparison
_AVERAGE = 1.0  # standard errors that the mean of two models must gain: it takes twice the time
# Standard errors by which the squared hinge loss may trail on a part of the rows. On all rows it
# was better by .05 to 1.0 points in ten fits to four tables; on the part, in six of them.
_UNDERSTATED = 2.0
# For kernels that treat columns one by one, which takes time: columns, and differences between
# the entries of all pairs of rows, a quarter of a minute on two cores.
_MOST_COLUMNS, _MOST_DIFFERENCES = 1000, 2e11
_HEAD = 256  # rows compared to see whether two scalings differ


class Tuner:
    """The search for a model.

    Parameters
    ----------
    splits, task, penalty, **options
        Parameters of :class:`bochner.models.judge.Judge`.
    families : sequence of Family
        Families to choose from, the simplest first.
    width : int or None
        Number of features. If None, all rows are landmarks where there is room for that.
    has_room : bool
        Whether the kernel values of all pairs of rows may be computed.
    scalings : sequence of str
        Scalings to choose from, the simplest first.
    metric : str or None
        ``"auto"``, or the name of a metric, see :data:`bochner.models.pipelines.METRICS`.
    loss : str
        ``"auto"``, or one of the losses.
    deadline : float
        A time of :func:`time.perf_counter` after which only settings that cannot be left out are
        tried.
    n_total : int or None
        Number of rows that the model will be fitted to, if the given rows are a part of them.
    """

    def __init__(
        self,
        splits: Sequence[tuple[Labelled, Labelled]],
        task: Task,
        families: Sequence[Family],
        *,
        width: int | None,
        has_room: bool = True,
        scalings: Sequence[Scaling] = SCALINGS,
        metric: str | None = "auto",
        penalty: float | None = None,
        loss: Loss | Literal["auto"] = "auto",
        deadline: float = float("inf"),
        n_total: int | None = None,
        **options: Any,
    ) -> None:
        self.task, self.mode, self.deadline = task, metric, deadline
        (rows, held), *_ = splits
        n_rows, n_columns = len(rows.y) + len(held.y), rows.X.shape[1]
        n_total = max(n_rows, n_total or 0)
        self._asks_hinge = task == "classification" and loss == HINGE
        all_landmarks = has_room and width is None and not self._asks_hinge
        few_pairs = not all_landmarks or n_total**2 * n_columns <= _MOST_DIFFERENCES
        narrow = n_columns <= _MOST_COLUMNS and few_pairs
        self.families = [f for f in families if narrow or not f.by_columns] or list(families)
        self._few_columns = n_columns <= FEW_COLUMNS
        self._tries_hinge = self._asks_hinge or (
            task == "classification" and loss == "auto" and are_many(n_total)
        )
        self._have_kernels = all(family.kernel_at for family in self.families)
        self.exact = all_landmarks and self._have_kernels
        # kernels are compared without features; a kernel's last family provides its features
        self._maps = {family.kernel: family for family in self.families}
        if self._have_kernels:
            first = {family.kernel: family for family in reversed(self.families)}
            self.families = [f for f in self.families if first[f.kernel] is f]
        self.ranking = Ranking(task, [family.kernel for family in self.families])
        self.width = None if self.exact else width or WIDTH
        self._share = n_rows / n_total
        self.judge = Judge(splits, task, width=self.width, penalty=penalty, **options)
        self.penalties = Penalties(self._few_rows, penalty)
        self.scalings = scalings
        if not self.judge.rows_are_dense:  # they keep their zeros
            self.scalings = [s for s in scalings if s in ("standard", "none")] or ["standard"]

    def n_settings(self, best: Tried) -> int:
        """Return how many settings a certificate must hold for, counted before seeing any row.

        Where the mean of any two models may be chosen, single models share one half of the error
        probability, and pairs of models the other half.
        """
        nearby = 1 + len(_NEARBY) if self._have_kernels else 1
        bandwidths = sum(max(1, nearby * len(family.bandwidths)) for family in self.families)
        penalties = len(self.penalties.of(self.judge.n_rows))
        metrics = {"auto": 1 + len(METRICS), None: 1}.get(self.mode, 2)
        losses = 1 + self._tries_hinge
        single = len(self.scalings) * metrics * bandwidths * penalties * losses
        return 2 * single ** len(best.settings) if self.exact else single

    def run(self) -> Tried:
        """Search, and return the best setting, tried with all rows and features."""
        first, coarse = self.families[0], self._coarse
        by_scaling = self.judge.side_by_side(
            lambda s: self.judge.along_bandwidths(
                Setting(s, None, first, None, coarse[0]), coarse[1]
            ),
            list(self._open_scalings()),
        )
        plain = self.ranking.best(by_scaling)
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
        """Number of rows that kernels are first compared on: half of the rows, if they are few."""
        return min(_FIRST_ROWS, max(_FEWEST_ROWS, self.judge.n_rows // 2))

    @property
    def _coarse(self) -> tuple[int | None, int]:
        """Width and number of rows for comparing scalings and metrics; no width for few rows."""
        if self.exact and self._few_rows < _FIRST_ROWS:
            return None, self._few_rows
        return min(self.width or COARSE_WIDTH, COARSE_WIDTH), _COARSE_ROWS

    def _with_better_loss(self, squares: Tried) -> Tried:
        """Return a finalist, with the squared hinge loss if that is requested or better."""
        held = self.judge.held
        affordable = self._asks_hinge or (self._in_time() and is_affordable(squares, held))
        if self.exact or not (self._tries_hinge and affordable):
            return squares
        compared, setting = squares, squares.setting
        if self._share < 1 and setting.width is not None and setting.width > COARSE_WIDTH:
            # as many rows per feature as the model will have: with few, all losses are alike
            width = max(COARSE_WIDTH, int(self._share * setting.width))
            compared = self.judge.judge_narrow(setting, width)
        hinge = self.judge.judge_hinge(compared)
        if not (self._asks_hinge or self._is_better_loss(hinge, compared)):
            return squares
        if compared is squares:
            return hinge
        return self.judge.judge_hinge(squares, hinge.setting.penalty)

    def _is_better_loss(self, hinge: Tried, squares: Tried) -> bool:
        """Whether the squared hinge loss is better, by decisions alone: margins differ in scale.

        On a part of the rows, which understates the gain on all of them, it is enough that the
        squared hinge loss is not clearly worse.
        """
        if self._share < 1:
            return not clearly_worse(hinge, squares, _UNDERSTATED, counted=True)
        return clearly_worse(squares, hinge, 0.5, counted=True)

    def _finalists(self, found: Sequence[Tried], by_scaling: Sequence[Tried]) -> list[Tried]:
        """Try what was found with all rows and features, and another scaling without a metric.

        Few rows favour few directions: with more rows, the columns as they are, or in another
        scaling, may be better.
        """
        settings = [self._for_features(one) for one in found]
        if self.mode in ("auto", None):
            plain = [one for one in settings if one.metric is None]
            known = [one.scaling for one in plain]
            others = [scaling for scaling in ranked_scalings(by_scaling) if scaling not in known]
            top = (plain or settings)[0]
            settings += [replace(top, scaling=scaling, metric=None) for scaling in others[:1]]
        return [
            self.judge.judge(self._at_full_width(setting))
            for position, setting in enumerate(settings)
            if position == 0 or self._in_time()
        ]

    def _for_features(self, one: Tried) -> Setting:
        """Return the setting with the penalty per row that few rows would have had."""
        if one.setting.width is not None:
            return one.setting
        penalty, *_ = self.penalties.weaker(
            one.setting.penalty, one.n_rows, self.penalties.few_rows
        )
        return replace(one.setting, penalty=penalty)

    def _at_full_width(self, setting: Setting) -> Setting:
        family = self._maps[setting.family.kernel] if self._have_kernels else setting.family
        return replace(setting, family=family, width=self.width)

    def _decided_by_part(self, finalists: Sequence[Tried]) -> Tried:
        """Return the best finalist, preferring none that rotates directions on part of the rows.

        A part of the rows favours few directions: the best finalist without a metric is then
        taken, unless one with a metric that rotates directions is clearly right more often.
        """
        best, plain = self.ranking.winner(finalists), self._plain(finalists)
        turns = best.setting.metric not in (None, RELEVANCE)
        if self.task == "regression" or not (self._share < 1 and turns and plain):
            return best
        simple = self.ranking.winner(plain)
        return best if clearly_worse(simple, best, CLEARLY, counted=True) else simple

    def _kernels(self, by_mode: Sequence[Tried], by_scaling: Sequence[Tried]) -> list[Tried]:
        """Compare exact methods on increasing numbers of rows, keeping fewer; the best first."""
        few = self._few_rows
        first = self._by_family(by_mode, None, few)
        first += self.judge.side_by_side(
            lambda setting: self.judge.along_bandwidths(setting, few) if self._in_time() else None,
            self._more_spaces(first, by_mode, by_scaling),
        )
        weighted = self._with_relevance(first)
        first = weighted if self.mode == RELEVANCE and weighted else [*first, *weighted]
        kept = of_each_kind(self.ranking.going_on(first, _KEPT, 2.0), first)
        if self._has_many_directions:
            kept += [one for one in self._plain(first)[:2] if all(one is not k for k in kept)]
        found = self._on_more(kept, _SECOND_ROWS)
        best = self.ranking.winner(found)
        near = min([best, *self._nearby(best)], key=lambda one: one.loss)
        found = [near if one is best else one for one in found]
        ahead = self.ranking.going_on(found, _FINALISTS, 1.0)
        if self.exact:
            return [self._on_all_rows(self.ranking.winner(ahead), first)]
        return ahead if self._plain(ahead) else [ahead[0], *self._plain(found)[:1]]

    @property
    def _has_many_directions(self) -> bool:
        """Whether columns or rows are many: few rows favour few directions, more support all."""
        return not (self.exact and self._few_columns)

    def _plain(self, found: Sequence[Tried]) -> list[Tried]:
        """Return those without a metric, the best first; none if a metric is requested."""
        plain = [one for one in found if one.setting.metric is None]
        return by_loss(plain) if self.mode in ("auto", None) else []

    def _with_relevance(self, found: Sequence[Tried]) -> list[Tried]:
        """Try kernels with column weights that are learned for each of them.

        This takes time, so it is done for the best kernel of each kind and, unless there are many
        columns or several splits, for those not clearly behind it, or for all others if the
        weights are requested.
        """
        if not self._weighs_columns:
            return []
        several = self._few_columns and len(self.judge.folds) == 1

        def is_near(one: Tried, first: Tried) -> bool:
            return self.mode == RELEVANCE or not clearly_worse(one, first, 1.0)

        firsts = [first_of_kind(one, found) for one in found]
        pairs = zip(found, firsts, strict=True)
        tops = [one for one, first in pairs if one is first or (several and is_near(one, first))]
        new = {one.setting.family.kernel: one.setting for one in reversed(tops)}
        settings = [one for one in new.values() if one.family.unit_kernel is not None]
        settings.sort(key=lambda one: not one.family.by_columns)  # the slowest first

        def learned(one: Setting) -> Tried | None:
            if not (self._in_time() and self.judge.learn_relevance(one.scaling, one.family)):
                return None
            return self.judge.along_bandwidths(replace(one, metric=RELEVANCE), self._few_rows)

        return self.judge.side_by_side(learned, settings)

    def _more_spaces(
        self, found: Sequence[Tried], by_mode: Sequence[Tried], by_scaling: Sequence[Tried]
    ) -> list[Setting]:
        """Return the best kernels with another metric, as the first was judged with few features.

        The best of each kind is tried with the next mode. Where columns or rows are many, the best
        of all and the simplest kernel are tried without a metric; with many rows, also in the next
        scaling.
        """
        again = [one for one in found if one is first_of_kind(one, found)]
        settings = [other for one in again for other in self._next_mode(one.setting, by_mode)]
        if self.mode in ("auto", None) and self._has_many_directions:
            best = found[0].setting
            scalings = list(dict.fromkeys([best.scaling, *ranked_scalings(by_scaling)]))
            settings += [
                replace(best, scaling=scaling, metric=None, family=family)
                for scaling in scalings[: 1 if self.exact else 2]
                for family in (best.family, self.families[0])
            ]
        new = {space_of(one): one for one in settings}
        known = {space_of(one.setting) for one in found}
        return [setting for kind, setting in new.items() if kind not in known]

    def _on_all_rows(self, best: Tried, first: Sequence[Tried]) -> Tried:
        """Return the best one fitted to all rows, or its mean with another if that is worth it."""
        # with more rows than these, a second model would take another factor of all of them
        other = self._partner(best, first) if self._share == 1 else None
        best = self._with_all_rows(best)
        if other is None or not self._in_time():
            return best
        other = self._with_all_rows(other)
        both = self.judge.noted(self._mean(best, other))
        return both if self._is_worth_it(both, best) else best

    def _with_all_rows(self, one: Tried) -> Tried:
        """Fit the same setting to all rows, with the same total penalty."""
        if one.n_rows >= self.judge.n_rows:
            return one
        penalty = self._weaker(one, self.judge.n_rows)[0]
        setting = replace(one.setting, penalty=penalty)
        return self.judge.judge(setting, self.judge.n_rows, (penalty,))

    def _partner(self, best: Tried, first: Sequence[Tried]) -> Tried | None:
        """Return the one of `first` whose mean with the best one is better, or None.

        A model that is worse by itself may err on other rows. Where another factor of all rows
        would have to be computed, the mean must be clearly better.
        """
        (own,) = [one for one in first if space_of(one.setting) == space_of(best.setting)]
        others = [one for one in first if one is not own]
        if not (others and self._in_time()):
            return None
        other = min(others, key=lambda one: self._mean(own, one).loss)
        other = self._judged_on(best.n_rows, other)
        if self._takes_long and not other.single:  # three times as long, for rarely much gain
            return None
        return other if self._is_worth_it(self._mean(best, other), best) else None

    def _is_worth_it(self, both: Tried, best: Tried) -> bool:
        """Whether the loss of the mean is lower, and it is not clearly right less often."""
        if self.task == "classification" and clearly_worse(both, best, CLEARLY, counted=True):
            return False
        return clearly_worse(best, both, _AVERAGE if self._takes_long else 0.0)

    @property
    def _takes_long(self) -> bool:
        """Whether a factor of all rows is larger than those computed to compare kernels."""
        return self.judge.n_rows > _SECOND_ROWS

    def _mean(self, one: Tried, other: Tried) -> Tried:
        return mean_of(one, other, self.judge.held, self.task)

    def _on_more(self, found: Sequence[Tried], n_rows: int) -> list[Tried]:
        """Try the same settings with more rows; the best first."""

        def again(one: Tried) -> Tried | None:
            if one is not found[0] and not self._in_time():
                return None
            return self._judged_on(n_rows, one)

        n_rows = min(n_rows, self.judge.n_rows)
        if found[0].n_rows < n_rows:
            found = self.judge.side_by_side(again, found)
        return by_loss(found)

    def _nearby(self, one: Tried) -> list[Tried]:
        """Try the same setting with bandwidths between those that were tried."""
        setting, n_rows = one.setting, one.n_rows
        bandwidth = setting.bandwidth
        if bandwidth is None:
            return []

        def near(factor: float) -> Tried | None:
            if not self._in_time():
                return None
            here = replace(setting, bandwidth=factor * bandwidth)
            return self.judge.judge(here, n_rows, self._weaker(one, n_rows))

        return self.judge.side_by_side(near, _NEARBY)

    def _by_family(self, by_mode: Sequence[Tried], width: int | None, n_rows: int) -> list[Tried]:
        """Return the best of every family, with the best metric mode for it; the best first."""

        def along(family: Family) -> Tried | None:
            if family is not self.families[0] and not self._in_time():
                return None
            best = self.ranking.best(suited(family, by_mode)).setting
            return self.judge.along_bandwidths(replace(best, family=family, width=width), n_rows)

        found = self.judge.side_by_side(along, self.families)
        return by_loss(found)

    def _next_mode(self, setting: Setting, by_mode: Sequence[Tried]) -> list[Setting]:
        """Return the setting with the best of the other modes of the metric, if there is one."""
        modes = suited(setting.family, by_mode)
        others = [one for one in modes if one.setting.metric != setting.metric]
        if not others:
            return []
        best = min(others, key=lambda one: one.loss)
        return [replace(setting, metric=best.setting.metric)]

    def _judged_on(self, n_rows: int, one: Tried) -> Tried:
        """Try the same setting with more rows, with the same total penalty or weaker ones."""
        penalties = self._weaker(one, n_rows)
        return self.judge.judge(replace(one.setting, penalty=penalties[0]), n_rows, penalties)

    def _weaker(self, one: Tried, n_rows: int) -> tuple[float, ...]:
        """Return the penalty that was found for `n_rows` rows, and weaker ones."""
        return self.penalties.weaker(one.setting.penalty, one.n_rows, n_rows)

    def _in_time(self) -> bool:
        return time.perf_counter() < self.deadline

    def _open_scalings(self) -> Iterable[Scaling]:
        """Yield the scalings whose rows differ from those of the scalings before."""
        seen: list[Any] = []
        for scaling in self.scalings:
            if not seen or self._in_time():
                head = to_numpy(dense(self.judge.space(scaling).X[:_HEAD, :]))
                if not any(np.array_equal(head, other) for other in seen):
                    seen.append(head)
                    yield scaling

    def _with_metric(self, setting: Setting) -> list[Tried]:
        """Try the setting with each mode of the metric, the simplest first."""
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
        """Modes of the gradient metric to look at.

        With many rows, column weights are found by descent instead of the diagonal mode, which is
        no better and takes time.
        """
        if self.mode == "auto" and self._weighs_columns and self._takes_long:
            return tuple(mode for mode in MODES if mode != DIAGONAL)
        return self.mode

    @property
    def _weighs_columns(self) -> bool:
        """Whether weights of the columns are learned by descent."""
        return self.mode in ("auto", RELEVANCE) and self.judge.rows_are_dense
