import numpy as np
import pytest

from bochner.data.local import VARIABLE
from bochner.papers.bullins import common


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch):
    common._rows.cache_clear()
    monkeypatch.setattr(common, "SYNTHETIC_ROWS", (300, 400))
    yield
    common._rows.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """Files of the right form, with classes that columns tell apart."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for file, dtype in (("mnist.npz", np.uint8), ("cifar10_hog.npz", np.float16)):
        arrays = {}
        for part, n in (("train", 600), ("test", 200)):
            y = np.arange(n) % 10
            X = rng.uniform(0, 60, size=(n, 12))
            X[np.arange(n), y] += 90
            arrays[f"X_{part}"], arrays[f"y_{part}"] = X.astype(dtype), y.astype(np.uint8)
        np.savez(tmp_path / file, **arrays)
    for file in ("cadata.npz", "cpusmall.npz"):
        X = rng.normal(size=(300, 3))
        y = np.round(100 * np.sin(2 * X[:, 0]) + 5 * rng.normal(size=300))  # whole numbers
        np.savez(tmp_path / file, X=X, y=y)
    return tmp_path
