import json
import math

import pytest

from bochner.records.sections import (
    Chart,
    Claim,
    Section,
    Series,
    Value,
    aligned,
    as_plain,
    as_text,
    chart,
    curve,
    mean_value,
    value,
)


def test_text_has_headings_tables_and_lines_in_order():
    sections = [
        Section("First", (("a", "b"), ("c", Value("d"))), ("One.", "Two."), claims=(Claim("e"),)),
        Section("Only drawn", chart=Chart("x", "y", ())),
        Section("", lines=("Three.",)),
    ]
    assert as_text(sections) == (
        "First\na  b\nc  d\nOne.\nTwo.\nnot checked: e (nothing to compare)\nThree."
    )


def test_aligned_refuses_rows_of_unequal_length():
    with pytest.raises(ValueError):
        aligned([("a", "b"), ("c",)])


def test_values_know_what_they_are_sorted_by():
    assert mean_value([1.0, 3.0], ".1f") == Value("2.0 ± 1.0", 2.0)
    assert mean_value([]) == value(None) == Value("-", None)
    assert str(value(1e-5)) == "1e-05"


def test_curve_is_sorted_and_leaves_out_what_is_empty():
    assert curve("a", {2: [1.0], 1: [3.0], 3: []}) == Series("a", (1, 2), (3.0, 1.0), None)
    assert curve("a", {1: []}) is None
    mixed = curve("a", {1: [1.0], 2: [1.0, 3.0]})
    assert math.isnan(mixed.error[0])
    assert mixed.error[1] == pytest.approx(1)
    assert chart("x", "y", [None]) is None
    assert chart("x", "y", [None, mixed], log_x=True) == Chart("x", "y", (mixed,), True, False)


def test_plain_form_is_json():
    series = Series("ours", (1, 2), (1.5, math.nan), (math.nan, 0.1))
    claim = Claim("c")
    claim.compare([-1.0], "p")
    claim.compare([1.0], "q")
    section = Section(
        "H",
        (("a", "b"), ("c", mean_value([1.0, 3.0])), ("d", Value("?", math.nan))),
        ("One.", "Two."),
        Chart("x", "y", (series,)),
        claims=(claim,),
    )
    plain = json.loads(json.dumps(as_plain(section, "data:,"), allow_nan=False))
    assert plain == {
        "heading": "H",
        "lines": ["One.", "Two."],
        "table": {
            "columns": ["a", "b"],
            "rows": [
                ["c", {"text": "2.00 ± 1.00", "number": 2.0}],
                ["d", {"text": "?", "number": None}],
            ],
        },
        "claims": [
            {
                "text": "c",
                "checked": 2,
                "noise": [],
                "exceptions": ["p: -1"],
                "verdict": "not confirmed",
            }
        ],
        "chart": {
            "x_title": "x",
            "y_title": "y",
            "log_x": False,
            "log_y": False,
            "series": [
                {
                    "name": "ours",
                    "x": [1, 2],
                    "y": [1.5, None],
                    "error": [None, 0.1],
                    "published": False,
                    "subject": "ours",
                }
            ],
        },
        "image": "data:,",
    }
    empty = as_plain(Section("H"))
    assert (empty["table"], empty["chart"], empty["image"]) == (None, None, None)
    assert empty["lines"] == empty["claims"] == []


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([1.0, 1.1], "confirmed: c (1 of 1)"),
        ([1.0], "confirmed: c (1 of 1)"),
        ([3.0, -1.0], "confirmed in the mean: c (1 of 1; by no more than noise at p: +1 ± 2)"),
        ([-1.0, -1.2], "not confirmed: c (0 of 1; not at p: -1.1 ± 0.1)"),
        ([-1.0], "not confirmed: c (0 of 1; not at p: -1)"),
    ],
)
def test_claims_compare_seed_by_seed(differences, verdict):
    claim = Claim("c")
    claim.compare(differences, "p")
    assert str(claim) == verdict


def test_claims_as_text():
    claim = Claim("a is better")
    claim.compare([], "nowhere")
    assert str(claim) == "not checked: a is better (nothing to compare)"
    claim.check(True, "x")
    assert str(claim) == "confirmed: a is better (1 of 1)"
    claim.check(True, "y: +1", noise=True)
    assert str(claim) == (
        "confirmed in the mean: a is better (2 of 2; by no more than noise at y: +1)"
    )
    claim.compare([-2.0], "z")
    claim.compare([-3.0], "w", sign=-1)
    assert str(claim) == (
        "not confirmed: a is better (3 of 4; not at z: -2; by no more than noise at y: +1)"
    )
