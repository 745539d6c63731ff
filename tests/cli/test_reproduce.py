"""The command as a person meets it; most of it in this process, to be quick."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

pytest.importorskip("typer", reason="the program's packages are not installed")

import typer
from typer.testing import CliRunner

from bochner.cli import reproduce
from bochner.data.local import CACHE_VARIABLE, VARIABLE
from bochner.papers import study as studies
from bochner.papers.registry import STUDIES
from bochner.papers.study import Study, Version
from bochner.records.cells import Cell, Notebook, Result
from bochner.records.sections import Claim, Section, Value


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Runs the command in a folder of its own, without data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "data").mkdir()
    app = typer.Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    app.command()(reproduce.reproduce)

    def run(*arguments):
        return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])

    return run


@pytest.fixture
def tiny(monkeypatch):
    """A study of two tasks that measures nothing; what was asked for."""
    asked = []

    def measure(cell):
        asked.append(cell)
        if cell.task == "stop":
            raise KeyboardInterrupt
        if cell.task == "broken" and cell.seed == 1:
            raise ValueError("the rows are\nodd")
        return Result(cell, 0.9, 0.1, 1.0)

    def collect(request, run):
        run([Cell("choice", request.tasks[0], "chooser", None, 42)])
        return run(
            [
                Cell("tiny", task, "ours", width, seed, 10 if request.quick else None)
                for task in request.tasks
                for seed in range(request.seeds)
                for width in request.widths or (4,)
            ]
        )

    def sections(results):
        rows = [("task", "score")]
        rows += [(r.cell.task, Value(f"{r.score:.1f}", r.score)) for r in results]
        claim = Claim("it works")
        claim.check(True, "anywhere")
        return [Section("The table", tuple(rows), claims=(claim,))]

    study = Study(
        name="tiny",
        paper="Nobody 2000",
        item="Table 9",
        summary="nothing at all",
        tasks=("breast", "ads", "stop", "broken"),
        files={"ads": ("internet_ads.npz",)},
        full=Version(2, "2 s"),
        quick=Version(1, "1 s", "one seed", ("breast",)),
        collect=collect,
        measure=measure,
        sections=sections,
        widths="columns",
    )
    monkeypatch.setitem(STUDIES, "tiny", study)
    return asked


def test_list(program):
    result = program("--list")
    assert result.exit_code == 0
    for name, study in STUDIES.items():
        assert name in result.output
        assert "?" not in (study.quick.time, study.full.time)
    assert re.search(r"letarte-figure2 .*\n.* internet_ads\n", result.output)


def test_list_fits_a_terminal(program, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = program("--list").output.splitlines()
    assert max(map(len, lines)) <= 80
    papers = {study.paper for study in STUDIES.values()}
    assert papers <= set(lines)
    assert len(lines) == 1 + 2 * len(papers) + 2 * len(STUDIES)
    assert all(study.quick.time.endswith(" s") for study in STUDIES.values())


def test_few_suggestions(program):
    assert program("nosuch").stderr.count(" or ") == 2


def test_pictures_without_matplotlib(program, tiny, tmp_path, monkeypatch):
    def absent():
        raise ModuleNotFoundError("matplotlib")

    def sections(results):
        return [Section("The text", lines=("Yes.",)), Section("Drawn only", picture=absent)]

    monkeypatch.setitem(STUDIES, "tiny", replace(STUDIES["tiny"], sections=sections))
    result = program("tiny", "--quick", "--output", "out")
    line = "pictures need matplotlib: pip install 'bochner[plots]'"
    assert result.exit_code == 0
    assert result.output.count(line) == 1
    made = json.loads((tmp_path / "out" / "results.json").read_text())
    assert line in made["notes"]
    assert [section["heading"] for section in made["sections"]] == ["The text"]
    assert "Drawn only" not in (tmp_path / "out" / "page.html").read_text()


def test_results_are_written_and_found_again(program, tiny, tmp_path):
    result = program("tiny", "--quick")
    assert result.exit_code == 0, result.output
    for text in ("Nobody 2000, Table 9", "a small version (one seed)", "breast    0.9", "page"):
        assert text in result.output
    assert len(tiny) == 2
    folder = tmp_path / "bochner-results" / "tiny-quick"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["cells.jsonl", "page.html", "results.json"]
    document = json.loads((folder / "results.json").read_text())
    assert document["command"] == "bochner reproduce tiny --quick"
    assert document["seconds"] == 2.0
    assert "A small version: one seed." in document["notes"][0]
    assert document["sections"][0]["table"]["rows"] == [["breast", {"text": "0.9", "number": 0.9}]]
    assert "it works" in (folder / "page.html").read_text()

    again = program("tiny", "--quick")
    assert again.exit_code == 0
    assert "2 finished cells in" in again.output
    assert len(tiny) == 2


def test_options(program, tiny, tmp_path):
    result = program(
        "tiny", "--tasks", "breast", "--seeds", "3", "--output", "out", "--resume", "kept.jsonl"
    )
    assert result.exit_code == 0, result.output
    assert len([cell for cell in tiny if cell.study == "tiny"]) == 3
    assert len(Notebook(tmp_path / "kept.jsonl")) == 4
    command = json.loads((tmp_path / "out" / "results.json").read_text())["command"]
    assert command == "bochner reproduce tiny --seeds 3 --tasks breast"
    assert "the full version; 2 s on 2 cores" in result.output


def test_what_is_left_out_is_said(program, tiny, tmp_path):
    result = program("tiny", "--tasks", "breast,ads", "--offline", "--output", "out")
    assert result.exit_code == 0
    assert "Left out: ads, because internet_ads.npz is not in" in result.output
    assert {cell.task for cell in tiny} == {"breast"}
    notes = json.loads((tmp_path / "out" / "results.json").read_text())["notes"]
    # the pages of the results are for other machines, whose folders are others
    assert notes[0] == "Left out: ads, because internet_ads.npz is not among the data files."

    result = program("tiny", "--tasks", "ads", "--offline")
    assert result.exit_code == 2
    assert "tiny has no data; set BOCHNER_DATA or --data" in result.output


def test_data_folder(program, tiny, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "restored afterwards")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "internet_ads.npz").touch()
    result = program("tiny", "--tasks", "ads", "--offline", "--data", tmp_path / "mine")
    assert result.exit_code == 0, result.output
    assert os.environ[VARIABLE] == str(tmp_path / "mine")


def test_downloads_are_said(program, tiny, monkeypatch):
    def obtain(file, *, offline, say):
        say(f"Downloading {file}")
        raise FileNotFoundError("no network")

    monkeypatch.setattr(studies, "obtain", obtain)
    result = program("tiny", "--tasks", "breast,ads")
    assert "Downloading internet_ads.npz" in result.output
    assert "Left out: ads, because no network" in result.output


def test_interrupt_keeps_and_shows_what_is_done(program, tiny, tmp_path):
    result = program("tiny", "--tasks", "breast,stop", "--output", "out")
    assert result.exit_code == 130
    assert "breast    0.9" in result.output
    assert "Interrupted: 2 of the cells planned so far were not measured." in result.output
    assert len(Notebook(tmp_path / "out" / "cells.jsonl")) == 3
    notes = json.loads((tmp_path / "out" / "results.json").read_text())["notes"]
    assert notes[-1].startswith("Interrupted: 2 of")

    result = program("tiny", "--tasks", "stop", "--output", "other")
    assert result.exit_code == 130
    assert "interrupted before there was anything to show" in result.output


def test_no_cell_is_begun_after_the_minutes(program, tiny, tmp_path):
    program("tiny", "--tasks", "breast", "--seeds", "1", "--output", "out")
    n_before = len(tiny)
    result = program("tiny", "--tasks", "breast", "--output", "out", "--minutes", "0")
    assert result.exit_code == 0, result.output
    assert len(tiny) == n_before
    assert "Stopped in time: 1 of the cells planned so far were not measured." in result.output
    notes = json.loads((tmp_path / "out" / "results.json").read_text())["notes"]
    assert notes[-1].startswith("Stopped in time: 1 of")


def test_other_commits_and_machines_are_counted_and_named(program, tiny, tmp_path, monkeypatch):
    for name, seeds in (("first", "1"), ("second", "2")):
        monkeypatch.setattr(reproduce, "commit", lambda name=name: name)
        monkeypatch.setattr(
            reproduce, "machine_text", lambda device, name=name: f"{device} {name}"
        )
        result = program("tiny", "--tasks", "breast", "--seeds", seeds, "--output", "out")
        assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "out" / "results.json").read_text())
    assert re.fullmatch(r"first \(2 cells\), second \(\d cells?\)", document["commit"])
    expected = document["commit"].replace("first", "cpu first").replace("second", "cpu second")
    assert document["measured_on"] == expected


def test_results_are_put_on_record_and_the_pages_written(program, tiny, tmp_path):
    (tmp_path / "docs").mkdir()
    result = program("tiny", "--tasks", "breast", "--write-docs", "docs")
    assert result.exit_code == 0, result.output
    stored = json.loads((tmp_path / "docs" / "results" / "tiny.json").read_text())
    assert stored["command"] == "bochner reproduce tiny --tasks breast"
    cells = tmp_path / "docs" / "results" / "cells" / "tiny.jsonl"
    n_cells = len(cells.read_text().splitlines())
    elsewhere = program("tiny", "--tasks", "breast", "--write-docs", "docs", "--output", "other")
    assert f"{n_cells} finished cells in" in elsewhere.output
    assert len(cells.read_text().splitlines()) == n_cells > 0
    (tmp_path / "docs" / "results.md").unlink()
    again = program("--write-docs", "docs")
    assert "Written in docs: results.md, results-letarte.md" in again.output
    assert (tmp_path / "docs" / "results.md").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiny", "--quick", "--write-docs", "."], "--write-docs is for full versions"),
        (["--write-docs", "file"], "--write-docs must be a folder, got 'file'"),
        ([], "name a study to reproduce"),
        (["letarte-tabel1"], "there is no study 'letarte-tabel1'; did you mean letarte-table1"),
        (["nothing"], "there is no study 'nothing'; did you mean letarte-table1 or"),
        (["tiny", "--tasks", "breast,wine"], "--tasks must be of breast, ads, stop, broken"),
        (["tiny", "--tasks", ","], "--tasks must be of breast, ads, stop, broken"),
        (
            ["tiny", "--widths", "4,x"],
            "--widths must be whole numbers of at least 1 (columns)",
        ),
        (["tiny", "--widths", "0"], "--widths must be whole numbers of at least 1 (columns)"),
        (["letarte-table1", "--widths", "4"], "letarte-table1 has no widths to choose"),
        (["tiny", "--data", "nowhere"], "--data must be a folder, got 'nowhere'"),
        (["tiny", "--output", "file"], "--output must be a folder, got the file 'file'"),
    ],
)
def test_mistakes_give_one_line(arguments, message, program, tiny, tmp_path):
    (tmp_path / "file").touch()
    result = program(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not tiny


def test_a_new_study_is_listed_run_and_shown_though_a_cell_fails(program, tiny, tmp_path):
    listed = program("--list").output
    assert "tiny" in listed
    assert "Nobody 2000" in listed

    result = program("tiny", "--tasks", "breast,broken", "--output", "out")
    assert result.exit_code == 0, result.output
    assert len(tiny) == 5
    lines = result.output.splitlines()
    assert "[1/4] tiny breast ours 4 seed 0: 0.9000 (1.0 s)" in lines
    assert "[4/4] tiny broken ours 4 seed 1: failed: ValueError: the rows are odd" in lines
    assert "Failed: tiny broken ours 4 seed 1: ValueError: the rows are odd" in lines
    assert [line.split() for line in lines if line.endswith(" 0.9")] == [
        ["breast", "0.9"],
        ["breast", "0.9"],
        ["broken", "0.9"],
    ]
    assert "confirmed: it works (1 of 1)" in lines

    document = json.loads((tmp_path / "out" / "results.json").read_text())
    (failure,) = document["failures"]
    assert failure["cell"]["task"] == "broken"
    assert failure["reason"] == "ValueError: the rows are odd"
    (section,) = document["sections"]
    assert section["table"]["rows"][-1] == ["broken", {"text": "0.9", "number": 0.9}]
    assert section["claims"] == [
        {
            "text": "it works",
            "checked": 1,
            "noise": [],
            "exceptions": [],
            "verdict": "confirmed",
        }
    ]
    page = (tmp_path / "out" / "page.html").read_text()
    assert "1 cell failed" in page
    assert "tiny broken ours 4 seed 1: ValueError: the rows are odd" in page

    # Only what failed is tried again.
    again = program("tiny", "--tasks", "breast,broken", "--output", "out")
    assert again.exit_code == 0
    assert len(tiny) == 6


def test_nothing_could_be_measured(program, tiny, monkeypatch):
    def broken(cell):
        raise FileNotFoundError("there is no file ads.npz")

    monkeypatch.setitem(STUDIES, "tiny", replace(STUDIES["tiny"], measure=broken))
    result = program("tiny", "--seeds", "3", "--quick")
    assert result.exit_code == 2
    assert "there is no file ads.npz" in result.stderr.splitlines()[-1]
    assert "and 3 others" in result.stderr.splitlines()[-1]


def test_a_data_file_that_is_broken_is_one_reason(program, tiny, tmp_path, monkeypatch):
    (tmp_path / "data" / "internet_ads.npz").write_bytes(b"PK\x03\x04 cut short")
    study = STUDIES["letarte-figure2"]
    monkeypatch.setitem(STUDIES, "tiny", replace(study, name="tiny"))
    result = program("tiny", "--quick", "--offline")
    assert result.exit_code == 2
    assert "internet_ads.npz is not a NumPy archive, or is cut short" in result.stderr


def test_widths(program, tiny, tmp_path):
    result = program("tiny", "--quick", "--widths", "6, 8", "--output", "out")
    assert result.exit_code == 0, result.output
    assert [cell.width for cell in tiny] == [None, 6, 8]
    document = json.loads((tmp_path / "out" / "results.json").read_text())
    assert document["request"]["widths"] == [6, 8]
    assert document["command"] == "bochner reproduce tiny --quick --widths '6, 8'"


def test_a_real_study_in_a_process_of_its_own(program, tmp_path):
    """Interrupted with a signal after the first cells, then finished by the same command."""
    arguments = ("letarte-figure4", "--seeds", "2")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    cells = tmp_path / "bochner-results" / "letarte-figure4" / "cells.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "bochner", "reproduce", *arguments],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while process.poll() is None and not (cells.exists() and "\n" in cells.read_text()):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "The same command goes on from there." in err
    assert "ring" in out
    done = cells.read_text()
    assert done.endswith("\n")

    finished = program(*arguments)
    assert finished.exit_code == 0, finished.output
    assert cells.read_text().startswith(done)
    assert len(Notebook(cells)) == 6
    assert finished.stderr.count("\n") == 6 - done.count("\n")
    assert re.search(r"ring +\d", finished.stdout)
    names = {path.name for path in cells.parent.iterdir()}
    assert {"page.html", "results.json", "cells.jsonl"} <= names


def test_a_study_that_uses_no_device(program, tiny):
    result = program("tiny", "--device", "cuda")
    assert result.exit_code == 2
    assert "tiny does not use a device" in result.output
    assert not tiny


def test_a_device_that_is_not_there(program, tiny, monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setitem(STUDIES, "tiny", replace(STUDIES["tiny"], on_devices=True))
    result = program("tiny", "--device", "nowhere")
    assert result.exit_code == 2
    assert "--device nowhere cannot be used" in result.output
    assert "Traceback" not in result.output


def test_a_device_reaches_the_measurement(program, tiny, monkeypatch, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    asked = []

    def measure(cell, device):
        asked.append(device)
        return Result(cell, 0.9, 0.1, 1.0)

    study = replace(STUDIES["tiny"], on_devices=True, measure=measure)
    monkeypatch.setitem(STUDIES, "tiny", study)
    result = program("tiny", "--quick", "--device", "cpu:0")
    assert result.exit_code == 0, result.output
    assert set(asked) == {"cpu:0"}
    document = json.loads((tmp_path / "bochner-results/tiny-quick/results.json").read_text())
    assert document["command"] == "bochner reproduce tiny --quick --device cpu:0"
