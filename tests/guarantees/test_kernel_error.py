"""The mean squared error over pairs: right, unbiased, and bounded as often as it says."""

import numpy as np
import pytest
from scipy import sparse

from bochner import FourierFeatures
from bochner.guarantees import (
    kernel_error,
    mean_squared_kernel_error,
    mean_squared_kernel_error_bound,
)
from bochner.kernels import Gaussian
from tests.guarantees.simulation import allowed

PAIR = np.zeros((2, 1))


@pytest.mark.parametrize("block", [4, 7, 1024])
def test_mean_squared_error_is_that_of_all_pairs(block, rng, monkeypatch):
    monkeypatch.setattr(kernel_error, "_BLOCK", block)
    X, kernel = rng.normal(size=(15, 3)), Gaussian(gamma=0.4)
    features = rng.normal(size=(15, 5))
    squares = (kernel(X) - features @ features.T) ** 2
    by_hand = np.mean([squares[i, j] for i in range(15) for j in range(15) if i != j])
    assert mean_squared_kernel_error(features, kernel, X) == pytest.approx(by_hand)
    assert mean_squared_kernel_error(features, kernel, sparse.csr_matrix(X)) == pytest.approx(
        by_hand
    )


def test_mean_squared_error_is_unbiased_and_covered(rng):
    fourier = FourierFeatures(n_components=20, gamma=0.5, random_state=0).fit(np.zeros((2, 2)))
    kernel, n, delta, repetitions = Gaussian(gamma=0.5), 40, 0.2, 200
    pairs = rng.normal(size=(2, 400_000, 2))
    exact = np.exp(-0.5 * ((pairs[0] - pairs[1]) ** 2).sum(axis=1))
    waves = np.cos((pairs[0] - pairs[1]) @ fourier.frequencies_).mean(axis=1)
    truth = ((exact - waves) ** 2).mean()
    found = []
    for _ in range(repetitions):
        X = rng.normal(size=(n, 2))
        found.append(mean_squared_kernel_error(fourier.transform(X), kernel, X))
    error = np.std(found) / np.sqrt(repetitions)
    assert abs(np.mean(found) - truth) < 4 * error
    bounds = np.array([mean_squared_kernel_error_bound(value, n, delta) for value in found])
    assert np.mean(bounds < truth) <= allowed(repetitions, delta)


def test_pairs_are_worth_half_the_rows():
    assert mean_squared_kernel_error_bound(0.0, 101, 0.05, limit=1.0) == pytest.approx(
        1 - 0.05 ** (1 / 50)
    )
    wide = mean_squared_kernel_error_bound(0.4, 101, 0.05, limit=2.0)
    assert wide == pytest.approx(4 * mean_squared_kernel_error_bound(0.1, 101, 0.05, limit=1.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_squared_kernel_error_bound(5.0, 10), r"estimate must lie in .*\[0, 4\]"),
        (lambda: mean_squared_kernel_error_bound(0.1, 1), "n must be .* at least 2, got 1"),
        (
            lambda: mean_squared_kernel_error(PAIR, Gaussian(gamma=1.0), np.zeros((3, 1))),
            r"each of the 3 rows of X, got \(2, 1\)",
        ),
        (
            lambda: mean_squared_kernel_error(PAIR, lambda X, Y: np.ones(2), PAIR),
            r"kernel\(X, Y\) must give an array of shape \(2, 2\), got \(2,\)",
        ),
    ],
)
def test_invalid_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
