import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import FitCallback
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import ConvolutionalKernelNetwork, FourierFeatures
from bochner.images.layers import ARCHITECTURES, GradientLayer, PatchLayer
from bochner.images.optimized import OptimizedMap
from tests.images import naive
from tests.memory import peak_of
from tests.places import PLACES, on_host

APPROXIMATIONS = {
    "mercer": "mercer",
    "fourier": "fourier",
    "nystroem": "nystroem",
    "optimized": OptimizedMap(300, 5),
    "transformer": RBFSampler(),
}
TWO = (PatchLayer(3, 6, 2), PatchLayer(2, 8, 2))


def images(n=12, height=8, width=7, channels=1, seed=0, dtype=np.float64):
    found = np.random.default_rng(seed).normal(size=(n, height, width, channels))
    found[:, :4, :4] = 0.5  # a part that is constant, so that some patches are zero
    return found.astype(dtype)


def network(layers=TWO, **parameters):
    return ConvolutionalKernelNetwork(**({"layers": layers, "random_state": 0} | parameters))


def one_by_one(estimator):
    """A fitted map of patches as a function of a single direction, from its definition."""
    if isinstance(estimator, FourierFeatures):
        W = estimator.frequencies_
        return lambda u: np.r_[np.cos(u @ W), np.sin(u @ W)] / W.shape[1] ** 0.5
    if hasattr(estimator, "transform"):
        return lambda u: estimator.transform(u[None])[0]
    return lambda u: np.array(
        [
            scale * np.exp(-estimator.gamma * ((u - w) @ (u - w)))
            for w, scale in zip(estimator.centers, estimator.mix, strict=True)
        ]
    )


