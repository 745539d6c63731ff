"""Guarantees for unseen data: bounds that hold with a stated probability.

==========================================  =======================================================
a learned kernel's alignment loss           :mod:`bochner.guarantees.alignment`: what to report;
                                            :mod:`~bochner.guarantees.pac_bayes`: the formulas;
                                            :mod:`~bochner.guarantees.letarte_theorems`: the
                                            theorems of Letarte et al. (2019)
a classifier's error rate                   :mod:`bochner.guarantees.predictor`
the error of features that nest             :mod:`bochner.guarantees.residuals`,
in a kernel                                 :mod:`~bochner.guarantees.concentration`
the error of any features                   :mod:`bochner.guarantees.kernel_error`,
                                            :mod:`~bochner.guarantees.uniform`; of several maps
                                            :mod:`~bochner.guarantees.comparison`
a kernel learned for its margin             :mod:`bochner.guarantees.margin` (Theorem 4.3),
(Bullins et al. 2018)                       :mod:`~bochner.guarantees.regret` (Theorem 4.1),
                                            :mod:`~bochner.guarantees.potential` (Theorem 4.4)
==========================================  =======================================================

Bounds meant to be reported are returned as a :class:`Guarantee`; where their conditions are found
not to hold, :class:`ConditionsNotMet` is raised.
"""

from bochner.guarantees.alignment import (
    tightest_global_bound,
    tightest_landmark_bounds,
    uninformative_loss,
)
from bochner.guarantees.comparison import Approximation, Comparison, compare_approximations
from bochner.guarantees.concentration import (
    chernoff_bound,
    empirical_bernstein_bound,
    hoeffding_bound,
)
from bochner.guarantees.divergences import kl_to_uniform, power_divergence
from bochner.guarantees.guarantee import ConditionsNotMet, Guarantee
from bochner.guarantees.kernel_error import (
    mean_squared_kernel_error,
    mean_squared_kernel_error_bound,
)
from bochner.guarantees.letarte_theorems import (
    corollary_2,
    corollary_5,
    theorem_1,
    theorem_3,
    theorem_4,
)
from bochner.guarantees.margin import margin_bound, wave_norm
from bochner.guarantees.pac_bayes import catoni, pac_bayes_kl, sharp, smallest_over_t
from bochner.guarantees.potential import potential_deviation, potential_sample_size
from bochner.guarantees.predictor import certify, clopper_pearson, linear_pac_bayes
from bochner.guarantees.regret import (
    competitive_ratio,
    duality_gap_estimate,
    realised_regret_bound,
    regret_bound,
    regret_step,
)
from bochner.guarantees.residuals import (
    gram_bound,
    pointwise_bound,
    predicted_residual,
    relative_gram_bound,
    residual_bound,
    residuals,
)
from bochner.guarantees.samples import effective_pairs, landmark_pairs, variance_bound
from bochner.guarantees.uniform import fourier_uniform_bound

__all__ = [
    "Approximation",
    "Comparison",
    "ConditionsNotMet",
    "Guarantee",
    "catoni",
    "certify",
    "chernoff_bound",
    "clopper_pearson",
    "compare_approximations",
    "competitive_ratio",
    "corollary_2",
    "corollary_5",
    "duality_gap_estimate",
    "effective_pairs",
    "empirical_bernstein_bound",
    "fourier_uniform_bound",
    "gram_bound",
    "hoeffding_bound",
    "kl_to_uniform",
    "landmark_pairs",
    "linear_pac_bayes",
    "margin_bound",
    "mean_squared_kernel_error",
    "mean_squared_kernel_error_bound",
    "pac_bayes_kl",
    "pointwise_bound",
    "potential_deviation",
    "potential_sample_size",
    "power_divergence",
    "predicted_residual",
    "realised_regret_bound",
    "regret_bound",
    "regret_step",
    "relative_gram_bound",
    "residual_bound",
    "residuals",
    "sharp",
    "smallest_over_t",
    "theorem_1",
    "theorem_3",
    "theorem_4",
    "tightest_global_bound",
    "tightest_landmark_bounds",
    "uninformative_loss",
    "variance_bound",
    "wave_norm",
]
