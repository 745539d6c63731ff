"""A game over the waves of all frequencies, from its start or from where an earlier one ended."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning

from bochner import engine
from bochner.base import SupervisedFeatureMap, n_pairs, subtask_done
from bochner.engine.places import convert, float_dtype, is_device, namespace, to_numpy
from bochner.engine.summaries import rows_at
from bochner.kernels import Gaussian
from bochner.linear.hinge import hinge_optimum
from bochner.margin.game import Record, play
from bochner.margin.looks import Search, computed
from bochner.margin.players import DataPlayer, GradientMargin, columns_of, make_player
from bochner.margin.polish import polish
from bochner.margin.search import WaveFamily
from bochner.margin.stopping import (
    FEWEST_ROWS,
    PaddingJudge,
    Stop,
    judging_parts,
    random_frequencies,
    split_rows,
)
from bochner.margin.subspace import Coordinates
from bochner.margin.trials import Setting, Trials, choose_setting, grid, usual_strength
from bochner.targets import Target

Float = NDArray[np.float64]

_FOLLOWED = 4  # steps from the peaks of some rows to those of others
_CONTINUED = 4  # a trial is part of the game where the game is this many times as long


@dataclass(frozen=True)
class Learned:
    """Result of a game: frequencies (d, m) in its coordinates, and the record of its rounds."""

    frequencies: NDArray[Any]
    rounds: dict[str, Float]
    interrupted: bool


def learn_frequencies(
    rows: Any,
    search: Search,
    player: DataPlayer,
    n_more: int,
    *,
    before: NDArray[Any],
    coefficients: Any,
    known: Sequence[Any],
    random_state: RandomState,
    after_round: Callable[[list[Any], Record], bool | None] | None,
    **options: Any,
) -> Learned:
    """Play for `n_more` frequencies after those `before`.

    If there are frequencies before, the player continues from `coefficients`. The game is played
    with the `known` frequencies first, see :class:`~bochner.margin.search.WaveFamily`.
    """
    if before.shape[1]:
        player.resume(computed(engine.features(rows, before, scale=1.0)), coefficients)
    functions: list[Any] = []
    record = Record()
    if n_more:
        waves = WaveFamily(rows, search, n_more, random_state=random_state, known=known, **options)
        functions, record = play(waves, player, n_more, after_round=after_round)
    rounds, frequencies = record.arrays(), before
    if functions:
        new = to_numpy(namespace(functions[0]).concat(functions, axis=1))
        frequencies = np.hstack([before.astype(new.dtype), new])
    if isinstance(player, GradientMargin) and functions:
        # the optimum on all features, which is not known during the game
        features = to_numpy(computed(engine.features(rows, frequencies)))
        rounds["objective"][-1] = hinge_optimum(features, to_numpy(player.signs), player.C)
    return Learned(frequencies, rounds, record.interrupted)


def history_of(rounds: dict[str, Float], before: dict[str, Float] | None) -> dict[str, Float]:
    """Return the numbers of every round, of the game `before` and this one; see `history_`."""
    names = {"potential": "share", "objective": "objective", "value": "value"}
    history = {name: rounds[recorded] for name, recorded in names.items()}
    if before is not None:
        history = {name: np.r_[before[name], values] for name, values in history.items()}
    with np.errstate(divide="ignore"):  # an optimum of zero: nothing is lost at any margin
        history["margin"] = (2 * np.maximum(history["objective"], 0)) ** -0.5
    history["gap"] = history["objective"] - np.maximum.accumulate(history["value"])
    return history


class LearnedFrequencies(CallbackSupportMixin, SupervisedFeatureMap):
    """A map whose frequencies are learned in a game and followed by random ones."""

    n_components: int
    dual_update: Any
    band: Any
    damping: Any
    strength: Any
    n_peaks: Any
    n_chains: int
    n_steps: int
    temperature: float
    rows_per_round: int | None
    stop: Any
    polish_steps: int
    frequencies_: NDArray[Any]
    n_learned_: int
    setting_: Setting
    trials_: Trials
    history_: dict[str, Float]
    dual_weights_: NDArray[Any]
    kernel_: Gaussian
    _basis: NDArray[Any] | None
    _seeds: NDArray[np.int_]

    def _learn(self, X: Any, y: Any, target: Target, before: NDArray[Any] | None) -> None:
        """Learn frequencies after those `before`, and add random ones."""
        n_frequencies, coordinates = n_pairs(self.n_components), self._coordinates
        used, held = self._split(len(y), first=before is None)
        if before is None:
            before = np.empty((self.n_features_in_, 0), float_dtype(X))
        most = n_frequencies
        if self.stop is not None and self.stop != "auto":
            most = min(max(int(self.stop), before.shape[1]), n_frequencies)
        rows, columns = self._rows_and_columns(X, y, target)
        search, strength = self._search(), self._strength(target)
        known: list[Any] = []
        if not before.shape[1]:
            known = self._choose(target, rows, columns, held, search, most, strength)
        dtype, stop = float_dtype(X), None

        @cache
        def random() -> NDArray[Any]:
            count = 0 if self.stop is None else n_frequencies
            return self._random_frequencies(count).astype(dtype)

        everything = rows, columns
        if len(held):
            if self.stop == "auto":
                parts = judging_parts(X, columns, used, held, RandomState(self._seeds[2]))
                judge = PaddingJudge(*parts, random, **self._engine_options())
                stop = Stop(judge, n_frequencies, coordinates.outside, before)
            rows, columns = rows_at(rows, used), rows_at(columns, used)
        player = self._player(target, columns, most)
        search = replace(search, band=self.setting_.band)
        learned = self._play(rows, search, player, most, before, known, stop)
        if self.polish_steps and learned.shape[1]:
            learned = self._polish(target, *everything, used, held, learned, strength)
        self.n_learned_ = int(learned.shape[1])
        self.frequencies_ = np.hstack([learned, random()[:, : n_frequencies - self.n_learned_]])

    def _polish(
        self,
        target: Target,
        rows: Any,
        columns: Any,
        used: NDArray[np.intp],
        held: NDArray[np.intp],
        learned: NDArray[Any],
        strength: float,
    ) -> NDArray[Any]:
        """Move the learned frequencies together; rows are held out if the game held out none."""
        if not len(held) and len(used) >= FEWEST_ROWS:
            used, held = split_rows(len(used), RandomState([self._seeds[2], 1]))
        if not len(held):
            return learned
        W, steps = self._coordinates.inside(learned), self.polish_steps
        options = self._engine_options()
        moved = polish(target, rows, columns, used, held, W, steps, strength, **options)
        return learned if moved is W else self._coordinates.outside(moved)

    @with_callbacks  # type: ignore[untyped-decorator]
    def _follow(self, X: Any, y: Any, target: Target) -> None:
        """Play the game again on other rows, each frequency continuing from where it was."""
        rows, columns = self._rows_and_columns(X, y, target)
        search = replace(self._search(), band=self.setting_.band, n_followed=_FOLLOWED)
        most = self.n_learned_
        known: list[Any] = []
        found = convert(self._coordinates.inside(self.frequencies_[:, :most]), columns)
        while (done := sum(int(part.shape[1]) for part in known)) < most:
            known.append(found[:, done : done + search.peaks_after(done)])
        player = self._player(target, columns, most)
        before = np.empty((self.n_features_in_, 0), float_dtype(X))
        learned = self._play(rows, search, player, most, before, known, None)
        random = self.frequencies_[:, learned.shape[1] :]
        self.frequencies_ = np.hstack([learned.astype(random.dtype), random])

    def _rows_and_columns(self, X: Any, y: Any, target: Target) -> tuple[Any, Any]:
        """Return the rows in the coordinates of the game, and the target's columns with them."""
        rows, columns = self._coordinates.rows(X), columns_of(target, y).astype(float_dtype(X))
        return rows, convert(columns, rows) if is_device(rows) else columns

    def _search(self) -> Search:
        return Search.for_frequencies(
            n_pairs(self.n_components),
            self.n_peaks,
            grows=self.stop is not None,
            n_chains=self.n_chains,
            n_steps=self.n_steps,
            temperature=self.temperature,
            n_rows=self.rows_per_round,
        )

    def _strength(self, target: Target) -> float:
        return usual_strength(target) if self.strength == "auto" else float(self.strength)

    def _player(self, target: Target, columns: Any, most: int) -> DataPlayer:
        return make_player(
            target,
            columns,
            self.setting_.dual_update,
            damping=self.setting_.damping,
            strength=self._strength(target),
            capacity=2 * most,
        )

    def _choose(
        self,
        target: Target,
        rows: Any,
        columns: Any,
        held: NDArray[np.intp],
        search: Search,
        most: int,
        strength: float,
    ) -> list[Any]:
        """Choose how the game is played, and return the trial frequencies it continues from."""
        settings = grid(target, self.dual_update, self.band, self.damping)
        self.setting_, self.trials_, known = choose_setting(
            settings if most else settings[:1],
            target,
            rows,
            columns,
            search,
            most,
            strength=strength,
            random_state=RandomState(self._seeds[2]),
            held=held if len(held) else None,
            **self._engine_options(),
        )
        long = _CONTINUED * sum(int(part.shape[1]) for part in known) <= most
        return known if long and self.stop is not None else []

    def _split(self, n_rows: int, *, first: bool) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Split the rows into those the game is played on and those it is judged by."""
        if first:
            holds_out = self.stop == "auto" and n_rows >= FEWEST_ROWS
        else:  # as the game began
            holds_out = len(self.dual_weights_) < n_rows
        if not holds_out:
            return np.arange(n_rows), np.empty(0, np.intp)
        return split_rows(n_rows, RandomState([self._seeds[2], 1]))

    def _random_frequencies(self, count: int) -> NDArray[np.float64]:
        """Draw frequencies of the kernel, to follow those learned."""
        state = RandomState([self._seeds[3], 1])
        return random_frequencies(self.kernel_, count, self.n_features_in_, state)

    @property
    def _coordinates(self) -> Coordinates:
        """Coordinates of the game: frequencies for rows that are scaled to a length of one."""
        return Coordinates(self._basis, (2 * self.kernel_.width) ** 0.5)

    def _play(
        self,
        rows: Any,
        search: Search,
        player: DataPlayer,
        most: int,
        before: NDArray[Any],
        known: list[Any],
        stop: Stop | None,
    ) -> NDArray[Any]:
        """Play the game and return its frequencies, including those `before`."""
        coordinates, n_before = self._coordinates, before.shape[1]
        n_more = most - n_before
        n_rounds = len(known) + -(-n_more // search.n_peaks)
        context = self._init_callback_context(max_subtasks=n_rounds)
        context.call_on_fit_task_begin(estimator=self)

        def after_round(functions: list[Any], record: Record) -> bool | None:
            ended = stop is not None and stop(functions[-1])
            return subtask_done(context, self, "round") or ended

        learned = learn_frequencies(
            rows,
            search,
            player,
            n_more,
            before=coordinates.inside(before),
            coefficients=self.dual_weights_ if n_before else None,
            known=known,
            random_state=RandomState(n_before or self._seeds[3]),
            after_round=after_round if stop or hasattr(self, "_skl_callbacks") else None,
            **self._engine_options(),
        )
        context.call_on_fit_task_end(estimator=self)
        self.dual_weights_ = to_numpy(player.coefficients)
        self.history_ = history_of(learned.rounds, self.history_ if n_before else None)
        self.n_iter_ = len(self.history_["gap"])
        self.duality_gap_ = float(self.history_["gap"][-1]) if self.n_iter_ else np.nan
        new = coordinates.outside(learned.frequencies[:, n_before:])
        frequencies = np.hstack([before.astype(new.dtype), new])
        if learned.interrupted:
            warnings.warn(
                f"interrupted after {len(learned.rounds['value'])} rounds: the frequencies found "
                "so far are kept.",
                ConvergenceWarning,
                stacklevel=4,
            )
            return frequencies
        return frequencies if stop is None else frequencies[:, : stop.n_kept()]
