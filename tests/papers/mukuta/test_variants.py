import numpy as np
import pytest

from bochner.data.local import LocalDataset
from bochner.images.layers import GradientLayer, PatchLayer
from bochner.papers.mukuta import networks, variants
from bochner.papers.mukuta.variants import HELD, VARIANTS, VARIANTS_STUDY, Network, Variant
from bochner.papers.study import Request
from bochner.records.cells import Cell, Result
from tests.papers.mukuta import planned

LAYERS = (PatchLayer(2, 8, 2), PatchLayer(2, 12, 2))
SMALL = {
    "whitened": Variant((Network(LAYERS, whitened=True),)),
    "with gradients": Variant(
        (Network(LAYERS), Network((GradientLayer(4, 2), PatchLayer(2, 6, 2))))
    ),
    "mirrored": Variant((Network(LAYERS),), mirrored=True),
}


@pytest.fixture
def pictures(monkeypatch, rng):
    """Coloured images of three classes, by the width of their stripes."""

    def draw(n):
        y = np.arange(n) % 3
        waves = np.sin(
            np.arange(12) * np.array([0.7, 1.4, 2.1])[y, None] + rng.uniform(0, 6, (n, 1))
        )
        images = waves[:, None, :, None] + rng.normal(0, 0.05, size=(n, 12, 12, 3))
        return np.clip(127 + 60 * images, 0, 255).astype(np.uint8), y

    (X, y), (X_test, y_test) = draw(120), draw(60)
    data = LocalDataset("cifar10", X, y, X_test, y_test)
    monkeypatch.setattr(networks, "load_images", lambda name: data)
    monkeypatch.setattr(variants, "VARIANTS", SMALL)
    yield data
    networks.load_part.cache_clear()
    networks._all_images.cache_clear()


@pytest.mark.parametrize("name", SMALL)
def test_a_variant_tells_stripes_apart(name, pictures):
    result = VARIANTS_STUDY.measure(Cell("variants", "cifar-pm", name, None, 0))
    assert result.score > 0.8
    assert result.details[HELD] > 0.8
    columns = {"whitened": 48, "with gradients": 108 + 54, "mirrored": 108}
    assert result.details["columns"] == columns[name]


def test_on_tensors(pictures):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    cell = Cell("variants", "cifar-pm", "whitened", None, 0)
    there = VARIANTS_STUDY.measure(cell, device="cpu:0")
    assert abs(there.score - VARIANTS_STUDY.measure(cell).score) <= 0.05


def test_whitened_patches_are_uncorrelated(pictures):
    X = pictures.X_train
    whitened = variants.whitening(X)(X).reshape(-1, 3)
    assert whitened.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-3)
    correlations = np.corrcoef(whitened.T)[~np.eye(3, dtype=bool)]
    before = np.corrcoef(X.reshape(-1, 3).T)[~np.eye(3, dtype=bool)]
    assert np.abs(correlations).max() < 0.2 < np.abs(before).max()


def test_held_out_images_choose():
    results = [
        Result(
            Cell("variants", "cifar-pm", name, None, seed),
            test,
            1.0,
            2.0,
            {HELD: held, "columns": 10.0, "C": 1.0},
        )
        for name, held, test in (("as it is", 0.80, 0.83), ("gradients", 0.82, 0.81))
        for seed in (0, 1)
    ]
    (section,) = VARIANTS_STUDY.sections(results)
    assert "prefer 'gradients': 81.00 ± 0.00 %" in section.lines[0]
    assert "published number is 81.52" in section.lines[0]


def test_plan():
    cells = planned(VARIANTS_STUDY, Request(VARIANTS_STUDY.tasks, 3))
    assert len(cells) == 3 * len(VARIANTS)
