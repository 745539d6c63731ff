import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.linear.paired import best_or_first, is_clearly_lower


@pytest.mark.parametrize("errors", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("lead", "expected"), [(0.99, False), (1.01, True)])
def test_lower_by_standard_errors_of_the_paired_difference(lead, expected, errors, rng):
    n = 40
    noise = rng.normal(size=n)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    others = rng.normal(5, 3, size=n)  # what the rows have in common does not count
    losses = others + noise - errors * lead / np.sqrt(n)
    assert is_clearly_lower(losses, others, errors=errors) is expected


def test_equal_is_not_lower():
    assert not is_clearly_lower(np.arange(3.0), np.arange(3.0))


def test_one_row():
    assert is_clearly_lower(np.array([1.0]), np.array([2.0]))
    assert not is_clearly_lower(np.array([2.0]), np.array([1.0]))


@settings(deadline=None, max_examples=50)
@given(n=st.integers(2, 20), k=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_agrees_with_a_slow_rule(n, k, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, size=n)
    losses = rng.normal(size=(k, n)) + rng.normal(0, 0.5, size=(k, 1))
    repeated = np.repeat(losses, counts, axis=1)
    best = int(repeated.mean(axis=1).argmin())
    gain = repeated[0] - repeated[best]
    expected = best if gain.mean() > gain.std(ddof=1) / np.sqrt(gain.size) else 0
    assert best_or_first(list(losses), counts.astype(float)) == expected
    assert best_or_first(list(repeated)) == expected


def test_another_is_chosen_only_if_better_by_a_standard_error(rng):
    noise = rng.normal(size=400)
    first = 1 + np.abs(noise)
    assert best_or_first([first, first - 0.1, first - 0.2]) == 2
    assert best_or_first([first, first + 0.1]) == 0
    uncertain = first + noise - noise.mean() - 0.5 * noise.std() / 20
    assert best_or_first([first, uncertain]) == 0
