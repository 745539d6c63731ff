import gzip
import io
import tarfile
import zipfile

import numpy as np
import pytest

from bochner.data import conversions
from bochner.data.local import CACHE_VARIABLE, VARIABLE, find_file, load_images, load_local


def idx(path, values):
    head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes()
    path.write_bytes(gzip.compress(head + values.astype(np.uint8).tobytes()))
    return path


def zipped(path, **files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", ".").replace("_", "-"), text)
    return path


def cifar(path, rng, names, n):
    """An archive of records with random images; what was put in."""
    images, labels = {}, {}
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name in names:
            planes = rng.integers(0, 256, size=(n, 3, 32, 32), dtype=np.uint8)
            marks = rng.integers(0, 10, size=(n, 1), dtype=np.uint8)
            content = np.concatenate([marks, planes.reshape(n, -1)], axis=1).tobytes()
            member = tarfile.TarInfo(f"folder/{name}.bin")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
            images[name], labels[name] = planes.transpose(0, 2, 3, 1), marks[:, 0]
    return images, labels


def test_mnist(tmp_path, rng):
    images, test = rng.integers(0, 256, size=(4, 28, 28)), rng.integers(0, 256, size=(2, 28, 28))
    digits = np.array([3, 1, 4, 1])
    arrays = conversions.mnist(
        idx(tmp_path / "a", images),
        idx(tmp_path / "b", digits),
        idx(tmp_path / "c", test),
        idx(tmp_path / "d", digits[:2]),
    )
    np.testing.assert_array_equal(arrays["X_train"], images.reshape(4, 784))
    np.testing.assert_array_equal(arrays["X_test"], test.reshape(2, 784))
    np.testing.assert_array_equal(arrays["y_train"], digits)
    (tmp_path / "a").write_bytes(gzip.compress(b"something else"))
    with pytest.raises(ValueError, match="a is not an idx file"):
        conversions._idx(tmp_path / "a")


def test_svmlight(tmp_path):
    train, test = tmp_path / "train", tmp_path / "test"
    train.write_text("-1 1:0.5 3:1\n+1 2:2\n")
    test.write_text("+1 1:1\n")
    arrays = conversions.svmlight_parts(train, test, n_features=4, dtype=np.float32)
    np.testing.assert_array_equal(arrays["X_train"], [[0.5, 0, 1, 0], [0, 2, 0, 0]])
    assert arrays["y_train"].tolist() == [-1, 1]
    assert (arrays["y_test"].dtype, arrays["X_test"].dtype) == (np.int8, np.float32)

    train.write_text("1999 1:0.5\n2001.5 2:2\n")
    arrays = conversions.svmlight_parts(train, train, n_features=2, dtype=np.float32)
    assert arrays["y_train"].tolist() == [1999, 2001.5]
    arrays = conversions.svmlight_numbers(train, n_features=2)
    np.testing.assert_array_equal(arrays["X"], [[0.5, 0], [0, 2]])
    assert arrays["y"].tolist() == [1999, 2001.5]


def test_adult(tmp_path):
    line = "{}, {}, 5, HS-grad, 9, Divorced, Sales, Wife, White, {}, 0, 0, 40, Cuba, {}\n"
    archive = zipped(
        tmp_path / "adult.zip",
        adult__data=line.format(39, "Private", "Male", "<=50K")
        + line.format(50, "?", "Female", ">50K")
        + "\n",
        adult__test="|1x3 Cross validator\n" + line.format(25, "State-gov", "Male", ">50K."),
    )
    arrays = conversions.adult(archive)
    # age fnlwgt education-num gain loss hours; workclass ? Private State-gov; ...; sex F M; Cuba
    assert arrays["X_train"].tolist() == [
        [39, 5, 9, 0, 0, 40, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1],
        [50, 5, 9, 0, 0, 40, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1],
    ]
    assert arrays["X_test"][0, 6:9].tolist() == [0, 0, 1]
    assert arrays["y_train"].tolist() == [-1, 1]
    assert arrays["y_test"].tolist() == [1]


def test_advertisements(tmp_path):
    archive = zipped(
        tmp_path / "ads.zip",
        ad__data="125, 125, 1.0, 1, 0, 1, ad.\n   ?,   ?,   ?, ?, 1, 0, nonad.\n",
    )
    arrays = conversions.internet_ads(archive)
    assert arrays["X"].tolist() == [[0, 1], [1, 0]]
    assert arrays["y"].tolist() == [-1, 1]


def test_farm_is_read_back(tmp_path, monkeypatch):
    archive = zipped(tmp_path / "farm.zip", farm_ads_vect="1 1:1 3:1\n-1 54877:1\n")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    np.savez(tmp_path / "farm_ads.npz", **conversions.farm_ads(archive))
    data = load_local("farm")
    assert data.X_train.shape == (2, 54877)
    assert data.X_train.nonzero()[1].tolist() == [0, 2, 54876]
    assert data.y_train.tolist() == [1, -1]


def test_california_is_the_original(rng):
    n = 1000
    households = rng.integers(1, 6000, size=n).astype(float)
    rooms, bedrooms = (rng.integers(1, 40_000, size=n).astype(float) for _ in range(2))
    population = rng.integers(1, 36_000, size=n).astype(float)
    others = rng.normal(size=(4, n))
    original = [others[0], others[1], rooms, bedrooms, population, households, *others[2:]]
    averages = [
        *others[:2],
        rooms / households,
        bedrooms / households,
        population,
        population / households,
        *others[2:],
    ]
    dollars = rng.integers(14_999, 500_001, size=n).astype(float)
    arrays = conversions.california(np.column_stack(averages), dollars / 100_000)
    np.testing.assert_array_equal(arrays["X"], np.column_stack(original).astype(np.float32))
    np.testing.assert_array_equal(arrays["y"], dollars.astype(np.float32))


def test_cifar10(tmp_path, monkeypatch, rng):
    pytest.importorskip("PIL")
    archive = tmp_path / "cifar.tar.gz"
    monkeypatch.setattr(conversions, "SHEET", 3)
    images, labels = cifar(archive, rng, ["data_batch_2", "data_batch_1", "test_batch"], n=9)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    for part in ("train", "test"):
        np.savez(tmp_path / f"cifar10_{part}.npz", **conversions.cifar10_sheets(archive, part))
    data = load_images("cifar10")
    expected = np.concatenate([images["data_batch_1"], images["data_batch_2"]])
    np.testing.assert_array_equal(data.X_train, expected)
    np.testing.assert_array_equal(data.X_test, images["test_batch"])
    np.testing.assert_array_equal(data.y_test, labels["test_batch"])


def test_hog(tmp_path, rng):
    archive = tmp_path / "cifar.tar.gz"
    cifar(archive, rng, ["data_batch_1"], n=3)
    with pytest.raises(ValueError, match="has no files of images to test"):
        conversions.cifar_images(archive, "test")

    images, labels = cifar(archive, rng, ["data_batch_1", "test_batch"], n=3)
    arrays = conversions.cifar10_hog(archive)
    np.testing.assert_allclose(
        arrays["X_test"], naive_gradients(images["test_batch"]), rtol=0, atol=1e-3
    )
    assert arrays["X_train"].dtype == np.float16
    np.testing.assert_array_equal(arrays["y_train"], labels["data_batch_1"])


def naive_gradients(images):
    """The definition, pixel by pixel."""
    rows = []
    for image in images / 255:
        grey = image @ [0.2125, 0.7154, 0.0721]
        cells = np.zeros((8, 8, 8))
        for i in range(32):
            for j in range(32):
                down = grey[i + 1, j] - grey[i - 1, j] if 0 < i < 31 else 0.0
                right = grey[i, j + 1] - grey[i, j - 1] if 0 < j < 31 else 0.0
                angle = np.degrees(np.arctan2(down, right)) % 180
                cells[i // 4, j // 4, int(angle // 22.5) % 8] += np.hypot(down, right) / 16
        rows.append((cells / (cells.sum(axis=2, keepdims=True) + 1e-5)).ravel())
    return np.array(rows)


def test_hog_of_the_file_at_hand():
    """The file was made by another program: gradients on the edge of two bins may differ."""
    pytest.importorskip("PIL")
    if find_file("cifar10_test.npz") is None or find_file("cifar10_hog.npz") is None:
        pytest.skip("BOCHNER_DATA names no folder with CIFAR-10")
    from bochner.data.local import read_sheets

    images, _ = read_sheets("cifar10_test.npz")
    with np.load(find_file("cifar10_hog.npz")) as archive:
        theirs = archive["X_test"][:500].astype(np.float64)
    different = np.abs(conversions.oriented_gradients(images[:500]) - theirs) > 1e-3
    assert different.mean() < 2e-3
