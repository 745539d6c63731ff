import math

import pytest

from bochner.records.statistics import format_mean, is_noise, mean_and_error


def test_mean_and_error():
    assert mean_and_error([1.0, 3.0]) == (2.0, pytest.approx(1.0))
    mean, error = mean_and_error([1.0])
    assert mean == 1.0
    assert math.isnan(error)
    assert all(map(math.isnan, mean_and_error([])))


def test_what_is_not_known_is_not_written():
    assert format_mean(1.5, math.nan) == format_mean(1.5, None) == "1.50"
    assert format_mean(math.nan, 1.0, missing="none") == "none"
    assert format_mean(*mean_and_error([]), ".3f") == "-"
    assert format_mean(*mean_and_error([1.0, 3.0]), ".1f") == "2.0 ± 1.0"


@pytest.mark.parametrize(
    ("values", "text"),
    [([0.0012, 0.0014], "0.0013 ± 0.0001"), ([4.0e-6], "4e-06"), ([], "-")],
)
def test_numbers_of_any_size(values, text):
    assert format_mean(*mean_and_error(values), ".3g", ".1g") == text


def test_one_seed_is_never_noise():
    assert is_noise(1.0, 0.6)
    assert not is_noise(1.3, 0.6)
    assert not is_noise(0.0, math.nan)
