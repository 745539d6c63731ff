"""How many frequencies to choose by the labels: as many as help on held-out rows.

Chosen frequencies may fit the noise of the rows they were chosen on, and where the target varies
in all directions a random map of the same width is better. So a map has `t` chosen frequencies,
and the others are drawn from its prior. The values tried for `t` are 0, the number of frequencies
that gained more than chance, all of them, and half way between these two. They are judged by the
squared error of a ridge regression on held-out rows, and `t` is 0 unless another value is better
by a standard error of the paired difference. Apart from the luck of the held-out rows, a map
chosen in this way is not worse than the random one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import convert, to_numpy
from bochner.engine.rowwise import map_batches
from bochner.engine.summaries import rows_at
from bochner.fourier.selection import select_frequencies
from bochner.linear.cross_validation import cross_validated_ridge, sum_of_squares
from bochner.linear.normal_equations import NormalEquations
from bochner.linear.paired import best_or_first
from bochner.linear.splits import Rows

Float = NDArray[np.float64]

MAX_ROWS = 6000  # with which the choice is made, a quarter of them held out
MOST_CHOSEN = 256  # frequencies; beyond that, random ones do as well and cost less
_LEAST_HELD = 10  # held-out rows; fewer are not informative
_BATCH = 1024


def count_that_helps(
    X: Any,
    targets: Float,
    W: NDArray[Any],
    prior: NDArray[Any],
    split: tuple[Rows, Rows],
    *,
    weights: Float | None = None,
    **options: Any,
) -> int:
    """Return how many frequencies to choose, in place of the last ones of the prior.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, on any device; those of a dask array are brought to the host.
    targets : array of shape (n, K)
        Numbers to predict, on the host.
    W, prior : arrays of shape (d, N) and (d, D)
        Candidates, and the random map, one frequency per column.
    split : pair of arrays
        Positions of rows to choose with, and of those to judge by.
    weights : array of shape (n,), optional
        Counts of the rows.
    **options
        Options of :func:`~bochner.fourier.selection.select_frequencies`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.fourier.validation import count_that_helps
    >>> rng = np.random.default_rng(0)
    >>> X, W, prior = rng.normal(size=(400, 6)), rng.normal(size=(6, 500)), rng.normal(size=(6, 8))
    >>> split = np.arange(300), np.arange(300, 400)
    >>> count_that_helps(X, np.sin(2 * X[:, :1]), W, prior, split)
    8
    >>> count_that_helps(X, rng.normal(size=(400, 1)), W, prior, split)
    0
    """
    size = min(prior.shape[1], W.shape[1], MOST_CHOSEN, len(split[0]) // 4)
    if len(split[1]) < _LEAST_HELD or size == 0:
        return 0
    parts = [_part(X, targets, weights, rows) for rows in split]
    found = select_frequencies(*parts[0][:2], W, size, weights=parts[0][2], **options)
    beyond = found.n_beyond_chance
    counts = sorted({0, beyond, (beyond + size + 1) // 2, size})
    pool = np.hstack([W[:, found.index], prior])
    engine_options = {k: v for k, v in options.items() if k in ("n_threads", "memory_budget")}
    errors = _held_out_errors(parts, pool, size, counts, engine_options)
    return counts[best_or_first(list(errors.T), parts[1][2])]


def _part(X: Any, targets: Float, weights: Float | None, rows: Rows) -> tuple[Any, Float, Any]:
    return rows_at(X, rows), targets[rows], None if weights is None else weights[rows]


def _held_out_errors(
    parts: list[tuple[Any, Float, Any]],
    pool: NDArray[Any],
    size: int,
    counts: list[int],
    options: dict[str, Any],
) -> Float:
    """Return the squared errors of the held-out rows (rows) for each count (columns)."""
    (X, Y, weights), (held_X, held_Y, _) = parts

    def waves(rows: Any) -> Any:
        return engine.features(rows, pool, scale=1.0, **options)

    equations = NormalEquations.from_map(waves, X, Y, weights)
    n_pool, K = pool.shape[1], Y.shape[1]
    coefficients = np.zeros((2 * n_pool, len(counts) * K))
    intercepts = np.zeros(len(counts) * K)
    squares = sum_of_squares(Y, weights)
    for k, count in enumerate(counts):
        here = np.r_[:count, size : n_pool - count]
        columns = np.r_[here, n_pool + here]
        of_count = slice(k * K, (k + 1) * K)
        solution = cross_validated_ridge(equations, squares, columns)
        coefficients[columns, of_count], intercepts[of_count] = solution

    def predict(rows: Any) -> Any:
        features = waves(rows)
        return features @ convert(coefficients, features)

    predictions = to_numpy(map_batches(predict, held_X, _BATCH)) + intercepts
    errors = (predictions.reshape(len(held_Y), len(counts), K) - held_Y[:, None, :]) ** 2
    return np.asarray(errors.sum(axis=2), dtype=np.float64)
