"""Targets: classes or numbers, and what is neither."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bochner.data.errors import TableError
from bochner.data.labels import recognise_task
from bochner.data.tables import read_table


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


@pytest.mark.parametrize(
    ("scale", "message"),
    [(1.7e308, "too large"), (1e300, "too large"), (1e155, "too large"), (1e-200, "too close")],
)
def test_targets_whose_squares_do_not_fit(tmp_path, scale, message):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "".join(f"{i},{np.sin(i) * scale}\n" for i in range(60)))
    with pytest.raises(TableError, match=f"{message} .* fit in float64"):
        read_table(path)
