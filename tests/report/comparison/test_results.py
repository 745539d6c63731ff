"""The tables say what the document says."""

from bochner.report.comparison.document import Comparison
from bochner.report.comparison.results import results_section
from tests.report import documents


def results(document):
    return results_section(Comparison(document))


def texts(table):
    return [[entry.text for entry in row.entries] for row in table.rows]


def test_best_and_recommended_are_marked_once():
    document = documents.comparison()
    rows = results(document).table.rows
    assert [row.tags for row in rows].count(("recommended",)) == 1
    best = max(range(len(rows)), key=lambda i: document["summaries"][i]["score"])
    assert rows[best].tags == ("best",)
    document["measure"]["higher_is_better"] = False
    worst = min(range(len(rows)), key=lambda i: document["summaries"][i]["score"])
    assert "best" in results(document).table.rows[worst].tags


def test_columns_appear_where_there_is_something_to_say():
    document = documents.comparison(regression=True)
    titles = [column.title for column in results(document).table.columns]
    assert titles == ["method", "width", "R²", "fit", "transform", "bound: PAC-Bayes-kl", "chosen"]
    document["summaries"][0]["seeds"] = 2  # interrupted, say
    for summary in document["summaries"]:
        summary["guarantee"], summary["chosen"] = None, {}
    titles = [column.title for column in results(document).table.columns]
    assert titles == ["method", "width", "R²", "fit", "transform", "seeds"]
    assert all(len(row) == 6 for row in texts(results(document).table))


def test_every_cell_is_listed():
    document = documents.comparison()
    cells = results(document).cells
    assert len(cells.rows) == len(document["cells"])
    assert [row.entries[3].value for row in cells.rows] == [c["score"] for c in document["cells"]]
