"""What columns hold."""

import pandas as pd
import pytest

from bochner.data.columns import column_kinds
from tests.data.mixed import mixed_frame

KINDS = {
    "number": "number",
    "gaps": "number",
    "truth": "number",
    "few": "category",
    "many": "category",
    "id": "text",
    "said": "date",
    "date": "date",
    "same": "constant",
    "nothing": "constant",
}


def test_kinds(rng):
    assert column_kinds(mixed_frame(rng)) == KINDS


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1.2.2020", "31.12.2021"], "date"),
        (["2020-01-01 10:00", "2020-01-02 11:30"], "date"),
        (["1-2", "3-4"], "category"),  # no year
        (["12-34-5678", "99-99-9999"], "category"),  # no such day
        (["yes", None], "category"),  # says something by being there
        (pd.Categorical(["u", "v"]), "category"),
    ],
)
def test_kinds_of_text(values, kind):
    assert column_kinds(pd.DataFrame({"c": values}))["c"] == kind
