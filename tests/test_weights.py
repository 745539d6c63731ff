"""What every map that learns from labels does with weights of rows, and with several numbers."""

import numpy as np
import pytest
from sklearn.base import clone

import bochner
from bochner import (
    GradientMetric,
    LandmarkSimilarities,
    MarginFourierFeatures,
    MarginHarmonicFeatures,
    PosteriorFourierFeatures,
    RelevanceMetric,
)
from bochner.weights import copies, repeated_rows, rows_with_weight
from tests.feature_map_case import PUBLIC_MAPS
from tests.places import PLACES, on_host

POSTERIOR = {"n_components": 8, "n_candidates": 60}
MAPS = {
    "posterior": PosteriorFourierFeatures(**POSTERIOR),
    "posterior, a set": PosteriorFourierFeatures(**POSTERIOR, draw="orthogonal"),
    "posterior, median": PosteriorFourierFeatures(**POSTERIOR, draw="heaviest", gamma="median"),
    "posterior, drawn": PosteriorFourierFeatures(**POSTERIOR, draw="without_replacement"),
    "posterior, chains": PosteriorFourierFeatures(n_components=4, support="continuous"),
    "landmarks": LandmarkSimilarities(n_components=6, n_frequencies=50),
    "landmarks, a strength": LandmarkSimilarities(n_components=6, n_frequencies=50, beta=1.0),
    "landmarks, their own": LandmarkSimilarities(n_components=6, frequencies="own"),
    "landmarks, random": LandmarkSimilarities(
        n_components=6, landmarks="random", n_frequencies=50, beta=1.0
    ),
    "margin": MarginFourierFeatures(n_components=8, n_chains=6, n_steps=3),
    "harmonics": MarginHarmonicFeatures(n_components=6),
    "zonal": MarginHarmonicFeatures(n_components=6, functions="zonal"),
    "metric": GradientMetric(n_frequencies=16, n_rounds=1),
    "relevance": RelevanceMetric(n_steps=2),
}
# Where rows are held out, all copies of a row are on one side: repeated rows are split otherwise.
SPLITS_DISTINCT_ROWS = {"posterior"}


def fitted(name, X, y, weights=None):
    return clone(MAPS[name]).set_params(random_state=0).fit(X, y, sample_weight=weights)


def rows(rng, kind):
    X = rng.normal(size=(60, 3))
    numbers = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
    y = {"two": numbers > 0, "many": np.digitize(numbers, [-0.5, 0.5]), "numbers": 50 + numbers}
    return X, y[kind] + 0


def test_all_supervised_maps_are_in_the_table():
    supervised = {
        name
        for name in PUBLIC_MAPS
        if getattr(bochner, name)().__sklearn_tags__().target_tags.required
    }
    assert supervised == {type(estimator).__name__ for estimator in MAPS.values()}


@pytest.mark.parametrize("kind", ["two", "many", "numbers"])
@pytest.mark.parametrize("name", MAPS)
def test_weights_are_counts(name, kind, rng):
    X, y = rows(rng, kind)
    weights = rng.choice([0.0, 1.0, 2.0], size=60)
    found = fitted(name, X, y, weights).transform(X)
    if name in SPLITS_DISTINCT_ROWS:
        kept = weights > 0
        expected = fitted(name, X[kept], y[kept], weights[kept]).transform(X)
    else:
        repeated = np.repeat(np.arange(60), weights.astype(int))
        expected = fitted(name, X[repeated], y[repeated]).transform(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", MAPS)
def test_weights_of_one_change_nothing(name, rng):
    X, y = rows(rng, "many")
    found, expected = (fitted(name, X, y, w).transform(X) for w in (np.ones(60), None))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MAPS)