@pytest.mark.parametrize("name", APPROXIMATIONS)
@pytest.mark.parametrize("channels", [1, 3])
def test_a_layer_is_the_naive_one(name, channels):
    X = images(4, channels=channels)
    fitted = network(approximation=APPROXIMATIONS[name], standardize=False).fit(X)
    for image, found in zip(X[:2], fitted.transform(X), strict=False):
        maps = image
        for index, layer in enumerate(TWO):
            xi = one_by_one(fitted.approximations_[index])
            options = {"side": layer.patch, "stride": layer.stride, "center": index == 0}
            maps = naive.layer_output(maps, xi, layer.maps, **options)
            assert maps.shape == fitted.shapes_[index + 1]
        np.testing.assert_allclose(found, maps.ravel(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_gradient_layer_is_the_naive_one(channels):
    X = images(3, channels=channels)
    fitted = network([GradientLayer(5, 2)], standardize=False).fit(X)
    assert fitted.shapes_[-1] == (4, 4, 5 * channels)
    angles = 2 * np.pi * np.arange(5) / 5
    variance = (1 - np.cos(angles[1])) ** 2 + np.sin(angles[1]) ** 2
    around = np.linspace(0, 2 * np.pi, 4096, endpoint=False)
    weight = 1 / (5 * np.exp(-4 * (1 - np.cos(around)) / variance).mean())

    def xi(u):
        apart = (u[0] - np.cos(angles)) ** 2 + (u[1] - np.sin(angles)) ** 2
        return weight**0.5 * np.exp(-apart / variance)

    found = fitted.transform(X).reshape(3, 4, 4, channels, 5)
    for k in range(channels):
        slopes = np.stack(np.gradient(X[0, :, :, k]), axis=-1)
        expected = naive.layer_output(slopes, xi, 5, side=1, stride=2, center=False)
        np.testing.assert_allclose(found[0, :, :, k], expected, atol=1e-11)


def framed(n):
    """Small patterns in the middle of empty images, far from the border."""
    X = np.zeros((n, 21, 21, 1))
    X[:, 9:12, 9:12] = np.random.default_rng(1).uniform(0.1, 1, size=(n, 3, 3, 1))
    return X


def fine(maps, approximation, quantile=None):
    """A layer whose centres are so fine that the kernel of positions is a gaussian."""
    return PatchLayer(2, maps, 1, approximation, quantile, center=False, width=2.0, radius=10)


def exact_kernel(X, gamma):
    """Equation 17, times what the sum over centres gives for a position and itself."""

    def position(z, w):
        return 2 * np.pi * np.exp(-((z[0] - w[0]) ** 2 + (z[1] - w[1]) ** 2) / 8)

    options = {"side": 2, "center": False, "position": position}
    return np.array([[naive.convolutional_kernel(x, y, gamma, **options) for y in X] for x in X])


def test_enough_landmarks_give_the_convolutional_kernel():
    """With every patch a landmark only the grid of centres is an approximation."""
    X = framed(3)
    fitted = network([fine(48, "nystroem", 0.5)], standardize=False, max_images=None).fit(X)
    phi, exact = fitted.transform(X), exact_kernel(X, fitted.gammas_[0])
    np.testing.assert_allclose(phi @ phi.T, exact, rtol=1e-5)


def test_mercer_maps_approach_the_convolutional_kernel():
    """From below, and as exponentially in the number of maps as the eigenvalues decay."""
    X = framed(3)
    errors = []
    for maps in (8, 16, 32, 64):
        fitted = network([fine(maps, "mercer", 0.9)], standardize=False).fit(X)
        exact = exact_kernel(X, fitted.gammas_[0])
        phi = fitted.transform(X)
        missed = np.linalg.eigvalsh(exact - phi @ phi.T)
        assert missed.min() > -1e-6 * np.trace(exact)
        errors.append(missed.sum() / np.trace(exact))
    assert errors[-1] < 1e-3
    assert (np.diff(np.log(errors)) < np.log(0.6)).all()


def test_random_maps_approach_the_convolutional_kernel():
    """Unbiased, with a mean square error that is inversely proportional to the maps."""
    X, gamma, seeds = framed(2), 1.5, 60
    exact = exact_kernel(X, gamma)[0, 1]
    errors = {}
    for maps in (16, 64):
        own = FourierFeatures(n_components=maps, gamma=gamma, sampling="iid")
        layer = fine(None, own, "own")
        found = []
        for seed in range(seeds):
            phi = network([layer], standardize=False, random_state=seed).fit_transform(X)
            found.append(phi[0] @ phi[1] - exact)
        errors[maps] = np.array(found)
        standard = errors[maps].std(ddof=1) / seeds**0.5
        assert abs(errors[maps].mean()) < 5 * standard + 1e-5 * exact
    squares = {maps: np.square(error) for maps, error in errors.items()}
    ratio = squares[16].mean() / squares[64].mean()
    relative = sum((s.std(ddof=1) / s.mean()) ** 2 / seeds for s in squares.values()) ** 0.5
    assert abs(np.log(ratio / 4)) < 4 * relative
    assert relative < 0.3  # so that no rate at all would be seen


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_memory_batches_and_threads_do_not_matter(name):
    X = images(40, channels=2)
    options = {"approximation": APPROXIMATIONS[name], "n_patches": 200}
    large = network(**options).fit(X)
    small = network(**options, memory_budget=300_000, n_jobs=2).fit(X)
    assert small.gammas_ == pytest.approx(large.gammas_, rel=1e-9)
    np.testing.assert_allclose(small.transform(X), large.transform(X), atol=1e-8)
    np.testing.assert_allclose(large.transform(X[7:9]), large.transform(X)[7:9], atol=1e-12)
    two = small.transform(X)
    np.testing.assert_array_equal(two, small.set_params(n_jobs=1).transform(X))


@pytest.mark.parametrize("name", ["mercer", "fourier", "nystroem", "optimized"])
def test_memory_stays_within_the_budget(name):
    budget = 2**23
    options = {"approximation": APPROXIMATIONS[name], "memory_budget": budget, "n_jobs": 2}
    layers = [PatchLayer(3, 16, 2), PatchLayer(2, 16, 4)]
    few = np.random.default_rng(0).integers(0, 255, (150, 24, 24), dtype=np.uint8)
    fitted = network(layers, **options).fit(few)  # compiles
    many = np.concatenate([few] * 5)
    again, peak = peak_of(lambda: network(layers, **options).fit(many))
    assert peak < budget
    assert again.shapes_ == fitted.shapes_
    result, peak = peak_of(lambda: fitted.transform(many))
    assert peak - result.nbytes < budget
    # float64 maps of all images would not have fitted
    assert len(many) * np.prod(fitted.shapes_[1]) * 8 > budget


def test_one_large_image_is_cut_into_bands():
    X = np.random.default_rng(0).normal(size=(1, 300, 300)).astype(np.float32)
    budget = 2**24
    options = {"n_patches": 2000, "approximation": "nystroem", "standardize": False}
    whole = network([PatchLayer(5, 64, 8)], **options, memory_budget=2**30).fit(X)
    whole.memory_budget = budget
    found, peak = peak_of(lambda: whole.transform(X))
    assert peak - found.nbytes < budget
    assert budget < 296 * 296 * 64 * 4  # what the features of all patches take
    whole.memory_budget = 2**30
    np.testing.assert_allclose(found, whole.transform(X), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "shape", "width"),
    [
        ("mnist-gm", (28, 28, 1), 6400),
        ("mnist-pm", (28, 28, 1), 3200),
        ("mnist-pm1", (28, 28, 1), 7200),
        ("cifar-gm", (32, 32, 3), 12800),
        ("cifar-pm", (32, 32, 3), 12800),
    ],
)
def test_named_architectures(name, shape, width):
    X = np.random.default_rng(0).integers(0, 255, size=(4, *shape), dtype=np.uint8)
    fitted = network(name, approximation="fourier", n_patches=1000).fit(X)
    assert fitted.transform(X).shape == (4, width)
    assert len(fitted.get_feature_names_out()) == width
    assert len(fitted.layers_) == len(ARCHITECTURES[name])


def test_digits():
    X, y = load_digits(return_X_y=True)
    layers = [PatchLayer(3, 30, 1), PatchLayer(2, 60, 2)]
    fitted = network(layers, image_shape=(8, 8), n_patches=20_000).fit(X[:1000])
    model = RidgeClassifier(alpha=0.01).fit(fitted.transform(X[:1000]), y[:1000])
    # pixels in the place of the features give 0.89, a gaussian SVM 0.97
    assert model.score(fitted.transform(X[1000:]), y[1000:]) > 0.97


def test_kinds_of_images_agree():
    whole = np.random.default_rng(0).integers(0, 255, size=(10, 8, 7), dtype=np.uint8)
    expected = network().fit(whole.astype(np.float64)).transform(whole.astype(np.float64))
    assert expected.dtype == np.float64
    for dtype in (np.uint8, np.int16, np.float16, np.float32):
        found = network().fit(whole.astype(dtype)).transform(whole.astype(dtype))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=2e-3)
    for dtype in (np.int64, np.uint32):
        found = network().fit(whole.astype(dtype)).transform(whole.astype(dtype))
        np.testing.assert_array_equal(found, expected)
    for shaped in (whole[..., None], np.asfortranarray(whole), whole.tolist()):
        found = network().fit(shaped).transform(shaped)
        np.testing.assert_allclose(found, expected, atol=2e-3)
    flat = network(image_shape=(8, 7)).fit(whole.reshape(10, -1)).transform(whole)
    np.testing.assert_allclose(flat, expected, atol=2e-3)
    inferred = network(image_shape=(8, -1)).fit(whole.reshape(10, -1)).transform(whole)
    np.testing.assert_array_equal(flat, inferred)


