"""How strongly landmarks should follow the labels, judged on held-out rows.

Two numbers are chosen: how many steps are taken to fit the waves of the pool together, and how
strongly the posteriors follow that fit. With many landmarks, the number of steps that predicts
best on its own is the best, with little strength; with few landmarks, fewer steps and a greater
strength are better. Each pair tried is judged by a ridge regression on the similarities. If there
are few rows, each quarter is held out in turn; if there are many, only one is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import convert, single_rows, to_numpy
from bochner.engine.summaries import rows_at
from bochner.fourier.candidates import Candidates
from bochner.fourier.placement import Landmarks
from bochner.fourier.pool import Pool
from bochner.linear.conjugate import conjugate_path
from bochner.linear.cross_validation import cross_validated_ridge, sum_of_squares
from bochner.linear.normal_equations import NormalEquations
from bochner.linear.paired import best_or_first
from bochner.linear.search import search_along
from bochner.linear.splits import HELD_OUT, Rows, fold_rows, hold_out
from bochner.targets import Target

Float = NDArray[np.float64]

STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
STEPS = (1, 2, 4, 8, 16, 32, 64)
_MOST_ROWS = 4000  # on which they are tried
_FEW_ROWS = 2000  # up to which each row is held out once
_FEWEST_ROWS = 20  # fewer are not informative
_MOST_VALUES = 2**25  # feature values held in memory at once
_WORSE = 2  # numbers of steps in a row without improvement, after which the search ends
_CLEARLY_WORSE = 1.02  # times the least error: twice as many steps will not be better either
_AS_GOOD = 1.01  # times the least error: fewer steps suffice, and depend less on rounding


def most_rows(n_frequencies: int) -> int:
    """Number of rows for which the waves of a pool are held in memory at once."""
    return max(_FEWEST_ROWS, _MOST_VALUES // (2 * n_frequencies))


def fit_together(pool: Pool, features: Any, targets: Float, n_steps: int) -> Pool:
    """Return the pool with scores from a joint fit of all its waves; for 1 step, the pool itself.

    Parameters
    ----------
    pool : Pool
        The pool.
    features : array of shape (n, 2 N)
        :meth:`Pool.features` of rows, on any device.
    targets : array of shape (n, K)
        Centred columns of the labels of these rows.
    n_steps : int
        Number of conjugate gradient steps.
    """
    if n_steps == 1:
        return pool
    *_, (coefficients, _) = conjugate_path(features, targets, n_steps)
    return pool.following(coefficients)


@dataclass(frozen=True)
class Trial:
    """Landmarks learned from a part of the rows, and held-out rows to judge them by.

    Attributes
    ----------
    pool : Pool
        Pool of the rows that are kept.
    n : int
        Number of rows kept; the held-out rows come after them.
    features, plain : arrays of shapes (rows, 2 N) and (rows, n_landmarks)
        The waves of the pool and the plain kernel.
    targets : array of shape (rows, K)
        Columns of the labels.
    """

    pool: Pool
    n: int
    features: Any
    plain: Float
    targets: Float

    @classmethod
    def of_rows(
        cls,
        candidates: Candidates,
        X: Any,
        y: NDArray[Any],
        target: Target,
        place: Callable[[Any, NDArray[Any], Target], Landmarks],
        split: tuple[Rows, Rows],
        **options: Any,
    ) -> Trial:
        """Make a trial on a split of the rows; see :func:`make_trials`."""
        kept, both = split[0], np.concatenate(split)
        known = Target.of(y[kept], "regression" if target.classes is None else "classification")
        rows, n = rows_at(X, both), len(kept)
        landmarks = place(rows[:n, ...], y[kept], known)
        rows = single_rows(rows)
        pool = Pool.of_rows(candidates, rows[:n, ...], y[kept], known, landmarks, **options)
        targets: Any = target.columns_and_signs(y, centred=True)[0][both]
        if target.classes is not None and known.classes is not None:
            # all rows of a small class may be held out
            targets = targets[:, np.isin(target.classes, known.classes)]
        plain = to_numpy(pool.kernel_values(rows, **options))
        return cls(pool, n, pool.features(rows, **options), plain, targets)

    @cached_property
    def _fits(self) -> dict[int, tuple[Any, float]]:
        """Coefficients and mean squared error on held-out rows, by number of steps."""
        n, fits = self.n, dict[int, tuple[Any, float]]()
        held, aims, errors = self.features[n:, ...], self.targets[n:], list[float]()
        path = conjugate_path(self.features[:n, ...], self.targets[:n], STEPS[-1])
        for t, (coefficients, intercepts) in enumerate(path, start=1):
            if t not in STEPS:
                continue
            predicted = to_numpy(held @ convert(coefficients, held)) + to_numpy(intercepts)
            errors.append(float(np.mean((predicted - aims) ** 2)))
            fits[t] = coefficients, errors[-1]
            no_better = len(errors) > _WORSE and errors[-1 - _WORSE] == min(errors)
            if no_better or errors[-1] > _CLEARLY_WORSE * min(errors):
                break
        return fits

    @property
    def errors_by_steps(self) -> dict[int, float]:
        """Mean squared error on held-out rows after each number of steps that was tried."""
        return {t: error for t, (_, error) in self._fits.items()}

    @cached_property
    def _waves(self) -> Any:
        return self.pool.waves()

    def followed(self, n_steps: int) -> Callable[[float], Float]:
        """Return a function from strengths to squared errors, one per held-out row.

        A strength of 0 is the plain kernel.
        """
        n, targets, pool = self.n, self.targets, self.pool
        if n_steps in STEPS[1:] and n_steps in self._fits:
            pool = pool.following(self._fits[n_steps][0])
        else:
            pool = fit_together(pool, self.features[:n, ...], targets[:n], n_steps)

        def errors(beta: float) -> Float:
            each = self.plain
            if beta:
                added = pool.coefficients(beta, self._waves)
                mixed = np.concatenate([added.real, added.imag])
                each = each + to_numpy(self.features @ convert(mixed, self.features))
            return held_out_errors(each[:n], targets[:n], each[n:], targets[n:])

        return errors


def make_trials(
    candidates: Candidates,
    X: Any,
    y: NDArray[Any],
    target: Target,
    place: Callable[[Any, NDArray[Any], Target], Landmarks],
    random_state: RandomState,
    **options: Any,
) -> list[Trial]:
    """Make trials on some of the rows; none if there are too few.

    `place` returns landmarks, given rows, their labels and the target. It sees no held-out row: a
    landmark there would be a column of zeros for the rows that the model is fitted on.
    """
    seed, classes = int(random_state.randint(2**31 - 1)), target.classes is not None
    if len(y) < _FEWEST_ROWS:
        return []
    if len(y) <= _FEW_ROWS:
        splits = fold_rows(y, seed, round(1 / HELD_OUT), classes=classes)
    else:
        most = min(_MOST_ROWS, most_rows(candidates.n))
        splits = [hold_out(y, seed, classes=classes, max_rows=most)]
    differ = [split for split in splits if (y[split[0]] != y[split[0][0]]).any()]
    return [Trial.of_rows(candidates, X, y, target, place, s, **options) for s in differ]


def best_steps(trials: Sequence[Trial]) -> list[int]:
    """Return the numbers of steps to try: the best one, the one with half its logarithm, and 1.

    The best is the smallest that predicts held-out rows about as well as any, on its own; it is 1
    without a trial. Repeats are left out.
    """
    looked_at = [trial.errors_by_steps for trial in trials]
    common = [t for t in STEPS if all(t in errors for errors in looked_at)]
    sums = {t: sum(errors[t] for errors in looked_at) for t in common}
    best = next(t for t in common if sums[t] <= _AS_GOOD * min(sums.values()))
    return list(dict.fromkeys([best, STEPS[STEPS.index(best) // 2], 1]))


def best_strength(trials: Sequence[Trial], steps: Sequence[int]) -> tuple[int, float]:
    """Return the steps and the strength that predict held-out rows best; 0 is the plain kernel.

    Strengths are searched for the first of the `steps`; for another one only if the first
    strength tried does better than all before. Fewer steps come with greater strengths.
    """
    if not trials:
        return steps[0], 0.0
    errors: dict[tuple[int, float], Float] = {}
    start = len(STRENGTHS) // 2
    for position, n_steps in enumerate(steps):
        judges = [trial.followed(n_steps) for trial in trials]

        def score(beta: float, n_steps: int = n_steps, judges: Any = judges) -> float:
            key = n_steps, beta
            if key not in errors:
                errors[key] = np.concatenate([judge(beta) for judge in judges])
            return -float(errors[key].mean())

        if position == 0:
            score(0.0)
        first, before = STRENGTHS[start + position], [-e.mean() for e in errors.values()]
        if score(first) > max(before) or position == 0:
            search_along(STRENGTHS, first, score)
    return list(errors)[best_or_first(list(errors.values()))]


def held_out_errors(features: Any, targets: Float, held: Any, held_targets: Float) -> Float:
    """Return the squared errors, one per held-out row, of a cross-validated ridge regression."""
    equations = NormalEquations.from_rows(features, targets)
    coefficients, intercepts = cross_validated_ridge(equations, sum_of_squares(targets))
    return np.asarray(((held @ coefficients + intercepts - held_targets) ** 2).sum(axis=1))
