"""Tables and guarantees of a comparison say what the document says."""

import pytest

from bochner.report.comparison import comparison_view
from tests.report import documents


def texts(table):
    return [[entry.text for entry in row.entries] for row in table.rows]


def test_a_statement_that_all_make_is_made_once():
    document = documents.comparison()
    alignment, error = comparison_view(document).guarantees
    assert (alignment.name, alignment.statement) == ("PAC-Bayes-kl", documents.STATEMENT)
    assert alignment.whose == ""
    assert alignment.statements == ()
    assert len(alignment.table.rows) == 9
    # Those that differ are all there; the one above them is of what is recommended.
    assert error.whose == f"{documents.OURS[0]}, width 512"
    own = [s["certificate"]["statement"] for s in document["summaries"]]
    assert [statement for _, statement in error.statements] == own
    assert error.statement == own[2]


def test_a_bound_that_says_nothing_is_marked():
    error = comparison_view(documents.comparison()).guarantees[1]
    assert [row.tags for row in error.table.rows if row.tags] == [("says nothing",)]
    assert error.table.rows[-1].tags


def test_recommendation_comes_with_quality_cost_and_guarantee():
    document = documents.comparison()
    advised = document["summaries"][2]
    facts = dict(comparison_view(document).advised)
    assert facts["accuracy, %"].startswith(f"{advised['score']:.2f} ± ")
    assert facts["fit"] == "4.1 s"
    assert facts["bound: PAC-Bayes-kl"] == "0.3620"
    assert facts["bound: error rate"] == "0.0500"
    assert any(name.startswith(f"best of all: {documents.EXACT}") for name in facts)
    # A bound of 1 on an error rate is not worth a word.
    document["recommendation"] |= {"method": documents.EXACT, "width": None}
    facts = dict(comparison_view(document).advised)
    assert set(facts) == {"accuracy, %", "fit", "transform"}


def test_bounds_of_the_recommendation_are_explained():
    document = documents.comparison()
    view = comparison_view(document)
    advised = document["summaries"][2]
    assert view.meanings == {
        "bound: PAC-Bayes-kl": documents.STATEMENT,
        "bound: error rate": advised["certificate"]["statement"],
    }
    assert set(view.meanings) <= set(dict(view.advised))


def test_best_and_recommended_are_marked_once():
    document = documents.comparison()
    rows = comparison_view(document).table.rows
    assert [row.tags for row in rows].count(("recommended",)) == 1
    best = max(range(len(rows)), key=lambda i: document["summaries"][i]["score"])
    assert rows[best].tags == ("best",)
    document["measure"]["higher_is_better"] = False
    worst = min(range(len(rows)), key=lambda i: document["summaries"][i]["score"])
    assert "best" in comparison_view(document).table.rows[worst].tags


def test_columns_appear_where_there_is_something_to_say():
    document = documents.comparison(regression=True)
    titles = [column.title for column in comparison_view(document).table.columns]
    assert titles == ["method", "width", "R²", "fit", "transform", "bound: PAC-Bayes-kl", "chosen"]
    document["summaries"][0]["seeds"] = 2  # interrupted, say
    for summary in document["summaries"]:
        summary["guarantee"], summary["chosen"] = None, {}
    titles = [column.title for column in comparison_view(document).table.columns]
    assert titles == ["method", "width", "R²", "fit", "transform", "seeds"]
    assert all(len(row) == 6 for row in texts(comparison_view(document).table))


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        ({"rows": 12345, "columns": 7}, {"rows × columns": "12,345 × 7"}),  # noqa: RUF001
        ({"rows": 10}, {"rows × columns": "10 × –"}),  # noqa: RUF001
        ({"classes": list("abcdefgh")}, {"8 classes": "a, b, c, d, e, f, …"}),
        ({"task": "regression"}, {"task": "regression"}),
        (None, {}),
    ],
)
def test_facts_about_the_data(data, facts):
    view = comparison_view(documents.comparison() | {"data": data})
    assert dict(view.facts) == facts | {"seeds": "3"}


def test_every_cell_is_listed():
    document = documents.comparison()
    cells = comparison_view(document).cells
    assert len(cells.rows) == len(document["cells"])
    assert [row.entries[3].value for row in cells.rows] == [c["score"] for c in document["cells"]]