@pytest.mark.parametrize("place", ["torch", "strict"])
@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_places_agree(place, name):
    X = images(channels=2)
    fitted = network(approximation=APPROXIMATIONS[name]).fit(X)
    expected, there = fitted.transform(X), PLACES[place](X)
    result = fitted.transform(there)
    assert type(result).__module__ == type(there).__module__
    np.testing.assert_allclose(on_host(result), expected, atol=1e-9)
    refitted = network(approximation=APPROXIMATIONS[name]).fit(there)
    np.testing.assert_allclose(on_host(refitted.transform(there)), expected, atol=1e-6)
    flat = network(image_shape=(8, 7, 2)).fit(PLACES[place](X.reshape(len(X), -1)))
    assert flat.shapes_[0] == (8, 7, 2)


def test_standardized_features():
    X = images(50)
    plain = network(standardize=False).fit(X)
    fitted = network().fit(X)
    features, raw = fitted.transform(X), plain.transform(X)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-12)
    assert np.square(features).sum(axis=1).mean() == pytest.approx(1)
    np.testing.assert_allclose(features, (raw - raw.mean(axis=0)) / fitted.scale_, atol=1e-10)
    assert plain.mean_ is None
    np.testing.assert_allclose(plain.transform(7 * X), 7 * raw, rtol=1e-9, atol=1e-12)


def test_constant_images():
    X = images(20)
    flat = np.full((2, 8, 7, 1), 3.7)
    for layers in (TWO, [GradientLayer(), TWO[1]]):
        fitted = network(layers, standardize=False).fit(X)
        assert not fitted.transform(flat).any()
        assert not fitted.transform(np.zeros_like(flat)).any()
    np.testing.assert_allclose(
        network().fit(X).transform(flat), network().fit(X).transform(0 * flat)
    )
    with pytest.raises(ValueError, match=r"layers\[0\] has nothing to compare.*0 patches"):
        network().fit(flat)
    with pytest.raises(ValueError, match=r"98 patches that are not zero.*same direction"):
        network([PatchLayer(2, 4, center=False)]).fit(np.ones((2, 8, 8)))
    with pytest.raises(ValueError, match="nothing to compare"):
        network([GradientLayer(), TWO[1]]).fit(flat)


