"""A study as the page shows it: sections of text, tables, charts, and pictures.

A published series has the colour of ours of the same subject, dashed and with open marks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bochner.records.cells import Cell
from bochner.records.sections import Claim
from bochner.report.charts import Figure, layout, line, tidy_log
from bochner.report.numbers import chart_text, finite, number, value_text
from bochner.report.series import Series, numbered
from bochner.report.tables import Column, Entry, Row, Table

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """A line of a section's text, and what became of a claim, if it is about one."""

    text: str
    verdict: str = ""
    outcome: str = ""  # its class in the style sheet; empty for what was not checked


@dataclass(frozen=True)
class Section:
    """One part of a study."""

    anchor: str
    heading: str
    lines: tuple[Line, ...]
    table: Table | None
    figure: Figure | None
    series: tuple[Series, ...]
    image: str


@dataclass(frozen=True)
class StudyView:
    """What the template is filled with."""

    paper: str
    notes: tuple[str, ...]
    failures: tuple[str, ...]
    sections: tuple[Section, ...]

    @property
    def all_figures(self) -> list[Figure]:
        """Every chart of the page."""
        return [section.figure for section in self.sections if section.figure is not None]


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
            f"{_cell_text(entry['cell'])}: {entry['reason']}"
            for entry in document.get("failures") or ()
        ),
        sections=tuple(_section(i, entry, colours) for i, entry in enumerate(sections)),
    )


def _subject(series: Document) -> str:
    """What a series is about, whoever measured it."""
    return str(series.get("subject") or series["name"])


def _cell_text(cell: Document) -> str:
    return str(Cell(**cell))


def _claim(entry: Document) -> Line:
    claim = Claim(
        str(entry["text"]),
        int(entry["checked"]),
        list(map(str, entry["noise"])),
        list(map(str, entry["exceptions"])),
    )
    outcome = "fails" if claim.exceptions else "holds" if claim.checked else ""
    return Line(claim.statement, claim.verdict, outcome)


def _section(index: int, section: Document, colours: Mapping[str, int]) -> Section:
    heading = str(section.get("heading") or f"Part {index + 1}")
    image = str(section.get("image") or "")
    if image and not image.startswith("data:image/"):
        raise ValueError(
            f"image of section {heading!r} must be inside the document, an address that begins "
            f"with 'data:image/', got {image[:60]!r}; the page fetches nothing."
        )
    figure: Figure | None = None
    series: tuple[Series, ...] = ()
    if section.get("chart"):
        figure, series = _chart(index, heading, section["chart"], colours)
    return Section(
        anchor=f"part-{index + 1}",
        heading=heading,
        lines=(
            *(Line(str(text)) for text in section.get("lines") or ()),
            *map(_claim, section.get("claims") or ()),
        ),
        table=_table(heading, section["table"]) if section.get("table") else None,
        figure=figure,
        series=series,
        image=image,
    )


def _table(heading: str, table: Document) -> Table:
    rows = [[_entry(value) for value in row] for row in table.get("rows") or ()]
    titles = [str(title) for title in table.get("columns") or ()]
    # The first column names the rows, even where the names are numbers.
    numeric = [
        i > 0 and any(len(row) > i and row[i].value is not None for row in rows)
        for i in range(len(titles))
    ]
    columns = tuple(Column(t, numeric=n) for t, n in zip(titles, numeric, strict=True))
    return Table(heading, columns, tuple(Row(tuple(row)) for row in rows))


def _entry(value: Any) -> Entry:
    if isinstance(value, bool):
        return Entry("yes" if value else "no")
    if isinstance(value, Mapping):  # "97.3 ± 0.2" is sorted by its mean
        return Entry(str(value.get("text")), number(value.get("number")))
    if isinstance(value, str):
        return Entry(value)
    return Entry(value_text(value), number(value))


def _chart(
    index: int, heading: str, chart: Document, colours: Mapping[str, int]
) -> tuple[Figure, tuple[Series, ...]]:
    x_title, y_title = str(chart.get("x_title") or ""), str(chart.get("y_title") or "")
    traces, looks = [], []
    all_x: list[float] = []
    all_y: list[float] = []
    for entry in chart.get("series") or ():
        colour = colours[_subject(entry)]
        published = bool(entry.get("published"))
        look = numbered(
            colour, f"s{colour}{'p' * published}", str(entry["name"]), published=published
        )
        x = _positive(entry.get("x") or (), bool(chart.get("log_x")))
        y = _positive(entry.get("y") or (), bool(chart.get("log_y")))
        errors = entry.get("error")
        error = None if errors is None else [number(value) for value in errors]
        all_x += finite(x)
        all_y += finite(y)
        looks.append(look)
        traces.append(line(look, x, y, _hover(look.name, x, y, error), error))
    spec = layout(x_title, y_title)
    if chart.get("log_x") and all_x:
        tidy_log(spec["xaxis"], all_x)
    if chart.get("log_y") and all_y:
        tidy_log(spec["yaxis"], all_y)
    published_too = any(look.quiet for look in looks)
    figure = Figure(
        f"part-{index + 1}-chart",
        "",
        f"Chart of {y_title or 'values'} against {x_title or 'position'}: "
        + ", ".join(look.name for look in looks)
        + ".",
        # Published series first, so that ours are drawn over them.
        {"data": sorted(traces, key=lambda t: not t["meta"]["key"].endswith("p")), "layout": spec},
        "Dashed, with open marks: as published. Full lines: measured here."
        if published_too
        else "",
    )
    return figure, tuple(looks)


def _positive(values: Sequence[Any], logarithmic: bool) -> list[float | None]:
    """Numbers that the axis can show."""
    numbers = [number(value) for value in values]
    return [v if v is not None and (v > 0 or not logarithmic) else None for v in numbers]


def _hover(
    name: str,
    x: Sequence[float | None],
    y: Sequence[float | None],
    error: Sequence[float | None] | None,
) -> list[str]:
    spreads = error if error is not None else [None] * len(x)
    texts = []
    for place, value, spread in zip(x, y, spreads, strict=True):
        text = f"<b>{chart_text(name)}</b><br>{value_text(place)}: {value_text(value)}"
        texts.append(text if spread is None else f"{text} ± {value_text(spread)}")
    return texts
