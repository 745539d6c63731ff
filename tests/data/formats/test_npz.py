"""Arrays that NumPy saved, flat or of images."""

import numpy as np
import pytest

from bochner.data.tables import read_table


def test_npz(tmp_path, rng):
    X, y = rng.normal(size=(40, 2, 3)), rng.normal(size=40)
    np.savez(tmp_path / "rows.npz", X_train=X, y_train=y, other=y > 0, X_test=X)
    table = read_table(tmp_path / "rows.npz")
    assert table.X.shape == (40, 6)
    assert table.task == "regression"
    assert len(table.notes) == 2
    assert read_table(tmp_path / "rows.npz", target="other").task == "classification"
    assert table.image_shape is None  # too small for images


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ((6, 5), (6, 5, 1)),
        ((6, 5, 3), (6, 5, 3)),
        ((3, 6, 5), (6, 5, 3)),  # channels first
    ],
)
def test_npz_of_images(tmp_path, rng, given, shape):
    X, y = rng.integers(0, 255, size=(40, *given), dtype=np.uint8), np.arange(40) % 2
    np.savez(tmp_path / "images.npz", X=X, y=y)
    table = read_table(tmp_path / "images.npz", max_rows=30)
    assert table.image_shape == shape
    assert table.X.dtype == np.uint8
    assert table.X.shape == (30, np.prod(given))
    images = np.moveaxis(X, 1, 3) if given == (3, 6, 5) else X
    whole = read_table(tmp_path / "images.npz")
    np.testing.assert_array_equal(whole.X.reshape(images.shape), images)
    assert not whole.notes
    flat = read_table(tmp_path / "images.npz", image_shape=None)
    assert flat.image_shape is None
    np.testing.assert_array_equal(flat.X, X.reshape(40, -1))
    assert "made flat" in flat.notes[0]
