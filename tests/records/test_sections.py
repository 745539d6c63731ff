import json
import math

import pytest

from bochner.records.cells import Cell, Result
from bochner.records.sections import (
    Chart,
    Claim,
    Section,
    Series,
    as_plain,
    as_reports,
    as_text,
    chart,
    curve,
    from_report,
)


def test_text_has_headings_tables_and_lines_in_order():
    sections = [
        Section("First", (("a", "b"), ("c", "d")), ("One.", "Two.")),
        Section("Only drawn", chart=Chart("x", "y", ())),
        Section("", lines=("Three.",)),
    ]
    assert as_text(sections) == "First\na  b\nc  d\nOne.\nTwo.\nThree."


def test_reports_are_the_text_of_sections():
    reports = as_reports(
        {name: lambda results, name=name: [Section(name, lines=("x",))] for name in "ab"}
    )
    assert [reports[name]([]) for name in "ab"] == ["a\nx", "b\nx"]
    (section,) = from_report(reports["a"])([])
    assert section == Section("a", lines=("x",))


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
    section = Section("H", (("a", "b"), ("c", "d")), ("One.", "Two."), Chart("x", "y", (series,)))
    plain = json.loads(json.dumps(as_plain(section, "data:,"), allow_nan=False))
    assert plain == {
        "heading": "H",
        "text": "One.\nTwo.",
        "table": {"columns": ["a", "b"], "rows": [["c", "d"]]},
        "chart": {
            "x_title": "x",
            "y_title": "y",
            "log_x": False,
            "log_y": False,
            "series": [
                {
                    "name": "ours",
                    "x": [1.0, 2.0],
                    "y": [1.5, None],
                    "error": [None, 0.1],
                    "published": False,
                }
            ],
        },
        "image": "data:,",
    }
    empty = as_plain(Section("H"))
    assert (empty["table"], empty["chart"], empty["image"]) == (None, None, None)


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


def test_settings_of_a_cell_have_no_order():
    one = Cell("s", "t", "m", 4, 0, settings=(("b", 1), ("a", 0.25)))
    other = Cell("s", "t", "m", 4, 0, settings=[["a", 0.25], ["b", 1]])
    assert one == other
    assert hash(one) == hash(other)
    assert str(one) == "s t m 4 a 0.25 b 1 seed 0"
    assert one.setting("c") is None
    assert Result(one, 1.0, 0.0, 0.0).cell.setting("a") == 0.25
