import json
from functools import partial

import pytest

from bochner.papers.document import Drawn, draw, failure_lines, make_document, write_outcome
from bochner.papers.registry import STUDIES
from bochner.papers.study import Request
from bochner.records.cells import Cell, Notebook, Result
from bochner.records.run import Run
from bochner.records.sections import Chart, Claim, Section, Series

CHART = Section("A chart", chart=Chart("x", "y", (Series("s", (1, 2), (3.0, 4.0)),)))


def test_document_and_files(tmp_path):
    pytest.importorskip("matplotlib")
    from bochner.plots.canvas import new_figure

    sections = [
        Section("A table: ours!", (("a", "b"), ("c", "d")), ("Line.",), claims=(Claim("e"),)),
        CHART,
        Section("A picture", picture=partial(new_figure, 1, 1)),
        Section("Nothing"),
    ]
    cells = [Cell("table1", "breast", "PB", None, seed) for seed in range(3)]
    run = Run(lambda cell: Result(cell, 1 / (2 - cell.seed), 0.0, 1.26), Notebook())
    run(cells)
    drawn, notes = draw(sections)
    assert notes == []
    assert [(each.picture is None, each.chart is None) for each in drawn] == [
        (True, True),
        (True, False),
        (False, True),
    ]
    made = make_document(
        STUDIES["letarte-table1"],
        Request(("breast",), 2),
        run,
        drawn,
        command="bochner x",
        notes=["n"],
        device="cuda",
    )
    assert (made["kind"], made["version"], made["seconds"]) == ("study", 1, 2.5)
    assert made["title"].startswith("Table 1: ")
    assert made["machine"]["device"] == "cuda"
    (failure,) = made["failures"]
    assert Cell(**failure["cell"]) == cells[2]
    assert failure["reason"] == "ZeroDivisionError: division by zero"
    assert made["sections"][0]["claims"][0]["verdict"] == "not checked"
    assert made["sections"][2]["image"].startswith("data:image/png;base64,iVBOR")
    written = write_outcome(made, drawn, tmp_path / "folder")
    assert written == [
        "results.json",
        "02-a-chart-chart.png",
        "02-a-chart-chart.svg",
        "03-a-picture.png",
    ]
    assert sorted(p.name for p in (tmp_path / "folder").iterdir()) == sorted(written)
    read = json.loads((tmp_path / "folder" / "results.json").read_text())
    assert read == json.loads(json.dumps(made))


def test_without_matplotlib_there_are_no_figures(tmp_path, monkeypatch):
    def absent(*size):
        raise ModuleNotFoundError("matplotlib")

    monkeypatch.setattr("bochner.plots.curves.new_figure", absent)
    drawn, notes = draw([Section("A picture", picture=absent), CHART])
    assert drawn == [Drawn(CHART)]
    assert notes == ["pictures need matplotlib: pip install 'bochner[plots]'"]
    assert write_outcome({}, drawn, tmp_path) == ["results.json"]


def test_no_picture_is_worth_the_results():
    def broken():
        raise RuntimeError("no luck")

    section = Section("A picture", lines=("Line.",), picture=broken)
    assert draw([section]) == ([Drawn(section)], ["No picture of A picture: no luck"])


def test_failures_are_told_once_per_reason():
    cells = [Cell("study", "task", "method", None, seed) for seed in range(4)]
    reasons = dict.fromkeys(cells[:3], "ValueError: no") | {cells[3]: "KeyError: 1"}
    assert failure_lines(Run(print, Notebook(), failures=reasons)) == [
        "Failed: study task method seed 0 and 2 others: ValueError: no",
        "Failed: study task method seed 3: KeyError: 1",
    ]
