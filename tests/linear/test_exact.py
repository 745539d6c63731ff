import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner.linear.exact import GaussianKernelRidge
from bochner.linear.kernel_ridge import SINGLE_ROWS


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 4 + 0.1 * rng.normal(size=n)


@parametrize_with_checks([GaussianKernelRidge(alpha=0.1)])
def test_it_is_an_estimator(estimator, check):
    check(estimator)


def test_it_is_kernel_ridge_of_centred_features():
    X, y = table()
    model = GaussianKernelRidge(0.2, gamma=0.3).fit(X, y)
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    centred = KernelCenterer().fit_transform(K)
    theirs = KernelRidge(alpha=0.2, kernel="precomputed").fit(centred, y - y.mean())
    expected = theirs.predict(centred) + y.mean()
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-9)
    assert model.dual_coef_.sum() == pytest.approx(0, abs=1e-9)


def test_it_predicts_as_kernel_ridge_of_standardised_targets():
    X, y = table(1000)
    ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.3)
    theirs = TransformedTargetRegressor(ridge, transformer=StandardScaler()).fit(X[:800], y[:800])
    ours = GaussianKernelRidge(0.1, gamma=0.3).fit(X[:800], y[:800])
    difference = ours.predict(X[800:]) - theirs.predict(X[800:])
    assert np.sqrt(np.mean(difference**2)) < 0.02 * y[800:].std()


@pytest.mark.parametrize("alpha", [1e-8, 1e-3, 1.0])
def test_float32_is_used_where_it_is_precise_enough_only(alpha):
    X, y = table(SINGLE_ROWS + 100)
    model = GaussianKernelRidge(alpha, gamma=0.1).fit(X, y)
    K = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    n = len(y)
    H = np.eye(n) - 1 / n
    a = np.linalg.solve(H @ K @ H + alpha * np.eye(n), y - y.mean())
    residuals = alpha * a  # of the rows it was fitted to
    expected = y - residuals
    error = np.abs(model.predict(X) - expected).max()
    assert error < 0.03 * np.abs(residuals).max() + 1e-6


def test_several_targets_sparse_rows_and_float32():
    X, y = table()
    X[np.abs(X) < 0.5] = 0
    Y = np.c_[y, -2 * y]
    model = GaussianKernelRidge(0.1).fit(X, Y)
    one = GaussianKernelRidge(0.1).fit(X, y)
    assert model.predict(X).shape == Y.shape
    np.testing.assert_allclose(model.predict(X)[:, 0], one.predict(X))
    np.testing.assert_allclose(model.predict(X)[:, 1], -2 * one.predict(X))
    rare = GaussianKernelRidge(0.1).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(rare.predict(sparse.csr_array(X)), one.predict(X))
    narrow = GaussianKernelRidge(0.1).fit(X.astype("f4"), y).predict(X.astype("f4"))
    np.testing.assert_allclose(narrow, one.predict(X), rtol=1e-5)


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"gamma": -1.0}, {"alpha": "auto"}])
def test_bad_parameters(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GaussianKernelRidge(**wrong).fit(*table())
