"""From outer products of gradients to matrices of a metric."""

import numpy as np
import pytest

from bochner.metric.matrices import MODES, metric_matrix


@pytest.fixture
def low_rank(rng):
    """A matrix whose range is spanned by few columns, and these."""
    span = rng.normal(size=(20, 6))
    half = span @ rng.normal(size=(6, 4))
    return half @ half.T, span


@pytest.mark.parametrize(("mode", "power"), [("root", 4), ("full", 2)])
@pytest.mark.parametrize("spanned", [False, True])
def test_a_power_gives_the_matrix_back(low_rank, mode, power, spanned):
    M, span = low_rank
    L = metric_matrix(M, mode, span if spanned else None)
    found = np.linalg.matrix_power(L, power)
    np.testing.assert_allclose(found, M / np.linalg.norm(M, 2), atol=1e-12)


def test_many_columns_of_a_span_are_of_no_use(low_rank):
    M, span = low_rank
    wide = np.hstack([span, span])
    np.testing.assert_array_equal(metric_matrix(M, "full", wide), metric_matrix(M, "full"))


def test_the_diagonal_is_the_root_of_the_diagonal(low_rank):
    M, span = low_rank
    expected = np.sqrt(np.diagonal(M) / np.diagonal(M).max())
    np.testing.assert_allclose(metric_matrix(M, "diagonal", span), expected)


def test_without_gradients_all_columns_count():
    for mode in (None, *MODES):
        np.testing.assert_array_equal(metric_matrix(np.zeros((3, 3)), mode), np.ones(3))
