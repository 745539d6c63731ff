"""Parameters that all maps over frequencies share, and what they accept."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from bochner.fourier.bandwidth import GAMMA_RULES
from bochner.kernels import STANDARD

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(STANDARD)), HasMethods(["sample", "__call__"])],
    "gamma": [StrOptions(set(GAMMA_RULES)), Interval(Real, 0, None, closed="neither")],
    "n_jobs": [None, Integral],
    "memory_budget": [None, Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}
