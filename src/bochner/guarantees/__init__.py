"""What can be said of unseen data, with a probability attached.

:mod:`bochner.guarantees.alignment` bounds the alignment loss of a learned kernel, from the rows it
was learned on. :mod:`bochner.guarantees.predictor` bounds the error of a classifier.
:mod:`bochner.guarantees.margin` has the bounds that go with margin features.
:mod:`bochner.guarantees.approximation` says how far features are from the kernel they stand for.
"""

from bochner.guarantees.alignment import Bound, tightest_global_bound, tightest_landmark_bounds
from bochner.guarantees.approximation import (
    Approximation,
    Comparison,
    chernoff_bound,
    compare_approximations,
    empirical_bernstein_bound,
    fourier_uniform_bound,
    gram_bound,
    hoeffding_bound,
    mean_squared_kernel_error,
    mean_squared_kernel_error_bound,
    pointwise_bound,
    predicted_residual,
    relative_gram_bound,
    residual_bound,
    residuals,
)
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
    "Approximation",
    "Bound",
    "Certificate",
    "Comparison",
    "LinearBound",
    "MarginBound",
    "certify",
    "chernoff_bound",
    "clopper_pearson",
    "compare_approximations",
    "competitive_ratio",
    "duality_gap_estimate",
    "empirical_bernstein_bound",
    "fourier_uniform_bound",
    "gram_bound",
    "hoeffding_bound",
    "linear_pac_bayes",
    "margin_bound",
    "mean_squared_kernel_error",
    "mean_squared_kernel_error_bound",
    "pointwise_bound",
    "potential_deviation",
    "potential_sample_size",
    "predicted_residual",
    "realised_regret_bound",
    "regret_bound",
    "regret_step",
    "relative_gram_bound",
    "residual_bound",
    "residuals",
    "tightest_global_bound",
    "tightest_landmark_bounds",
    "wave_norm",
]
