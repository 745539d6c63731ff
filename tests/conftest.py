import os

import numpy as np
import pytest
from hypothesis import settings

from bochner import GradientMetric, RelevanceMetric
from bochner.compare.plan import Setup
from bochner.data.tables import Table, read_table
from bochner.linear.scoring import MEASURES
from bochner.models import fold, limits

# What the user has downloaded before must not decide a test.
os.environ["BOCHNER_CACHE"] = os.path.join(os.path.dirname(__file__), "no-such-folder")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# The gate draws the same examples every time; HYPOTHESIS_PROFILE=explore draws new ones.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture
def quick_metric(monkeypatch):
    """Metrics of few frequencies, also inside of models and of the program."""
    monkeypatch.setattr(fold, "_METRIC", 32)
    defaults = GradientMetric.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "n_frequencies", 32)
    monkeypatch.setitem(defaults, "n_rounds", 2)
    monkeypatch.setitem(RelevanceMetric.__init__.__kwdefaults__, "n_steps", 4)


@pytest.fixture
def one_split(monkeypatch):
    """Kernel models of few rows are chosen on one split of them, as those of many are."""
    monkeypatch.setattr(limits, "_FOLDED_ROWS", 0)


# Small tables to compare methods on.


@pytest.fixture(scope="session")
def wine():
    return Setup(read_table("wine"), MEASURES["accuracy"])


@pytest.fixture(scope="session")
def two():
    """Two classes, one of them rare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(np.hypot(*X.T) < 0.55, "inside", "outside")
    table = Table("disc", X, y, "classification", None, 400)
    return Setup(table, MEASURES["balanced-accuracy"])


@pytest.fixture(scope="session")
def numbers():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = 40 + 7 * np.sin(2 * X[:, 0]) + rng.normal(size=300)
    return Setup(Table("sine", X, y, "regression", None, 300), MEASURES["R2"])
