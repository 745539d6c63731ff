"""What commands share: limits of memory, and files that may be written."""

import os

import pytest

typer = pytest.importorskip("typer", reason="the program's packages are not installed")

from bochner.cli import console  # noqa: E402


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch, capsys):
    (tmp_path / "limit").write_text("1000000000\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.setattr(console, "_LIMITS", (str(tmp_path / "none"), str(tmp_path / "absent")))
    console.check_width("--width", [1000], 100_000)  # 0.8 GB
    monkeypatch.setattr(console, "_LIMITS", (str(tmp_path / "none"), str(tmp_path / "limit")))
    with pytest.raises(typer.Exit):
        console.check_width("--width", [1000], 100_000)
    assert "more than half of the memory (1 GB)" in " ".join(capsys.readouterr().err.split())
    console.check_width("--width", [100], 100_000)


def test_special_files_need_no_force(tmp_path):
    console.check_free(tmp_path / "new", force=False)
    (tmp_path / "old").write_text("")
    with pytest.raises(typer.Exit):
        console.check_free(tmp_path / "old", force=False)
    console.check_free(tmp_path / "old", force=True)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        console.check_free(tmp_path / "pipe", force=False)
