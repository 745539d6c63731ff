"""A study's outcome on disk: a document that a program can read, and figures."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from bochner.papers.study import Request, Study
from bochner.records.files import writing_whole
from bochner.records.provenance import machine, machine_text, versions
from bochner.records.run import Run
from bochner.records.sections import Section, as_plain
from bochner.records.wording import counted

VERSION = 1  # of the document
NO_PICTURES = "pictures need matplotlib: pip install 'bochner[plots]'"


@dataclass(frozen=True)
class Drawn:
    """A section, and its picture and chart as Matplotlib figures, if it has them."""

    section: Section
    picture: Any = None
    chart: Any = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing below the heading."""
        section = self.section
        below = (section.rows, section.lines, section.claims, section.chart, self.picture)
        return not any(part is not None and part != () for part in below)


def draw(sections: Sequence[Section]) -> tuple[list[Drawn], list[str]]:
    """Draw each section that has something to show; return notes on what could not be drawn.

    Without Matplotlib, which is an extra, there are no figures. A picture that fails does not cost
    the results.
    """
    drawn, notes = [], []
    for section in sections:
        picture = chart = None
        try:
            if section.chart is not None:
                from bochner.plots.curves import curves_figure

                chart = curves_figure(section.chart, section.heading)
            picture = None if section.picture is None else section.picture()
        except ModuleNotFoundError:
            notes.append(NO_PICTURES)
        except Exception as error:
            notes.append(f"No picture of {section.heading}: {error}")
        drawn.append(Drawn(section, picture, chart))
    return [each for each in drawn if not each.is_empty], list(dict.fromkeys(notes))


def failure_lines(run: Run) -> list[str]:
    """Return one line for each reason why cells failed."""
    by_reason: dict[str, list[str]] = {}
    for cell, reason in run.failures.items():
        by_reason.setdefault(reason, []).append(str(cell))
    lines = []
    for reason, (first, *others) in by_reason.items():
        more = f" and {counted(len(others), 'other')}" if others else ""
        lines.append(f"Failed: {first}{more}: {reason}")
    return lines


def make_document(
    study: Study,
    request: Request,
    run: Run,
    drawn: Sequence[Drawn],
    *,
    command: str,
    notes: Sequence[str] = (),
    device: str = "cpu",
) -> dict[str, Any]:
    """Return the study as values that JSON can hold.

    `command` repeats the study; `notes` are what the reader must know: what was left out, that it
    is a quick version. The times of all cells add up to the ``seconds`` of one process.
    """
    return {
        "kind": "study",
        "version": VERSION,
        "title": f"{study.item}: {study.summary}",
        "paper": study.paper,
        "study": study.name,
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(sum(result.seconds for result in run.results), 1),
        "commit": _all_of(result.commit or "unknown" for result in run.results),
        "versions": versions(),
        "machine": machine(device),
        "measured_on": _all_of(result.machine or machine_text(device) for result in run.results),
        "request": asdict(request),
        "complete": _is_complete(study, request, run),
        "notes": list(notes),
        "failures": [
            {"cell": asdict(cell), "reason": reason} for cell, reason in run.failures.items()
        ],
        "sections": [
            as_plain(each.section, None if each.picture is None else _address(each.picture))
            for each in drawn
        ],
    }


def _all_of(texts: Iterable[str]) -> str | None:
    """Return the text that all cells share, or each text with its number of cells."""
    counts = Counter(texts)
    if len(counts) > 1:
        return ", ".join(f"{text} ({counted(n, 'cell')})" for text, n in counts.items())
    return next(iter(counts), None)


def _is_complete(study: Study, request: Request, run: Run) -> bool:
    """Whether all of the full version was measured."""
    tasks, seeds = study.tasks_of(quick=False), study.full.seeds
    whole = set(request.tasks) >= set(tasks) and request.seeds >= seeds and not request.widths
    return whole and not (request.quick or run.missing or run.failures)


def write_outcome(document: dict[str, Any], drawn: Sequence[Drawn], folder: Path) -> list[str]:
    """Write ``results.json``, charts as PNG and SVG, pictures as PNG; return the file names."""
    folder.mkdir(parents=True, exist_ok=True)
    with writing_whole(folder / "results.json") as file:
        file.write(json.dumps(document, indent=1, allow_nan=False).encode())
    written = ["results.json"]
    for number, each in enumerate(drawn, start=1):
        name = f"{number:02d}-{_slug(each.section.heading)}"
        figures = {f"{name}.png": each.picture}
        figures |= {f"{name}-chart.{kind}": each.chart for kind in ("png", "svg")}
        for path, figure in figures.items():
            if figure is not None:
                figure.savefig(folder / path, dpi=150)
                written.append(path)
    return written


def _address(picture: Any) -> str:
    """The picture itself as an address, for a page that needs no other file."""
    file = BytesIO()
    picture.savefig(file, format="png", dpi=100)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def _slug(heading: str) -> str:
    words = re.findall(r"[a-z0-9]+", heading.lower())
    return "-".join(words[:6]) or "figure"
