import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem, RBFSampler

from bochner import FourierFeatures, MercerFeatures, NystroemFeatures
from bochner.images.optimized import OptimizedMap
from bochner.images.patch_maps import fit_patch_map, squared_scale
from tests.places import PLACES, on_host


def directions(n, d, seed=0):
    U = np.random.default_rng(seed).normal(size=(n, d))
    return U / np.linalg.norm(U, axis=1, keepdims=True)


@pytest.mark.parametrize("quantile", [0.0, 0.1, 0.5, 1.0])
def test_scale_is_the_quantile_of_the_distances(quantile):
    U = directions(30, 3)
    distances = ((U[:, None] - U) ** 2).sum(axis=2)[~np.eye(30, dtype=bool)]
    found = squared_scale(U, quantile, np.random.RandomState(0))
    # the share of exact distances below it, to five standard errors of 100000 pairs
    share = (distances <= found + 1e-12).mean()
    error = 5 * (quantile * (1 - quantile) / 1e5) ** 0.5 + 2 / len(distances)
    assert abs(share - quantile) <= error


def test_repeated_rows_do_not_make_the_scale_zero():
    U = np.array([[1.0, 0.0]] * 40 + [[0.0, 1.0]], dtype=np.float32)
    U[1] *= np.float32(1 + 1e-7)  # rounding
    assert squared_scale(U, 0.1, np.random.RandomState(0)) == 2
    assert squared_scale(U[:40], 0.1, np.random.RandomState(0)) == 0


@pytest.mark.parametrize(
    "approximation",
    ["mercer", "fourier", "nystroem", OptimizedMap(500, 5), RBFSampler()],
    ids=str,
)
def test_width_bandwidth_and_seed(approximation):
    U = directions(200, 4)
    maps = [
        fit_patch_map(U, approximation, 40, 1.0, np.random.RandomState(seed)) for seed in (0, 0, 1)
    ]
    phi = [xi(U) for xi in maps]
    assert maps[0].n_maps == phi[0].shape[1] == 40
    np.testing.assert_array_equal(phi[0], phi[1])
    if approximation != "mercer":  # nothing random there
        assert np.abs(phi[0] - phi[2]).max() > 1e-3
    # the kernel, roughly: better than not looking
    exact = np.exp(-(2 - 2 * U @ U.T))
    assert np.square(phi[0] @ phi[0].T - exact).mean() < 0.5 * np.square(exact).mean()
    torch = maps[0](PLACES["torch"](U))
    assert type(torch).__module__ == "torch"
    np.testing.assert_allclose(on_host(torch), phi[0], atol=1e-12)


def test_what_is_fitted_is_the_named_map():
    U, state = directions(50, 3), np.random.RandomState
    for name, kind in (
        ("mercer", MercerFeatures),
        ("fourier", FourierFeatures),
        ("nystroem", NystroemFeatures),
    ):
        fitted = fit_patch_map(U, name, 6, 0.7, state(0)).estimator
        assert type(fitted) is kind
        assert fitted.gamma == 0.7
        assert fitted.n_components == 6


def test_a_transformer_is_cloned_and_its_own_seed_kept():
    U = directions(50, 3)
    own = FourierFeatures(n_components=8, gamma=3.0, random_state=5)
    fitted = fit_patch_map(U, own, None, None, np.random.RandomState(0))
    assert not hasattr(own, "frequencies_")
    np.testing.assert_array_equal(fitted(U), own.fit(U).transform(U))
    assert fitted.n_maps == 8


def test_too_few_patches_and_odd_maps():
    U = directions(5, 3)
    for name in ("nystroem", "optimized"):
        with pytest.raises(ValueError, match=f"maps=6 with approximation='{name}' needs.*got 5"):
            fit_patch_map(U, name, 6, 1.0, np.random.RandomState(0))
    with pytest.raises(ValueError, match="maps=7, but approximation='fourier' needs an even"):
        fit_patch_map(U, "fourier", 7, 1.0, np.random.RandomState(0))


def test_nystroem_is_as_good_in_single_precision():
    """Directions of a smooth kernel, whose eigenvalues are soon below float32."""
    U = directions(600, 3)
    exact = np.exp(-0.5 * (2 - 2 * U @ U.T))
    errors = {}
    for dtype in (np.float32, np.float64):
        xi = fit_patch_map(U.astype(dtype), "nystroem", 80, 0.5, np.random.RandomState(0))
        phi = xi(U.astype(dtype))
        assert phi.dtype == dtype
        errors[dtype] = np.abs(phi @ phi.T - exact).max()
    theirs = Nystroem(gamma=0.5, n_components=80).fit(xi.estimator.landmarks_).transform(U)
    exactly = np.abs(theirs @ theirs.T - exact).max()
    assert errors[np.float64] <= exactly + 1e-9
    # 8e-4; with all the directions 1e-2
    assert errors[np.float32] < 2e-3
