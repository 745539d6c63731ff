import numpy as np
import pytest

from bochner import LandmarkSimilarities
from bochner.fourier.placement import equal_shares


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ([10, 10], 4, [2, 2]),
        ([10, 10], 5, [3, 2]),
        ([1, 10], 6, [1, 5]),
        ([2, 1, 10], 9, [2, 1, 6]),
        ([3, 3], 6, [3, 3]),
    ],
)
def test_small_classes_leave_their_share_to_others(sizes, count, expected):
    assert equal_shares(sizes, count) == expected


def test_labels_of_landmarks_have_the_columns_of_the_numbers(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    for labels in (y[:3, 0], np.hstack([y, y])[:3]):
        with pytest.raises(ValueError, match="labels of landmarks must have the columns of y"):
            LandmarkSimilarities(landmarks=(X[:3], labels)).fit(X, y)
