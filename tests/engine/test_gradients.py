"""Gradients through every map, against finite differences of the map itself."""

import numpy as np
import pytest

import bochner
from bochner.images.layers import PatchLayer
from bochner.kernels import KERNELS, kernel_object
from tests.feature_map_case import PUBLIC_MAPS

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
y = np.digitize(X[:, 0], [-0.5, 0.5])
NEW = RNG.normal(size=(4, 3))
STEP = 1e-5


def landmarks(**parameters):
    given = {"n_components": 5, "n_frequencies": 20} | parameters
    return bochner.LandmarkSimilarities(random_state=0, **given)


def mercer(**parameters):
    return bochner.MercerFeatures(n_components=10, random_state=0, n_mixture=2, **parameters)


SMOOTH = [name for name, kernel in KERNELS.items() if getattr(kernel(gamma=0.5), "profile", None)]
MAPS = {
    "fourier": bochner.FourierFeatures(n_components=6, random_state=0),
    "fourier, offsets": bochner.FourierFeatures(n_components=5, paired=False, random_state=0),
    "posterior": bochner.PosteriorFourierFeatures(n_components=6, n_candidates=20, random_state=0),
    "margin": bochner.MarginFourierFeatures(n_components=4, n_chains=4, n_steps=2, random_state=0),
    "landmarks": landmarks(beta=1.0),
    "landmarks, their own": landmarks(frequencies="own"),
    **{f"landmarks, {name}": landmarks(posterior=None, kernel=name) for name in SMOOTH},
    "nystroem": bochner.NystroemFeatures(8, random_state=0),
    "nystroem, as it is": bochner.NystroemFeatures(8, orthogonal=False, random_state=0),
    "mercer": mercer(),
    "mercer, normalized": mercer(normalize=True),
    "mercer, mixture": mercer(density="mixture"),
    "harmonics": bochner.MarginHarmonicFeatures(n_components=4, random_state=0),
    "zonal": bochner.MarginHarmonicFeatures(n_components=4, functions="zonal", random_state=0),
    "metric": bochner.GradientMetric("full", n_frequencies=16, n_rounds=1, random_state=0),
    "relevance": bochner.RelevanceMetric(n_steps=2, random_state=0),
}
REFUSED = {
    "a kernel of one's own": landmarks(posterior=None, kernel=lambda: None),
    "marginals": mercer(density="marginals"),
    "network": bochner.ConvolutionalKernelNetwork(
        layers=[PatchLayer(patch=1, maps=2, stride=1)], image_shape=(1, 3), random_state=0
    ),
}


class OwnKernel:
    """A Gaussian kernel that can only be called."""

    def __init__(self):
        self.gaussian = kernel_object("gaussian").with_gamma(0.5)

    def __call__(self, X, Y=None):
        return self.gaussian(X, Y)

    def sample(self, *arguments, **options):
        return self.gaussian.sample(*arguments, **options)


def fitted(name):
    learned = MAPS[name] if name in MAPS else REFUSED[name]
    return learned.fit(X, y)


def test_every_map_is_in_a_table():
    kinds = {type(learned).__name__ for learned in (*MAPS.values(), *REFUSED.values())}
    assert kinds == PUBLIC_MAPS


@pytest.mark.filterwarnings("ignore::bochner.mercer.features.MercerWarning")
@pytest.mark.parametrize("name", MAPS)
def test_gradients_are_those_of_finite_differences(name):
    learned = fitted(name)
    features = learned.transform(NEW)
    C = np.random.default_rng(1).normal(size=features.shape)
    rows = torch.tensor(NEW, requires_grad=True)
    found = learned.transform(rows)
    np.testing.assert_allclose(found.detach().numpy(), features, rtol=0, atol=1e-12)
    (found * torch.tensor(C)).sum().backward()
    expected = np.empty_like(NEW)
    for index in np.ndindex(*NEW.shape):
        shift = np.zeros_like(NEW)
        shift[index] = STEP
        both = [(learned.transform(NEW + sign * shift) * C).sum() for sign in (1, -1)]
        expected[index] = (both[0] - both[1]) / (2 * STEP)
    np.testing.assert_allclose(rows.grad.numpy(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["fourier", "landmarks", "nystroem", "mercer", "metric"])
def test_float32_rows(name):
    learned = fitted(name)
    gradients = []
    for dtype in (torch.float32, torch.float64):
        rows = torch.tensor(NEW, dtype=dtype, requires_grad=True)
        found = learned.transform(rows)
        assert found.dtype == dtype
        found.sum().backward()
        gradients.append(rows.grad)
    torch.testing.assert_close(*gradients, check_dtype=False, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["landmarks, exponential", "landmarks, laplacian", "nystroem"])
def test_a_row_that_is_a_landmark_has_a_finite_gradient(name):
    learned = fitted(name)
    rows = torch.tensor(np.asarray(learned.landmarks_[:2]), requires_grad=True)
    learned.transform(rows).sum().backward()
    assert torch.isfinite(rows.grad).all()


def test_rows_far_from_the_density():
    rows = torch.tensor(np.vstack([NEW, 1e6 * NEW]), requires_grad=True)
    fitted("mercer").transform(rows).sum().backward()
    assert torch.isfinite(rows.grad).all()
    assert (rows.grad[4:] == 0).all()
    assert (rows.grad[:4] != 0).all()
    with pytest.raises(ValueError, match=r"use X\.detach"):
        fitted("mercer, normalized").transform(rows)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_give_gradients_says_so(name):
    if name.startswith("a kernel"):
        REFUSED[name].set_params(kernel=OwnKernel())
    learned = fitted(name)
    rows = torch.tensor(NEW, requires_grad=True)
    with pytest.raises(ValueError, match=r"X asks for gradients.*X\.detach\(\)"):
        learned.transform(rows)
    expected = learned.transform(NEW)
    for found in (learned.transform(rows.detach()), without_record(learned, rows)):
        np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-12)


def without_record(learned, rows):
    with torch.no_grad():
        return learned.transform(rows)


@pytest.mark.parametrize("name", ["fourier", "posterior", "margin", "landmarks", "metric"])
def test_rows_of_fit_need_not_be_detached(name):
    rows = torch.tensor(X, requires_grad=True)
    found = MAPS[name].fit(rows, y).transform(NEW)
    np.testing.assert_allclose(found, fitted(name).transform(NEW), rtol=0, atol=1e-9)
