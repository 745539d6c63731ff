import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from bochner.fourier.bandwidth import median_distance, resolve_kernel
from bochner.kernels import Gaussian
from tests.places import PLACES


def gamma(kernel, rule, X):
    return resolve_kernel(kernel, rule, X, np.random.RandomState(0)).gamma


@pytest.mark.parametrize("place", PLACES)
def test_rules_of_the_exponential_kernel(place, rng):
    X = rng.normal(size=(50, 4)) * 3 + 1
    there = PLACES[place](X)
    assert gamma("exponential", "scale", there) == pytest.approx(1 / (2 * X.std()))
    distances = np.linalg.norm(X[:, None] - X, axis=2)[np.triu_indices(50, 1)]
    assert gamma("exponential", "median", there) == pytest.approx(1 / np.median(distances))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "cauchy", "matern", "rbf"])
def test_rules(kernel, place, rng):
    X = rng.normal(size=(50, 4)) * 3 + 1
    there = PLACES[place](X)
    linear = kernel == "laplacian"
    spread = X.std() if linear else X.var()
    assert gamma(kernel, "scale", there) == pytest.approx(1 / (4 * spread))
    order = 1 if linear else 2
    distances = np.linalg.norm(X[:, None] - X, ord=order, axis=2)[np.triu_indices(50, 1)]
    expected = 1 / np.median(distances) if linear else 0.5 / np.median(distances) ** 2
    assert gamma(kernel, "median", there) == pytest.approx(expected)


def test_a_number_is_kept():
    assert gamma("gaussian", np.float32(0.25), np.ones((2, 2))) == 0.25


def test_variance_of_many_batches_far_from_zero(rng):
    X = (rng.normal(size=(200_000, 2)) + 1e4).astype(np.float32)
    assert gamma("gaussian", "scale", X) == pytest.approx(0.5 / X.astype(float).var(), rel=1e-9)
    rows = sparse.csr_matrix(X)
    assert gamma("gaussian", "scale", rows) == pytest.approx(0.5 / X.astype(float).var(), rel=1e-9)


def test_duplicates_do_not_make_the_median_zero():
    X = np.repeat([[0.0], [2.0]], 50, axis=0)
    assert median_distance(X, "euclidean", np.random.RandomState(0)) == 2.0


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_repeated_rows_are_not_apart(container, rng):
    """The rounding of products made some of them distances, in places of their own."""
    X = rng.normal(size=(40, 3))
    rows = np.repeat(X, rng.integers(1, 9, size=40), axis=0)
    expected = pdist(rows)
    found = median_distance(container(rows), "euclidean", np.random.RandomState(0))
    assert found == pytest.approx(np.median(expected[expected > 0]), rel=1e-12)


@pytest.mark.parametrize("rule", ["scale", "median"])
def test_equal_rows_give_one(rule):
    assert gamma("gaussian", rule, np.full((5, 3), 2.0)) == 1.0


@pytest.mark.parametrize("kernel", ["linear", 7, None])
def test_unknown_kernel(kernel):
    with pytest.raises(ValueError, match="kernel must be one of"):
        resolve_kernel(kernel, 1.0, np.ones((2, 2)), np.random.RandomState(0))


def test_unknown_rule():
    with pytest.raises(ValueError, match=r"gamma must be a positive number or one of"):
        resolve_kernel(Gaussian(), "auto", np.ones((2, 2)), np.random.RandomState(0))
