"""Learning a metric in rounds: fit, take the gradients, rotate and weight, fit again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import is_host
from bochner.engine.threads import side_by_side
from bochner.fourier.bandwidth import median_distance
from bochner.linear.paired import is_clearly_lower
from bochner.linear.search import search_along
from bochner.metric.matrices import DIAGONAL, MODES, metric_matrix, times, transformed
from bochner.metric.predictor import Predictor, Rows, fit_predictor, refit

BANDWIDTHS = (0.15, 0.3, 0.6, 1.2, 2.4, 4.8)  # multiples of the median distance
_FIRST_BANDWIDTH, _FIRST_PENALTY = 1.2, 1e-5  # where the search begins
_FAR_BEHIND = (2.0, 1.25)  # most ratio of a mode's error to the best, in first and later rounds
_FAST = 0.9  # of the error of the previous round
_PATIENCE = 2  # rounds in a row without improvement after which a mode ends

Float = NDArray[np.float64]
Step = tuple[float, float]  # bandwidth and penalty of a round


@dataclass(frozen=True)
class Round:
    """A predictor fitted on rows that a matrix has transformed, with its settings.

    `number` 0 is the round without a metric, of mode None. `bandwidth` is a multiple of the
    median distance between transformed rows, and `gamma` is the corresponding number.
    """

    mode: str | None
    number: int
    matrix: Float
    bandwidth: float
    gamma: float
    predictor: Predictor

    @property
    def record(self) -> dict[str, Any]:
        """Summary of the round, as plain values."""
        found = self.predictor
        return {
            "mode": self.mode,
            "round": self.number,
            "bandwidth": self.bandwidth,
            "penalty": found.penalty,
            "error": found.error,
            "score": found.score,
        }


class Rounds:
    """The rounds of all modes, fitted on some rows and judged by others.

    Parameters
    ----------
    rows, held : Rows
        Rows to fit on, and rows to judge by.
    directions : array of shape (d, N)
        Frequencies of the Gaussian kernel of length scale 1.
    sample : array or sparse matrix
        A few of the rows, on the host, from which the median distance is taken.
    seed : int
        Seed of the random combinations of many functions.
    **options
        Options of the engine.
    """

    def __init__(
        self, rows: Rows, held: Rows, directions: Float, sample: Any, seed: int, **options: Any
    ) -> None:
        self.rows, self.held, self.directions = rows, held, directions
        self.sample, self.seed, self.options = sample, seed, options

    @cached_property
    def first(self) -> Round:
        """The round without a metric."""
        return self._round(None, 0, np.ones(len(self.directions)), None)

    def play(self, modes: Sequence[str], n_rounds: int) -> dict[str, list[Round]]:
        """Play the rounds of all modes, each starting after the common first round.

        A mode ends when its held-out error has not fallen for some rounds, or when it is far
        above that of another mode. After `n_rounds`, only modes whose error still falls fast go
        on, for up to as many rounds again.
        """
        chains = {mode: [self.first] for mode in modes}
        playing = list(modes)
        for number in range(1, 2 * n_rounds + 1):
            if number > n_rounds:
                playing = [mode for mode in playing if _falls_fast(chains[mode])]
            rounds = side_by_side(partial(self._next, number, chains), playing, self._n_threads)
            for mode, found in zip(playing, rounds, strict=True):
                chains[mode].append(found)
            best = min((chains[mode][-1].predictor.error for mode in playing), default=0.0)
            playing = [mode for mode in playing if _promises(chains[mode], best)]
        return chains

    def _next(self, number: int, chains: dict[str, list[Round]], mode: str) -> Round:
        last = chains[mode][-1]
        matrix = self._matrix(last.predictor, self.rows.X, mode)
        return self._round(mode, number, matrix, last)

    @property
    def _n_threads(self) -> int | None:
        """Threads for modes side by side; on a device or a cluster one mode follows another."""
        given: int | None = self.options.get("n_threads")
        return given if is_host(self.rows.X) else 1

    def replay(
        self,
        mode: str,
        steps: Sequence[Step],
        X: Any,
        columns: Float,
        first: Predictor | None = None,
    ) -> Float:
        """Return the matrix that the rounds of a mode lead to on other rows, with known settings.

        `first` is the predictor of the first round, which the modes have in common.
        """
        matrix = np.ones(len(self.directions))
        for number, step in enumerate(steps):
            known = None if number else first
            predictor = known or self.predictor(matrix, step, X, columns)
            matrix = self._matrix(predictor, X, mode)
        return matrix

    def predictor(self, matrix: Float, step: Step, X: Any, columns: Float) -> Predictor:
        """Fit a predictor on rows that the matrix transforms, without a search."""
        bandwidth, penalty = step
        W = times(matrix, self.directions) / (self.distance(matrix) * bandwidth)
        return refit(W, X, columns, penalty, **self.options)

    def _matrix(self, predictor: Predictor, X: Any, mode: str | None) -> Float:
        outer_product = self.outer_product(predictor, X, mode)
        return metric_matrix(outer_product, mode, predictor.frequencies)

    def outer_product(self, predictor: Predictor, X: Any, mode: str | None) -> Float:
        """Return the sum of outer products of a predictor's gradients, or its diagonal."""
        diagonal = mode == DIAGONAL
        state = RandomState(self.seed)
        return predictor.gradients(X, diagonal=diagonal, random_state=state, **self.options)

    def distance(self, matrix: Float) -> float:
        """Return the median distance between rows that the matrix has transformed."""
        state = RandomState(self.seed)
        return median_distance(transformed(self.sample, matrix), "euclidean", state) or 1.0

    def _round(self, mode: str | None, number: int, matrix: Float, before: Round | None) -> Round:
        distance = self.distance(matrix)
        turned = times(matrix, self.directions) / distance
        found: dict[float, Predictor] = {}

        few = self.rows.first(-(-len(self.rows.columns) // 2))

        def fit(rows: Rows, bandwidth: float, n_frequencies: int, penalty: float) -> Predictor:
            W = turned[:, :n_frequencies] / bandwidth
            return fit_predictor(W, rows, self.held, penalty, **self.options)

        def judge(bandwidth: float) -> float:
            # half of the frequencies and rows suffice to compare bandwidths, in 1/8 of the time
            found[bandwidth] = fit(few, bandwidth, -(-turned.shape[1] // 2), _FIRST_PENALTY)
            return -found[bandwidth].error

        best = search_along(BANDWIDTHS, before.bandwidth if before else _FIRST_BANDWIDTH, judge)
        predictor = fit(self.rows, best, turned.shape[1], found[best].penalty)
        return Round(mode, number, matrix, best, gamma_of(best * distance), predictor)


def gamma_of(length: float) -> float:
    """Return the gamma of the Gaussian kernel of a length scale."""
    return 0.5 / length**2


def _promises(chain: Sequence[Round], best: float) -> bool:
    errors = [one.predictor.error for one in chain]
    stuck = len(errors) - 1 - int(np.argmin(errors)) >= _PATIENCE
    return not stuck and errors[-1] <= _FAR_BEHIND[chain[-1].number > 1] * best


def _falls_fast(chain: Sequence[Round]) -> bool:
    return chain[-1].predictor.error < _FAST * chain[-2].predictor.error


def best_rounds(rounds: Sequence[Round]) -> dict[str | None, Round]:
    """Return the round of the smallest held-out error for each mode."""
    best: dict[str | None, Round] = {}
    for one in rounds:
        if one.mode not in best or one.predictor.error < best[one.mode].predictor.error:
            best[one.mode] = one
    return best


def choose_round(rounds: Sequence[Round], held: Rows) -> Round:
    """Choose the round to use: the simplest mode that is as good as the best on held-out rows.

    The best round of a mode is the one with the smallest error. It counts as good as the best of
    all if it is within half a standard error: of the accuracy for classes, and of the row-by-row
    difference of the squared errors for numbers.
    """
    best = best_rounds(rounds)
    top = max(best.values(), key=lambda one: one.predictor.score)

    def as_good(one: Round) -> bool:
        if held.classes:
            share = top.predictor.score
            error = (share * (1 - share) / len(held.columns)) ** 0.5
            return one.predictor.score >= share - 0.5 * error
        return not is_clearly_lower(top.predictor.losses, one.predictor.losses, errors=0.5)

    order: list[str | None] = [None, *MODES]
    simplest_first = sorted(best.values(), key=lambda one: order.index(one.mode))
    return next(one for one in simplest_first if as_good(one))
