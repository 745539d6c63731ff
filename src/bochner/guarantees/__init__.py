"""What can be said of unseen data, with a probability attached.

:mod:`bochner.guarantees.alignment` bounds the alignment loss of a learned kernel, from the rows it
was learned on. :mod:`bochner.guarantees.predictor` bounds the error of a classifier.
:mod:`bochner.guarantees.margin` has the bounds that go with margin features.
"""

from bochner.guarantees.alignment import Bound, tightest_global_bound, tightest_landmark_bounds
from bochner.guarantees.margin import (
    MarginBound,
    competitive_ratio,
    duality_gap_estimate,
    margin_bound,
    potential_deviation,
    potential_sample_size,
    realised_regret_bound,
    regret_bound,
    regret_step,
    wave_norm,
)
from bochner.guarantees.predictor import (
    Certificate,
    LinearBound,
    certify,
    clopper_pearson,
    linear_pac_bayes,
)

__all__ = [
    "Bound",
    "Certificate",
    "LinearBound",
    "MarginBound",
    "certify",
    "clopper_pearson",
    "competitive_ratio",
    "duality_gap_estimate",
    "linear_pac_bayes",
    "margin_bound",
    "potential_deviation",
    "potential_sample_size",
    "realised_regret_bound",
    "regret_bound",
    "regret_step",
    "tightest_global_bound",
    "tightest_landmark_bounds",
    "wave_norm",
]
