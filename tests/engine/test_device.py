"""What only the device engine promises: the result is where the input was."""

import numpy as np
import pytest

from bochner import engine
from bochner.engine import plain

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def problem(dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(500, 6, generator=generator, dtype=dtype)
    W = torch.randn(6, 40, generator=generator, dtype=dtype)
    return X, W, torch.randn(500, 2, generator=generator, dtype=dtype)


def test_results_are_tensors_on_the_device():
    X, W, A = problem()
    results = [
        engine.features(X, W),
        engine.fourier_sums(X, W, A),
        *engine.potential_and_gradient(X, W, A),
    ]
    assert all(isinstance(result, torch.Tensor) for result in results)
    assert all(result.device == X.device for result in results)
    assert results[0].dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(dtype):
    X, W, _ = problem()
    half = X.to(dtype)
    result = engine.features(half, W, scale=1.0)
    assert result.dtype == torch.float32
    expected = plain.features(half.float().numpy(), W.numpy())
    np.testing.assert_allclose(result.numpy(), expected, rtol=0, atol=5e-6)


def test_recorded_tensors_are_accepted():
    X, W, _ = problem()
    A = np.ones((len(X), 1))
    expected = engine.fourier_sums(X, W, A)
    found = engine.fourier_sums(X.requires_grad_(), W, A)
    assert not found.requires_grad
    torch.testing.assert_close(found, expected)


def test_frequencies_may_be_on_the_host_or_the_device():
    X, W, A = problem()
    torch.testing.assert_close(engine.features(X, W), engine.features(X, W.numpy()))
    torch.testing.assert_close(
        engine.fourier_sums(X, W, A), engine.fourier_sums(X, W.numpy(), A.numpy())
    )


def test_transposed_rows():
    X, W, _ = problem()
    torch.testing.assert_close(engine.features(X.T.contiguous().T, W), engine.features(X, W))
