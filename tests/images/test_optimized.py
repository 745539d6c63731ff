import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem

from bochner.images.bumps import Bumps, orientation_bumps
from bochner.images.optimized import OptimizedMap, fit_optimized, pair_loss


def directions(n, d, seed=0):
    U = np.random.default_rng(seed).normal(size=(n, d))
    return U / np.linalg.norm(U, axis=1, keepdims=True)


def loss_by_loops(centers, weights, U, V, gamma):
    total = 0.0
    for u, v in zip(U, V, strict=True):
        value = sum(
            weight * np.exp(-2 * gamma * (np.sum((u - w) ** 2) + np.sum((v - w) ** 2)))
            for w, weight in zip(centers, weights, strict=True)
        )
        total += (np.exp(-gamma * np.sum((u - v) ** 2)) - value) ** 2
    return total / len(U)


def test_loss_and_gradient():
    rng = np.random.default_rng(0)
    U, V = directions(20, 3), directions(20, 3, 1)
    W, eta, gamma = rng.normal(size=(4, 3)), rng.uniform(size=4), 0.7
    kernel = np.exp(-gamma * ((U - V) ** 2).sum(axis=1))
    pairs = U + V, (U**2).sum(axis=1) + (V**2).sum(axis=1), kernel, gamma
    loss, by_center, by_weight = pair_loss(W, eta, *pairs)
    assert loss == pytest.approx(loss_by_loops(W, eta, U, V, gamma), rel=1e-12)
    step = 1e-6
    for index in np.ndindex(W.shape):
        move = np.zeros_like(W)
        move[index] = step
        slope = (pair_loss(W + move, eta, *pairs)[0] - pair_loss(W - move, eta, *pairs)[0]) / step
        assert by_center[index] == pytest.approx(slope / 2, abs=1e-8)
    for index in range(4):
        move = step * np.eye(4)[index]
        slope = (pair_loss(W, eta + move, *pairs)[0] - pair_loss(W, eta - move, *pairs)[0]) / step
        assert by_weight[index] == pytest.approx(slope / 2, abs=1e-8)


def test_the_loss_on_a_device():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    U, like = directions(60, 4), torch.zeros(1)
    given = 8, 1.0, OptimizedMap(500, 10)
    here = fit_optimized(U, *given, np.random.RandomState(0))
    there = fit_optimized(U, *given, np.random.RandomState(0), like=like)
    np.testing.assert_allclose(there.centers, here.centers, atol=1e-6)
    np.testing.assert_allclose(there.mix, here.mix, atol=1e-6)


def test_more_iterations_and_more_maps_fit_better():
    U, gamma = directions(300, 3), 1.0
    exact = np.exp(-gamma * (2 - 2 * U @ U.T))

    def error(n_maps, max_iter):
        settings = OptimizedMap(5000, max_iter)
        phi = fit_optimized(U, n_maps, gamma, settings, np.random.RandomState(0))(U)
        return np.square(phi @ phi.T - exact).mean()

    assert error(20, 100) < 0.5 * error(20, 2) < 0.5 * error(20, 1) + 1e-12
    assert error(40, 100) < 0.5 * error(10, 100)


def test_weights_are_not_negative_and_the_seed_decides():
    U = directions(50, 4).astype(np.float32)
    fits = [
        fit_optimized(U, 8, 1.0, OptimizedMap(500, 10), np.random.RandomState(seed))
        for seed in (0, 0, 1)
    ]
    assert np.isfinite(fits[0].mix).all()
    np.testing.assert_array_equal(fits[0].centers, fits[1].centers)
    assert np.abs(fits[0].centers - fits[2].centers).max() > 1e-3
    assert fits[0](U).dtype == np.float32


def test_bumps_are_the_nystroem_map():
    U = directions(40, 3)
    nystroem = Nystroem(gamma=0.8, n_components=12, random_state=0).fit(U)
    bumps = Bumps(nystroem.components_, 0.8, nystroem.normalization_)
    np.testing.assert_allclose(bumps(U), nystroem.transform(U), atol=1e-10)


@pytest.mark.parametrize("n", [3, 12])
def test_orientations_have_unit_mean_square(n):
    angles = np.linspace(0, 2 * np.pi, 1000, endpoint=False)
    phi = orientation_bumps(n)(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    assert (phi**2).sum(axis=1).mean() == pytest.approx(1, rel=1e-12)


def test_wrong_settings():
    with pytest.raises(ValueError, match="n_pairs must be a whole number of at least 1, got 0"):
        OptimizedMap(n_pairs=0)
    with pytest.raises(ValueError, match=r"max_iter must .*, got 1\.5"):
        OptimizedMap(max_iter=1.5)
