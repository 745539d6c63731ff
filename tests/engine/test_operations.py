"""Every operation, in every place, against the formulas of plain.py."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner import engine
from bochner.engine import plain
from tests.places import PLACES, on_host

# Worst relative error of a result whose parts are rounded once: float64, and float32 where a
# phase of a few units is itself known to 5e-7.
TOLERANCE = {np.float64: 1e-12, np.float32: 5e-6}


def problem(dtype, n=101, d=7, N=19, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    A = rng.normal(size=(n, k))
    return X.astype(dtype), rng.normal(size=(d, N)).astype(dtype), A.astype(dtype)


def assert_close(result, expected, dtype):
    result = on_host(result)
    assert result.shape == expected.shape
    scale = np.abs(expected).max() if expected.size else 1.0
    np.testing.assert_allclose(result, expected, rtol=0, atol=TOLERANCE[dtype] * scale)


@pytest.mark.parametrize("budget", [None, 1, 5000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("place", PLACES)
class TestEveryPlace:
    def test_features(self, place, dtype, budget):
        X, W, _ = problem(dtype)
        scale = np.linspace(0.5, 1.5, W.shape[1])
        result = engine.features(PLACES[place](X), W, scale=scale, memory_budget=budget)
        assert on_host(result).dtype == dtype
        assert_close(result, plain.features(X, W, scale), dtype)

    def test_features_with_offset(self, place, dtype, budget):
        X, W, _ = problem(dtype)
        offset = np.linspace(0, 6, W.shape[1])
        result = engine.features(
            PLACES[place](X), W, scale=2.0, offset=offset, memory_budget=budget
        )
        assert_close(result, plain.features(X, W, 2.0, offset), dtype)

    def test_grouped_waves(self, place, dtype, budget):
        X, W, _ = problem(dtype, N=20)
        if dtype is np.float32:
            X[::7] *= dtype(1e4)  # phases too large for float32
        c = np.exp(1j * np.arange(20)) * np.linspace(0.1, 1, 20)
        result = engine.grouped_waves(PLACES[place](X), W, c, 5, memory_budget=budget)
        assert on_host(result).dtype == dtype
        assert_close(result, plain.grouped_waves(X, W, c, 5), dtype)

    def test_mixed_waves(self, place, dtype, budget):
        X, W, _ = problem(dtype, N=20)
        if dtype is np.float32:
            X[::7] *= dtype(1e4)  # phases too large for float32
        c = np.exp(1j * np.arange(60)).reshape(20, 3) * np.linspace(0.1, 1, 20)[:, None]
        result = engine.mixed_waves(PLACES[place](X), W, c, memory_budget=budget)
        assert on_host(result).dtype == dtype
        assert_close(result, plain.mixed_waves(X, W, c), dtype)

    def test_sums(self, place, dtype, budget):
        X, W, A = problem(dtype)
        sums = engine.fourier_sums(PLACES[place](X), W, A, memory_budget=budget)
        assert on_host(sums).dtype == np.complex128
        assert_close(sums, plain.fourier_sums(X, W, A), dtype)

    def test_sums_of_one_column(self, place, dtype, budget):
        X, W, A = problem(dtype)
        sums = engine.fourier_sums(PLACES[place](X), W, A[:, 0], memory_budget=budget)
        assert_close(sums, plain.fourier_sums(X, W, A[:, 0]), dtype)

    def test_potential_and_gradient(self, place, dtype, budget):
        X, W, A = problem(dtype)
        signs = [2.0, -1.0, 0.5]
        result = engine.potential_and_gradient(
            PLACES[place](X), W, A, signs=signs, memory_budget=budget
        )
        for ours, expected in zip(
            result, plain.potential_and_gradient(X, W, A, signs), strict=True
        ):
            assert on_host(ours).dtype == np.float64
            assert_close(ours, expected, dtype)

    def test_gradient_of_many_columns(self, place, dtype, budget):
        X, W, A = problem(dtype, k=11)
        potential, gradient = engine.potential_and_gradient(
            PLACES[place](X), W, A, memory_budget=budget
        )
        expected = plain.potential_and_gradient(X, W, A)
        assert_close(potential, expected[0], dtype)
        assert_close(gradient, expected[1], dtype)

    @pytest.mark.parametrize("diagonal", [False, True])
    def test_gradient_outer_product(self, place, dtype, budget, diagonal):
        X, W, _ = problem(dtype)
        c = np.exp(1j * np.arange(38)).reshape(19, 2) * np.linspace(0.1, 1, 19)[:, None]
        result = engine.gradient_outer_product(
            PLACES[place](X), W, c, diagonal=diagonal, memory_budget=budget
        )
        assert on_host(result).dtype == np.float64
        assert_close(result, plain.gradient_outer_product(X, W, c, diagonal), dtype)

    def test_large_phases_are_right(self, place, dtype, budget):
        """Far beyond the range of the fast reduction, and of float32 phases."""
        X, W, _ = problem(dtype)
        X[::3] *= dtype(1e6)
        expected = plain.features(X, W)
        result = on_host(engine.features(PLACES[place](X), W, scale=1.0, memory_budget=budget))
        # the phases reach 1e7, where float64 itself knows them to 2e-9 and a little more
        np.testing.assert_allclose(result, expected, rtol=0, atol=max(TOLERANCE[dtype], 1e-8))


@pytest.mark.parametrize("place", PLACES)
def test_gradient_is_the_slope_of_the_potential(place):
    X, W, A = problem(np.float64)
    step = 1e-5
    X_there = PLACES[place](X)
    _, gradient = engine.potential_and_gradient(X_there, W, A)
    for axis in range(W.shape[0]):
        up, down = W.copy(), W.copy()
        up[axis] += step
        down[axis] -= step
        rise = engine.potential_and_gradient(X_there, up, A)[0]
        rise = on_host(rise) - on_host(engine.potential_and_gradient(X_there, down, A)[0])
        np.testing.assert_allclose(
            on_host(gradient)[axis], rise / (2 * step), rtol=1e-6, atol=1e-5
        )


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(0, 300),
    d=st.integers(1, 40),
    N=st.integers(1, 70),
    k=st.integers(1, 4),
    place=st.sampled_from(["numpy", "csr"]),
    dtype=st.sampled_from([np.float64, np.float32]),
    threads=st.integers(1, 3),
    budget=st.sampled_from([None, 1, 10_000]),
    seed=st.integers(0, 10),
)
def test_any_shape(n, d, N, k, place, dtype, threads, budget, seed):
    X, W, A = problem(dtype, n, d, N, k, seed)
    X_there, options = PLACES[place](X), {"n_threads": threads, "memory_budget": budget}
    W /= dtype(d**0.5)
    assert_close(engine.features(X_there, W, scale=1.0, **options), plain.features(X, W), dtype)
    # sums of n terms that may nearly cancel: compare with the size of what is added
    size = max(1.0, np.abs(A).sum())
    tolerance = TOLERANCE[dtype] * size
    sums = engine.fourier_sums(X_there, W, A, **options)
    np.testing.assert_allclose(sums, plain.fourier_sums(X, W, A), rtol=0, atol=tolerance)
    _, gradient = engine.potential_and_gradient(X_there, W, A, **options)
    _, expected = plain.potential_and_gradient(X, W, A)
    largest = np.abs(X).max(initial=1.0)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=tolerance * size * largest)


@given(
    n=st.integers(0, 40),
    d=st.integers(1, 6),
    N=st.integers(0, 30),
    K=st.integers(1, 4),
    place=st.sampled_from(["numpy", "csr", "torch", "dask"]),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=60)
def test_outer_products_are_of_the_slopes_and_add_up(n, d, N, K, place, seed):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, d)), rng.normal(size=(d, N))
    c = rng.normal(size=(N, K)) + 1j * rng.normal(size=(N, K))

    def values(rows):
        return (np.exp(1j * (rows @ W)) @ np.conj(c)).real

    step = 1e-5
    shifted = [values(X + step * e) - values(X - step * e) for e in np.eye(d)]
    slopes = np.stack(shifted, axis=-1).reshape(-1, d) / (2 * step)  # one row per row and function
    result = on_host(engine.gradient_outer_product(PLACES[place](X), W, c)) if n else 0
    np.testing.assert_allclose(result, slopes.T @ slopes, rtol=1e-6, atol=1e-6)
    if n > 1:
        half = n // 2
        parts = [engine.gradient_outer_product(part, W, c) for part in (X[:half], X[half:])]
        whole = np.abs(result).max()
        np.testing.assert_allclose(sum(parts), result, rtol=0, atol=1e-12 * whole)


def test_outer_products_of_many_frequencies():
    # more than one tile has columns for, and several tiles of rows
    X, W, _ = problem(np.float64, n=150, d=3, N=5000)
    c = np.random.default_rng(0).normal(size=(5000, 2)) * (1 - 0.5j)
    assert_close(
        engine.gradient_outer_product(X, W, c), plain.gradient_outer_product(X, W, c), np.float64
    )


def test_parts_of_the_gradient_add_up():
    X, W, A = problem(np.float64)
    sums = engine.fourier_sums(X, W, A)
    parts = [
        engine.potential_and_gradient(X[part], W, A[part], sums=sums)
        for part in (slice(0, 40), slice(40, None))
    ]
    potential, gradient = engine.potential_and_gradient(X, W, A)
    np.testing.assert_allclose(parts[0][0], potential)
    np.testing.assert_allclose(parts[0][1] + parts[1][1], gradient, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.float16])
@pytest.mark.parametrize("place", ["numpy", "csr", "dask", "strict"])
def test_other_dtypes_are_computed_in_the_documented_one(place, dtype):
    X, W, A = problem(np.float64)
    X = np.round(X * 2).astype(dtype)
    if place == "strict" and dtype is np.float16:
        pytest.skip("array-api-strict has no float16")
    if place == "csr" and dtype is np.float16:
        pytest.skip("SciPy has no sparse float16")
    result = on_host(engine.features(PLACES[place](X), W, scale=1.0))
    computed = np.float32 if dtype is np.float16 else np.float64
    assert result.dtype == computed
    np.testing.assert_allclose(
        result, plain.features(X, W), rtol=0, atol=1e-5 if computed is np.float32 else 1e-12
    )
    np.testing.assert_allclose(
        on_host(engine.fourier_sums(PLACES[place](X), W, A)),
        plain.fourier_sums(X, W, A),
        rtol=0,
        atol=1e-3 if computed is np.float32 else 1e-10,
    )


@pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict"])
def test_not_a_number_stays_visible(place):
    """The engine does not check its input, but it does not turn NaN into a number either."""
    X, W, _ = problem(np.float32)
    X[3, 2] = np.nan
    X[5, 1] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = on_host(engine.features(PLACES[place](X), W))
    assert np.isnan(result[[3, 5]]).all()
    assert np.isfinite(np.delete(result, [3, 5], axis=0)).all()


class TestBadInput:
    X, W, A = problem(np.float64)

    def test_unknown_container(self):
        with pytest.raises(TypeError, match=r"PyTorch tensor, or a dask array, got _Table"):
            engine.features(_Table(), self.W)

    @pytest.mark.parametrize("place", ["numpy", "strict"])
    def test_complex_rows(self, place):
        with pytest.raises(TypeError, match="real numbers"):
            engine.features(PLACES[place](self.X.astype(complex)), self.W)

    def test_text(self):
        with pytest.raises(TypeError, match="real numbers"):
            engine.features(np.array([["a", "b"]]), np.ones((2, 1)))

    def test_columns_do_not_match(self):
        with pytest.raises(ValueError, match="X has 6 columns but W has 7 rows"):
            engine.features(self.X[:, :6], self.W)

    def test_one_dimension(self):
        with pytest.raises(ValueError, match="X must have two dimensions"):
            engine.fourier_sums(self.X[0], self.W, self.A)

    def test_rows_do_not_match(self):
        with pytest.raises(ValueError, match="X has 101 rows but A has 100"):
            engine.fourier_sums(self.X, self.W, self.A[1:])

    def test_three_dimensional_coefficients(self):
        with pytest.raises(ValueError, match="A must have one or two dimensions"):
            engine.fourier_sums(self.X, self.W, self.A[:, :, None])

    def test_wrong_signs(self):
        with pytest.raises(ValueError, match=r"signs must have shape \(3,\)"):
            engine.potential_and_gradient(self.X, self.W, self.A, signs=[1.0])

    @pytest.mark.parametrize("size", [0, 2, 20])
    def test_groups_that_do_not_fit(self, size):
        with pytest.raises(ValueError, match="size must divide"):
            engine.grouped_waves(self.X, self.W, np.ones(19), size)

    def test_coefficients_that_do_not_fit(self):
        with pytest.raises(ValueError, match="one row per frequency, 3"):
            engine.gradient_outer_product(np.ones((4, 2)), np.ones((2, 3)), np.ones((2, 2)))

    @pytest.mark.parametrize("shape", [(3,), (2, 3)])
    def test_mixtures_that_do_not_fit(self, shape):
        with pytest.raises(ValueError, match="one row per frequency, 3"):
            engine.mixed_waves(np.ones((4, 2)), np.ones((2, 3)), np.ones(shape))

    def test_out_elsewhere(self):
        with pytest.raises(ValueError, match="out is for NumPy"):
            engine.features(PLACES["strict"](self.X), self.W, out=np.empty((1, 1)))


class _Table:
    shape = (3, 7)
