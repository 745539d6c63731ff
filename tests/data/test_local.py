import io
import os

import numpy as np
import pytest
from scipy import sparse

from bochner.data.local import (
    LOCAL,
    PAIRS,
    REGRESSION,
    VARIABLE,
    data_folder,
    load_cifar10_hog,
    load_images,
    load_local,
    load_mnist,
    load_pair,
    load_regression,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return tmp_path


def labels(*values):
    return np.array(values, dtype=np.int8)


def test_variable_not_set(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match="set the environment variable BOCHNER_DATA"):
        data_folder()
    monkeypatch.setenv(VARIABLE, "")
    with pytest.raises(FileNotFoundError, match="set the environment variable"):
        load_local("ads")


def test_not_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere', which is not a folder"):
        data_folder()


def test_folder(folder):
    assert data_folder() == folder


@pytest.mark.parametrize("name", [name for name in LOCAL if name != "breast"])
def test_no_such_file(name, folder):
    with pytest.raises(FileNotFoundError, match=r"there is no file \w+\.npz in"):
        load_local(name)


def test_unknown_name():
    with pytest.raises(ValueError, match="unknown dataset 'iris'"):
        load_local("iris")


def test_breast_needs_no_folder(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    data = load_local("breast")
    assert data.X_train.shape == (569, 30)
    assert np.unique(data.y_train, return_counts=True)[1].tolist() == [212, 357]
    assert data.X_test is None
    assert data.y_test is None
    assert str(data) == "breast: 569 rows, 30 columns, no fixed split"


@pytest.mark.parametrize("name", ["adult", "a9a", "ijcnn1"])
def test_a_fixed_split_is_kept(name, folder):
    X, X_test = np.arange(6, dtype=np.int32).reshape(3, 2), np.ones((2, 2), dtype=np.int32)
    np.savez(
        folder / f"{name}.npz",
        X_train=X,
        y_train=labels(-1, 1, -1),
        X_test=X_test,
        y_test=labels(1, -1),
    )
    data = load_local(name)
    np.testing.assert_array_equal(data.X_train, X)
    np.testing.assert_array_equal(data.X_test, X_test)
    assert data.X_train.dtype == data.X_test.dtype == np.float64
    assert data.y_train.tolist() == [-1, 1, -1]
    assert data.y_test.tolist() == [1, -1]
    assert str(data) == f"{name}: 3 rows, 2 columns, 2 to test"


def test_covtype_tells_the_second_class_from_the_others(folder):
    X = np.array([[-3, 400], [5, 6], [7, 8]], dtype=np.int16)
    np.savez(folder / "covtype.npz", X=X, y=np.array([2, 7, 1], dtype=np.uint8))
    data = load_local("covtype")
    np.testing.assert_array_equal(data.X_train, X)
    assert data.X_train.dtype == np.float32
    assert data.y_train.tolist() == [1, -1, -1]
    assert data.X_test is None


def test_ads(folder):
    X = np.array([[0, 1], [1, 1]], dtype=np.uint8)
    np.savez(folder / "internet_ads.npz", X=X, y=labels(-1, 1))
    data = load_local("ads")
    np.testing.assert_array_equal(data.X_train, X)
    assert data.X_train.dtype == np.float64
    assert data.y_train.tolist() == [-1, 1]
    assert data.X_test is None


def test_farm_is_sparse(folder):
    np.savez(
        folder / "farm_ads.npz",
        indices=np.array([0, 3, 1], dtype=np.uint16),
        indptr=np.array([0, 2, 3], dtype=np.int32),
        shape=np.array([2, 5], dtype=np.int32),
        y=labels(1, -1),
    )
    data = load_local("farm")
    assert sparse.issparse(data.X_train)
    assert data.X_train.format == "csr"
    assert data.X_train.dtype == np.float32
    np.testing.assert_array_equal(data.X_train.toarray(), [[1, 0, 0, 1, 0], [0, 1, 0, 0, 0]])
    assert data.y_train.tolist() == [1, -1]


def test_pairs_of_digits(folder):
    # The first column counts the rows, so that their order can be read off.
    digits, test_digits = np.array([9, 4, 1, 4], np.uint8), np.array([4, 9, 7], np.uint8)
    X = np.column_stack([np.arange(4), digits]).astype(np.uint8)
    X_test = np.column_stack([np.arange(4, 7), test_digits]).astype(np.uint8)
    np.savez(folder / "mnist.npz", X_train=X, y_train=digits, X_test=X_test, y_test=test_digits)
    data = load_local("mnist49")
    np.testing.assert_allclose(255 * data.X_train, [[1, 4], [3, 4], [4, 4], [0, 9], [5, 9]])
    assert data.y_train.tolist() == [-1, -1, -1, 1, 1]
    assert data.X_test is None
    assert load_local("mnist17").y_train.tolist() == [-1, 1]


def test_missing_array(folder):
    np.savez(folder / "internet_ads.npz", X=np.zeros((1, 1)))
    with pytest.raises(ValueError, match="has no array 'y'"):
        load_local("ads")


def test_labels_are_checked(folder):
    np.savez(folder / "internet_ads.npz", X=np.zeros((2, 1)), y=labels(0, 1))
    with pytest.raises(ValueError, match=r"labels must be -1 and \+1, got \[0, 1\]"):
        load_local("ads")


def write_classes(path, classes, test_classes, dtype, columns=3):
    rng = np.random.RandomState(0)
    arrays = {"y_train": np.array(classes, np.uint8), "y_test": np.array(test_classes, np.uint8)}
    for part in ("train", "test"):
        shape = len(arrays[f"y_{part}"]), columns
        arrays[f"X_{part}"] = rng.randint(0, 255, shape).astype(dtype)
    np.savez(path, **arrays)
    return arrays


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_keep_their_test_part(name, folder):
    file, first, second = PAIRS[name]
    dtype, unit = (np.uint8, 255) if file == "mnist.npz" else (np.float16, 1)
    arrays = write_classes(folder / file, [first, 3, second, second], [second, 3, 3, first], dtype)
    data = load_pair(name)
    train = arrays["X_train"][[0, 2, 3]].astype(np.float64) / unit
    test = arrays["X_test"][[0, 3]].astype(np.float64) / unit
    np.testing.assert_allclose(data.X_train, train - train.mean(axis=0), atol=1e-4 / unit)
    np.testing.assert_allclose(data.X_test, test - train.mean(axis=0), atol=1e-4 / unit)
    assert data.X_train.dtype == data.X_test.dtype == np.float32
    assert data.y_train.tolist() == [-1, 1, 1]
    assert data.y_test.tolist() == [1, -1]
    assert str(data) == f"{name}: 3 rows, 3 columns, 2 to test"


def test_pair_without_one_of_its_classes(folder):
    write_classes(folder / "mnist.npz", [1, 7], [1, 1], np.uint8)
    with pytest.raises(ValueError, match=r"mnist\.npz lacks rows of class 7"):
        load_pair("mnist17")


def test_all_digits(folder):
    arrays = write_classes(folder / "mnist.npz", range(10), [3, 8], np.uint8)
    data = load_mnist()
    assert data.y_train.tolist() == list(range(10))
    assert data.y_test.tolist() == [3, 8]
    mean = arrays["X_train"].mean(axis=0)
    np.testing.assert_allclose(data.X_test, (arrays["X_test"] - mean) / 255, atol=1e-6)
    np.testing.assert_allclose(data.X_train.mean(axis=0), 0, atol=1e-6)
    assert data.X_train.dtype == np.float32


def test_all_classes_of_cifar(folder):
    arrays = write_classes(folder / "cifar10_hog.npz", range(10), [3, 8], np.float16)
    data = load_cifar10_hog()
    assert data.y_train.tolist() == list(range(10))
    assert data.y_test.tolist() == [3, 8]
    mean = arrays["X_train"].astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(data.X_test, arrays["X_test"] - mean, atol=1e-4)
    assert data.X_train.dtype == data.X_test.dtype == np.float32
    assert str(data) == "cifar10_hog: 10 rows, 3 columns, 2 to test"


@pytest.mark.parametrize("name", REGRESSION)
def test_regression_is_standardised_by_the_training_rows(name, folder, rng):
    X = rng.normal(5, 3, size=(40, 3)).astype(np.float32)
    X[:, 2] = 7
    y = np.arange(40, dtype=np.float32)  # tells where a row came from
    np.savez(folder / REGRESSION[name], X=X, y=y)
    data = load_regression(name, random_state=1)
    assert sorted([*data.y_train, *data.y_test]) == list(range(40))
    assert len(data.y_test) == 10
    train, test = (X[part.astype(int)].astype(float) for part in (data.y_train, data.y_test))
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread[2] = 1
    np.testing.assert_allclose(data.X_train, (train - mean) / spread)
    np.testing.assert_allclose(data.X_test, (test - mean) / spread)
    assert not np.array_equal(data.y_test, load_regression(name, random_state=2).y_test)
    np.testing.assert_array_equal(data.y_test, load_regression(name, random_state=1).y_test)


def test_regression_says_what_is_wrong(folder):
    with pytest.raises(ValueError, match="unknown dataset 'adult'; there are cadata, cpusmall"):
        load_regression("adult")
    with pytest.raises(ValueError, match=r"test_size must be between 0 and 1, got 1\.5"):
        load_regression("cadata", test_size=1.5)
    np.savez(folder / "cadata.npz", X=np.zeros((1, 1)), y=np.zeros(1))
    with pytest.raises(ValueError, match="cadata has 1 rows, too few"):
        load_regression("cadata")


def test_prepared_data_without_files(folder):
    with pytest.raises(FileNotFoundError, match=r"there is no file cifar10_hog\.npz in"):
        load_pair("cifar_dog_frog")
    with pytest.raises(FileNotFoundError, match=r"there is no file mnist\.npz in"):
        load_mnist()
    with pytest.raises(FileNotFoundError, match=r"there is no file cpusmall\.npz in"):
        load_regression("cpusmall")
    with pytest.raises(ValueError, match="unknown pair 'mnist38'"):
        load_pair("mnist38")


def test_real_file():
    folder = os.environ.get(VARIABLE)
    if not folder or not os.path.isfile(os.path.join(folder, "internet_ads.npz")):
        pytest.skip(f"{VARIABLE} names no folder with internet_ads.npz")
    data = load_local("ads")
    assert data.X_train.shape == (3279, 1554)
    assert np.unique(data.y_train, return_counts=True)[1].tolist() == [459, 2820]


def test_mnist_as_images(folder):
    X = np.arange(2 * 784, dtype=np.uint16).reshape(2, 784).astype(np.uint8)
    y = np.array([3, 4], dtype=np.uint8)
    np.savez(folder / "mnist.npz", X_train=X, y_train=y, X_test=X[:1], y_test=y[:1])
    data = load_images("mnist")
    assert data.X_train.shape == (2, 28, 28)
    assert data.X_train.dtype == np.uint8
    np.testing.assert_array_equal(data.X_train[1].ravel(), X[1])
    assert data.y_train.tolist() == [3, 4]
    assert str(data) == "mnist: 2 images of 28 x 28, 1 to test"


def sheet(images, rows, columns):
    """Images side by side, row by row, as the bytes of a picture that loses nothing."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    mosaic = np.zeros((rows * 32, columns * 32, 3), dtype=np.uint8)
    for k, one in enumerate(images):
        i, j = divmod(k, columns)
        mosaic[32 * i : 32 * i + 32, 32 * j : 32 * j + 32] = one
    file = io.BytesIO()
    image.fromarray(mosaic).save(file, format="PNG")
    return np.frombuffer(file.getvalue(), dtype=np.uint8)


def test_cifar10_is_cut_out_of_its_sheets_in_order(folder, rng):
    images = rng.integers(256, size=(12, 32, 32, 3), dtype=np.uint8)
    y = np.arange(12, dtype=np.uint8) % 10
    first, second = sheet(images[:6], 2, 3), sheet(images[6:], 2, 3)
    grid = np.array([2, 3])
    np.savez(folder / "cifar10_train.npz", labels=y, grid=grid, sheet_00=first, sheet_01=second)
    np.savez(folder / "cifar10_test.npz", labels=y[6:], grid=grid, sheet_00=second)
    data = load_images("cifar10")
    np.testing.assert_array_equal(data.X_train, images)
    np.testing.assert_array_equal(data.X_test, images[6:])
    assert data.y_train.tolist() == y.tolist()


def test_a_sheet_of_another_size(folder, rng):
    images = rng.integers(256, size=(4, 32, 32, 3), dtype=np.uint8)
    parts = {"labels": np.zeros(4, np.uint8), "sheet_00": sheet(images, 2, 2)}
    np.savez(folder / "cifar10_train.npz", grid=np.array([2, 3]), **parts)
    with pytest.raises(ValueError, match="not of 2 x 3 images"):
        load_images("cifar10")


def test_unknown_images():
    with pytest.raises(ValueError, match="unknown images 'svhn'; there are mnist, cifar10"):
        load_images("svhn")
