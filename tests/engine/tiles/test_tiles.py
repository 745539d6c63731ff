"""The Triton kernels against the formulas of plain.py, where there is a CUDA device.

With TRITON_INTERPRET=1 they run on the host, slowly, wherever Triton is installed.
"""

import numpy as np
import pytest

from bochner import engine
from bochner.engine import plain, tiles
from bochner.kernels import Exponential, Gaussian, Matern
from tests.engine.tiles.place import DEVICE, needs_kernels, take_kernels, torch

pytestmark = needs_kernels
TOLERANCE = 3e-6
# rows, columns, frequencies: multiples of nothing, one of each, and a multiple of every tile
SHAPES = [(150, 37, 140), (1, 5, 7), (129, 1, 3), (5, 200, 1), (256, 64, 128)]


@pytest.fixture(autouse=True)
def taken(monkeypatch):
    """However small the problem; and the kernels are really used."""
    take_kernels(monkeypatch)
    assert tiles.suit(torch.ones((2, 2), device=DEVICE), 2)


def problem(n=150, d=37, N=140, k=2):
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(n, d)), rng.normal(size=(d, N)) * d**-0.5
    return X.astype("f4"), W.astype("f4"), rng.normal(size=(n, k)).astype("f4")


def there(X):
    return torch.from_numpy(X).to(DEVICE)


def assert_close(result, expected, tolerance=TOLERANCE, least=0.0):
    """Relative to the largest entry, or to `least` where all may cancel."""
    result = result.cpu().numpy()
    assert result.shape == expected.shape
    if expected.size:
        largest = max(np.abs(expected).max(), least)
        assert np.abs(result - expected).max() <= tolerance * largest


@pytest.mark.parametrize("shape", SHAPES)
class TestShapes:
    def test_features(self, shape):
        X, W, _ = problem(*shape)
        scale = np.linspace(0.5, 1.5, W.shape[1])
        assert_close(engine.features(there(X), W, scale=scale), plain.features(X, W, scale))
        offset = np.linspace(0, 6, W.shape[1])
        result = engine.features(there(X), W, scale=2.0, offset=offset)
        assert_close(result, plain.features(X, W, 2.0, offset))

    def test_sums(self, shape):
        X, W, A = problem(*shape)
        result = engine.fourier_sums(there(X), W, A)
        assert result.dtype == torch.complex128
        assert_close(result, plain.fourier_sums(X, W, A))

    def test_potential_and_gradient(self, shape):
        X, W, A = problem(*shape)
        signs = [1.0, -0.5]
        result = engine.potential_and_gradient(there(X), W, A, signs=signs)
        expected = plain.potential_and_gradient(X, W, A, signs)
        for ours, right in zip(result, expected, strict=True):
            assert ours.dtype == torch.float64
            assert_close(ours, right, least=float((A**2).sum()))  # of one row it is zero

    def test_kernel_rows(self, shape):
        X, W, _ = problem(*shape)
        Z = np.vstack([X[:3], W.T])
        R = np.random.default_rng(1).normal(size=(len(Z), 9))
        for kernel in (Gaussian(gamma=0.1), Exponential(gamma=0.3), Matern(nu=1.5, gamma=0.1)):
            result = engine.kernel_rows(there(X), Z, kernel)
            assert_close(result, plain.kernel_rows(X, Z, kernel))
            assert float(result[0, 0]) == 1
            result = engine.kernel_rows(there(X), Z, kernel, normalization=R)
            assert_close(result, plain.kernel_rows(X, Z, kernel, R))

    @pytest.mark.parametrize("diagonal", [False, True])
    def test_gradient_outer_product(self, shape, diagonal):
        X, W, _ = problem(*shape)
        c = np.exp(1j * np.arange(2 * W.shape[1])).reshape(-1, 2)
        result = engine.gradient_outer_product(there(X), W, c, diagonal=diagonal)
        assert_close(result, plain.gradient_outer_product(X, W, c, diagonal))


