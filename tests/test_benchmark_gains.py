"""What `python -m benchmarks gains` prints, keeps and writes, on small tables."""

from functools import partial

import numpy as np
import pytest

pytest.importorskip("psutil", reason="psutil is not installed")

from benchmarks import gains
from benchmarks.gains import Gain
from benchmarks.tables import Task, friedman


def _classes(seed):
    task = friedman(seed, n=200, d=5)
    return Task(task.X, (task.y > 14).astype(int), task.X_test, (task.y_test > 14).astype(int))


@pytest.fixture
def given(monkeypatch, tmp_path):
    tables = {"numbers": partial(friedman, n=200, d=5), "classes": _classes}
    monkeypatch.setattr(gains, "TASKS", tables)
    return [
        *("--tables", "numbers,classes", "--maps", "posterior", "--seeds", "2"),
        *("--rows", "100", "--widths", "8", "--version", "this"),
        *("--file", str(tmp_path / "cells.jsonl"), "--output", str(tmp_path / "gains.md")),
    ]


def test_what_was_measured_is_not_measured_again(given, monkeypatch, tmp_path, capsys):
    gains.main(given)
    first = capsys.readouterr().out
    assert first.count("fit ") == 8
    assert "8 columns: " in first
    page = (tmp_path / "gains.md").read_text()
    assert page.startswith("# What learned maps gain over random ones")
    assert page.count("| numbers | 8 |") == page.count("| classes | 8 |") == 1
    monkeypatch.setattr(gains, "measure", None)  # which would be an error
    gains.main(given)
    assert first.endswith(capsys.readouterr().out)
    assert (tmp_path / "gains.md").read_text() == page


def test_lanes_share_a_file_of_which_the_page_is_written(given, tmp_path, capsys):
    whole, page = list(given), tmp_path / "gains.md"
    whole[1] = "numbers"
    for seed in ("1", "0"):
        gains.main([*whole, "--seed", seed])
        page.unlink()
    assert capsys.readouterr().out.count("fit ") == 4
    gains.main([*given, "--report"])  # of one table: the other is not measured
    assert "fit " not in capsys.readouterr().out
    assert page.read_text().count("| 8 |") == 1
    assert " ± " in page.read_text()


def test_functions_on_the_sphere_are_measured_there_only(given, capsys, monkeypatch):
    tables = {"numbers": gains.TASKS["numbers"], gains.SPHERE: partial(gains.sphere, n=200)}
    monkeypatch.setattr(gains, "TASKS", tables)
    maps = ["--tables", f"numbers,{gains.SPHERE}", "--maps", "harmonics", "--seed", "0"]
    gains.main([*given, *maps])
    assert capsys.readouterr().out.count("harmonics: ") == 1


def test_whole_numbers_to_predict_are_not_classes(given):
    task = friedman(0, n=200, d=5)
    whole = task._replace(y=np.round(task.y), y_test=np.round(task.y_test))
    cell = gains.Cell("gains", "numbers", "posterior", 8, 0, 100)
    assert gains.measure(whole, cell).details["measure"] == "R2"
    made = gains.make_map("posterior", 8, "regression", 0)
    assert made.target == "regression"


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        ((1.0, 0.4), "better"),
        ((1.0, 0.6), "same"),
        ((0.0, 0.0), "same"),
        ((-0.4, 0.1), "same"),
        ((-0.6, 0.4), "same"),
        ((-0.6, 0.2), "worse"),
    ],
)
def test_verdicts(difference, verdict):
    assert Gain("t", 8, (50.0, 1.0), (50.0, 1.0), difference, 0.1).verdict == verdict


def test_unknown_names(given, capsys):
    with pytest.raises(SystemExit):
        gains.main(["--tables", "nobody"])
    assert "there is no 'nobody'" in capsys.readouterr().err
