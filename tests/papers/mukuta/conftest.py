import numpy as np
import pytest

from bochner.data.local import VARIABLE
from bochner.papers.mukuta import densities, images, linear_models


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch):
    monkeypatch.setattr(densities, "ROWS", 300)
    yield
    for kept in (densities.sample, images.sample, linear_models.load_rows):
        kept.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """Files of the right form, with labels that columns tell."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))

    def rows(n):
        X = rng.normal(5, 2, size=(n, 4))
        return X, np.where(np.sin(X[:, 0]) > 0, 1, -1).astype(np.int8)

    for name in ("a9a", "ijcnn1"):
        arrays = {}
        for part, n in (("train", 500), ("test", 300)):
            arrays[f"X_{part}"], arrays[f"y_{part}"] = rows(n)
        np.savez(tmp_path / f"{name}.npz", **arrays)
    X, y = rows(600)
    np.savez(tmp_path / "covtype.npz", X=X, y=np.where(y > 0, 2, 5).astype(np.uint8))
    for name in ("cadata", "cpusmall"):
        X = rng.normal(size=(400, 3))
        X[:, 2] = 7
        np.savez(tmp_path / f"{name}.npz", X=X, y=100 + 10 * np.sin(X[:, 0]))
    arrays = {}
    for part, n in (("train", 500), ("test", 200)):
        arrays[f"X_{part}"] = rng.uniform(size=(n, 6)).astype(np.float16)
        arrays[f"y_{part}"] = (np.arange(n) % 10).astype(np.uint8)
    np.savez(tmp_path / "cifar10_hog.npz", **arrays)
    return tmp_path
