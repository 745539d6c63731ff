"""What can be said of unseen data, with a probability attached.

:mod:`bochner.guarantees.alignment` bounds the alignment loss of a learned kernel, from the rows it
was learned on. :mod:`bochner.guarantees.predictor` bounds the error of a classifier.
"""

from bochner.guarantees.alignment import Bound, tightest_global_bound, tightest_landmark_bounds
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
    "certify",
    "clopper_pearson",
    "linear_pac_bayes",
    "tightest_global_bound",
    "tightest_landmark_bounds",
]
