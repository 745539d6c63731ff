"""Rows for the tests of what columns hold and of how they are prepared."""

import numpy as np
import pandas as pd


def mixed_frame(rng):
    """A table with columns of every kind."""
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
