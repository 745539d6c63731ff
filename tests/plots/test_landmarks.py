import numpy as np
import pytest

pytest.importorskip("matplotlib")

from sklearn.svm import LinearSVC

from bochner import LandmarkSimilarities
from bochner.plots.landmarks import Similarities, similarity_maps


@pytest.fixture
def plane(rng):
    X = rng.uniform(-1, 1, size=(60, 2))
    return X, np.where(X[:, 0] > 0, 1, -1)


def fitted(X, y, n):
    similarities = LandmarkSimilarities(n_components=n, random_state=0).fit(X, y)
    return Similarities(
        f"{n} landmarks", similarities, LinearSVC().fit(similarities.transform(X), y)
    )


def test_similarity_maps(plane):
    X, y = plane
    row = fitted(X, y, 3)
    figure = similarity_maps([row, row], X, y, resolution=12)
    assert len(figure.axes) == 2 * 4
    image = figure.axes[1].images[0].get_array()
    values = row.feature_map.transform(np.array([X.min(axis=0)]))
    assert image[0, 0] == pytest.approx(values[0, 1])
    assert figure.axes[0].get_ylabel() == "3 landmarks"
    decision = np.asarray(figure.axes[3].images[0].get_array())
    assert set(np.unique(decision)) == {-1.0, 1.0}
    assert decision[6, 11] > decision[6, 0]  # the class of the right half is on the right


def test_rows_in_the_order_of_their_classes(rng):
    """Of many rows the first are drawn, be they of one class."""
    X = rng.uniform(-1, 1, size=(900, 2))
    X = X[np.argsort(X[:, 0])]
    y = np.where(X[:, 0] > 0, 1, -1)
    figure = similarity_maps([fitted(X, y, 2)], X, y, 5)
    drawn = [len(collection.get_offsets()) for collection in figure.axes[2].collections]
    assert drawn == [400, 0]


def test_wrong_maps(plane):
    X, y = plane
    with pytest.raises(ValueError, match="rows must have at least one map"):
        similarity_maps([], X, y)
    with pytest.raises(ValueError, match="same number of landmarks, got 2 and 3"):
        similarity_maps([fitted(X, y, 3), fitted(X, y, 2)], X, y, 5)
