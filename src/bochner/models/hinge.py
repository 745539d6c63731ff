"""The squared hinge loss instead of squares, where it separates many rows better.

With squares, all classes share one Gram matrix; with the squared hinge loss, every class has
Newton steps of its own, which only use the rows whose margins are short.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from bochner.engine.places import cast, is_dask, single_dtype, to_numpy
from bochner.linear.heads import SquaredHingeClassifier
from bochner.models.settings import HINGE, Labelled, Space, Tried, losses_of

PENALTIES = (1e-4, 1e-5, 1e-6, 1e-7)  # per row, as in ridge regression
KEPT_BYTES = 2**31  # of features that are computed once, not in every step
_STEPS = 6  # approximate number of Newton steps
_SHORT = 0.5  # rows whose margins with squares are below this will be used by the steps
_MOST_WORK = 8.0  # times the work of the Gram matrix


def is_affordable(squares: Tried, held: Labelled) -> bool:
    """Whether Newton steps take no more than several times as long as the ridge regression did."""
    short = (squares.decisions * held.columns < _SHORT).mean(axis=0).sum()
    return bool(_STEPS * short <= _MOST_WORK)


def try_hinge(
    squares: Tried,
    feature_map: Any,
    space: Space,
    rows: Labelled,
    held: Labelled,
    penalty: float | None = None,
) -> Tried:
    """Try the setting of a ridge regression with the squared hinge loss; the best penalty."""
    begun = time.perf_counter()
    n_rows = squares.n_rows
    X, y = space.X[:n_rows, :], rows.y[:n_rows]
    weights = None if rows.weights is None else rows.weights[:n_rows]
    features, held_features = (single_features(feature_map, part) for part in (X, space.held_X))
    total = float(n_rows if weights is None else weights.sum())
    best = None
    penalties = PENALTIES if penalty is None else (penalty,)
    heads = SquaredHingeClassifier().path(
        features, y, [1 / (2 * each * total) for each in penalties], weights
    )
    for each, head in zip(penalties, heads, strict=True):
        decisions = to_numpy(head.decision_function(held_features)).reshape(len(held.y), -1)
        tried = Tried(
            replace(squares.setting, penalty=each, loss=HINGE),
            *losses_of(decisions, held, "classification"),
            decisions,
            held.weights,
            n_rows,
            time.perf_counter() - begun,
        )
        if best is not None and tried.loss >= best.loss:
            break
        best = tried
    assert best is not None
    return replace(best, seconds=time.perf_counter() - begun)


def fit_hinge(
    head: SquaredHingeClassifier, feature_map: Any, X: Any, y: NDArray[Any], weights: Any
) -> SquaredHingeClassifier:
    """Fit the head to mapped rows, all at once if their features are few enough to be kept."""
    n_columns = single_features(feature_map, X[:1, :]).shape[1]
    if is_dask(X) or 4 * X.shape[0] * n_columns > KEPT_BYTES:
        return head.fit_map(feature_map, X, y, weights)
    return head.fit(single_features(feature_map, X), y, weights).to_host()


def single_features(feature_map: Any, X: Any) -> Any:
    """Return features in float32, which is precise enough for Newton steps."""
    return feature_map.transform(cast(X, single_dtype(X)))
