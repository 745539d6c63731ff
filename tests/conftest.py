import os

# scikit-learn's array-API check is skipped without this, and SciPy reads it on import.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
