import numpy as np
import pytest

from bochner.fourier import sampling as drawing
from bochner.fourier.sampling import draw_frequencies
from bochner.kernels import Cauchy, Gaussian, Laplacian, Matern


def draw(kernel, n, d, sampling, seed=0):
    return draw_frequencies(
        kernel, n, d, sampling=sampling, random_state=np.random.RandomState(seed)
    )


@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 8), (8, 8), (20, 8), (5, 1)])
def test_orthogonal_blocks(n, d):
    W = draw(Gaussian(gamma=0.5), n, d, "orthogonal")
    for first in range(0, n, d):
        block = W[:, first : first + d]
        gram = block.T @ block
        np.testing.assert_allclose(gram - np.diag(np.diagonal(gram)), 0, atol=1e-12)


@pytest.mark.parametrize(("n", "d"), [(7, 1), (3, 8), (41, 4), (40, 4)])
@pytest.mark.parametrize("at_once", [1, 50, 2**18])
def test_orthogonal_matrices_are_drawn_one_after_the_other(n, d, at_once, monkeypatch):
    monkeypatch.setattr(drawing, "_AT_ONCE", at_once)
    kernel, random_state, blocks = Gaussian(gamma=0.5), np.random.RandomState(0), []
    for first in range(0, n, d):
        Q, R = np.linalg.qr(random_state.standard_normal((d, min(d, n - first))))
        blocks.append(Q * np.sign(np.diagonal(R)))
    expected = np.hstack(blocks) * kernel.sample_norms(n, d, random_state)
    np.testing.assert_allclose(draw(kernel, n, d, "orthogonal"), expected, rtol=1e-12)


def test_orthogonal_directions_are_uniform():
    """Without the signs of R the first coordinate of every block would be one-sided."""
    firsts = np.array([draw(Gaussian(gamma=0.5), 3, 3, "orthogonal", s)[0, 0] for s in range(400)])
    assert abs((firsts > 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(400)


def test_orthogonal_and_quasi_random_have_smaller_errors():
    X = np.random.default_rng(0).normal(size=(40, 6))
    kernel = Gaussian(gamma=0.1)
    exact = kernel(X)
    errors = {}
    for sampling in ("iid", "orthogonal", "sobol", "halton"):
        squares = []
        for seed in range(30):
            W = draw(kernel, 64, 6, sampling, seed)
            squares.append(np.mean((np.cos((X[:, None] - X) @ W).mean(axis=2) - exact) ** 2))
        errors[sampling] = np.mean(squares), np.std(squares) / np.sqrt(len(squares))
    for sampling in ("orthogonal", "sobol", "halton"):
        gap = errors["iid"][0] - errors[sampling][0]
        assert gap > 5 * np.hypot(errors["iid"][1], errors[sampling][1])


@pytest.mark.parametrize("kernel", [Laplacian(gamma=1.0), Cauchy(gamma=1.0)], ids=str)
def test_orthogonal_needs_a_rotation_invariant_kernel(kernel):
    with pytest.raises(ValueError, match="sampling='orthogonal' is not available"):
        draw(kernel, 4, 2, "orthogonal")


def test_auto_takes_what_the_kernel_allows():
    for kernel, sampling in ((Matern(gamma=1.0), "orthogonal"), (Cauchy(gamma=1.0), "iid")):
        np.testing.assert_array_equal(draw(kernel, 5, 3, "auto"), draw(kernel, 5, 3, sampling))


def test_sobol_has_a_largest_dimension():
    with pytest.raises(ValueError, match="goes up to 21201 dimensions"):
        draw(Gaussian(gamma=1.0), 2, 30000, "sobol")


def test_unknown_sampling():
    with pytest.raises(ValueError, match="sampling must be one of"):
        draw(Gaussian(gamma=1.0), 2, 2, "magic")


@pytest.mark.parametrize("sampling", ["iid", "sobol", "halton"])
def test_heavy_tails_stay_finite(sampling):
    assert np.isfinite(draw(Laplacian(gamma=1.0), 4096, 2, sampling)).all()
