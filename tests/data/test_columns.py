"""What columns hold."""

import numpy as np
import pandas as pd
import pytest

from bochner.data.columns import column_kinds


@pytest.fixture
def frame(rng):
    n = 300
    frame = pd.DataFrame(
        {
            "number": rng.normal(3, 7, n),
            "gaps": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.normal(size=n)),
            "truth": rng.uniform(size=n) < 0.5,
            "few": rng.choice(["a", "b", "c"], n),
            "many": rng.choice([f"v{i}" for i in range(120)], n),
            "id": [f"row {i}" for i in range(n)],
            "said": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "date": pd.date_range("2020-01-01", periods=n),
            "same": 1.0,
            "nothing": [None] * n,
        }
    )
    frame.loc[:9, "few"] = None
    return frame


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


def test_kinds(frame):
    assert column_kinds(frame) == KINDS


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
