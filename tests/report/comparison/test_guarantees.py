"""What is guaranteed is stated once, with whose it is where that differs."""

from bochner.report.comparison.document import Comparison
from bochner.report.comparison.guarantees import guarantees_section
from tests.report import documents


def guarantees(document):
    return guarantees_section(Comparison(document)).guarantees


def test_a_statement_that_all_make_is_made_once():
    document = documents.comparison()
    alignment, error = guarantees(document)
    assert (alignment.name, alignment.statement) == ("PAC-Bayes-kl", documents.STATEMENT)
    assert alignment.owner == ""
    assert alignment.statements == ()
    assert len(alignment.table.rows) == 9
    # Those that differ are all there; the one above them is of what is recommended.
    assert error.owner == f"{documents.OURS[0]}, width 512"
    own = [s["certificate"]["statement"] for s in document["summaries"]]
    assert [statement for _, statement in error.statements] == own
    assert error.statement == own[2]


def test_a_bound_that_says_nothing_is_marked():
    error = guarantees(documents.comparison())[1]
    assert [row.tags for row in error.table.rows if row.tags] == [("says nothing",)]
    assert error.table.rows[-1].tags
