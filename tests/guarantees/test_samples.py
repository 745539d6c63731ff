"""What rows are worth, by hand and by enumeration."""

import numpy as np
import pytest
from scipy import special

from bochner.guarantees import effective_pairs, landmark_pairs, variance_bound


def test_sample_sizes_and_variance_by_hand():
    assert [effective_pairs(n) for n in (2, 3, 10)] == [1, 1, 5]
    assert (landmark_pairs(10), landmark_pairs(10, in_sample=False)) == (9, 10)
    assert variance_bound(2) == pytest.approx(1 / 4)  # one pair, a loss in [0, 1]
    assert variance_bound(10) == pytest.approx(9 / 340)
    assert variance_bound(10, binary=False) == pytest.approx(1 / 20)
    n = np.arange(2, 1000)
    assert all(variance_bound(k) <= variance_bound(k, binary=False) for k in n.tolist())


def test_the_variance_bound_for_two_classes_is_attained():
    """Enumerate y in {-1, 1}^n at the frequency 0, for the worst share of each class."""
    n = 8
    a = np.sqrt((n - 2) / (2 * n - 3))
    ones = np.arange(n + 1)
    probability = special.binom(n, ones) * ((1 + a) / 2) ** ones * ((1 - a) / 2) ** (n - ones)
    loss = 0.5 - ((2 * ones - n) ** 2 - n) / (2 * n * (n - 1))
    mean = probability @ loss
    assert mean == pytest.approx((1 - a**2) / 2)
    assert probability @ (loss - mean) ** 2 == pytest.approx(variance_bound(n))
    assert variance_bound(n) > 1 / (4 * n)  # Lemma 6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: effective_pairs(1), "n must be .* got 1"),
        (lambda: landmark_pairs(True), "n must be .* got True"),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
