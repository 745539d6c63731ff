import os

import numpy as np
import pytest
from scipy import sparse

from bochner.datasets.local import LOCAL, VARIABLE, data_folder, load_local


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


def test_adult_keeps_its_test_part(folder):
    X, X_test = np.arange(6, dtype=np.int32).reshape(3, 2), np.ones((2, 2), dtype=np.int32)
    np.savez(
        folder / "adult.npz",
        X_train=X,
        y_train=labels(-1, 1, -1),
        X_test=X_test,
        y_test=labels(1, -1),
    )
    data = load_local("adult")
    np.testing.assert_array_equal(data.X_train, X)
    np.testing.assert_array_equal(data.X_test, X_test)
    assert data.X_train.dtype == data.X_test.dtype == np.float64
    assert data.y_train.tolist() == [-1, 1, -1]
    assert data.y_test.tolist() == [1, -1]
    assert str(data) == "adult: 3 rows, 2 columns, 2 to test"


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


def test_real_file():
    folder = os.environ.get(VARIABLE)
    if not folder or not os.path.isfile(os.path.join(folder, "internet_ads.npz")):
        pytest.skip(f"{VARIABLE} names no folder with internet_ads.npz")
    data = load_local("ads")
    assert data.X_train.shape == (3279, 1554)
    assert np.unique(data.y_train, return_counts=True)[1].tolist() == [459, 2820]
