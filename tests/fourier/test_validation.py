import numpy as np
import pytest

from bochner.engine import plain
from bochner.fourier.selection import select_frequencies
from bochner.fourier.validation import count_that_helps
from tests.linear.naive import ridge_of_least_criterion
from tests.places import PLACES


def problem(seed, n=400, signal=True):
    rng = np.random.default_rng(seed)
    X, W, prior = (rng.normal(size=shape) for shape in ((n, 5), (5, 200), (5, 12)))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2]) * signal + rng.normal(size=(n, 2))
    return X, Y, W, prior, (np.arange(n - n // 4), np.arange(n - n // 4, n))


def plain_errors(X, Y, W, split):
    """Squared errors of held-out rows, the penalty by the definition of the criterion."""
    A, held_A = (plain.features(X[rows], W, scale=1.0) for rows in split)
    ridge = ridge_of_least_criterion(A, Y[split[0]])
    return ((Y[split[1]] - ridge.predict(held_A)) ** 2).sum(axis=1)


@pytest.mark.parametrize("seed", range(6))
def test_is_the_best_on_held_out_rows_by_a_standard_error(seed):
    X, Y, W, prior, split = problem(seed, n=240, signal=0.3 * (seed % 3))
    kept, D = split[0], prior.shape[1]
    found = select_frequencies(X[kept], Y[kept], W, D)
    counts = sorted({0, found.n_beyond_chance, (found.n_beyond_chance + D + 1) // 2, D})
    maps = [np.hstack([W[:, found.index[:t]], prior[:, : D - t]]) for t in counts]
    errors = np.array([plain_errors(X, Y, W, split) for W in maps])
    best = errors.mean(axis=1).argmin()
    gain = errors[0] - errors[best]
    expected = counts[best] if gain.mean() > gain.std(ddof=1) / np.sqrt(gain.size) else 0
    assert count_that_helps(X, Y, W, prior, split) == expected


@pytest.mark.parametrize("place", PLACES)
def test_places_agree(place):
    X, *others = problem(0)
    assert count_that_helps(PLACES[place](X), *others) == count_that_helps(X, *others) > 0


def test_noise_keeps_the_random_map():
    counts = [count_that_helps(*problem(seed, signal=False)) for seed in range(25)]
    assert np.count_nonzero(counts) <= 5


def test_weights_are_counts(rng):
    X, Y, W, prior, split = problem(1, n=200)
    counts = rng.integers(1, 4, size=200)
    repeated = [np.repeat(M, counts, axis=0) for M in (X, Y)]
    numbers = np.repeat(np.arange(200), counts)
    again = tuple(np.flatnonzero(np.isin(numbers, rows)) for rows in split)
    expected = count_that_helps(*repeated, W, prior, again)
    assert count_that_helps(X, Y, W, prior, split, weights=counts.astype(float)) == expected


def test_few_rows_tell_nothing():
    X, Y, W, prior, _ = problem(0, n=30)
    assert count_that_helps(X, Y, W, prior, (np.arange(23), np.arange(23, 30))) == 0
