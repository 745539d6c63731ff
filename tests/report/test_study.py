"""Tables of a study sort as they read."""

from bochner.report.study import blocks, study_view
from tests.report import documents


def table(columns, rows):
    section = {"heading": "t", "table": {"columns": columns, "rows": rows}}
    return study_view(documents.study() | {"sections": [section]}).sections[0].table


def test_numbers_with_errors_sort_by_the_number():
    found = table(["data", "a"], [["x", "97.1 ± 0.2"], ["y", "1,234"], ["z", "-"], ["w", "−2e-3"]])  # noqa: RUF001
    assert [row.entries[1].value for row in found.rows] == [97.1, 1234, None, -0.002]
    assert [column.numeric for column in found.columns] == [False, True]


def test_missing_and_truth_values():
    found = table(["data", "a", "b"], [[1, None, True], [2, 0.5, False]])
    assert [[entry.text for entry in row.entries] for row in found.rows] == [
        ["1", "–", "yes"],  # noqa: RUF001
        ["2", "0.5", "no"],
    ]
    assert [column.numeric for column in found.columns] == [False, True, False]


def test_empty_lines_separate_blocks():
    found = [[line.text for line in block] for block in blocks("one.\nline\n\n two \n \nthree")]
    assert found == [["one.", "line"], ["two"], ["three"]]
    assert blocks(None) == blocks("\n \n") == ()


def test_claims_have_a_verdict():
    text = "confirmed: a\nconfirmed in the mean: b\nnot confirmed: c\nnot checked: d\nconfirmed e"
    (lines,) = blocks(text)
    assert [line.text for line in lines] == ["a", "b", "c", "d", "confirmed e"]
    assert [line.outcome for line in lines] == ["holds", "holds", "fails", "", ""]
    assert [bool(line.verdict) for line in lines] == [True, True, True, True, False]


def test_lines_broken_within_a_sentence_are_put_together():
    text = "Means over\nthree seeds.\nconfirmed: a is\nconfirmed: b (3 of 3)\nWith\nnoise:\nc"
    (lines,) = blocks(text)
    assert [line.text for line in lines] == [
        "Means over three seeds.",
        "a is",
        "b (3 of 3)",
        "With noise:",
        "c",
    ]


def test_published_alone_goes_with_ours_alone():
    names = (("random", False), ("ours", False), ("paper ours", True))
    series = [{"name": name, "x": [1], "y": [1], "published": p} for name, p in names]
    section = {"heading": "t", "chart": {"x_title": "x", "y_title": "y", "series": series}}
    random, ours, paper = study_view({"sections": [section]}).sections[0].series
    assert ours.colour == paper.colour != random.colour


def test_series_of_one_name_look_alike_in_all_sections():
    sections = study_view(documents.study()).sections
    first = {series.name: series for series in sections[1].series}
    second = {series.name: series for series in sections[2].series}
    assert first["RFF"] == second["RFF"]
    assert first["learned"] == second["learned"]
