from bochner.papers.letarte.table2 import TABLE2
from bochner.papers.study import Request
from bochner.records.cells import Result
from bochner.records.sections import as_text
from tests.papers.letarte import anew


def test_sizes_of_the_bundled_data():
    (result,) = TABLE2.collect(Request(("breast",), 1), anew(TABLE2))
    assert result.score == 1
    text = as_text(TABLE2.sections([result]))
    assert text.splitlines()[2].split() == [
        "breast",
        "340",
        "340",
        "86",
        "86",
        "143",
        "143",
        "30",
        "30",
    ]
    assert "confirmed: the authors' split of our files has the published numbers" in text


def test_other_numbers_are_said():
    (cell,) = (Result(cell, 0.5, 0.0, 0.0, {}).cell for cell in planned())
    details = {"train": 340, "validation": 86, "test": 100, "columns": 29}
    text = as_text(TABLE2.sections([Result(cell, 0.5, 0.0, 0.1, details)]))
    assert "not confirmed: the authors' split" in text
    assert "not at breast" in text


def planned():
    found = []
    TABLE2.collect(Request(("breast",), 1), lambda cells: found.extend(cells) or [])
    return found
