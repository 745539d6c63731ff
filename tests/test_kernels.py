"""Every kernel against its own frequencies, with error bars."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.gaussian_process.kernels import Matern as ExactMatern

from bochner.fourier.sampling import draw_frequencies
from bochner.kernels import Cauchy, Gaussian, Laplacian, Matern

KERNELS = [
    Gaussian(gamma=0.3),
    Laplacian(gamma=0.4),
    Cauchy(gamma=0.5),
    Matern(nu=0.5, gamma=0.3),
    Matern(nu=1.5, gamma=0.6),
    Matern(nu=3.3, gamma=0.2),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("sampling", ["iid", "orthogonal", "sobol", "halton"])
def test_frequencies_reproduce_the_kernel_within_five_standard_errors(kernel, sampling):
    if sampling == "orthogonal" and not hasattr(kernel, "sample_norms"):
        pytest.skip("the frequencies of this kernel have no rotation-invariant law")
    random_state = np.random.RandomState(0)
    d, blocks = 4, 400
    X, Y = random_state.normal(size=(2, 30, d))
    # Frequencies within a block depend on each other; the blocks do not.
    estimates = np.empty((blocks, len(X)))
    for b in range(blocks):
        W = draw_frequencies(kernel, 256, d, sampling=sampling, random_state=random_state)
        estimates[b] = np.cos((X - Y) @ W).mean(axis=1)
    exact = np.diagonal(kernel(X, Y))
    standard_error = estimates.std(axis=0, ddof=1) / np.sqrt(blocks)
    assert (np.abs(estimates.mean(axis=0) - exact) < 5 * standard_error + 1e-12).all()
    assert standard_error.max() < 0.01  # tight enough to see a gamma wrong by a tenth


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_that_test_would_see_a_wrong_gamma(kernel):
    random_state = np.random.RandomState(0)
    X, Y = random_state.normal(size=(2, 30, 4))
    wrong = kernel.with_gamma(kernel.gamma * 1.1)
    W = draw_frequencies(wrong, 100_000, 4, sampling="iid", random_state=random_state)
    cosines = np.cos((X - Y) @ W)
    standard_error = cosines.std(axis=1) / np.sqrt(100_000)
    deviation = np.abs(cosines.mean(axis=1) - np.diagonal(kernel(X, Y))) / standard_error
    assert deviation.max() > 5


def test_matern_tends_to_the_gaussian(rng):
    X = rng.normal(size=(20, 3))
    far, near = (
        np.abs(Matern(nu=nu, gamma=0.4)(X) - Gaussian(gamma=0.4)(X)).max() for nu in (20.1, 80.1)
    )
    assert near < 0.01
    assert far / near == pytest.approx(4, rel=0.1)  # the difference falls as 1 / nu
    np.testing.assert_allclose(Gaussian(gamma=0.5)(X), RBF(1.0)(X), atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_sparse_rows_and_one_argument(kernel, rng):
    X = rng.normal(size=(9, 3)) * (rng.random((9, 3)) < 0.5)
    np.testing.assert_allclose(kernel(sparse.csr_matrix(X)), kernel(X, X), atol=1e-12)
    np.testing.assert_allclose(np.diagonal(kernel(X)), 1)


def test_a_kernel_without_gamma_says_so():
    with pytest.raises(ValueError, match=r"Gaussian has no gamma yet"):
        Gaussian()(np.ones((1, 1)))


@pytest.mark.parametrize("nu", [0, -1, np.nan, np.inf, 101])
def test_smoothness_must_be_in_range(nu):
    with pytest.raises(ValueError, match="nu must be positive and at most 100"):
        Matern(nu=nu)


@pytest.mark.parametrize("nu", [0.3, 0.5, 0.9, 1.5, 2.5, 7.7])
def test_matern_agrees_with_scikit_learn(nu, rng):
    X, Y = rng.normal(size=(2, 20, 3))
    exact = ExactMatern(length_scale=(2 * 0.4) ** -0.5, nu=nu)(X, Y)
    np.testing.assert_allclose(Matern(nu=nu, gamma=0.4)(X, Y), exact, rtol=1e-9)


@pytest.mark.parametrize("nu", [0.3, 1.0, 1.2, 20.0, 100.0])
def test_matern_is_smooth_where_its_bessel_function_overflows(nu):
    distance = np.logspace(-12, 0, 400)[:, None]
    values = Matern(nu=nu, gamma=0.5)(distance, np.zeros((1, 1)))[:, 0]
    assert np.isfinite(values).all()
    assert (np.diff(values) <= 1e-12).all()
    assert values[0] == pytest.approx(1, abs=1e-6)
