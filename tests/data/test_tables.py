"""A user's files, good and bad."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from bochner.data.bundled import BUNDLED
from bochner.data.formats import base, delimited, frames
from bochner.data.labels import recognise_task
from bochner.data.tables import TableError, read_table


@pytest.fixture
def frame(rng):
    n = 60
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(["red", "blue"], n),
            "kind": rng.choice(["x", "y", "z"], n),
        }
    )


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


def test_parquet_is_what_csv_is(tmp_path, frame):
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    ours, theirs = (read_table(tmp_path / f"rows.{kind}") for kind in ("parquet", "csv"))
    assert ours.y.tolist() == theirs.y.tolist()
    assert ours.X["colour"].tolist() == theirs.X["colour"].tolist()


def test_the_last_column_is_the_target_and_that_is_said(tmp_path, frame):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    table = read_table(tmp_path / "rows.csv")
    assert table.target == "kind"
    assert table.notes == ("No --target given: the last column, kind, is taken.",)


@pytest.mark.parametrize(("target", "found"), [("1", "size"), ("-2", "colour"), ("kind", "kind")])
def test_target_by_position(tmp_path, frame, target, found):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    assert read_table(tmp_path / "rows.csv", target=target).target == found


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
    form = delimited.text_form(path)
    assert form.names == names
    assert form.header is header


def test_rows_without_target_are_counted(tmp_path, frame):
    frame.loc[:4, "kind"] = None
    frame.to_csv(tmp_path / "rows.csv", index=False)
    table = read_table(tmp_path / "rows.csv", target="kind")
    assert len(table.y) == len(table.X) == 55
    assert table.notes == ("5 rows without a target were left out.",)


def test_large_files_are_sampled_evenly(tmp_path, monkeypatch):
    """Every row is as likely as any other, whichever piece of the file it is in."""
    monkeypatch.setattr(base, "CHUNK", 130)
    n, kept, times = 1000, 100, 100
    path = tmp_path / "rows.csv"
    pd.DataFrame({"row": np.arange(n), "y": np.arange(n) + 0.5}).to_csv(path, index=False)
    counts = np.zeros(n)
    for seed in range(times):
        table = read_table(path, target="y", max_rows=kept, random_state=seed)
        rows = table.X["row"].to_numpy()
        assert len(np.unique(rows)) == kept
        np.testing.assert_array_equal(table.y, rows + 0.5)
        counts[rows] += 1
    assert "1000 rows in the file, 100 drawn at random." in table.notes
    share = kept / n
    for part in np.split(counts, 10):  # a tenth of the file: correlated a little, negatively
        error = np.sqrt(len(part) * times * share * (1 - share))
        assert abs(part.sum() - len(part) * times * share) < 4 * error


def test_very_wide_files_keep_fewer_rows(tmp_path, monkeypatch, frame):
    monkeypatch.setattr(frames, "_MOST_ENTRIES", 90)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    assert len(read_table(tmp_path / "rows.csv", max_rows=50).y) == 30
    assert len(read_table(tmp_path / "rows.csv").y) == 60  # all were asked for


def test_a_sample_is_the_same_every_time(tmp_path, frame):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    first, second = (read_table(tmp_path / "rows.csv", max_rows=30) for _ in range(2))
    pd.testing.assert_frame_equal(first.X, second.X)


def test_a_column_that_turns_to_text_late_is_text(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "CHUNK", 20)
    lines = [f"{i % 7},{i % 2}" for i in range(30)] + [f"none,{i % 2}" for i in range(30)]
    (tmp_path / "rows.csv").write_text("code,y\n" + "\n".join(lines))
    table = read_table(tmp_path / "rows.csv", target="y")
    assert set(table.X["code"]) == {*"0123456", "none"}


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


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 10, "classification"),
        ([True, False] * 10, "classification"),
        ([0, 1, 2] * 10, "classification"),
        ([0.0, 1.0] * 10, "classification"),
        ([0.5, 1.0] * 10, "regression"),
        (range(40), "regression"),
        (range(10), "regression"),  # every one once
    ],
)
def test_task(y, task):
    assert recognise_task(list(y)) == task


@given(st.lists(st.floats(-5, 5).filter(lambda v: v != round(v)), min_size=20, max_size=40))
def test_numbers_with_a_point_are_never_classes(values):
    assert recognise_task(values) == "regression"


def test_the_task_can_be_overruled(tmp_path):
    lines = "\n".join(f"{i},{i % 3}" for i in range(60))
    (tmp_path / "rows.csv").write_text("a,y\n" + lines)
    table = read_table(tmp_path / "rows.csv", target="y")
    assert table.task == "classification"
    assert "3 whole numbers are taken for classes" in table.notes[0]
    table = read_table(tmp_path / "rows.csv", target="a")
    assert table.task == "regression"
    assert "60 whole numbers are taken for numbers" in table.notes[0]
    table = read_table(tmp_path / "rows.csv", target="y", task="regression")
    assert table.task == "regression"
    assert table.notes == ()
    assert table.y.dtype == np.float64


def test_integers_with_gaps_are_classes(tmp_path):
    lines = "\n".join(f"{i},{'' if i < 3 else i % 3}" for i in range(60))
    (tmp_path / "rows.csv").write_text("a,y\n" + lines)
    table = read_table(tmp_path / "rows.csv")
    assert table.y.dtype.kind == "i"
    assert len(table.y) == 57


def test_tiny_classes_are_left_out(tmp_path):
    lines = "\n".join(f"{i},{'rare' if i < 2 else 'ab'[i % 2]}" for i in range(60))
    (tmp_path / "rows.csv").write_text("a,y\n" + lines)
    table = read_table(tmp_path / "rows.csv", target="y")
    assert set(table.y) == {"a", "b"}
    assert table.notes == ("1 class of fewer than 4 rows was left out, 2 rows.",)


def test_infinite_entries_are_missing(tmp_path):
    lines = "\n".join(f"{'inf' if i == 3 else i},{i % 2}" for i in range(60))
    (tmp_path / "rows.csv").write_text("a,y\n" + lines)
    table = read_table(tmp_path / "rows.csv", target="y")
    assert np.flatnonzero(table.X["a"].isna()).tolist() == [3]
    assert "1 infinite value counts as missing." in table.notes


def test_positions_are_those_of_the_names(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2,0\n3,4,1\n" * 20)
    for position in (1, 2, 3):
        table = read_table(tmp_path / "rows.csv", target=str(position))
        assert table.target == f"column{position}"


def test_dates_are_no_target(tmp_path):
    """Neither different ones, nor some that come often."""
    for n_days in (7, 60):
        days = [f"2020-{1 + i % n_days // 28:02}-{1 + i % n_days % 28:02}" for i in range(200)]
        (tmp_path / "rows.csv").write_text("a,y\n" + "".join(f"1,{day}\n" for day in days))
        with pytest.raises(TableError, match=r"the target 'y' holds dates"):
            read_table(tmp_path / "rows.csv")


@pytest.mark.parametrize(
    ("n_small", "n_large", "left"),
    [(40, 9, "9 rows of 49"), (12, 19, "19 rows of 31"), (60, 40, "40 rows of 100")],
)
def test_too_little_is_left_without_small_classes(tmp_path, n_small, n_large, left):
    labels = [f"t{i}" for i in range(n_small)] + ["ab"[i % 2] for i in range(n_large)]
    (tmp_path / "rows.csv").write_text("a,y\n" + "".join(f"1,{y}\n" for y in labels))
    with pytest.raises(TableError, match=f"{left} would be left.* half of the rows and 20"):
        read_table(tmp_path / "rows.csv")


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
        ("rows.npz", "no zip", {}, "not a npz file"),
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
    with pytest.raises(TableError, match="is not a file"):
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
