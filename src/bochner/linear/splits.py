"""Splits into rows to fit on and rows to judge by: all splits of the package are made here."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

HELD_OUT = 0.25  # fraction of the training rows that settings are chosen on

Rows = NDArray[np.intp]


def hold_out(
    y: NDArray[Any],
    seed: int | None,
    *,
    classes: bool,
    fraction: float = HELD_OUT,
    n_held: int | None = None,
    max_rows: int | None = None,
) -> tuple[Rows, Rows]:
    """Return positions of the rows to fit on, and of those to judge by, in random order.

    If `y` holds classes, their proportions are kept, provided that every class has two rows and
    the held-out part has room for all classes. `n_held` rows are held out; None takes `fraction`,
    rounded up. If there are more than `max_rows` rows, that many are drawn at random first.
    """
    from sklearn.model_selection import train_test_split  # late: `import bochner` is light

    rows = np.arange(len(y))
    if max_rows is not None and len(y) > max_rows:
        rows = np.random.RandomState(seed).permutation(len(y))[:max_rows]
    stratify = y[rows] if classes and _can_stratify(y[rows], fraction) else None
    size = fraction if n_held is None else n_held
    kept, held = train_test_split(rows, test_size=size, random_state=seed, stratify=stratify)
    return kept, held


def fold_rows(
    y: NDArray[Any], seed: int | None, n_folds: int, *, classes: bool
) -> list[tuple[Rows, Rows]]:
    """Return splits that hold out every row once: rows to fit on and rows to judge by.

    The rows to fit on are in random order. There are at most as many splits as rows. Classes keep
    their proportions if each has two rows.
    """
    from sklearn.model_selection import KFold, StratifiedKFold  # late, as above

    n_folds, state = min(n_folds, len(y)), np.random.RandomState(seed)
    least = np.unique(y, return_counts=True)[1].min() if classes else 0
    kind = StratifiedKFold if least >= 2 else KFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class of fewer rows than splits
        splits = kind(n_folds, shuffle=True, random_state=seed).split(y[:, None], y)
        return [(state.permutation(kept), held) for kept, held in splits]


def count_kept(n_rows: int) -> int:
    """Return how many rows :func:`hold_out` leaves to fit on."""
    return n_rows - math.ceil(HELD_OUT * n_rows)


def _can_stratify(y: NDArray[Any], fraction: float) -> bool:
    _, counts = np.unique(y, return_counts=True)
    return bool(counts.min() >= 2 and int(fraction * len(y)) >= len(counts))
