"""Arrays that NumPy saved, flat or of images."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from bochner.data.formats import base
from bochner.data.tables import Expected, TableError, read_table, stream_table


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


def test_an_archive_that_unpacks_to_more_than_memory(tmp_path, monkeypatch):
    """Refused by the size that it declares, without unpacking; a header may declare more yet."""
    path = tmp_path / "zeros.npz"
    np.savez_compressed(path, X=np.zeros((40, 50_000)), y=np.arange(40) % 2)
    forged = tmp_path / "forged.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)}
    )
    with zipfile.ZipFile(forged, "w") as archive:
        archive.writestr("X.npy", header.getvalue())
        archive.writestr("y.npy", header.getvalue())
    monkeypatch.setattr(base, "memory_limit", lambda: 16_000_000)
    tracemalloc.start()
    for file in (path, forged):
        with pytest.raises(TableError, match=f"X in .*{file.name} would take .* half of the mem"):
            read_table(file)
        with pytest.raises(TableError, match="would take"):
            list(stream_table(file, Expected(), []))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000
    monkeypatch.setattr(base, "memory_limit", lambda: 64_000_000)
    assert read_table(path, image_shape=None).X.shape == (40, 50_000)
