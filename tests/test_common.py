"""scikit-learn's own checks, on every estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import (
    FourierFeatures,
    GradientMetric,
    LandmarkSimilarities,
    MarginFourierFeatures,
    MarginHarmonicFeatures,
    PosteriorFourierFeatures,
    RelevanceMetric,
)

# These checks set n_components = 1 themselves. A paired map refuses an odd number (its columns
# come in twos), so they cannot run on it as they are; the last test runs them with 2 instead.
SETS_ONE_COMPONENT = dict.fromkeys(
    (
        "check_dont_overwrite_parameters",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit2d_1sample",
        "check_fit2d_1feature",
        "check_fit2d_predict1d",
    ),
    "the check sets n_components=1, which a paired map refuses; run below with 2 instead",
)


# These checks shuffle the repeated rows; tests/test_weights.py compares them in their order.
SHUFFLES_ROWS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "the check shuffles the rows, and rows drawn or held out at random go by their order",
)


class TwoComponents:
    """Mixed into a paired map, which then understands the checks' `n_components = 1` as 2."""

    def __setattr__(self, name, value):
        super().__setattr__(name, 2 if (name, value) == ("n_components", 1) else value)


class TwoFourierFeatures(TwoComponents, FourierFeatures):
    pass


class TwoPosteriorFourierFeatures(TwoComponents, PosteriorFourierFeatures):
    pass


class TwoMarginFourierFeatures(TwoComponents, MarginFourierFeatures):
    pass


def expected_failures(estimator):
    if isinstance(estimator, (PosteriorFourierFeatures, MarginFourierFeatures)):
        failures = SETS_ONE_COMPONENT.copy()
        del failures["check_fit2d_1sample"]  # one row is refused first, as the check wants
        return failures
    held_out = isinstance(estimator, LandmarkSimilarities) and estimator.beta == "auto"
    at_random = held_out or isinstance(estimator, RelevanceMetric)
    if at_random or getattr(estimator, "landmarks", None) == "random":
        return SHUFFLES_ROWS
    return SETS_ONE_COMPONENT if getattr(estimator, "paired", False) else {}


@parametrize_with_checks(
    [
        FourierFeatures(),
        FourierFeatures(paired=False),
        PosteriorFourierFeatures(n_components=10, n_candidates=50),
        PosteriorFourierFeatures(
            n_components=10, n_candidates=50, divergence="chi2", draw="without_replacement"
        ),
        MarginFourierFeatures(n_components=4, n_chains=4, n_steps=2),
        MarginFourierFeatures(n_components=4, n_chains=4, n_steps=2, dual_update="gradient"),
        GradientMetric(n_frequencies=16, n_rounds=2),
        RelevanceMetric(n_steps=2),
        LandmarkSimilarities(n_components=2),
        LandmarkSimilarities(n_components=2, beta=1.0),
        LandmarkSimilarities(n_components=2, landmarks="random", posterior=None),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", SETS_ONE_COMPONENT)
@pytest.mark.parametrize(
    "estimator",
    [
        TwoFourierFeatures(),
        TwoPosteriorFourierFeatures(n_candidates=50),
        TwoMarginFourierFeatures(n_chains=4, n_steps=2),
    ],
)
def test_checks_that_set_one_component(check, estimator):
    getattr(estimator_checks, check)(type(estimator).__name__, clone(estimator))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (FourierFeatures, "n_components"),
        (PosteriorFourierFeatures, "n_candidates"),
        (LandmarkSimilarities, "n_frequencies"),
        (MarginFourierFeatures, "n_components"),
        (MarginFourierFeatures, "n_chains"),
        (MarginFourierFeatures, "n_steps"),
        (MarginHarmonicFeatures, "max_degree"),
        (MarginHarmonicFeatures, "budget"),
    ],
)
def test_numbers_that_no_memory_holds_are_refused_by_name(kind, name, rng):
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match=f"'{name}' parameter of {kind.__name__} must be"):
        kind(**{name: 10**30}).fit(X, y)
