"""One result type: what it says, and when it says nothing."""

import ast
import json
import pickle
from pathlib import Path

import pytest

from bochner import guarantees
from bochner.guarantees import ConditionsNotMet, Guarantee


def alignment(value, **changes):
    given = {
        "observed": 0.2,
        "details": {"divergence": 1.5},
        "uninformative": 0.5,
        "scope": "on new pairs of rows",
        **changes,
    }
    rows = ("independent rows", "candidates fixed without them")
    return Guarantee("alignment loss", value, 0.05, "PAC-Bayes-kl", "300 rows", rows, **given)


def test_the_statement_has_all_there_is():
    assert str(alignment(0.3)) == (
        "With probability 0.95, the alignment loss on new pairs of rows is at most 0.3, where 0.5 "
        "would say nothing (PAC-Bayes-kl: 0.2 on 300 rows, divergence 1.5). Holds for independent "
        "rows; candidates fixed without them."
    )
    assert "With probability 0.95 for all 7 at once, the" in alignment(0.3, together=7).statement
    rate = alignment(0.3, percent=True, uninformative=0.75).statement
    assert "at most 30.00 %, where 75 % would say nothing (PAC-Bayes-kl: 20.00 % on" in rate
    assert "at most 0.3 (PAC-Bayes-kl: 300 rows" in (
        alignment(0.3, uninformative=1.0, observed=None).statement
    )


@pytest.mark.parametrize("value", [0.5, 0.6, 1.0])
def test_it_says_when_it_says_nothing(value):
    found = alignment(value)
    assert not found.informative
    assert f"at most {value:g}, which says nothing (" in found.statement
    assert alignment(0.4999).informative


def test_a_document_can_hold_it():
    found = alignment(0.3)
    document = json.loads(json.dumps(found.as_dict()))
    assert {"name", "value", "uninformative", "statement"} <= set(document)
    assert document["statement"] == found.statement
    assert document["assumptions"] == ["independent rows", "candidates fixed without them"]
    assert pickle.loads(pickle.dumps(found)) == found
    assert hash(found) == hash(alignment(0.3))


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError):
        alignment(0.3).value = 0.0


def test_conditions_that_do_not_hold_are_wrong_values_of_their_own_kind():
    assert issubclass(ConditionsNotMet, ValueError)


def test_bounds_know_nothing_of_the_maps():
    """Maps import bounds, so that bounds may not import maps: they take arrays and functions."""
    for path in Path(guarantees.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bochner"):
                assert node.module.startswith(("bochner.guarantees", "bochner.records")), path.name
