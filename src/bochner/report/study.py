"""A study as the page shows it: sections of text, tables, charts, and pictures.

A published series has the colour of ours of the same name, dashed and with open marks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bochner.report.charts import Figure, layout, line, tidy_log
from bochner.report.numbers import chart_text, finite, number, value_text
from bochner.report.series import Series, numbered
from bochner.report.tables import Column, Entry, Row, Table

Document = Mapping[str, Any]

# Words that say whose number it is, not what was measured.
_WHOSE = re.compile(r"\b(ours|published|paper|printed|reported|as printed)\b", re.IGNORECASE)
_VERDICT = re.compile(r"(confirmed(?: in the mean)?|not confirmed|not checked): ")
_NUMBER = re.compile(r"[-+\u2212]?\d[\d\s,]*\.?\d*(e[-+]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """A line of a section's text, and what it says became of a claim, if it is about one."""

    text: str
    verdict: str = ""

    @property
    def outcome(self) -> str:
        """Its class in the style sheet; empty for what was not checked, or is no claim."""
        if self.verdict == "not confirmed":
            return "fails"
        return "holds" if self.verdict.startswith("confirmed") else ""


@dataclass(frozen=True)
class Section:
    """One part of a study."""

    anchor: str
    heading: str
    blocks: tuple[tuple[Line, ...], ...]
    table: Table | None
    figure: Figure | None
    series: tuple[Series, ...]
    image: str


@dataclass(frozen=True)
class StudyView:
    """What the template is filled with."""

    paper: str
    notes: tuple[str, ...]
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
            colours.setdefault(subject(entry["name"]), len(colours))
    return StudyView(
        paper=str(document.get("paper") or ""),
        notes=tuple(map(str, document.get("notes") or ())),
        sections=tuple(_section(i, entry, colours) for i, entry in enumerate(sections)),
    )


def subject(name: Any) -> str:
    """What a series is about, whoever measured it.

    Examples
    --------
    >>> from bochner.report.study import subject
    >>> subject("OKRFF (published)"), subject("ours: OKRFF"), subject("ours"), subject("paper")
    ('okrff', 'okrff', '', '')
    """
    rest = _WHOSE.sub(" ", str(name))
    return " ".join(rest.split()).strip(" ,;:()[]-").lower()


def blocks(text: Any) -> tuple[tuple[Line, ...], ...]:
    """Paragraphs between empty lines, each a few lines; those about claims begin with a verdict.

    What follows a line that ends within a sentence belongs to it.

    Examples
    --------
    >>> from bochner.report.study import blocks
    >>> [[line.verdict for line in block] for block in blocks("Note.\\n\\nconfirmed: it works")]
    [[''], ['confirmed']]
    """
    parts = [part.strip() for part in re.split(r"\n\s*\n", str(text or ""))]
    return tuple(tuple(map(_line, _whole_lines(part))) for part in parts if part)


def _whole_lines(text: str) -> list[str]:
    """Lines that were broken within a sentence, put together; a claim is a line of its own."""
    whole: list[str] = []
    broken = False
    for part in filter(None, map(str.strip, text.splitlines())):
        claim = _VERDICT.match(part) is not None
        if broken and not claim:
            whole[-1] += f" {part}"
        else:
            whole.append(part)
        broken = not claim and not part.endswith((".", ")", ":"))
    return whole


def _line(text: str) -> Line:
    found = _VERDICT.match(text)
    return Line(text[found.end() :], found.group(1)) if found else Line(text)


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
        blocks=blocks(section.get("text")),
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
    if isinstance(value, str):
        # "97.3 ± 0.2" is sorted by its mean.
        found = _NUMBER.match(value.strip())
        text = found.group().replace(",", "").replace("\u2212", "-") if found else ""
        return Entry(value, number("".join(text.split())))
    return Entry(value_text(value), number(value))


def _chart(
    index: int, heading: str, chart: Document, colours: Mapping[str, int]
) -> tuple[Figure, tuple[Series, ...]]:
    x_title, y_title = str(chart.get("x_title") or ""), str(chart.get("y_title") or "")
    traces, looks = [], []
    all_x: list[float] = []
    all_y: list[float] = []
    for entry in chart.get("series") or ():
        colour = colours[subject(entry["name"])]
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