def test_wrong_images():
    X = images()
    fitted = network().fit(X)
    for wrong, message in (
        (X[:, :-1], r"images of shape \(7, 7, 1\), but .* is expecting \(8, 7, 1\)"),
        (np.concatenate([X, X], axis=3), r"images of shape \(8, 7, 2\)"),
        (X.reshape(len(X), -1)[:, :-1], "X has 55 features, but .* is expecting 56"),
        (np.where(X > 2, np.nan, X), "NaN"),
        (np.where(X > 2, np.inf, X), "infinity"),
        (X * 1e200, "too large to compute with"),
        ((X * 1e20).astype(np.float32), "too large to compute with"),
        (X.reshape(len(X), -1) * 1e200, "too large to compute with"),
        (X + 0j, "real numbers"),
        (X.astype(str), "real numbers"),
        (X[:0], "at least one image"),
        (X[..., None], "dim 5|5D|5 dim|dimensions"),
        (X[0, 0, :, 0], "1D|dim"),
    ):
        for estimator in (fitted.transform, network(image_shape=(8, 7)).fit):
            if estimator != fitted.transform and "images of" in message:
                continue
            with pytest.raises(ValueError):
                estimator(wrong)
        with pytest.raises(ValueError, match=message):
            fitted.transform(wrong)


def test_wrong_shapes_and_parameters():
    X = images()
    flat = X.reshape(len(X), -1)
    for parameters, rows, message in (
        ({}, flat, "rows of 56 numbers and image_shape=None"),
        ({"image_shape": (8, 8)}, flat, r"image_shape=\(8, 8\) does not fit .* 56 numbers"),
        ({"image_shape": (5, -1)}, flat, "does not fit"),
        ({"image_shape": (8, 8)}, X, r"image_shape=\(8, 8\), but X has images"),
        ({"image_shape": (8,)}, flat, r"image_shape=\(8,\) must be"),
        ({"image_shape": (-1, -1)}, flat, "one of them may be -1"),
        ({"image_shape": (8, 7.0)}, flat, "whole numbers"),
        ({"layers": [PatchLayer(8, 4)]}, X, r"layers\[0\]: patch=8 does not fit .* 8 x 7"),
        ({"layers": [PatchLayer(3, 4, 3), TWO[0]]}, X, r"layers\[1\]: patch=3 .* 2 x 2"),
        ({"layers": [GradientLayer()]}, X[:, :1], "a gradient does not fit"),
        ({"layers": "lenet"}, X, "layers='lenet' is not the name"),
        ({"approximation": "magic"}, X, "approximation='magic' must be one of"),
        ({"quantile": 2}, X, "quantile"),
        ({"n_patches": 1}, X, "n_patches"),
        ({"memory_budget": 0}, X, "memory_budget"),
    ):
        with pytest.raises(ValueError, match=message):
            network(**parameters).fit(rows)


def test_dask_is_refused():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="X is a dask collection"):
        network().fit(da.from_array(images()))


def test_the_seed_decides():
    X = images()
    options = {"approximation": "fourier"}
    first = network(**options).fit(X).transform(X)
    np.testing.assert_array_equal(first, network(**options).fit(X).transform(X))
    assert np.abs(first - network(**options, random_state=1).fit_transform(X)).max() > 1e-3


def test_a_sample_of_the_images():
    X = images(30)
    fitted = network(max_images=10).fit(X)
    assert fitted.transform(X).shape[0] == 30
    fewer = network(n_patches=5, approximation="nystroem", layers=[PatchLayer(2, 4)])
    assert len(fewer.fit(X).approximations_[0].landmarks_) == 4


def test_clone_and_pickle():
    X = images()
    fitted = network(approximation=RBFSampler()).fit(X)
    loaded = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))
    copy = clone(fitted)
    assert not hasattr(copy, "layers_")
    np.testing.assert_array_equal(copy.fit(X).transform(X), fitted.transform(X))


def test_tables_keep_their_names():
    pd = pytest.importorskip("pandas")
    X = images().reshape(12, -1)
    table = pd.DataFrame(X, columns=[f"p{i}" for i in range(56)], index=range(3, 15))
    fitted = network(image_shape=(8, 7)).set_output(transform="pandas").fit(table)
    result = fitted.transform(table)
    assert list(fitted.feature_names_in_) == list(table.columns)
    assert result.index.equals(table.index)
    assert list(result.columns) == list(fitted.get_feature_names_out())
    assert not hasattr(fitted.fit(images()), "feature_names_in_")


class Watch(FitCallback):
    """Counts the layers it is told of."""

    def __init__(self):
        self.layers = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **_):
        pass

    def on_fit_task_end(self, estimator, context, **_):
        self.layers += context.task_name == "layer"


def test_callbacks_are_told_of_every_layer():
    watch = Watch()
    network().set_callbacks(watch).fit(images())
    assert watch.layers == 2


@parametrize_with_checks(
    # one pixel of as many channels as there are columns: the checks bring tables, not images
    [
        network([PatchLayer(1, 4, approximation=name)], image_shape=(1, 1, -1))
        for name in ("mercer", "fourier", "nystroem", OptimizedMap(200, 3))
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
