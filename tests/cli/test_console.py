"""What commands share: limits of memory, and files that may be written."""

import io
import os

import numpy as np
import pytest

typer = pytest.importorskip("typer", reason="the program's packages are not installed")

from rich.console import Console  # noqa: E402

from bochner.cli import console  # noqa: E402
from bochner.data.tables import Table  # noqa: E402
from bochner.records import memory  # noqa: E402


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch, capsys):
    table = Table("rows", np.zeros((10_000, 4)), np.zeros(10_000), "regression", None, 10_000)
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path)
    console.check_memory("--width", [1000], table)  # 160 MB
    (tmp_path / "memory.max").write_text("100000000\n")
    with pytest.raises(typer.Exit):
        console.check_memory("--width", [1000], table)
    said = " ".join(capsys.readouterr().err.split())
    assert "about 0.161 GB, more than the 0.08 GB of memory that can be used" in said
    console.check_memory("--width", [100], table)
    with pytest.raises(typer.Exit):
        console.check_memory("--width", [100], table, n_jobs=8)
    assert console.jobs_that_fit([100], table) == 4


def test_control_characters_are_not_obeyed(capsys):
    """Clearing the screen, a C1 command, text from right to left; line ends stay."""
    name = "a\x1b[2J\x9b31m\u202eb\rü\nnext"
    console.say(name)
    console.warn(name)
    for text in capsys.readouterr():
        assert text == "a\\x1b[2J\\x9b31m\\u202eb\\rü\nnext\n"


def test_rows_done_and_time_left(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(console, "console", Console(file=shown, force_terminal=True, width=90))
    with console.row_progress("Training", 200) as watch:
        watch(50)
    assert "Training" in shown.getvalue()
    assert "50/200" in shown.getvalue()
    shown = io.StringIO()
    monkeypatch.setattr(console, "console", Console(file=shown))
    with console.row_progress("Training", 200) as watch:
        watch(50)
    assert not shown.getvalue()


def test_features_in_blocks_need_less_memory(tmp_path, monkeypatch):
    rows = np.zeros((100_000, 4))
    table = Table("rows", rows, rows[:, 0], "regression", None, len(rows))
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path)
    (tmp_path / "memory.max").write_text("1000000000\n")
    console.check_memory("--width", [2048], table, blocks=True)
    with pytest.raises(typer.Exit):
        console.check_memory("--width", [2048], table)


def test_special_files_need_no_force(tmp_path):
    console.check_free(tmp_path / "new", force=False)
    (tmp_path / "old").write_text("")
    with pytest.raises(typer.Exit):
        console.check_free(tmp_path / "old", force=False)
    console.check_free(tmp_path / "old", force=True)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        console.check_free(tmp_path / "pipe", force=False)


def test_progress_in_a_file_is_a_line_every_few_seconds(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with console.ProgressLine(4) as progress:
        for done, seconds in ((1, 2.0), (2, 6.0), (3, 7.0)):
            now[0] = seconds
            progress.begin("something")
            progress.done(done, 4, "about 3 s left")
    assert capsys.readouterr().out.splitlines() == ["2 of 4 done, about 3 s left"]
