"""Texts say what the numbers say."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bochner.report.numbers import (
    MISSING,
    chart_text,
    number,
    score_text,
    seconds_text,
    settings_text,
    shortened,
    value_text,
)

positive = st.floats(min_value=1e-6, max_value=1e5)
UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


@given(positive)
def test_seconds_read_back_within_what_is_shown(seconds):
    parts = seconds_text(seconds).split()
    read = sum(float(v) * UNITS[u] for v, u in zip(parts[::2], parts[1::2], strict=True))
    assert read == pytest.approx(seconds, rel=0.06)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 µs"), (0.0095, "9.5 ms"), (0.9999, "1.0 s"), (59.6, "1 min"), (3600, "1 h")],
)
def test_seconds_at_the_edges(seconds, text):
    assert seconds_text(seconds) == text


@pytest.mark.parametrize("missing", [None, math.nan, math.inf, "fast", [1]])
def test_what_is_not_a_number_is_missing(missing):
    assert number(missing) is None
    assert score_text(missing) == seconds_text(missing) == MISSING


def test_score_without_error_has_no_plus_minus():
    assert score_text(0.5, None) == score_text(0.5, math.nan) == "0.500"
    assert score_text(97.125, 0.1, "%") == "97.12 ± 0.10"


def test_settings_are_read_in_order():
    text = settings_text({"gamma": 0.01236, "C": 10}).replace("\N{NO-BREAK SPACE}", " ")
    assert text == "gamma 0.01236, C 10"
    assert settings_text(None) == settings_text({}) == ""
    assert value_text(math.nan) == MISSING


@given(st.text())
def test_chart_text_has_no_markup(text):
    assert "<" not in chart_text(text)
    assert len(shortened(text, 10)) <= 10
