import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.stats import norm
from sklearn.preprocessing import StandardScaler

from bochner.models.scaling import SCALINGS, ColumnScaler
from tests.places import PLACES, on_host

NUMBERS = st.floats(-100, 100)


def rows(n=201):
    rng = np.random.default_rng(0)
    return np.column_stack(
        [rng.standard_t(1, n), rng.integers(0, 2, n), np.full(n, 3.0), rng.integers(0, 5, n)]
    )


def test_standard_is_that_of_scikit_learn():
    X = rows()
    expected = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(ColumnScaler().fit_transform(X), expected, atol=1e-13)


def test_robust_is_its_formula():
    X = rows()
    z = (X[:, 0] - np.median(X[:, 0])) / np.subtract(*np.quantile(X[:, 0], [0.75, 0.25]))
    result = ColumnScaler("robust").fit_transform(X)
    np.testing.assert_allclose(result[:, 0], z / np.sqrt(1 + (z / 3) ** 2))
    assert np.abs(result[:, 0]).max() < 3


def test_quantile_is_the_normal_score_of_the_rank():
    X = rows()
    result = ColumnScaler("quantile").fit_transform(X)[:, 0]
    ranks = np.argsort(np.argsort(X[:, 0])) / 200
    np.testing.assert_allclose(result, np.clip(norm.ppf(ranks), -3, 3), atol=1e-10)


@pytest.mark.parametrize("scaling", ["robust", "quantile"])
def test_two_values_stay_two_apart(scaling):
    result = ColumnScaler(scaling).fit_transform(rows())[:, 1]
    assert np.ptp(np.unique(result)) == 2


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("place", [p for p in PLACES if "cs" not in p and "sparse" not in p])
def test_places_agree(scaling, place):
    X = rows()
    scaler = ColumnScaler(scaling).fit(X)
    expected = scaler.transform(X)
    assert np.isfinite(expected).all()
    there = PLACES[place](X)
    np.testing.assert_allclose(on_host(scaler.transform(there)), expected, atol=1e-12)
    again = ColumnScaler(scaling).fit(there)
    np.testing.assert_allclose(again.transform(X), expected, atol=1e-12)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_sparse_rows_keep_their_zeros(scaling):
    X = rows() * (np.random.default_rng(1).random((201, 4)) < 0.5)
    result = ColumnScaler(scaling).fit_transform(sparse.csr_matrix(X))
    assert sparse.issparse(result)
    spread = np.ones(4) if scaling == "none" else X.std(axis=0)
    np.testing.assert_allclose(result.toarray(), X / spread, atol=1e-12)


@given(arrays(np.float64, st.tuples(st.integers(2, 20), st.integers(1, 3)), elements=NUMBERS))
def test_knots_are_the_quantiles_of_numpy(X):
    found = ColumnScaler("quantile").fit(X)
    shares = np.linspace(0, 1, len(X))
    np.testing.assert_allclose(found.knots_, np.quantile(X, shares, axis=0), atol=1e-12)
