"""Every map, in every place, gives results of the dtype that the rows decide."""

import numpy as np
import pytest
from sklearn.base import clone

from bochner import (
    ConvolutionalKernelNetwork,
    FourierFeatures,
    GradientMetric,
    LandmarkSimilarities,
    MarginFourierFeatures,
    MarginHarmonicFeatures,
    MercerFeatures,
    NystroemFeatures,
    PosteriorFourierFeatures,
    RelevanceMetric,
)
from bochner.fourier import posterior_features
from bochner.images.layers import PatchLayer
from bochner.kernels import Matern
from tests.feature_map_case import PUBLIC_MAPS
from tests.places import PLACES, on_host

# The documented rule, see bochner.engine.places.
DTYPES = {
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float32",
    "float64": "float64",
    "int64": "float64",
    "uint8": "float64",
    "bool": "float64",
}
OF_IMAGES = DTYPES | {"uint8": "float32", "bool": "float32"}  # pixels are exact in float32

HALF = {"float16", "bfloat16"}
MISSING = {  # dtypes that a place does not have
    "torch": set(),
    "csr": HALF,  # SciPy has no sparse float16
    "csr_array": HALF,
    "csc": HALF,
    "dask_sparse": HALF,
    "strict": HALF,  # the array API standard has no half precision
}
ONLY_IN_PYTORCH = {"bfloat16"}  # NumPy has none, and so neither dask

MAPS = {
    "fourier": FourierFeatures(n_components=6),
    "fourier with offsets": FourierFeatures(n_components=5, paired=False),
    "posterior": PosteriorFourierFeatures(n_components=6, n_candidates=20),
    "continuous posterior": PosteriorFourierFeatures(n_components=6, support="continuous"),
    "landmarks": LandmarkSimilarities(n_components=4, n_frequencies=8, landmarks="random"),
    "landmarks of k-means": LandmarkSimilarities(n_components=4, n_frequencies=8),
    "plain landmarks": LandmarkSimilarities(n_components=4, posterior=None, landmarks="random"),
    "plain landmarks, matern": LandmarkSimilarities(
        n_components=4, posterior=None, landmarks="random", kernel="matern"
    ),
    "margin": MarginFourierFeatures(n_components=4, n_chains=4, n_steps=2),
    "margin, harmonics": MarginHarmonicFeatures(n_components=3, budget=30),
    "margin, zonal": MarginHarmonicFeatures(n_components=3, functions="zonal"),
    "mercer": MercerFeatures(n_components=6),
    "mercer, normalized": MercerFeatures(n_components=6, normalize=True),
    "mercer, mixture": MercerFeatures(n_components=6, density="mixture", n_mixture=2),
    "mercer, weighted mixture": MercerFeatures(
        n_components=6, density="weighted-mixture", n_mixture=2
    ),
    "mercer, marginals": MercerFeatures(n_components=6, density="marginals", kernel="laplacian"),
    "nystroem": NystroemFeatures(4, kernel="exponential"),
    "nystroem, matern": NystroemFeatures(4, kernel=Matern(nu=0.7)),
    "metric": GradientMetric(n_frequencies=8, n_rounds=1),
    "metric, columns": GradientMetric("diagonal", n_frequencies=8, n_rounds=1),
    "relevance": RelevanceMetric(n_steps=2),
    "network": ConvolutionalKernelNetwork(
        layers=[PatchLayer(2, 4, 1)], image_shape=(2, 2), approximation="fourier", n_patches=20
    ),
}
NOT_FOR_IMAGES = {"csr", "csr_array", "csc", "dask", "dask_sparse"}  # refused, see its own tests


def rows(dtype):
    """Small whole numbers, which every dtype holds, in rows of which none is zero."""
    X = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 5, size=(24, 4))
    X[:, 0] = 1
    return X.astype("float32" if dtype == "bfloat16" else dtype)


def there(place, dtype):
    X = PLACES[place](rows(dtype))
    return X.bfloat16() if dtype == "bfloat16" else X


def cases():
    for name, estimator in MAPS.items():
        images = isinstance(estimator, ConvolutionalKernelNetwork)
        for place in PLACES:
            missing = MISSING.get(place, ONLY_IN_PYTORCH)
            if images and place in NOT_FOR_IMAGES:
                continue
            for dtype, expected in (OF_IMAGES if images else DTYPES).items():
                if dtype not in missing:
                    yield pytest.param(name, place, dtype, expected, id=f"{name}-{place}-{dtype}")


@pytest.mark.filterwarnings("ignore::bochner.mercer.features.MercerWarning")
@pytest.mark.filterwarnings("ignore::bochner.nystroem.features.NystroemWarning")
@pytest.mark.parametrize(("name", "place", "dtype", "expected"), list(cases()))
def test_result_has_the_documented_dtype(name, place, dtype, expected, monkeypatch):
    monkeypatch.setattr(posterior_features, "_STEPS", 1)  # the chains need not mix
    X, y = there(place, dtype), np.arange(24) % 2
    result = clone(MAPS[name]).set_params(random_state=0).fit(X, y).transform(X)
    assert str(result.dtype).rpartition(".")[2] == expected  # what dask declares
    assert on_host(result).dtype == expected  # what it computes


@pytest.mark.parametrize("place", sorted(MISSING))
def test_places_have_no_other_dtypes(place):
    """What the table above leaves out is not there to be tested."""
    for dtype in MISSING[place] - ONLY_IN_PYTORCH:
        with pytest.raises((TypeError, ValueError)):
            on_host(PLACES[place](rows(dtype)))


@pytest.mark.parametrize("name", ["continuous posterior", "margin", "margin, harmonics"])
def test_games_and_chains_ask_a_cluster_a_few_times_only(name):
    """Not once per step, which would be a round trip each."""
    dask_callbacks = pytest.importorskip("dask.callbacks")
    computed = []
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 2
    with dask_callbacks.Callback(start=lambda graph: computed.append(graph)):
        clone(MAPS[name]).set_params(random_state=0).fit(PLACES["dask"](X), y)
    assert len(computed) <= 3


def test_all_maps_are_tested():
    assert {type(estimator).__name__ for estimator in MAPS.values()} == PUBLIC_MAPS
