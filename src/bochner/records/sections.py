"""The report of a study as data: sections with a table, a chart, sentences and checked claims.

A study's results are turned into sections once. The program prints them, writes them to a file and
draws them; nothing reads the printed text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bochner.records.files import plain_values
from bochner.records.statistics import format_mean, is_noise, mean_and_error


@dataclass(frozen=True)
class Value:
    """A number in a table: its text, and the number by which a column is sorted."""

    text: str
    number: float | None = None

    def __str__(self) -> str:
        return self.text


Row = tuple[str | Value, ...]


def mean_value(values: Sequence[float], form: str = ".2f", error_form: str | None = None) -> Value:
    """Return the mean of values with its standard error; the formats are those of `format_mean`.

    Examples
    --------
    >>> from bochner.records.sections import mean_value
    >>> mean_value([97.0, 99.0])
    Value(text='98.00 ± 1.00', number=98.0)
    """
    mean, error = mean_and_error(values)
    return Value(format_mean(mean, error, form, error_form), None if math.isnan(mean) else mean)


def value(number: float | None, form: str = "g") -> Value:
    """Return a number, which may be missing, as an entry of a table."""
    return Value(format_mean(number, form=form), number)


@dataclass(frozen=True)
class Series:
    """A curve: `y` at `x`, with standard errors where there are several seeds.

    `subject` is what the curve is about, whoever measured it: a published series of the same
    subject as one of ours is drawn in its colour. By default it is the name.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] | None = None
    published: bool = False
    subject: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "subject", self.subject or self.name)


@dataclass(frozen=True)
class Chart:
    """Curves in one frame."""

    x_title: str
    y_title: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass
class Claim:
    """A statement about every task and width, with the places where it does not hold.

    `checked` is the number of places; `noise` lists those where the claim holds in the mean, but
    by no more than noise, and `exceptions` those where it fails, with the numbers.

    Examples
    --------
    >>> from bochner.records.sections import Claim
    >>> claim = Claim("a is better than b")
    >>> claim.compare([1.0, 1.2], "digits")
    >>> claim.compare([-1.0, -1.2], "wine")
    >>> print(claim)
    not confirmed: a is better than b (1 of 2; not at wine: -1.1 ± 0.1)
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

    def compare(self, differences: Sequence[float], place: str, sign: int = 1) -> None:
        """Check that a difference, one value per seed, has this sign in the mean.

        Where there are no differences nothing is checked.
        """
        if differences:
            mean, error = mean_and_error(differences)
            text = f"{place}: {format_mean(mean, error, '+.2g', '.1g')}"
            self.check(sign * mean > 0, text, is_noise(mean, error))

    @property
    def verdict(self) -> str:
        """One of confirmed, confirmed in the mean, not confirmed, not checked."""
        if not self.checked:
            return "not checked"
        if self.exceptions:
            return "not confirmed"
        return "confirmed in the mean" if self.noise else "confirmed"

    @property
    def statement(self) -> str:
        """The claim, the number of places where it holds, and those where it does not."""
        if not self.checked:
            return f"{self.text} (nothing to compare)"
        notes = [f"{self.checked - len(self.exceptions)} of {self.checked}"]
        if self.exceptions:
            notes.append(f"not at {', '.join(self.exceptions)}")
        if self.noise:
            notes.append(f"by no more than noise at {', '.join(self.noise)}")
        return f"{self.text} ({'; '.join(notes)})"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.statement}"


@dataclass(frozen=True)
class Section:
    """A heading, a table (its first row names the columns), sentences, and what can be drawn.

    `claims` come after the sentences in `lines`. `picture` is a function that
    returns a Matplotlib figure, for a picture that is not a chart.
    """

    heading: str
    rows: tuple[Row, ...] = ()
    lines: tuple[str, ...] = ()
    chart: Chart | None = None
    picture: Callable[[], Any] | None = None
    claims: tuple[Claim, ...] = ()


def as_text(sections: Sequence[Section]) -> str:
    """Return sections as lines to print; those with only a chart or a picture are left out.

    Examples
    --------
    >>> from bochner.records.sections import Section, Value, as_text
    >>> rows = (("task", "ours"), ("mnist49", Value("1.2", 1.2)))
    >>> print(as_text([Section("Errors", rows, ("Ten seeds.",))]))
    Errors
    task     ours
    mnist49   1.2
    Ten seeds.
    """
    lines: list[str] = []
    for section in sections:
        below = [aligned(section.rows)] if section.rows else []
        below += [*section.lines, *map(str, section.claims)]
        if below:
            lines += [section.heading] * bool(section.heading) + below
    return "\n".join(lines)


def aligned(rows: Sequence[Row]) -> str:
    """Return rows as lines with aligned columns: the first to the left, the others right."""
    texts = [tuple(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = []
    for first, *others in texts:
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)


def as_plain(section: Section, image: str | None = None) -> dict[str, Any]:
    """Return a section as values that JSON can hold; `image` is its picture as a data URL.

    Numbers that JSON cannot hold (the standard error of one seed) become null.
    """
    table = None
    if section.rows:
        header, *rows = section.rows
        entries = [
            [asdict(entry) if isinstance(entry, Value) else entry for entry in row] for row in rows
        ]
        table = {"columns": [str(title) for title in header], "rows": entries}
    plain: dict[str, Any] = plain_values(
        {
            "heading": section.heading,
            "table": table,
            "lines": section.lines,
            "claims": [{**asdict(claim), "verdict": claim.verdict} for claim in section.claims],
            "chart": None if section.chart is None else asdict(section.chart),
            "image": image,
        }
    )
    return plain


def curve(name: str, points: Mapping[Any, Sequence[float]]) -> Series | None:
    """Return the means at each x, in order, with any standard errors; None without points.

    Examples
    --------
    >>> from bochner.records.sections import curve
    >>> series = curve("ours", {100: [2.0, 4.0], 10: [7.0, 7.0]})
    >>> series.x, series.y, tuple(round(error, 6) for error in series.error)
    ((10, 100), (7.0, 3.0), (0.0, 1.0))
    """
    measured = {x: values for x, values in sorted(points.items()) if len(values)}
    if not measured:
        return None
    means, errors = zip(*map(mean_and_error, measured.values()), strict=True)
    one_seed = all(map(math.isnan, errors))
    return Series(name, tuple(measured), means, None if one_seed else errors)


def chart(
    x_title: str,
    y_title: str,
    series: Sequence[Series | None],
    log_x: bool = False,
    log_y: bool = False,
) -> Chart | None:
    """Return a chart of the curves that have points; None if none has."""
    drawn = tuple(curve for curve in series if curve is not None)
    return Chart(x_title, y_title, drawn, log_x, log_y) if drawn else None
