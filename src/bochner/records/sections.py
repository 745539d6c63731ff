"""What a study says, as data: sections with a table, a chart and sentences; and as plain text.

A study's results are made into sections once. The program prints them, writes them to a file, and
draws them; nothing reads the printed text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bochner.records.cells import Result, aligned, mean_and_error

Row = tuple[str, ...]


@dataclass(frozen=True)
class Series:
    """A curve: `y` at `x`, with standard errors where there are several seeds."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] | None = None
    published: bool = False


@dataclass(frozen=True)
class Chart:
    """Curves in one frame."""

    x_title: str
    y_title: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Section:
    """A heading, a table (its first row names the columns), sentences, and what can be drawn.

    `picture` makes a Matplotlib figure when it is called: a picture that is not a chart.
    """

    heading: str
    rows: tuple[Row, ...] = ()
    lines: tuple[str, ...] = ()
    chart: Chart | None = None
    picture: Callable[[], Any] | None = None


Report = Callable[[Sequence[Result]], str]
Sections = Callable[[Sequence[Result]], list[Section]]


@dataclass
class Claim:
    """A statement about every task and width, and where it does not hold.

    Attributes
    ----------
    text : str
        What is claimed.
    checked : int
        At how many places.
    noise : list of str
        The places where it holds in the mean, but by no more than noise.
    exceptions : list of str
        The places where it fails, with the figures.
    """

    text: str
    checked: int = 0
    noise: list[str] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)

    def check(self, holds: bool, place: str, noise: bool = False) -> None:
        """Count a place, and note it if the claim fails there or holds by no more than noise."""
        self.checked += 1
        if not holds:
            self.exceptions.append(place)
        elif noise:
            self.noise.append(place)

    def compare(self, differences: Sequence[float], place: str, digits: int = 2) -> None:
        """Check that a difference, one value a seed, is above zero in the mean.

        A mean of at most two standard errors is called noise; with one seed nothing is.
        """
        mean, error = mean_and_error(differences)
        text = f"{place}: {mean:+.{digits}g}"
        text = text if math.isnan(error) else f"{text} ± {error:.1g}"
        noise = not math.isnan(error) and abs(mean) <= 2 * error
        self.check(mean > 0, text, noise)

    def __str__(self) -> str:
        if not self.checked:
            return f"not checked: {self.text} (nothing to compare)"
        good = self.checked - len(self.exceptions)
        verdict = "not confirmed" if self.exceptions else "confirmed"
        if self.noise and not self.exceptions:
            verdict = "confirmed in the mean"
        notes = [f"{good} of {self.checked}"]
        if self.exceptions:
            notes.append(f"not at {', '.join(self.exceptions)}")
        if self.noise:
            notes.append(f"by no more than noise at {', '.join(self.noise)}")
        return f"{verdict}: {self.text} ({'; '.join(notes)})"


def as_text(sections: Sequence[Section]) -> str:
    """Sections as lines to print; what has only a chart is left out.

    Examples
    --------
    >>> from bochner.records.sections import Section, as_text
    >>> rows = (("task", "ours"), ("mnist49", "1.2"))
    >>> print(as_text([Section("Errors", rows, ("Ten seeds.",))]))
    Errors
    task     ours
    mnist49   1.2
    Ten seeds.
    """
    lines = []
    for section in sections:
        if not section.rows and not section.lines:
            continue
        lines += [section.heading] if section.heading else []
        lines += [aligned(section.rows)] if section.rows else []
        lines += section.lines
    return "\n".join(lines)


def as_reports(sections: Mapping[str, Sections]) -> dict[str, Report]:
    """Functions that give the text, by study, from functions that give sections."""

    def text(make: Sections) -> Report:
        return lambda results: as_text(make(results))

    return {name: text(make) for name, make in sections.items()}


def from_report(report: Report) -> Sections:
    """A function that gives one section, from one that gives text: heading first, then lines."""

    def sections(results: Sequence[Result]) -> list[Section]:
        heading, *lines = report(results).splitlines()
        return [Section(heading, lines=tuple(lines))]

    return sections


def as_plain(section: Section, image: str | None = None) -> dict[str, Any]:
    """A section as what JSON can hold; `image` is its picture as a data address.

    Numbers that JSON has no word for (the standard error of one seed) become null.
    """
    header, *rows = section.rows or ((),)
    chart = section.chart
    return {
        "heading": section.heading,
        "text": "\n".join(section.lines),
        "table": {"columns": list(header), "rows": [list(row) for row in rows]}
        if section.rows
        else None,
        "chart": None
        if chart is None
        else {
            "x_title": chart.x_title,
            "y_title": chart.y_title,
            "log_x": chart.log_x,
            "log_y": chart.log_y,
            "series": [
                {
                    "name": curve.name,
                    "x": _numbers(curve.x),
                    "y": _numbers(curve.y),
                    "error": None if curve.error is None else _numbers(curve.error),
                    "published": curve.published,
                }
                for curve in chart.series
            ],
        },
        "image": image,
    }


def curve(
    name: str, points: Mapping[Any, Sequence[float]], published: bool = False
) -> Series | None:
    """The means at each x, in order, with standard errors if there are any; None without points.

    Examples
    --------
    >>> from bochner.records.sections import curve
    >>> curve("ours", {100: [2.0, 4.0], 10: [7.0, 7.0]})
    Series(name='ours', x=(10, 100), y=(7.0, 3.0), error=(0.0, 1.0), published=False)
    """
    found = {x: values for x, values in sorted(points.items()) if len(values)}
    if not found:
        return None
    means, errors = zip(*map(mean_and_error, found.values()), strict=True)
    alone = all(map(math.isnan, errors))
    return Series(name, tuple(found), means, None if alone else errors, published)


def chart(
    x_title: str,
    y_title: str,
    series: Sequence[Series | None],
    log_x: bool = False,
    log_y: bool = False,
) -> Chart | None:
    """A chart of the curves that have points; None if none has."""
    drawn = tuple(curve for curve in series if curve is not None)
    return Chart(x_title, y_title, drawn, log_x, log_y) if drawn else None


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]
