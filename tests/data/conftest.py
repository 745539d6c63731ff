import pandas as pd
import pytest


@pytest.fixture
def frame(rng):
    n = 60
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(["red", "blue"], n),
            "kind": rng.choice(["x", "y", "z"], n),
        }
    )
