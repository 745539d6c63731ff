"""Held-out errors of weighted columns, and their slopes: against the formula and differences."""

import numpy as np
import pytest

from bochner.engine import plain
from bochner.kernels import Exponential, Gaussian, Laplacian, Matern
from bochner.metric.descent import LEAST_PENALTY, Adam, Descent, Part, Point, error_and_slopes
from tests.places import PLACES

KERNELS = [
    Gaussian(gamma=0.5),
    Exponential(gamma=1.0),
    Matern(nu=1.5, gamma=0.5),
    Laplacian(gamma=1.0),
]


def problem(n=60, d=4, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, k))
    return Part(X[::2], Y[::2]), Part(X[1::2], Y[1::2])


def plain_error(point, fitted, held, kernel):
    """Kernel ridge regression with the mean of the targets taken away, as it is written down."""
    A, B = fitted.X * np.exp(point.weights), held.X * np.exp(point.weights)
    mean = fitted.columns.mean(axis=0)
    G = plain.kernel_rows(A, A, kernel) + np.exp(point.penalty) * len(A) * np.eye(len(A))
    a = np.linalg.solve(G, fitted.columns - mean)
    e = plain.kernel_rows(B, A, kernel) @ a + mean - held.columns
    return np.sum(e**2) / np.sum((held.columns - mean) ** 2)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_error_and_slopes(kernel):
    fitted, held = problem()
    point = Point(np.log([0.5, 1.0, 0.2, 0.7]), np.log(1e-2))
    error, slopes = error_and_slopes(point, fitted, held, kernel)
    np.testing.assert_allclose(error, plain_error(point, fitted, held, kernel), rtol=1e-10)
    for c, slope in enumerate(slopes):
        step = 1e-5 * np.eye(len(slopes))[c]
        ahead, behind = (
            plain_error(point.moved(sign * step), fitted, held, kernel) for sign in (1, -1)
        )
        np.testing.assert_allclose(slope, (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("place", ["torch", "strict"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_on_a_device(kernel, place):
    point = Point(np.log([0.5, 1.0, 0.2, 0.7]), np.log(1e-2))
    fitted, held = problem()
    there = [Part(PLACES[place](part.X), part.columns) for part in (fitted, held)]
    expected = error_and_slopes(point, fitted, held, kernel)
    found = error_and_slopes(point, *there, kernel)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, atol=1e-9)


def test_a_matrix_that_rounding_leaves_no_factor_of_ends_nothing():
    rows = np.zeros((20, 2), np.float32)  # all alike: of rank one
    part = Part(rows, np.arange(20.0)[:, None])
    error, slopes = error_and_slopes(Point(np.zeros(2), -60.0), part, part, KERNELS[0])
    assert np.isinf(error)
    np.testing.assert_array_equal(slopes, 0)


def test_steps_do_not_depend_on_the_size_of_slopes():
    slopes = np.array([3.0, -0.5, 0.0, 1e-9])
    for scale in (1e-6, 1.0, 1e6):
        step = Adam(0.2).step(scale * slopes)
        np.testing.assert_allclose(step[:3], [-0.2, 0.2, 0.0], rtol=1e-2)
        assert abs(step[3]) < 1e-6  # rounding is no slope
    np.testing.assert_array_equal(Adam(0.2).step(np.zeros(3)), 0)


def test_the_penalty_stays_where_float32_bears_it():
    point = Point(np.zeros(1), np.log(LEAST_PENALTY)).moved(np.array([0.3, -5.0]))
    assert point.penalty == np.log(LEAST_PENALTY)
    np.testing.assert_array_equal(point.weights, [0.3])


def test_the_error_falls_and_rows_change():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(600, 6)).astype(np.float32)
    y = np.sin(2 * X[:, :1])
    descent = Descent(X, y, KERNELS[0], 100, seed=0)
    found = descent.run(np.full(6, 0.3), 40, 0.25)
    errors = descent.errors
    assert len(errors) == 40
    assert np.mean(errors[-10:]) < 0.1 * np.mean(errors[:5])
    assert found.weights[0] - found.weights[1:].max() > 1
    # half of the rows in the first half of the steps
    sizes = [descent._parts(np.random.RandomState(0), n)[0].X.shape[0] for n in (50, 100, 1000)]
    assert sizes == [50, 100, 300]
