"""One-dimensional features against quadrature, Mehler's formula and high precision."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bochner.mercer.hermite import hermite_log_ratios, log_ground, ratio, recurrence
from tests.mercer.naive import hermite_features

positive = st.floats(1e-3, 1e3)


def test_ratio_of_a_point_mass_and_of_a_wide_density():
    assert ratio(1.0, 0.0) == 0.0
    assert 0.999 < ratio(1.0, 1e8) < 1.0
    assert ratio(1e300, 1e300) < 1.0
    np.testing.assert_allclose(ratio(0.3, 1e-12), 2 * 0.3e-12, rtol=1e-10)


@given(gamma=positive, variance=positive)
def test_ratio_solves_its_equation(gamma, variance):
    """B is the root of B (1 + 4 b s^2 + q) = 4 b s^2, the paper's b / (a + b + c)."""
    B = ratio(gamma, variance)
    q = np.sqrt(1 + 8 * gamma * variance)
    assert B * (1 + 4 * gamma * variance + q) == pytest.approx(4 * gamma * variance, rel=1e-12)


@pytest.mark.parametrize(("gamma", "variance"), [(0.5, 1.0), (3.0, 0.2), (0.05, 4.0)])
def test_features_are_orthogonal_with_the_eigenvalues_as_squares(gamma, variance):
    """int f_m f_n p = lambda_n [m = n], to 5e-12 after normalising, up to order 200."""
    B, n_orders = ratio(gamma, variance), 200
    # f_n f_m p decays as exp(-z^2 (2 b (1 - B) + 1 / 2 s^2)): the trapezoidal rule is exact
    # to rounding once it resolves the fastest wave.
    width = np.sqrt(variance) * 3 * np.sqrt(n_orders)
    z = np.linspace(-width, width, 20001)
    density = np.exp(-(z**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    eigenvalues = (1 - B) * B ** np.arange(n_orders)
    psi = hermite_features(z, gamma, B, n_orders) / np.sqrt(eigenvalues)
    gram = (psi.T * (density * (z[1] - z[0]))) @ psi
    np.testing.assert_allclose(gram, np.eye(n_orders), atol=5e-12)


def test_features_are_eigenfunctions():
    gamma, variance, n_orders = 0.7, 1.3, 12
    B = ratio(gamma, variance)
    z, x = np.linspace(-15, 15, 3001), np.array([-2.0, 0.1, 1.7])
    density = np.exp(-(z**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance) * (z[1] - z[0])
    kernel = np.exp(-gamma * (x[:, None] - z) ** 2)
    image = (kernel * density) @ hermite_features(z, gamma, B, n_orders)
    eigenvalues = (1 - B) * B ** np.arange(n_orders)
    np.testing.assert_allclose(
        image, eigenvalues * hermite_features(x, gamma, B, n_orders), atol=1e-13
    )


@given(
    gamma=st.floats(0.01, 10),
    B=st.floats(0, 0.8),
    x=st.floats(-2, 2),
    y=st.floats(-2, 2),
)
def test_mehler_for_any_ratio(gamma, B, x, y):
    """The sum is the kernel whatever B is; the number of orders that takes grows with b x^2."""
    f = hermite_features(np.array([x, y]), gamma, B, 600)
    assert f[0] @ f[1] == pytest.approx(np.exp(-gamma * (x - y) ** 2), abs=1e-13)


@given(gamma=positive, B=st.floats(0, 0.9999), z=st.floats(-1e4, 1e4))
def test_no_feature_exceeds_one(gamma, B, z):
    f = hermite_features(np.array([z]), gamma, B, 50)
    assert np.abs(f).max() <= 1 + 1e-12
    assert (f**2).sum() <= 1 + 1e-12


def exact(z, gamma, B, n_orders):
    """Logarithm and sign of f_n, from Hermite polynomials in 80 digits."""
    with localcontext(prec=80):
        z, b, B = Decimal(float(z)), Decimal(float(gamma)), Decimal(float(B))
        t = z * (b * (1 - B * B) / B).sqrt()
        log_scale = (1 - B * B).ln() / 4 - b * (1 - B) * z * z
        before, here = Decimal(0), Decimal(1)
        logs, signs = [], []
        for n in range(n_orders):
            logs.append(float(log_scale + here.copy_abs().ln()))
            signs.append(1.0 if here > 0 else -1.0)
            log_scale += ((B / 2) / (n + 1)).ln() / 2
            before, here = here, 2 * t * here - 2 * n * before
        return np.array(logs), np.array(signs)


@pytest.mark.parametrize("spread", [0.3, 3.0, 50.0])
@pytest.mark.parametrize("gamma", [0.05, 2.0])
def test_far_in_the_tail(gamma, spread):
    """Relative error of orders up to 2000, at up to 50 standard deviations.

    Close to a root the error is relative to the neighbours, as rounding z alone moves the root.
    """
    B, n_orders = ratio(gamma, 1.0), 2001
    expected, signs = exact(spread, gamma, B, n_orders)
    logs, our_signs = (v[0] for v in hermite_log_ratios([spread], gamma, B, n_orders))
    logs = logs + log_ground(spread, gamma, B)
    around = np.array([expected[max(0, n - 3) : n + 3].max() for n in range(n_orders)])
    error = our_signs * np.exp(logs - around) - signs * np.exp(expected - around)
    assert np.abs(error).max() < 5e-12
    features = hermite_features(np.array([spread]), gamma, B, n_orders)[0]
    np.testing.assert_allclose(features, signs * np.exp(expected), rtol=0, atol=1e-13)


def test_orders_of_size_one_where_the_first_underflows():
    gamma, B, z = 1.0, 0.9, 150.0
    assert np.exp(log_ground(z, gamma, B)) == 0.0
    f = hermite_features(np.array([z]), gamma, B, 6000)[0]
    assert f[0] == 0.0
    assert (f**2).sum() == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("B", [0.0, 0.3, 0.95])
def test_ratios_and_their_logarithms(B, rng):
    z = np.append(rng.normal(size=20), 0.0)
    f = hermite_features(z, 0.7, B, 30)
    logs, signs = hermite_log_ratios(z, 0.7, B, 30)
    np.testing.assert_allclose(signs * np.exp(logs), f / f[:, :1], rtol=1e-12)


def test_many_axes_at_once(rng):
    z, B = rng.normal(size=(5, 3)), np.array([0.1, 0.0, 0.7])
    f = hermite_features(z, 0.4, B, 7)
    assert f.shape == (5, 3, 7)
    for axis in range(3):
        np.testing.assert_array_equal(f[:, axis], hermite_features(z[:, axis], 0.4, B[axis], 7))


def test_recurrence_factors(rng):
    z, B = rng.normal(size=4), 0.6
    f, (up, down) = hermite_features(z, 0.4, B, 9), recurrence(0.4, B, 9)
    np.testing.assert_allclose(
        f[:, 2:], up[1:8] * z[:, None] * f[:, 1:8] - down[1:8] * f[:, :7], atol=1e-15
    )
