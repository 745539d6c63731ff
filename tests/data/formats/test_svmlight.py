"""svmlight: sparse rows, whole, sampled and in pieces."""

import gzip

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from bochner.data.formats import base
from bochner.data.tables import Expected, TableError, read_table, stream_table


def test_svmlight_stays_sparse(tmp_path, rng):
    X = sparse.random(50, 30, density=0.2, random_state=0, format="csr")
    y = np.arange(50) % 2
    dump_svmlight_file(X, y, str(tmp_path / "rows.libsvm"), zero_based=False)
    text = (tmp_path / "rows.libsvm").read_bytes()
    (tmp_path / "rows.txt").write_bytes(text)
    (tmp_path / "packed.svm.gz").write_bytes(gzip.compress(text))
    for name in ("rows.libsvm", "rows.txt", "packed.svm.gz"):
        table = read_table(tmp_path / name)
        assert sparse.issparse(table.X)
        np.testing.assert_allclose(table.X.toarray()[:, : X.shape[1]], X.toarray()[:, :30])
        assert table.y.tolist() == y.tolist()
    sampled = read_table(tmp_path / "rows.txt", max_rows=20)
    assert sampled.X.shape[0] == len(sampled.y) == 20
    assert sampled.notes == ("50 rows in the file, 20 drawn at random.",)


def test_pieces_are_the_whole(tmp_path, monkeypatch):
    """Whether positions count from 0 is seen in the last row only, and decides for all."""
    monkeypatch.setattr(base, "CHUNK", 7)
    lines = [
        "# a comment",
        *(f"{i % 2} 1:{i + 1} 3:0.5" for i in range(30)),
        "",
        "1 0:4 2:1 # end",
    ]
    (tmp_path / "rows.svm").write_text("\n".join(lines))
    expected = np.array([[0, i + 1, 0, 0.5] for i in range(30)] + [[4, 0, 1, 0]])
    whole = read_table(tmp_path / "rows.svm").X
    np.testing.assert_array_equal(whole.toarray(), expected)
    pieces = list(stream_table(tmp_path / "rows.svm", Expected(), []))
    assert [X.shape[0] for X, _ in pieces] == [7, 7, 7, 7, 3]
    for X, _ in pieces:
        X.resize(X.shape[0], 4)  # a piece is as wide as its last position
    np.testing.assert_array_equal(sparse.vstack([X for X, _ in pieces]).toarray(), expected)
    assert np.concatenate([y for _, y in pieces]).tolist() == [i % 2 for i in range(30)] + [1]
    with_last = []
    for seed in range(6):
        sampled = read_table(tmp_path / "rows.svm", max_rows=20, random_state=seed).X.toarray()
        with_last.append(sampled[-1, 0] == 4)
        np.testing.assert_array_equal(sampled[: -1 if with_last[-1] else None, 3], 0.5)
    assert set(with_last) == {True, False}


@pytest.mark.parametrize(
    ("position", "message"),
    [
        (9_999_999, "those of 9999999 columns, but only 2 have entries"),
        (999_999_999, "those of 999999999 columns, but only 2 have entries"),
        (99_999_999_999, "not in svmlight form"),
    ],
)
def test_far_positions_of_a_small_file(tmp_path, position, message):
    path = tmp_path / "far.svm"
    path.write_text("".join(f"{i % 2} 1:{i} {position}:1\n" for i in range(40)))
    with pytest.raises(TableError, match=message):
        read_table(path)


def test_hashed_words_are_spread(tmp_path):
    """A few rows of words, hashed into 2**20 columns as is usual."""
    path = tmp_path / "words.svm"
    path.write_text("".join(f"{i % 2} 1:1 {2**20 - i}:1\n" for i in range(40)))
    assert read_table(path).X.shape == (40, 2**20)
