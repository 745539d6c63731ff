import json
import platform
import re
from pathlib import Path

import pytest

from bochner.papers import pages
from bochner.papers.document import draw, make_document
from bochner.papers.letarte.table2 import TABLE2
from bochner.papers.registry import STUDIES
from bochner.papers.study import Request
from bochner.records.cells import Cell, Notebook, Result
from bochner.records.provenance import machine_text
from bochner.records.run import Run

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    "name", ["results.md", *(f"results-{paper.name}.md" for paper in pages.PAPERS.values())]
)
def test_pages_are_what_the_program_writes_from_the_results_on_record(name):
    stored = pages.read_stored(DOCS)
    texts = {
        f"results-{p.name}.md": pages.paper_page(key, stored) for key, p in pages.PAPERS.items()
    }
    texts["results.md"] = pages.overview(stored)
    assert (DOCS / name).read_text() == texts[name], f"run {pages.COMMAND}"


def test_records_are_of_studies_that_exist_and_small():
    for path in (DOCS / pages.FOLDER).glob("*.json"):
        assert path.stem in STUDIES
        assert path.stat().st_size < 60_000
        record = json.loads(path.read_text())
        assert record["commit"]
        assert not re.search(r"(^|[ (])/\w", " ".join(record["notes"]))  # no folder of a machine


def make(tasks, **how):
    """The document of a study whose numbers of ads are wrong."""
    cells = [Cell("table2", task, "split", None, 42) for task in tasks]
    details = {"train": 340, "validation": 86, "test": 143, "columns": 30}
    notebook = Notebook()
    for cell in cells:
        notebook.add(Result(cell, 0.25 if cell.task == "ads" else 1.0, 0, 90.0, details))
    run = Run(TABLE2.measure, notebook)
    drawn, _ = draw(TABLE2.sections(run(cells)))
    request = Request(tuple(tasks), 1)
    return make_document(TABLE2, request, run, drawn, command="bochner reproduce x", **how)


@pytest.fixture
def document():
    notes = ["Stopped in time: 5 of the cells planned so far were not measured."]
    return make(["breast", "ads"], notes=notes)


def test_a_whole_study_has_its_verdict_without_reserve(tmp_path):
    pages.store(make(TABLE2.tasks), tmp_path)
    text = pages.paper_page(TABLE2.paper, pages.read_stored(tmp_path))
    assert "(6 of 7; not at ads) | not confirmed |" in text


def test_a_page_has_what_is_needed_to_judge_it(document, tmp_path):
    document["measured_on"] = "2 cores, 23 GB of memory"
    document["commit"] = "0123456789"
    pages.store(document, tmp_path)
    assert pages.write_pages(tmp_path) == [
        "results.md",
        "results-letarte.md",
        "results-bullins.md",
        "results-mukuta.md",
    ]
    text = (tmp_path / "results-letarte.md").read_text()
    assert "## Table 2: rows and columns of the datasets\n\n    bochner reproduce x\n" in text
    assert "commit 0123456789; " in text
    assert "; 2 cores, 23 GB of memory; 3 min." in text
    assert "Stopped in time: 5 of the cells" in text
    assert "| breast | 340 | 340 | 86 | 86 | 143 | 143 | 30 | 30 |" in text
    assert "(1 of 2; not at ads) | not confirmed, so far |" in text
    assert "**not confirmed, so far**: the authors' split" in text
    assert "`letarte-table1`" in text.partition("##")[0]
    assert "| 1 of 11 | 1 | 1 |" in (tmp_path / "results.md").read_text()
    empty = (tmp_path / "results-mukuta.md").read_text()
    assert "## " not in empty


def test_a_record_names_no_processor_and_no_host(document, tmp_path):
    document["machine"]["processor"] = "A Processor 9000"
    text = pages.store(document, tmp_path).read_text()
    stored = json.loads(text)
    assert "Processor 9000" not in text
    assert platform.node() not in text
    assert stored["measured_on"] == machine_text()
    assert "image" not in stored["sections"][0]
