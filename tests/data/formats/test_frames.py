"""Pieces of a table: the target, and a sample."""

import numpy as np
import pandas as pd
import pytest

from bochner.data.formats import base, frames
from bochner.data.tables import read_table


def test_the_last_column_is_the_target_and_that_is_said(tmp_path, frame):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    table = read_table(tmp_path / "rows.csv")
    assert table.target == "kind"
    assert table.notes == ("No --target given: the last column, kind, is taken.",)


@pytest.mark.parametrize(("target", "found"), [("1", "size"), ("-2", "colour"), ("kind", "kind")])
def test_target_by_position(tmp_path, frame, target, found):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    assert read_table(tmp_path / "rows.csv", target=target).target == found


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
