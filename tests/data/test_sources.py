"""Folders and patterns: several files as one table, and what may be wrong with one of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from bochner.data.columns import value_kind
from bochner.data.formats.base import Request
from bochner.data.sources import find_source, read_files
from bochner.data.tables import Expected, TableError, read_table, stream_table


def frame(n, first=0, **columns):
    a = np.arange(first, first + n, dtype=float)
    return pd.DataFrame({"a": a, "town": np.where(a % 3 > 0, "Ulm", "Rom"), **columns, "y": a % 2})


def write(folder, name, rows):
    path = folder / name
    if name.endswith(".csv"):
        rows.to_csv(path, index=False)
    else:
        rows.to_parquet(path)
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_folder_and_a_pattern_are_one_table(tmp_path, monkeypatch, suffix):
    for i in range(3):
        rows = frame(30, 30 * i)
        write(tmp_path, f"part-{i}.{suffix}", rows[["town", "y", "a"]] if i == 1 else rows)
    write(tmp_path, f"_log.{suffix}", frame(9))
    (tmp_path / "README.md").write_text("files")
    for source in (tmp_path, f"{tmp_path}/part*.{suffix}", f"{tmp_path}/**/part*.{suffix}"):
        table = read_table(source, "y")
        assert (table.name, len(table.files), table.n_drawn_from) == (tmp_path.name, 3, None)
        assert table.X["a"].tolist() == list(range(90))
        assert (table.y == table.X["a"] % 2).all()
    monkeypatch.chdir(tmp_path)
    assert read_table(f"*.{suffix}", "y").name == tmp_path.name
    pieces = list(stream_table(tmp_path, Expected(target="y"), []))
    assert [len(X) for X, _ in pieces] == [30, 30, 30]


def test_a_sample_is_uniform_over_all_rows(tmp_path):
    """Of files of 20 and of 180 rows every row is drawn with the same probability."""
    rows = np.arange(200.0)[:, None]
    for name, part in (("a", rows[:20]), ("b", rows[20:])):
        np.savez(tmp_path / f"{name}.npz", X=part, y=part[:, 0] % 2)
    counts = np.zeros(200)
    for seed in range(300):
        contents, _ = read_files(find_source(tmp_path).files, Request(None, 50, seed))
        drawn = contents.X[:, 0].astype(int)
        assert len(set(drawn)) == 50
        counts[drawn] += 1
    expected, deviation = 75, (300 * 0.25 * 0.75) ** 0.5
    assert np.abs(counts - expected).max() < 4.5 * deviation
    assert abs(counts[:20].mean() - expected) < 4 * deviation / 20**0.5
    table = read_table(tmp_path, max_rows=50)
    assert table.n_drawn_from == 200
    assert "200 rows in 2 files, 50 drawn at random." in table.notes


def test_files_without_rows_are_left_out_and_counted(tmp_path):
    for i in range(2):
        write(tmp_path, f"part-{i}.csv", frame(30))
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,town,y\n")
    table = read_table(tmp_path, "y")
    assert len(table.y) == 60
    assert "2 files were left out (no rows): empty.csv, header.csv." in table.notes
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "empty.csv").write_text("")
    with pytest.raises(TableError, match="none of 1 file has rows"):
        read_table(tmp_path / "bare")


def test_a_damaged_file_stops_or_is_counted(tmp_path):
    for i in range(3):
        path = write(tmp_path, f"part-{i}.parquet", frame(400))
    data = bytearray(path.read_bytes())
    data[100:2000] = b"x" * 1900  # in the middle: the file still opens
    path.write_bytes(data)
    with pytest.raises(TableError, match=r"part-2\.parquet cannot be read"):
        read_table(tmp_path, "y")
    table = read_table(tmp_path, "y", skip_bad_files=True)
    assert [file.name for file in table.files] == ["part-0.parquet", "part-1.parquet"]
    assert "1 file was left out (damage): part-2.parquet." in table.notes
    assert len(table.y) == 800


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (frame(30).drop(columns="town"), r"part-1\.\w+ lacks the column 'town', which .*part-0"),
        (frame(30, b=1), r"part-1\.\w+ has a column 'b', which .*part-0"),
        (frame(30).drop(columns="y"), r"no column 'y' in .*part-1"),
        (frame(30).assign(a="x"), r"column 'a' holds text in .*part-1\.\w+, but numbers in "),
        (frame(30).assign(town=3), r"column 'town' holds numbers in .*part-1"),
        (frame(30).assign(y="z"), r"the target y holds text in .*part-1"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_that_differ_are_named_with_the_file(tmp_path, suffix, other, message):
    write(tmp_path, f"part-0.{suffix}", frame(30))
    write(tmp_path, f"part-1.{suffix}", other)
    for skip in (False, True):  # it is not damaged
        with pytest.raises(TableError, match=message):
            read_table(tmp_path, "y", skip_bad_files=skip)


def test_kinds_of_values():
    kinds = {
        "numbers": [pd.Series([1, 2]), pd.Series([True, None]), pd.Series([1.5, None])],
        "text": [pd.Series(["a", None]), pd.Series(["a"], dtype="category"), np.array(["a"])],
        "dates": [pd.Series(pd.to_datetime(["2020-01-01"]))],
        None: [pd.Series([None, None]), pd.Series([np.nan]), np.array([])],
    }
    for kind, columns in kinds.items():
        assert {value_kind(column) for column in columns} == {kind}


def test_arrays_and_sparse_rows(tmp_path, rng):
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    for i, (X_part, y_part) in enumerate(zip(np.split(X, 2), np.split(y, 2), strict=True)):
        np.savez(tmp_path / f"part-{i}.npz", X=X_part, y=y_part)
        with (tmp_path / f"part-{i}.svm").open("wb") as file:  # the second is narrower
            dump_svmlight_file(X_part[:, : 4 - i], y_part, file, zero_based=False)
    np.testing.assert_array_equal(read_table(f"{tmp_path}/*.npz").X, X)
    sparse = read_table(f"{tmp_path}/*.svm")
    assert sparse.X.shape == (60, 4)
    assert sparse.X[40, 3] == 0
    np.savez(tmp_path / "part-2.npz", X=X[:, :3], y=y)
    with pytest.raises(TableError, match=r"part-2\.npz has 3 columns, .*part-0\.npz has 4"):
        read_table(f"{tmp_path}/*.npz")
    with pytest.raises(TableError, match="the files of one table have one format"):
        read_table(tmp_path)


def test_nothing_that_matches(tmp_path):
    with pytest.raises(TableError, match="no file that matches"):
        find_source(f"{tmp_path}/*.csv")


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("data", "data"),
        ("data/*.csv", "data"),
        ("data/part-[0-9]*.csv", "data-part"),
        ("data/2020*x.csv", "data-2020-x"),
        ("*/part*.csv", "iris-part"),
        (".", "iris-files"),
    ],
)
def test_several_files_have_one_label(tmp_path, monkeypatch, source, label):
    """That of the folder, and what a pattern says; never the name of a dataset."""
    folder = tmp_path / "iris"
    (folder / "data").mkdir(parents=True)
    for name in ("data/part-1.csv", "data/2020-x.csv", "rows.csv"):
        (folder / name).write_text("a,y\n1,2\n")
    monkeypatch.chdir(folder)
    assert find_source(source).label == label
