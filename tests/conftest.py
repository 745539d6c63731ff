import os

import numpy as np
import pytest
from hypothesis import settings

# What the user has downloaded before must not decide a test.
os.environ["BOCHNER_CACHE"] = os.path.join(os.path.dirname(__file__), "no-such-folder")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# The gate draws the same examples every time; HYPOTHESIS_PROFILE=explore draws new ones.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
