import numpy as np
import pytest

from bochner.models.families import choose_families
from bochner.models.fold import Fold
from bochner.models.settings import Labelled, Setting
from tests.linear.naive import kernel_ridge


def rows(X, y):
    return Labelled(X, y, y[:, None], None)


@pytest.mark.parametrize("twice", [False, True])
def test_held_out_rows_join_the_others(twice, monkeypatch):
    """In float32 where that will do; otherwise the factor is made anew in float64."""
    monkeypatch.setattr("bochner.linear.kernel_ridge._SINGLE_ROWS", 100)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)
    held_X = X[:100].copy() if twice else rng.normal(size=(100, 3))
    held_y = np.sin(held_X[:, 0])
    fold = Fold(rows(X, y), rows(held_X, held_y), "regression", 0, None)
    family = choose_families("auto", "exponential")[-1]
    setting = Setting("none", None, family, 1.0, None, 1e-8)
    candidate = fold.candidate(setting, 300)
    settled = candidate.settled(setting.penalty)
    assert settled.dtype == np.float32
    feature_map, grown, alpha = fold.with_held_rows(setting, candidate.feature_map, settled)
    assert grown.dtype == (np.float64 if twice else np.float32)
    assert alpha == 300 * setting.penalty
    a, b = grown.solve()
    K = feature_map.transform(np.concatenate([X, held_X]))
    exact, mean = kernel_ridge(K, np.concatenate([y, held_y])[:, None], None, alpha)
    new = feature_map.transform(rng.normal(size=(50, 3)))
    np.testing.assert_allclose(new @ a + b, new @ exact + mean, atol=1e-3)
