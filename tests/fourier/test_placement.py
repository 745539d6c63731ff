import pytest

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
