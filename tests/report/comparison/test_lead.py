"""The recommendation comes with numbers, and the data with facts."""

import pytest

from bochner.report.comparison.document import Comparison
from bochner.report.comparison.lead import read_lead
from tests.report import documents


def lead(document):
    return read_lead(Comparison(document))


def test_recommendation_comes_with_quality_cost_and_guarantee():
    document = documents.comparison()
    advised = document["summaries"][2]
    facts = dict(lead(document).recommended)
    assert facts["accuracy, %"].startswith(f"{advised['score']:.2f} ± ")
    assert facts["fit"] == "4.1 s"
    assert facts["bound: PAC-Bayes-kl"] == "0.3620"
    assert facts["bound: error rate"] == "0.0500"
    assert any(name.startswith(f"best of all: {documents.EXACT}") for name in facts)
    # A bound of 1 on an error rate is not worth a word.
    document["recommendation"] |= {"method": documents.EXACT, "width": None}
    facts = dict(lead(document).recommended)
    assert set(facts) == {"accuracy, %", "fit", "transform"}


def test_bounds_of_the_recommendation_are_explained():
    document = documents.comparison()
    view = lead(document)
    advised = document["summaries"][2]
    assert view.meanings == {
        "bound: PAC-Bayes-kl": documents.STATEMENT,
        "bound: error rate": advised["certificate"]["statement"],
    }
    assert set(view.meanings) <= set(dict(view.recommended))


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
    view = lead(documents.comparison() | {"data": data})
    assert dict(view.facts) == facts | {"seeds": "3"}
