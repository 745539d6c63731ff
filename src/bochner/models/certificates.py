"""Certificates of a kernel model: bounds from held-out rows that hold for all settings at once.

With several splits, each gives a bound for the model that was fitted without its held-out rows,
and the mean of the bounds is a bound for the mean over these models.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import betainccinv

from bochner.guarantees.guarantee import Guarantee
from bochner.guarantees.predictor import clopper_pearson
from bochner.models.settings import Tried

DELTA = 0.05
_SHARE = 0.9  # share of the rows whose largest error the certificate is about


def certify_error_rate(best: Tried, parts: Sequence[slice], n_settings: int) -> Guarantee:
    """Return a bound on the error rate; `parts` are the held-out rows of each split."""
    assert best.wrong is not None
    delta = DELTA / (n_settings * len(parts))
    bounds = [clopper_pearson(int(best.wrong[part].sum()), _size(part), delta) for part in parts]
    errors = int(best.wrong.sum())
    return Guarantee(
        "error rate",
        float(np.average(bounds, weights=[_size(part) for part in parts])),
        DELTA,
        f"Clopper and Pearson for {n_settings} settings at once",
        _sample(parts),
        _assumptions(parts),
        observed=errors / len(best.wrong),
        details={"errors": errors},
        percent=True,
    )


def certify_large_errors(
    best: Tried, parts: Sequence[slice], n_settings: int, spread: float
) -> Guarantee:
    """Return a bound on the share of rows whose error exceeds that of nine in ten held-out rows.

    `spread` is the unit of the errors.
    """
    delta = DELTA / (n_settings * len(parts))
    shares, limits = [], []
    for part in parts:
        losses = np.sort(best.losses[part])
        rank = min(len(losses) - 1, int(np.ceil(_SHARE * len(losses))) - 1)
        # the share of the distribution beyond an order statistic is Beta-distributed
        beyond = len(losses) - 1 - rank
        known = beyond < len(losses) - 1
        shares.append(betainccinv(beyond + 1, len(losses) - beyond, delta) if known else 1.0)
        limits.append(float(losses[rank]))
    limit = max(limits)  # the share beyond it is no larger than beyond any of them
    return Guarantee(
        "share of rows with a larger error",
        float(np.average(shares, weights=[_size(part) for part in parts])),
        DELTA,
        f"order statistics for {n_settings} settings at once",
        _sample(parts),
        _assumptions(parts),
        observed=float(np.mean(best.losses > limit)),
        details={"error": limit**0.5 * spread},
        percent=True,
    )


def _size(part: slice) -> int:
    return int(part.stop - part.start)


def _sample(parts: Sequence[slice]) -> str:
    n = sum(map(_size, parts))
    return f"{n} held-out rows" + (f", in {len(parts)} parts" if len(parts) > 1 else "")


def _assumptions(parts: Sequence[slice]) -> tuple[str, ...]:
    trained = "the same setting trained without the held-out rows"
    if len(parts) > 1:
        trained += f", in the mean over {len(parts)} models"
    return "independent rows", trained
