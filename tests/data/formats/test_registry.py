"""The registry: which format a file has, and a new format by one entry."""

import numpy as np
import pytest

from bochner.data.errors import TableError
from bochner.data.formats import FORMATS, describe_formats, find_format, result_name
from bochner.data.tables import Expected, read_table, stream_table
from tests.data.formats.bars import Bars, write_bars


@pytest.fixture
def bars(monkeypatch):
    monkeypatch.setitem(FORMATS, Bars.name, Bars())


def test_every_suffix_is_said():
    for entry in FORMATS.values():
        for suffix in entry.suffixes:
            assert suffix in describe_formats()


@pytest.mark.parametrize(
    ("name", "head", "found"),
    [
        ("rows.CSV", b"1 1:2\n", "CSV"),
        ("rows.txt", b"1 1:2\n", "svmlight"),
        ("rows.txt", b"# why\n1 1:2\n" + b"1,2\n", "CSV"),
        ("rows.data", b"a,b\n1,2\n", "CSV"),
        ("rows", b"-1 3:0.5 7:1 # why\n" * 9000, "svmlight"),
        ("rows.svmlight", b"a,b\n1,2\n", "svmlight"),
        ("rows", b"PAR1\0\0", "Parquet"),
        ("rows.pq", b"x", "Parquet"),
    ],
)
def test_suffix_then_content(tmp_path, name, head, found):
    (tmp_path / name).write_bytes(head)
    assert find_format(tmp_path / name).name == found


def test_npz_without_a_suffix(tmp_path, rng):
    with (tmp_path / "rows").open("wb") as file:
        np.savez(file, X=rng.normal(size=(30, 2)), y=np.arange(30) % 2)
    assert find_format(tmp_path / "rows").name == "npz"
    assert len(read_table(tmp_path / "rows").y) == 30


def test_no_format(tmp_path):
    (tmp_path / "rows.bin").write_bytes(bytes(range(256)))
    with pytest.raises(TableError, match=r"rows\.bin is unknown; what can be read is CSV \(\.csv"):
        find_format(tmp_path / "rows.bin")


def test_names_of_results(tmp_path):
    assert result_name(tmp_path / "iris.csv") == "iris"
    assert result_name(tmp_path / "iris.csv.gz", taken={"iris"}) == "iris-csv"


def test_a_new_format_is_one_entry(tmp_path, bars, rng):
    X, y = rng.normal(size=(60, 3)).round(3), np.arange(60) % 3
    write_bars(tmp_path / "rows.bars", X, y)
    table = read_table(tmp_path / "rows.bars", max_rows=40)
    assert (table.name, table.task, table.n_rows_in_file) == ("rows", "classification", 60)
    assert "60 rows in the file, 40 drawn at random." in table.notes
    pieces = list(stream_table(tmp_path / "rows.bars", Expected(), []))
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in pieces]), X)
    (tmp_path / "rows").write_bytes((tmp_path / "rows.bars").read_bytes())
    assert find_format(tmp_path / "rows").name == "bars"
    assert "bars (.bars)" in describe_formats()
    (tmp_path / "nothing").mkdir()
    with pytest.raises(TableError, match=r"what can be read is .*bars \(\.bars\)"):
        read_table(tmp_path / "nothing")
