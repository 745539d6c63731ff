"""Means and their standard errors: how they are computed, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def mean_and_error(values: Sequence[float], overlap: float = 0.0) -> tuple[float, float]:
    """Return the mean and its standard error over the seeds, ``s sqrt(1 / n + overlap)``.

    Give ``n_test / n_train`` as `overlap` if the values are from random splits of the same rows,
    which are not independent (Nadeau and Bengio). The error of a single value is nan; without
    values both are.

    Examples
    --------
    >>> from bochner.records.statistics import mean_and_error
    >>> mean, error = mean_and_error([97.0, 99.0])
    >>> mean, round(error, 6), mean_and_error([97.0])
    (98.0, 1.0, (97.0, nan))
    """
    n = len(values)
    if not n:
        return math.nan, math.nan
    error = float(np.std(values, ddof=1)) * math.sqrt(1 / n + overlap) if n > 1 else math.nan
    return float(np.mean(values)), error


def format_mean(
    mean: float | None,
    error: float | None = None,
    form: str = ".2f",
    error_form: str | None = None,
    missing: str = "-",
) -> str:
    """Format a mean and its standard error; None and nan stand for what is not known.

    The format of the error is that of the mean by default; `missing` is written without a mean.

    Examples
    --------
    >>> from bochner.records.statistics import format_mean
    >>> format_mean(97.3, 0.25), format_mean(0.00123, 0.0004, ".3g", ".1g"), format_mean(None)
    ('97.30 ± 0.25', '0.00123 ± 0.0004', '-')
    """
    if mean is None or math.isnan(mean):
        return missing
    text = format(mean, form)
    if error is None or math.isnan(error):
        return text
    return f"{text} ± {format(error, form if error_form is None else error_form)}"


def is_noise(mean: float, error: float) -> bool:
    """Whether a mean difference is at most two standard errors; False for a single seed."""
    return not math.isnan(error) and abs(mean) <= 2 * error
