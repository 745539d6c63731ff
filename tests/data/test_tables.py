"""A user's files, good and bad."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from bochner.data.bundled import BUNDLED
from bochner.data.tables import TableError, read_table


def test_rows_that_are_images(tmp_path, rng):
    pixels, y = rng.integers(0, 255, size=(40, 12)), np.arange(40) % 2
    pixels[:, 9:] = 0
    frame = pd.DataFrame(pixels, columns=[f"p{i}" for i in range(12)]).assign(y=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with open(tmp_path / "rows.svm", "wb") as file:
        dump_svmlight_file(pixels, y, file, zero_based=False)
    np.savez(tmp_path / "rows.npz", X=pixels, y=y)
    for name in ("rows.csv", "rows.svm", "rows.npz"):
        table = read_table(tmp_path / name, image_shape=(3, 4, 1))
        X = table.X.toarray() if hasattr(table.X, "toarray") else table.X
        assert table.image_shape == (3, 4, 1)
        np.testing.assert_array_equal(X, pixels)  # svmlight says nothing of the zeros at the end
        assert read_table(tmp_path / name).image_shape is None
        with pytest.raises(TableError, match="images of 2 x 2 have 4 numbers, but rows has"):
            read_table(tmp_path / name, image_shape=(2, 2, 1))
    frame.assign(p3="x").to_csv(tmp_path / "text.csv", index=False)
    with pytest.raises(TableError, match=r"must hold numbers, but 'p3' of text holds text"):
        read_table(tmp_path / "text.csv", image_shape=(3, 4, 1))
    assert read_table("digits").image_shape == (8, 8, 1)
    assert read_table("digits", image_shape=None).image_shape is None


@pytest.mark.parametrize("name", BUNDLED)
def test_datasets_by_name(name):
    table = read_table(name, max_rows=100)
    assert len(table.X) == len(table.y) == 100
    assert table.n_rows_in_file > 100


def test_infinite_entries_are_missing(tmp_path):
    lines = "\n".join(f"{'inf' if i == 3 else i},{i % 2}" for i in range(60))
    (tmp_path / "rows.csv").write_text("a,y\n" + lines)
    table = read_table(tmp_path / "rows.csv", target="y")
    assert np.flatnonzero(table.X["a"].isna()).tolist() == [3]
    assert "1 infinite value counts as missing." in table.notes


ROWS = "".join(f"{i % 5},{i % 2}\n" for i in range(40))


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("rows.csv", "", {}, "is empty"),
        ("rows.csv", "\n\n", {}, "is empty"),
        ("rows.csv", "a,b\n", {}, "has a header but no rows"),
        ("rows.csv", "a\nb\n", {}, "one column only"),
        ("rows.csv", "size,y\n" + ROWS, {"target": "siez"}, "no column 'siez'.*did you mean size"),
        ("rows.csv", "a,y\n" + ROWS, {"target": "7"}, "no column '7'"),
        ("rows.csv", "a,y\n" + ROWS, {"target": "0"}, "Positions count from 1"),
        ("rows.csv", "a,y\n" + ROWS, {"target": "-3"}, "Positions count from 1"),
        ("rows.csv", "a,y\n" + "1,x\n" * 30, {}, "one class only, x"),
        ("rows.csv", "a,y\n" + "1,\n" * 30, {}, "target column 'y' .* is empty"),
        ("rows.csv", "a,y\n1,2\n3,4\n", {}, "at least 20 are needed"),
        ("rows.csv", "a,y\n" + "1,7.5\n" * 30, {}, "7.5 in every row"),
        ("rows.csv", "a,y\n1,2\n1,2,3\n" + ROWS, {}, "cannot be read"),
        ("rows.csv", "a,y\n" + ROWS, {"task": "magic"}, "task must be one of"),
        (
            "rows.csv",
            "a,y\n" + "".join(f"1,t{i}\n" for i in range(40)),
            {},
            "40 different values in 40 rows",
        ),
        (
            "rows.csv",
            "a,y\n" + "1,u\n2,v\n" * 20,
            {"task": "regression"},
            "is text, such as 'u'",
        ),
        (
            "rows.csv",
            "a,y\n" + "1,0.5\n2,1.5\n" * 20,
            {"task": "classification"},
            "not whole, such as 0.5",
        ),
        ("rows.svm", "a b c\n", {}, "not in svmlight form"),
        ("rows.svm", "1 1:x\n", {}, "not in svmlight form"),
        ("rows.svm", "1 1:2\n" * 30, {"target": "y"}, "leave out --target"),
        ("rows.npz", "no zip", {}, "not an npz file"),
        ("rows.csv.gz", "not packed", {}, "cut short or damaged"),
        ("rows.parquet", "nothing", {}, "rows.parquet"),
    ],
)
def test_bad_files_give_one_line(tmp_path, name, text, options, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        read_table(path, **options)


def test_other_bad_sources(tmp_path, rng):
    with pytest.raises(TableError, match=r"no dataset 'digitz' \(did you mean digits\?\)"):
        read_table("digitz")
    with pytest.raises(TableError, match="has no file that can be read"):
        read_table(tmp_path)
    with pytest.raises(TableError, match="leave out --target"):
        read_table("iris", target="species")
    (tmp_path / "bytes.csv").write_bytes(bytes(range(256)) * 20)
    with pytest.raises(TableError, match="is not text"):
        read_table(tmp_path / "bytes.csv")
    np.savez(tmp_path / "names.npz", A=rng.normal(size=(30, 2)))
    with pytest.raises(TableError, match="must hold arrays X and y"):
        read_table(tmp_path / "names.npz")
    np.savez(tmp_path / "objects.npz", X=np.array([[{}]] * 30), y=np.arange(30))
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path / "objects.npz")
    np.savez(tmp_path / "short.npz", X=rng.normal(size=(30, 2)), y=np.arange(29))
    with pytest.raises(TableError, match="one label per row"):
        read_table(tmp_path / "short.npz")


def test_columns_whose_squares_do_not_fit(tmp_path):
    lines = "".join(f"{i},{i % 7}e300,{i % 2}\n" for i in range(60))
    (tmp_path / "rows.csv").write_text("a,b,y\n" + lines)
    with pytest.raises(TableError, match=r"column 'b' has values up to 6e\+300"):
        read_table(tmp_path / "rows.csv")
    X = np.ones((40, 3))
    X[:, 1] *= 1e200
    np.savez(tmp_path / "rows.npz", X=X, y=np.arange(40) % 2)
    with pytest.raises(TableError, match=r"column 2 has values up to 1e\+200"):
        read_table(tmp_path / "rows.npz")