def test_weights_need_not_be_whole(name, rng):
    X, y = rows(rng, "two")
    one, again = (fitted(name, X, y, np.full(60, 1.5)).transform(X) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    assert np.isfinite(one).all()


@pytest.mark.parametrize("name", MAPS)
def test_weights_that_count_nothing_are_refused(name, rng):
    X, y = rows(rng, "two")
    for weights in (np.zeros(60), np.full(60, 1e-3), -np.ones(60), np.ones(59)):
        with pytest.raises(ValueError, match="sample_weight"):
            fitted(name, X, y, weights)


@pytest.mark.parametrize("place", PLACES)
def test_rows_are_repeated_where_they_are(place, rng):
    X, y = rng.normal(size=(20, 3)), np.arange(20)
    weights = rng.choice([0.0, 1.0, 3.0], size=20)
    index = np.repeat(y, weights.astype(int))
    found, labels = repeated_rows(PLACES[place](X), y, weights, np.random.RandomState(0))
    np.testing.assert_array_equal(on_host(found), X[index])
    np.testing.assert_array_equal(labels, index)
    found, labels, left = rows_with_weight(PLACES[place](X), y, weights)
    np.testing.assert_array_equal(on_host(found), X[weights > 0])
    np.testing.assert_array_equal(left, weights[labels])


def test_parts_of_whole_numbers_are_chances():
    """Every row in the mean as often as its weight, every class its share each time."""
    y = np.array(["a", "b"] * 50)
    weights = np.tile([0.25, 1.5], 50)
    drawn = [
        np.bincount(copies(weights, y, np.random.RandomState(seed)), minlength=100)
        for seed in range(400)
    ]
    counts = np.array(drawn)
    assert {*counts[:, ::2].ravel()} == {0, 1}
    assert {*counts[:, 1::2].ravel()} == {1, 2}
    assert {*counts[:, ::2].sum(axis=1)} <= {12, 13}
    assert {*counts[:, 1::2].sum(axis=1)} <= {75, 76}
    np.testing.assert_allclose(counts.mean(axis=0), weights, atol=0.1)  # 4 standard errors


def test_large_weights_are_shares():
    weights = np.array([1e9, 3e9])
    index = copies(weights, np.arange(2), np.random.RandomState(0))
    np.testing.assert_array_equal(np.bincount(index), [2500, 7500])


@pytest.mark.parametrize("name", MAPS)
def test_several_columns_of_numbers(name, rng):
    """The same numbers twice are these numbers, and their order does not matter."""
    X, y = rows(rng, "numbers")
    other = np.cos(X[:, 1])
    one, twice, both, turned = (
        fitted(name, X, np.transpose(columns)) for columns in (y, (y, y), (y, other), (other, y))
    )
    if name == "zonal":  # the search starts from rows that are drawn column by column
        peaks = [learned.history_["potential"][0] for learned in (one, twice, both, turned)]
        np.testing.assert_allclose(peaks[1:4:2], [2 * peaks[0], peaks[2]], rtol=1e-3)
        return
    for found, expected in ((twice, one), (both, turned)):
        found, expected = found.transform(X), expected.transform(X)
        if name == "landmarks, random":  # they are sorted by the numbers of one column
            found, expected = np.sort(found, axis=1), np.sort(expected, axis=1)
        # weights by descent come of products in float32, which add up columns in their order
        rounding = 16 * np.finfo(np.float32).eps if name == "relevance" else 0.0
        np.testing.assert_allclose(found, expected, rtol=rounding, atol=1e-6)


def test_losses_of_several_columns_are_their_mean(rng):
    X, y = rows(rng, "numbers")
    for name in ("posterior", "posterior, drawn"):
        columns = np.column_stack([y, np.cos(X[:, 1]), np.full(60, 3.0)])
        one, two = (fitted(name, X, column).losses_ for column in columns.T[:2])
        expected = (one + two + 0.5) / 3  # nothing aligns with a constant
        np.testing.assert_allclose(fitted(name, X, columns).losses_, expected, rtol=0, atol=1e-10)
    for name in ("landmarks, a strength", "landmarks, their own"):
        points = X[:5], columns[:5, :2]
        learned = clone(MAPS[name]).set_params(random_state=0, landmarks=points)
        found = learned.fit(X, columns[:, :2]).losses_
        assert learned.in_sample_.all()
        of_each = [
            learned.set_params(landmarks=(X[:5], column[:5])).fit(X, column).losses_
            for column in columns.T[:2]
        ]
        np.testing.assert_allclose(found, np.mean(of_each, axis=0), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", MAPS)
def test_several_columns_of_classes_are_refused(name, rng):
    X, _ = rows(rng, "numbers")
    y = rng.integers(3, size=(60, 2))
    with pytest.raises(ValueError, match=r"one class per row, got 2 columns .*'regression'"):
        fitted(name, X, y)
    with pytest.raises(ValueError, match="y is constant"):
        fitted(name, X, np.full((60, 2), 0.5))
