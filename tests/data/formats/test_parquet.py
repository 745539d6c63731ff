"""Parquet: the same tables, and types that only it has."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

from bochner.data.formats import base
from bochner.data.tables import Expected, read_table, stream_table

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")


def test_parquet_is_what_csv_is(tmp_path, frame):
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    ours, theirs = (read_table(tmp_path / f"rows.{kind}") for kind in ("parquet", "csv"))
    assert ours.y.tolist() == theirs.y.tolist()
    assert ours.X["colour"].tolist() == theirs.X["colour"].tolist()


def test_decimal_numbers_and_durations_are_numbers(tmp_path, rng):
    """They are objects and times to pandas, and were left out as names of rows."""
    cents = rng.integers(0, 10**6, size=200)
    columns = {
        "price": pa.array([Decimal(int(c)) / 100 for c in cents], pa.decimal128(38, 2)),
        "lasts": pa.array([datetime.timedelta(milliseconds=int(c)) for c in cents]),
        "y": pa.array([Decimal(int(c) % 2) for c in cents], pa.decimal128(5, 0)),
    }
    gaps = {**columns, "price": pa.array([None, *columns["price"][1:].to_pylist()])}
    pq.write_table(pa.table(gaps), tmp_path / "rows.parquet")
    table = read_table(tmp_path / "rows.parquet")
    assert table.task == "classification"
    assert table.y.tolist() == (cents % 2).tolist()
    assert np.isnan(table.X["price"][0])
    np.testing.assert_allclose(table.X["price"][1:], cents[1:] / 100, rtol=1e-15)
    np.testing.assert_allclose(table.X["lasts"], cents / 1000, rtol=1e-15)
    assert read_table(tmp_path / "rows.parquet", target="price").task == "regression"
    (piece, y), *_ = stream_table(tmp_path / "rows.parquet", Expected(target="y"), [])
    assert piece["price"].dtype == np.float64
    assert y.tolist() == (cents % 2).tolist()


def test_an_index_that_pandas_stored_is_no_column(tmp_path, frame):
    frame.index = [f"row {i}" for i in range(len(frame))]
    frame.to_parquet(tmp_path / "rows.parquet")
    table = read_table(tmp_path / "rows.parquet")
    assert table.target == "kind"
    assert list(table.X.columns) == ["size", "colour"]


def test_what_was_streamed_is_not_kept(tmp_path, monkeypatch, rng):
    monkeypatch.setattr(base, "CHUNK", 5_000)
    rows = pa.table({f"c{i}": rng.normal(size=400_000) for i in range(4)})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=20_000)
    size = rows.nbytes
    del rows
    before = pa.total_allocated_bytes()
    n_rows = 0
    for X, y in stream_table(tmp_path / "rows.parquet", Expected(), []):
        assert y is None
        n_rows += len(X)
        assert pa.total_allocated_bytes() - before < size / 3
    assert n_rows == 400_000