def test_rows_with_strides():
    X, W, A = problem()
    wide = np.zeros((len(X), 2 * X.shape[1]), "f4")
    wide[:, ::2] = X
    for rows in (there(np.ascontiguousarray(X.T)).T, there(wide)[:, ::2]):
        assert_close(engine.features(rows, W, scale=1.0), plain.features(X, W))
        assert_close(engine.fourier_sums(rows, W, A), plain.fourier_sums(X, W, A))


@pytest.mark.parametrize(("n", "N"), [(0, 5), (5, 0), (0, 0)])
def test_nothing(n, N):
    X, W, A = problem(n=n, N=N)
    assert engine.features(there(X), W).shape == (n, 2 * N)
    assert_close(engine.fourier_sums(there(X), W, A), plain.fourier_sums(X, W, A))
    v, slope = engine.potential_and_gradient(there(X), W, A)
    assert v.shape == (N,)
    assert slope.shape == W.shape


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_read_as_it_is(dtype):
    X, W, A = problem()
    half = there(X).to(dtype)
    X = half.float().cpu().numpy()
    result = engine.features(half, W, scale=1.0)
    assert result.dtype == torch.float32
    assert_close(result, plain.features(X, W))
    assert_close(engine.fourier_sums(half, W, A), plain.fourier_sums(X, W, A))
    kernel = Gaussian(gamma=0.1)
    assert_close(engine.kernel_rows(half, X[:9], kernel), plain.kernel_rows(X, X[:9], kernel))


@pytest.mark.parametrize("budget", [1, 40_000])
def test_chunks_of_rows_change_nothing(budget):
    X, W, A = problem(n=300)
    options = {"memory_budget": budget}
    assert_close(engine.features(there(X), W, scale=1.0, **options), plain.features(X, W))
    assert_close(engine.fourier_sums(there(X), W, A, **options), plain.fourier_sums(X, W, A))
    gradient = engine.potential_and_gradient(there(X), W, A, **options)[1]
    assert_close(gradient, plain.potential_and_gradient(X, W, A)[1])


def test_shares_of_a_gradient_add_up():
    X, W, A = problem()
    sums = plain.fourier_sums(X, W, A)
    parts = [
        engine.potential_and_gradient(there(X[rows]), W, A[rows], sums=sums)
        for rows in (slice(0, 40), slice(40, None))
    ]
    potential, gradient = plain.potential_and_gradient(X, W, A)
    assert_close(parts[0][0], potential)
    assert_close(parts[0][1] + parts[1][1], gradient)


def test_large_phases_are_left_to_float64():
    X, W, A = problem()
    X[::7] *= np.float32(1e5)
    assert_close(engine.features(there(X), W, scale=1.0), plain.features(X, W))
    assert_close(engine.fourier_sums(there(X), W, A), plain.fourier_sums(X, W, A))


def test_rows_of_very_different_lengths():
    """A power of two for each row: what is small is not lost next to what is large."""
    X, W, A = problem(n=128)
    X *= np.float32(2.0) ** np.arange(-64, 64, dtype="f4")[:, None]
    W *= np.float32(2.0**-64)
    assert_close(engine.features(there(X), W, scale=1.0), plain.features(X, W))
    X, W, A = X[48:66], W * np.float32(2.0**64), A[48:66]
    gradient = engine.potential_and_gradient(there(X), W, A)[1]
    assert_close(gradient, plain.potential_and_gradient(X, W, A)[1])


def test_as_many_sums_as_one_likes():
    X, W, A = problem(k=19)
    for k in (1, 16, 17, 19):
        assert_close(
            engine.fourier_sums(there(X), W, A[:, :k]), plain.fourier_sums(X, W, A[:, :k])
        )


def test_distances_that_lose_their_digits():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(140, 5)) * 2.0**-7 + 256).astype("f4")
    kernel = Exponential(gamma=50.0)
    result = engine.kernel_rows(there(X), X, kernel)
    assert_close(result, plain.kernel_rows(X, X, kernel), 1e-6)
    assert bool((torch.diagonal(result) == 1).all())
