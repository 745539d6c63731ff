"""Ticks are few, and where the values are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bochner.report.ticks import MOST_TICKS, log_ticks, time_ticks

positive = st.floats(min_value=1e-6, max_value=1e5)


@pytest.mark.parametrize("ticks", [time_ticks, log_ticks])
@given(st.lists(positive, min_size=1, max_size=30))
def test_ticks_are_few_distinct_and_near_the_values(ticks, values):
    places, texts = ticks(values)
    assert len(places) == len(texts) == len(set(texts)) <= MOST_TICKS
    assert places == sorted(places)
    assert all(min(values) / 1.31 <= place <= max(values) * 1.31 for place in places)
    if max(values) / min(values) > 1e3:
        assert len(places) >= 2


def test_values_close_together_have_ticks_between_them():
    places, texts = log_ticks([4234846976.6, 4683535414.5])
    assert places == pytest.approx([4.3e9, 4.4e9, 4.5e9, 4.6e9])
    assert texts[0] == "4.3·10<sup>9</sup>"
    assert log_ticks([0.1231, 0.1258])[1] == ["0.124", "0.125"]
    assert time_ticks([1.12, 1.38])[1] == ["1.2 s", "1.3 s"]


def test_widths_are_their_own_ticks_unless_they_collide():
    assert log_ticks([32, 64, 2048])[0] == [32, 64, 2048]
    assert log_ticks([500, 512, 2048])[0] == [500, 2048]
    assert time_ticks([]) == log_ticks([]) == ([], [])
    assert log_ticks([20000, 40000])[1] == ["20\N{THIN SPACE}000", "40\N{THIN SPACE}000"]
