"""The table of maps and places in the docs is the one that the tests run through."""

import pytest

from tests.docs import place_table


def test_the_docs_have_the_table_of_the_tests():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    told = "run python -m tests.docs.place_table, which writes it anew"
    assert place_table.written() == place_table.table(), told


def test_a_case_that_agrees_less_changes_the_table():
    class Less(place_table.FeatureMapCase):
        fit_agrees = ("numpy",)

    full = place_table.FeatureMapCase
    for of_map, expected in (([full], "same"), ([full, Less], "some"), ([Less], "works")):
        assert place_table.agreement(("csr", "csc"), of_map) == expected
    assert place_table.agreement(("numpy",), [full, Less]) == "same"
