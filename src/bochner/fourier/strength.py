"""How strongly landmarks should follow the labels: judged on rows they have not learned from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import to_numpy
from bochner.engine.summaries import rows_at
from bochner.fourier.candidates import Candidates
from bochner.fourier.placement import Landmarks
from bochner.fourier.pool import Pool
from bochner.linear.cross_validation import cross_validated_ridge, sum_of_squares
from bochner.linear.normal_equations import NormalEquations
from bochner.linear.paired import best_or_first
from bochner.linear.search import search_along
from bochner.linear.splits import hold_out
from bochner.targets import Target

Float = NDArray[np.float64]

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0)
_MOST_ROWS = 6000  # that they are tried on
_FEWEST_ROWS = 20  # fewer say nothing


def best_strength(
    candidates: Candidates,
    X: Any,
    y: NDArray[Any],
    target: Target,
    place: Callable[[Any, NDArray[Any], Target], Landmarks],
    random_state: RandomState,
    **options: Any,
) -> float:
    """The strength whose similarities predict held-out rows best; 0 is the plain kernel.

    `place` gives landmarks from rows, their labels and what these are. It sees no held-out row: a
    landmark there would be a column of zeros to the rows that a model is fitted on.
    """
    seed, classes = int(random_state.randint(2**31 - 1)), target.classes is not None
    if len(y) < _FEWEST_ROWS:
        return 0.0
    kept, held = hold_out(y, seed, classes=classes, max_rows=_MOST_ROWS)
    if (y[kept] == y[kept[0]]).all():
        return 0.0
    known = Target.of(y[kept], "classification" if classes else "regression")
    rows, n = rows_at(X, np.concatenate([kept, held])), len(kept)
    landmarks = place(rows[:n, ...], y[kept], known)
    pool = Pool.of_rows(candidates, rows[:n, ...], y[kept], known, landmarks, **options)
    waves, columns = pool.waves(), target.columns_and_signs(y, centred=True)[0]
    plain = to_numpy(pool.kernel_values(rows, **options))
    errors = {0.0: held_out_errors(plain[:n], columns[kept], plain[n:], columns[held])}

    def judge(beta: float) -> float:
        surplus = pool.mixed_waves(rows, pool.coefficients(beta, waves), **options)
        each = plain + to_numpy(surplus)
        errors[beta] = held_out_errors(each[:n], columns[kept], each[n:], columns[held])
        return -float(errors[beta].mean())

    search_along(STRENGTHS, STRENGTHS[len(STRENGTHS) // 2], judge)
    return list(errors)[best_or_first(list(errors.values()))]


def held_out_errors(features: Any, targets: Float, held: Any, held_targets: Float) -> Float:
    """Squared errors, one per held-out row, of a cross-validated ridge regression."""
    equations = NormalEquations.from_rows(features, targets)
    coefficients, intercepts = cross_validated_ridge(equations, sum_of_squares(targets))
    return np.asarray(((held @ coefficients + intercepts - held_targets) ** 2).sum(axis=1))
