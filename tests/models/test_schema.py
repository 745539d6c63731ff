"""Rows that fit a model, rows that can be made to fit, and rows that do not."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from bochner.models.schema import Schema, SchemaError

FRAME = pd.DataFrame(
    {
        "age": [30.0, np.nan, 50.0],
        "rooms": [1, 2, 3],
        "town": ["Ulm", None, "Rom"],
        "owner": [True, False, True],
        "day": ["2020-01-01", "2020-02-01", None],
        "when": pd.to_datetime(["2020-01-01", "2020-02-01", "2020-03-01"]),
        "constant": [1, 1, 1],
    }
)
SCHEMA = Schema.of(FRAME)


def test_kinds():
    kinds = {column.name: (column.kind, column.dtype) for column in SCHEMA.columns}
    assert kinds == {
        "age": ("number", "number"),
        "rooms": ("number", "number"),
        "town": ("category", "str"),
        "owner": ("number", "bool"),
        "day": ("date", "str"),
        "when": ("date", "datetime"),
        "constant": ("constant", "number"),
    }
    assert SCHEMA.text_columns() == ["town", "day"]


def test_pixels_are_numbers_that_are_used_also_where_they_do_not_vary():
    schema = Schema.of(FRAME[["rooms", "constant"]], pixels=True)
    assert [column.kind for column in schema.columns] == ["number", "number"]
    rows, _ = schema.arrange(pd.DataFrame({"constant": ["2"], "rooms": [5]}))
    assert rows.to_numpy(np.float64).tolist() == [[5.0, 2.0]]
    with pytest.raises(SchemaError, match="lack 'constant'"):
        schema.arrange(pd.DataFrame({"rooms": [5]}))


@pytest.mark.parametrize("X", [FRAME, np.ones((2, 5)), sparse.csr_matrix(np.ones((2, 5)))])
def test_json_round_trip(X):
    schema = Schema.of(X)
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


@given(st.permutations(list(FRAME.columns)))
def test_order_does_not_matter(order):
    rows, notes = SCHEMA.arrange(FRAME[order])
    expected, _ = SCHEMA.arrange(FRAME)
    pd.testing.assert_frame_equal(rows, expected)
    assert not notes


def test_columns_that_are_not_used_may_be_missing():
    rows, notes = SCHEMA.arrange(FRAME.drop(columns="constant"))
    assert list(rows.columns) == ["age", "rooms", "town", "owner", "day", "when"]
    assert not notes


def test_more_columns_are_noted():
    _, notes = SCHEMA.arrange(FRAME.assign(**{f"more{i}": 0 for i in range(7)}))
    assert notes == [
        "columns that the model does not use were ignored: 'more0', 'more1', 'more2', 'more3', "
        "'more4' and 2 more"
    ]


def test_missing_columns_are_named():
    with pytest.raises(SchemaError, match=r"lack 'age'.*did you mean that by 'Age'\?"):
        SCHEMA.arrange(FRAME.rename(columns={"age": "Age"}))
    with pytest.raises(SchemaError, match=r"lack 'age', 'rooms'.*; there are 'town'"):
        SCHEMA.arrange(FRAME[["town", "owner", "day", "when"]])
    with pytest.raises(SchemaError, match="takes columns by name"):
        SCHEMA.arrange(np.ones((3, 7)))
    with pytest.raises(SchemaError, match="column 'age' more than once"):
        SCHEMA.arrange(pd.concat([FRAME, FRAME[["age"]]], axis=1))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("age", ["30", "old", "x"], "column 'age' should hold numbers, but row 2 has 'old'"),
        ("owner", ["true", "perhaps", None], "'owner' should hold numbers, but row 2"),
        ("day", [1, 2, 3], "column 'day' should hold dates, but row 1 has '1'"),
        ("day", ["a", "b", "c"], "column 'day' should hold dates, but row 1 has 'a'"),
        ("rooms", pd.to_datetime(["2020-01-01"] * 3), "should hold numbers"),
    ],
)
def test_wrong_kinds_are_one_line(column, values, message):
    with pytest.raises(SchemaError) as caught:
        SCHEMA.arrange(FRAME.assign(**{column: values}))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_values_are_made_what_they_were():
    given = FRAME.assign(
        age=["30", None, "inf"],
        town=pd.Series([3.0, np.nan, 4.5]),
        owner=pd.Series(["TRUE", None, "false"], dtype=object),
    )
    rows, _ = SCHEMA.arrange(given)
    np.testing.assert_array_equal(rows["age"], [30.0, np.nan, np.nan])
    np.testing.assert_array_equal(rows["owner"], [1.0, np.nan, 0.0])
    assert rows["town"].tolist()[::2] == ["3", "4.5"]
    assert rows["town"].isna().tolist() == [False, True, False]


def test_new_categories_are_counted():
    rows, _ = SCHEMA.arrange(FRAME.assign(town=["Ulm", "Bonn", None]))
    assert SCHEMA.unseen(rows) == {"town": 1}
    assert SCHEMA.unseen(SCHEMA.arrange(FRAME)[0]) == {}


def test_arrays_by_their_width():
    schema = Schema.of(np.ones((2, 3)))
    rows, notes = schema.arrange(np.zeros((4, 3)))
    assert rows.shape == (4, 3)
    assert not notes
    with pytest.raises(SchemaError, match="takes 3 columns, the data have 4"):
        schema.arrange(np.zeros((4, 4)))
    rows, _ = schema.arrange(pd.DataFrame({"a": [1], "b": ["2"], "c": [3.5]}))
    np.testing.assert_array_equal(rows, [[1, 2, 3.5]])
    with pytest.raises(SchemaError, match="3 columns without names, the data have 1"):
        schema.arrange(pd.DataFrame({"a": [1]}))


@given(st.integers(1, 8))
def test_sparse_rows_of_any_width(width):
    schema = Schema.of(sparse.csr_matrix(np.ones((2, 4))))
    dense = np.arange(2 * width, dtype=float).reshape(2, width)
    rows, notes = schema.arrange(sparse.csr_matrix(dense))
    expected = np.zeros((2, 4))
    expected[:, : min(width, 4)] = dense[:, :4]
    np.testing.assert_array_equal(rows.toarray(), expected)
    assert bool(notes) == (width > 4)
