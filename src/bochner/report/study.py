"""A study as the page shows it: sections of text, tables, charts, and pictures.

A published series has the colour of ours of the same subject, dashed and with open marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bochner.records.cells import Cell
from bochner.records.sections import Claim
from bochner.report.charts import Figure, layout, line, set_log
from bochner.report.numbers import chart_text, finite, number, value_text
from bochner.report.section import Section, View
from bochner.report.series import Series, numbered
from bochner.report.tables import Column, Entry, Row, Table

Document = Mapping[str, Any]
Numbers = Sequence[float | None]


@dataclass(frozen=True)
class Line:
    """A line of a section's text, with the verdict if it is about a claim."""

    text: str
    verdict: str = ""
    outcome: str = ""  # its class in the style sheet; empty if nothing was checked


@dataclass(frozen=True, kw_only=True)
class StudySection(Section):
    """One part of a study."""

    template: ClassVar[str] = "study_section.html"
    lines: tuple[Line, ...]
    table: Table | None
    series: tuple[Series, ...]
    image: str


@dataclass(frozen=True, kw_only=True)
class StudyView(View):
    """Sections below the paper, the notes, and the failures."""

    sections: tuple[StudySection, ...]
    paper: str
    notes: tuple[str, ...]
    failures: tuple[str, ...]


def study_view(document: Document) -> StudyView:
    """Read a results document of the kind "study"."""
    sections = list(document.get("sections") or [])
    colours: dict[str, int] = {}
    for section in sections:
        for entry in (section.get("chart") or {}).get("series") or ():
            colours.setdefault(_subject(entry), len(colours))
    return StudyView(
        paper=str(document.get("paper") or ""),
        notes=tuple(map(str, document.get("notes") or ())),
        failures=tuple(
            f"{Cell(**entry['cell'])}: {entry['reason']}"
            for entry in document.get("failures") or ()
        ),
        sections=tuple(_section(i, entry, colours) for i, entry in enumerate(sections, start=1)),
    )


def _subject(series: Document) -> str:
    """Return what a series is about, whoever measured it."""
    return str(series.get("subject") or series["name"])


def _section(position: int, section: Document, colours: Mapping[str, int]) -> StudySection:
    heading, name = str(section.get("heading") or f"Part {position}"), f"part-{position}"
    image = str(section.get("image") or "")
    if image and not image.startswith("data:image/"):
        raise ValueError(
            f"image of section {heading!r} must be inside the document, an address that begins "
            f"with 'data:image/', got {image[:60]!r}; the page fetches nothing."
        )
    figures: tuple[Figure, ...] = ()
    series: tuple[Series, ...] = ()
    if section.get("chart"):
        figure, series = _chart(f"{name}-chart", section["chart"], colours)
        figures = (figure,)
    lines = [Line(str(text)) for text in section.get("lines") or ()]
    lines += map(_claim, section.get("claims") or ())
    return StudySection(
        name=name,
        heading=heading,
        figures=figures,
        lines=tuple(lines),
        table=_table(heading, section["table"]) if section.get("table") else None,
        series=series,
        image=image,
    )


def _claim(entry: Document) -> Line:
    claim = Claim(*(entry[name] for name in ("text", "checked", "noise", "exceptions")))
    outcome = "fails" if claim.exceptions else "holds" if claim.checked else ""
    return Line(claim.statement, claim.verdict, outcome)


def _table(heading: str, table: Document) -> Table:
    rows = [Row(tuple(map(_entry, row))) for row in table.get("rows") or ()]
    columns = []
    for i, title in enumerate(table.get("columns") or ()):
        # The first column names the rows, even where the names are numbers.
        numeric = i > 0 and any(row.entries[i].value is not None for row in rows)
        columns.append(Column(str(title), numeric))
    return Table(heading, tuple(columns), tuple(rows))


def _entry(value: Any) -> Entry:
    if isinstance(value, bool):
        return Entry("yes" if value else "no")
    if isinstance(value, Mapping):  # "97.3 ± 0.2" is sorted by its mean
        return Entry(str(value.get("text")), number(value.get("number")))
    if isinstance(value, str):
        return Entry(value)
    return Entry(value_text(value), number(value))


def _chart(
    name: str, chart: Document, colours: Mapping[str, int]
) -> tuple[Figure, tuple[Series, ...]]:
    x_title, y_title = (str(chart.get(title) or "") for title in ("x_title", "y_title"))
    log_x, log_y = bool(chart.get("log_x")), bool(chart.get("log_y"))
    spec = layout(x_title, y_title)
    looks, traces = [], []
    for entry in chart.get("series") or ():
        colour, published = colours[_subject(entry)], bool(entry.get("published"))
        key = f"s{colour}{'p' * published}"
        look = numbered(colour, key, str(entry["name"]), published=published)
        x, y = _numbers(entry.get("x"), log_x), _numbers(entry.get("y"), log_y)
        error = None if entry.get("error") is None else _numbers(entry["error"])
        looks.append(look)
        traces.append(line(look, x, y, _hover(look.name, x, y, error), error))
    for axis, is_log in (("x", log_x), ("y", log_y)):
        values = finite(value for trace in traces for value in trace[axis])
        if is_log and values:
            set_log(spec[f"{axis}axis"], values)
    # Published series first, so that ours are drawn over them.
    order = sorted(range(len(looks)), key=lambda i: not looks[i].quiet)
    names = ", ".join(look.name for look in looks)
    figure = Figure(
        name,
        title="",
        label=f"Chart of {y_title or 'values'} against {x_title or 'position'}: {names}.",
        spec={"data": [traces[i] for i in order], "layout": spec},
        note="Dashed, with open marks: as published. Full lines: measured here."
        if any(look.quiet for look in looks)
        else "",
    )
    return figure, tuple(looks)


def _numbers(values: Iterable[Any] | None, is_log: bool = False) -> list[float | None]:
    """Return the numbers that the axis can show, None for the others."""
    numbers = map(number, values or ())
    return [v if v is not None and (v > 0 or not is_log) else None for v in numbers]


def _hover(name: str, x: Numbers, y: Numbers, error: Numbers | None) -> list[str]:
    texts = []
    for place, value, spread in zip(x, y, error or [None] * len(x), strict=True):
        text = f"<b>{chart_text(name)}</b><br>{value_text(place)}: {value_text(value)}"
        texts.append(text if spread is None else f"{text} ± {value_text(spread)}")
    return texts
