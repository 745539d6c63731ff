"""Tables of a study sort as they read."""

from bochner.records.sections import Claim, Section, as_plain
from bochner.report.study import study_view
from tests.report import documents


def table(columns, rows):
    section = {"heading": "t", "table": {"columns": columns, "rows": rows}}
    return study_view(documents.study() | {"sections": [section]}).sections[0].table


def test_numbers_with_errors_sort_by_the_number():
    rows = [
        ["x", {"text": "97.1 ± 0.2", "number": 97.1}],
        ["y", {"text": "-", "number": None}],
        ["z", "97"],
    ]
    found = table(["data", "a"], rows)
    assert [row.entries[1].text for row in found.rows] == ["97.1 ± 0.2", "-", "97"]
    assert [row.entries[1].value for row in found.rows] == [97.1, None, None]
    assert [column.numeric for column in found.columns] == [False, True]


def test_missing_and_truth_values():
    found = table(["data", "a", "b"], [[1, None, True], [2, 0.5, False]])
    assert [[entry.text for entry in row.entries] for row in found.rows] == [
        ["1", "–", "yes"],  # noqa: RUF001
        ["2", "0.5", "no"],
    ]
    assert [column.numeric for column in found.columns] == [False, True, False]


def test_claims_have_a_verdict():
    claims = tuple(Claim(name) for name in "abcd")
    claims[0].check(True, "p")
    claims[1].check(True, "p", noise=True)
    claims[2].check(False, "p")
    section = as_plain(Section("t", lines=("confirmed: e",), claims=claims))
    lines = study_view({"sections": [section]}).sections[0].lines
    assert [line.text for line in lines] == [
        "confirmed: e",
        "a (1 of 1)",
        "b (1 of 1; by no more than noise at p)",
        "c (0 of 1; not at p)",
        "d (nothing to compare)",
    ]
    assert [line.outcome for line in lines] == ["", "holds", "holds", "fails", ""]
    assert [line.verdict for line in lines] == ["", *(claim.verdict for claim in claims)]


def test_what_failed_is_said():
    cell = {"study": "s", "task": "wine", "method": "m", "width": 4, "seed": 0}
    failures = [{"cell": cell, "reason": "ValueError: no"}]
    assert study_view({"failures": failures}).failures == ("s wine m 4 seed 0: ValueError: no",)
    assert study_view({}).failures == ()


def test_published_series_have_the_colour_of_their_subject():
    names = (("random", None), ("ours", "ours"), ("paper ours", "ours"))
    series = [{"name": name, "x": [1], "y": [1], "subject": subject} for name, subject in names]
    section = {"heading": "t", "chart": {"x_title": "x", "y_title": "y", "series": series}}
    random, ours, paper = study_view({"sections": [section]}).sections[0].series
    assert ours.colour == paper.colour != random.colour


def test_series_of_one_name_look_alike_in_all_sections():
    sections = study_view(documents.study()).sections
    first = {series.name: series for series in sections[1].series}
    second = {series.name: series for series in sections[2].series}
    assert first["RFF"] == second["RFF"]
    assert first["learned"] == second["learned"]
