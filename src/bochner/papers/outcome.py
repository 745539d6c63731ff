"""A study's outcome on disk: a document that a program can read, and figures."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bochner.records.cells import Result
from bochner.records.provenance import machine, versions
from bochner.records.sections import Section, as_plain

if TYPE_CHECKING:
    from bochner.papers.study import Request, Study

VERSION = 1  # of the document
NO_PICTURES = "pictures need matplotlib: pip install 'bochner[plots]'"


def shown_of(study: Study, results: Sequence[Result]) -> list[Result]:
    """The results that the study's tables are made of; others only made choices."""
    return [result for result in results if result.cell.study in study.shown]


def draw(sections: Sequence[Section]) -> list[Any]:
    """The Matplotlib figure of each section that has a picture, else None.

    Without Matplotlib, which is an extra, there is none.
    """
    try:
        return [None if s.picture is None else s.picture() for s in sections]
    except ModuleNotFoundError:
        return [None] * len(sections)


def without_empty(
    sections: Sequence[Section], pictures: Sequence[Any]
) -> tuple[list[Section], list[Any]]:
    """The sections that have something below their heading, and their pictures."""
    kept = [
        (section, picture)
        for section, picture in zip(sections, pictures, strict=True)
        if section.rows or section.lines or section.chart or picture is not None
    ]
    return [section for section, _ in kept], [picture for _, picture in kept]


def document(
    study: Study,
    request: Request,
    results: Sequence[Result],
    sections: Sequence[Section],
    pictures: Sequence[Any],
    *,
    command: str,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The study as what JSON can hold.

    Parameters
    ----------
    study, request
        What was asked for.
    results : sequence of Result
        Everything that was measured; its times add up to ``seconds``, of one process.
    sections, pictures : sequences
        What the results say, and what :func:`draw` made of it.
    command : str
        How to do it again.
    notes : sequence of str
        What the reader must know: what was left out, that it is a small version.
    """
    return {
        "kind": "study",
        "version": VERSION,
        "title": f"{study.item}: {study.summary}",
        "paper": study.paper,
        "study": study.name,
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(sum(result.seconds for result in results), 1),
        "versions": versions(),
        "machine": machine(),
        "request": {"tasks": list(request.tasks), "seeds": request.seeds, "quick": request.quick},
        "notes": list(notes),
        "sections": [
            as_plain(section, None if picture is None else _address(picture))
            for section, picture in zip(sections, pictures, strict=True)
        ],
    }


def write_outcome(
    made: dict[str, Any], sections: Sequence[Section], pictures: Sequence[Any], folder: Path
) -> list[str]:
    """Write ``results.json`` and the figures, and say what was written.

    Charts become PNG and SVG files, other pictures PNG files; none without Matplotlib.
    """
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / "results.json.part"
    unfinished.write_text(json.dumps(made, indent=1, allow_nan=False))
    unfinished.replace(folder / "results.json")
    written = ["results.json"]
    for number, (section, picture) in enumerate(zip(sections, pictures, strict=True), start=1):
        name = f"{number:02d}-{_slug(section.heading)}"
        if picture is not None:
            picture.savefig(folder / f"{name}.png", dpi=150)
            written.append(f"{name}.png")
        figure = None if section.chart is None else _drawn(section)
        if figure is not None:
            for kind in ("png", "svg"):
                figure.savefig(folder / f"{name}-chart.{kind}", dpi=150)
                written.append(f"{name}-chart.{kind}")
    return written


def _drawn(section: Section) -> Any:
    from bochner.plots.curves import curves_figure

    assert section.chart is not None
    try:
        return curves_figure(section.chart, section.heading)
    except ModuleNotFoundError:  # Matplotlib
        return None


def _address(picture: Any) -> str:
    """The picture itself as an address, for a page that needs no other file."""
    file = BytesIO()
    picture.savefig(file, format="png", dpi=100)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def _slug(heading: str) -> str:
    words = re.findall(r"[a-z0-9]+", heading.lower())
    return "-".join(words[:6]) or "figure"
