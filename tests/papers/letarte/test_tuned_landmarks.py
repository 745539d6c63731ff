import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from bochner import LandmarkSimilarities
from bochner.papers.letarte import common, tuned_landmarks
from bochner.papers.letarte.tuned_landmarks import COLUMNS, LandmarkFamily, by_column
from bochner.records.cells import Cell

GAMMA, SHARE = 1e-5, 0.05


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200], y[:200]


def test_all_frequencies_are_those_of_the_map_itself(rows):
    X, y = rows
    family = LandmarkFamily.fit(X, y, SHARE, GAMMA, seed=3)
    settings = {"n_components": SHARE, "gamma": GAMMA, "random_state": 3}
    for beta in (0.1, 10.0):
        plain = LandmarkSimilarities(
            **settings, frequencies="own", n_frequencies=128, beta=beta
        ).fit(X, y)
        found, again = family.similarities([X, X[:7]], [(128, 1.0), (128, beta)])
        np.testing.assert_allclose(found[1], plain.transform(X), atol=1e-12)
        np.testing.assert_allclose(again[1], plain.transform(X[:7]), atol=1e-12)


def test_fewer_frequencies_are_the_first_ones(rows):
    X, y = rows
    family = LandmarkFamily.fit(X, y, SHARE, GAMMA, seed=0)
    (found,) = family.similarities([X], [(8, 2.0)])
    losses, waves = family.sets.losses[:, :8], family.sets.waves[:, :8]
    Q = np.exp(-2.0 * np.sqrt(len(X)) * (losses - losses.min(axis=1, keepdims=True)))
    Q /= Q.sum(axis=1, keepdims=True)
    W = np.concatenate([W for _, W in family.sets.candidates.blocks()], axis=1)
    for landmark in (0, len(losses) - 1):
        own = np.exp(1j * X @ W[:, 128 * landmark :][:, :8])
        expected = (np.conj(waves[landmark]) * own).real @ Q[landmark]
        np.testing.assert_allclose(found[0, :, landmark], expected, atol=1e-12)


def test_a_quick_version_tries_fewer_among_which_are_those_of_all_columns():
    assert tuned_landmarks.tried(coarse=True) == ((16, 64), (0.01, 1.0, 100.0))


def test_every_column_chooses_from_its_own_settings(monkeypatch):
    monkeypatch.setattr(tuned_landmarks, "FREQUENCIES", (8, 64))
    monkeypatch.setattr(tuned_landmarks, "BETAS", (1e-3, 1.0))
    cell = Cell("table1", "breast", "PB", None, 0, 150, (("gamma", GAMMA),))
    split = common.load_split("breast", 0, 150)
    measured = tuned_landmarks.measure_tuned(cell, split, 0.1)
    chosen = {name: measured.details[f"{name} D"] for name in COLUMNS}
    betas = {name: measured.details[f"{name} beta"] for name in COLUMNS}
    assert betas["PB beta=1"] == betas["own"] == 1
    assert chosen["PB D=64"] == chosen["own"] == 64
    columns = {result.cell.method: result.score for result in by_column([measured])}
    assert list(columns) == list(COLUMNS)
    assert columns["PB"] == measured.score
    assert min(columns.values()) > 0.8


def test_waves_in_single_precision_are_precise_enough(rows):
    X, y = rows
    double, single = (
        LandmarkFamily.fit(X, y, SHARE, GAMMA, 0, 16, dtype) for dtype in (np.float64, np.float32)
    )
    settings = [(16, 1.0), (16, 1000.0)]
    (expected,), (found,) = (
        family.similarities([X.astype(dtype)], settings)
        for family, dtype in ((double, np.float64), (single, np.float32))
    )
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_similarities_on_a_device_are_those_of_the_host(rows):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    X, y = rows
    family = LandmarkFamily.fit(X, y, SHARE, GAMMA, 0, 16)
    settings = [(8, 1.0), (16, 10.0)]
    (expected,) = family.similarities([X], settings)
    (found,) = family.similarities([torch.from_numpy(X)], settings)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-10)
