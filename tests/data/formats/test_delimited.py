"""Text with separators: how it is written, and what it holds."""

import gzip

import numpy as np
import pandas as pd
import pytest

from bochner.data.errors import TableError
from bochner.data.formats import base
from bochner.data.formats.delimited import text_form
from bochner.data.tables import read_table


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("packed", [False, True])
def test_csv(tmp_path, frame, separator, packed):
    path = tmp_path / ("rows.csv.gz" if packed else "rows.csv")
    frame.to_csv(path, index=False, sep=separator)
    table = read_table(path, target="kind")
    assert table.name == "rows"
    assert (table.task, table.target, table.n_rows_in_file) == ("classification", "kind", 60)
    assert list(table.X.columns) == ["size", "colour"]
    np.testing.assert_allclose(table.X["size"], frame["size"])
    assert table.y.tolist() == frame["kind"].tolist()
    assert table.notes == ()


@pytest.mark.parametrize(
    ("text", "names", "header"),
    [
        ("a,b\n1,2\n3,4\n", ("a", "b"), True),
        ("1,2\n3,4\n", ("column1", "column2"), False),
        ("1,x\n3,y\n", ("column1", "column2"), False),
        ("0,1,label\n3,4,2\n", ("0", "1", "label"), True),
        ("0,1,2\n5,6,7\n", ("0", "1", "2"), True),
        ("a,a\n1,2\n", ("a", "a.2"), True),
        ('"first, name";b\n1;2\n', ("first, name", "b"), True),
        ("\ufeffa,b\n1,2\n", ("a", "b"), True),
    ],
)
def test_header_and_separator(tmp_path, text, names, header):
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="utf-8")
    form = text_form(path)
    assert form.names == names
    assert form.header is header


def test_a_column_that_turns_to_text_late_is_text(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "CHUNK", 20)
    lines = [f"{i % 7},{i % 2}" for i in range(30)] + [f"none,{i % 2}" for i in range(30)]
    (tmp_path / "rows.csv").write_text("code,y\n" + "\n".join(lines))
    table = read_table(tmp_path / "rows.csv", target="y")
    assert set(table.X["code"]) == {*"0123456", "none"}


def test_positions_are_those_of_the_names(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2,0\n3,4,1\n" * 20)
    for position in (1, 2, 3):
        table = read_table(tmp_path / "rows.csv", target=str(position))
        assert table.target == f"column{position}"


def comma(value):
    return f"{value:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas(tmp_path, rng, monkeypatch, separator, header):
    """Numbers, also with points between the thousands, and where a piece has whole ones only."""
    monkeypatch.setattr(base, "CHUNK", 30)
    values = rng.normal(0, 3000, size=(100, 3)).round(2)
    frame = pd.DataFrame(values, columns=["column1", "column2", "column3"])
    frame.loc[40:80, "column2"] = np.arange(41)
    written = frame.map(comma)
    written.loc[40:80, "column2"] = [str(i) for i in range(41)]
    written.loc[5, "column1"] = ""
    frame.loc[5, "column1"] = np.nan
    written.insert(1, "list", ["1,2,3", "4,5"] * 50)
    names = written.columns = [f"column{i + 1}" for i in range(4)]
    written.to_csv(tmp_path / "rows.csv", index=False, sep=separator, header=header)
    table = read_table(tmp_path / "rows.csv")
    assert table.task == "regression"
    np.testing.assert_array_equal(table.y, frame["column3"])
    np.testing.assert_array_equal(table.X[[names[0], names[2]]], frame[["column1", "column2"]])
    assert set(table.X["column2"]) == {"1,2,3", "4,5"}
    assert "Commas are read as decimal points: column1, column3, column4." in table.notes


def test_text_among_decimal_commas_stays_text(tmp_path):
    lines = [f"{'soon' if i == 55 else f'{i},5'};{i % 2}\n" for i in range(60)]
    (tmp_path / "rows.csv").write_text("a;y\n" + "".join(lines))
    table = read_table(tmp_path / "rows.csv")
    assert table.X["a"].tolist() == ["soon" if i == 55 else f"{i}.5" for i in range(60)]


def test_quoted_commas_of_a_comma_separated_file_stay(tmp_path):
    """They may stand between thousands."""
    (tmp_path / "rows.csv").write_text("a,y\n" + '"1,234",u\n"5,678",v\n' * 20)
    assert set(read_table(tmp_path / "rows.csv").X["a"]) == {"1,234", "5,678"}


def test_a_damaged_packed_file(tmp_path, frame):
    text = frame.to_csv(index=False).encode() * 20
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(text)[:-200])
    with pytest.raises(TableError, match=r"rows.csv.gz"):
        read_table(tmp_path / "rows.csv.gz")


def test_latin_1(tmp_path):
    text = "größe,y\n" + "".join(f"{i},{'ä' if i % 2 else 'ö'}\n" for i in range(40))
    (tmp_path / "rows.csv").write_bytes(text.encode("latin-1"))
    table = read_table(tmp_path / "rows.csv")
    assert list(table.X.columns) == ["größe"]
    assert set(table.y) == {"ä", "ö"}
