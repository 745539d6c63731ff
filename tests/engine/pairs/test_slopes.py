"""Slopes of kernel values along the columns, against differences of the formula of plain.py."""

import numpy as np
import pytest

from bochner.engine import plain
from bochner.engine.pairs.slopes import Within, residuals_and_slopes
from bochner.kernels import Cauchy, Exponential, Gaussian, Laplacian, Matern
from tests.places import PLACES, on_host

KERNELS = [
    Gaussian(gamma=0.1),
    Gaussian(gamma=2.0),
    Exponential(gamma=0.3),
    Matern(nu=1.5, gamma=0.1),
    Laplacian(gamma=0.2),
    Laplacian(gamma=3.0),
]


def problem(dtype, n=101, m=17, d=7):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(dtype)
    return X, np.concatenate([X[:9], rng.normal(size=(m - 9, d)).astype(dtype)])


def columns(n, k=3, seed=1):
    return np.random.default_rng(seed).normal(size=(n, k))


def numerical_slopes(X, Z, kernel, left, right, size=1e-5):
    """Central differences of the weighted sum of kernel values, column by column."""
    X, Z = X.astype(np.float64), Z.astype(np.float64)

    def total(column, sign):
        weights = np.ones(X.shape[1])
        weights[column] = np.exp(sign * size)
        return np.sum((left @ right.T) * plain.kernel_rows(X * weights, Z * weights, kernel))

    return [(total(c, 1) - total(c, -1)) / (2 * size) for c in range(X.shape[1])]


def rounding(dtype, X, Z, kernel, left, right):
    """What is rounded: squares of the columns, times the kernel's slopes."""
    values = np.abs(left @ right.T) * plain.kernel_rows(X, Z, kernel)
    size = max(1.0, kernel.gamma) * np.max(X**2) * np.sum(values)
    return {np.float64: 1e-10, np.float32: 3e-7}[dtype] * size


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
class TestSlopes:
    """Of rows that are landmarks too, where exponential kernels have a cusp."""

    @pytest.mark.parametrize("n_columns", [1, 3])
    def test_within_rows(self, kernel, dtype, place, n_columns):
        X, there = problem(dtype)[0], PLACES[place]
        left, right = columns(len(X), n_columns), columns(len(X), n_columns, seed=2)
        pairs = Within(there(X), kernel)
        arguments = there(left.astype(dtype)), there(right.astype(dtype))
        found = on_host(pairs.slopes(*arguments))
        expected = numerical_slopes(X, X, kernel, left, right)
        atol = rounding(dtype, X, X, kernel, left, right)
        np.testing.assert_allclose(found, expected, atol=atol)
        values = on_host(pairs.values())
        assert values.dtype == dtype
        np.testing.assert_allclose(
            np.triu(values),
            np.triu(plain.kernel_rows(X, X, kernel)),
            atol={np.float64: 2e-14, np.float32: 5e-6}[dtype],
        )
        np.testing.assert_allclose(on_host(pairs.slopes(*arguments)), found)

    def test_of_residuals(self, kernel, dtype, place):
        (X, Z), there = problem(dtype), PLACES[place]
        a, y = columns(len(Z)), columns(len(X), seed=2)
        K = plain.kernel_rows(X, Z, kernel)
        e, products, slopes = map(
            on_host,
            residuals_and_slopes(
                there(X), there(Z), kernel, there(a.astype(dtype)), there(y.astype(dtype))
            ),
        )
        assert e.dtype == dtype
        tolerance = {np.float64: 1e-12, np.float32: 1e-4}[dtype]
        np.testing.assert_allclose(e, K @ a - y, atol=tolerance)
        np.testing.assert_allclose(products, K.T @ (K @ a - y), rtol=1e-4, atol=10 * tolerance)
        expected = numerical_slopes(X, Z, kernel, K @ a - y, a)
        atol = 2 * rounding(dtype, X, Z, kernel, K @ a - y, a)
        np.testing.assert_allclose(slopes, expected, atol=atol)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kernel", [KERNELS[2], KERNELS[4]], ids=str)
def test_many_rows_are_sums_over_tiles(kernel, n_threads):
    X, Z = problem(np.float64, 2600, 2100, 6)  # more landmarks than a loop has at a time
    a, y = columns(len(Z), 1), columns(len(X), 1, seed=2)
    e, products, slopes = residuals_and_slopes(X, Z, kernel, a, y, n_threads)
    parts = [
        residuals_and_slopes(X[rows], Z, kernel, a, y[rows], 1)
        for rows in (slice(0, 1000), slice(1000, None))
    ]
    np.testing.assert_allclose(e, np.concatenate([part[0] for part in parts]), atol=1e-10)
    np.testing.assert_allclose(products, parts[0][1] + parts[1][1], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(slopes, parts[0][2] + parts[1][2], rtol=1e-8)
    # what all pairs add up to is what pairs of one part, of the other, and of both do
    left, right = columns(len(Z), 2), columns(len(Z), 2, seed=3)
    found = Within(Z, kernel, n_threads).slopes(left, right)
    first, second = slice(0, 900), slice(900, None)
    inner = [Within(Z[part], kernel).slopes(left[part], right[part]) for part in (first, second)]
    zero = np.zeros((900, 2))
    outer = Within(Z, kernel).slopes(
        np.concatenate([left[first], 0 * left[second]]), np.concatenate([zero, right[second]])
    ) + Within(Z, kernel).slopes(
        np.concatenate([zero, left[second]]), np.concatenate([right[first], 0 * right[second]])
    )
    np.testing.assert_allclose(found, inner[0] + inner[1] + outer, rtol=1e-8)


def test_kernels_of_several_distances_have_no_slopes():
    with pytest.raises(ValueError, match="no function of one distance"):
        Within(problem(np.float64)[0], Cauchy(gamma=0.2))
