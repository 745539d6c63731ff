"""A comparison as the page shows it: every number as text, every part in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bochner.report.charts import Figure
from bochner.report.curves import best, measure_text, time_figure, width_figure
from bochner.report.numbers import (
    MISSING,
    bound_text,
    number,
    score_text,
    seconds_text,
    settings_text,
    shortened,
    value_text,
)
from bochner.report.pixels import grey_picture
from bochner.report.plane import class_series, decision_figures, potential_figure, widths_of
from bochner.report.series import Series, method_series
from bochner.report.tables import Column, Entry, Row, Table

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Guarantee:
    """One kind of guarantee, and the methods that have it.

    Where the statements differ, if only in their numbers, `statement` is the one of `whose`, and
    `statements` has all of them with whose they are.
    """

    name: str
    whose: str
    statement: str
    table: Table
    statements: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Patches:
    """What one method learned of images."""

    method: str
    key: str
    caption: str
    pictures: tuple[str, ...]


@dataclass(frozen=True)
class ComparisonView:
    """What the template is filled with."""

    sentence: str
    reason: str
    advised: tuple[tuple[str, str], ...]
    meanings: Mapping[str, str]  # what the labels of `advised` stand for, where that is stated
    facts: tuple[tuple[str, str], ...]
    methods: tuple[Series, ...]
    figures: tuple[Figure, ...]
    table: Table
    guarantees: tuple[Guarantee, ...]
    decisions: tuple[Figure, ...]
    classes: tuple[Series, ...]
    plane_width: int | None
    potential: Figure | None
    patches: tuple[Patches, ...]
    notes: tuple[str, ...]
    left_out: tuple[str, ...]
    cells: Table | None
    interrupted: bool
    errors: bool  # whether there are standard errors

    @property
    def all_figures(self) -> list[Figure]:
        """Every chart of the page."""
        potential = [] if self.potential is None else [self.potential]
        return [*self.figures, *self.decisions, *potential]


def comparison_view(document: Document) -> ComparisonView:
    """Read a results document of the kind "comparison"."""
    summaries = list(document.get("summaries") or [])
    measure = document.get("measure") or {"name": "score", "unit": ""}
    looks = method_series((str(s["method"]), bool(s.get("baseline"))) for s in summaries)
    pictures = document.get("pictures") or {}
    plane = pictures.get("plane") or {}
    recommendation = document.get("recommendation") or {}
    curves = (width_figure(summaries, looks, measure), time_figure(summaries, looks, measure))
    return ComparisonView(
        sentence=str(recommendation.get("sentence") or ""),
        reason=str(recommendation.get("reason") or ""),
        advised=tuple(_advised(summaries, measure, recommendation)),
        meanings=_meanings(summaries, recommendation),
        facts=tuple(_facts(document, summaries)),
        methods=tuple(looks.values()),
        figures=tuple(figure for figure in curves if figure is not None),
        table=_table(summaries, looks, measure, recommendation),
        guarantees=tuple(_guarantees(summaries, looks, recommendation)),
        decisions=tuple(decision_figures(plane, looks)) if plane else (),
        classes=tuple(class_series(plane)),
        plane_width=widths_of(plane)[0] if len(widths_of(plane)) == 1 else None,
        potential=potential_figure(plane),
        patches=tuple(_patches(pictures.get("patches") or [], looks)),
        notes=tuple(map(str, (document.get("data") or {}).get("notes") or ())),
        left_out=tuple(map(str, document.get("left_out") or ())),
        cells=_cells(document.get("cells") or [], looks, measure),
        interrupted=bool(document.get("interrupted")),
        errors=any(number(s.get("standard_error")) is not None for s in summaries),
    )


def _is_advised(summary: Document, recommendation: Document) -> bool:
    wanted = recommendation.get("method"), recommendation.get("width")
    return (summary["method"], summary.get("width")) == wanted


def _advised(
    summaries: Sequence[Document], measure: Document, recommendation: Document
) -> list[tuple[str, str]]:
    """What is recommended, in numbers: how good, at what cost, with what guarantee."""
    unit = str(measure.get("unit") or "")
    top = best(summaries, measure)
    facts = []
    for summary in (s for s in summaries if _is_advised(s, recommendation)):
        score = score_text(summary.get("score"), summary.get("standard_error"), unit)
        facts.append((measure_text(measure), score))
        facts.append(("fit", seconds_text(summary.get("fit"))))
        facts.append(("transform", seconds_text(summary.get("transform"))))
        for name, promise in _promises(summary).items():
            if not _says_nothing(promise):
                facts.append((_bound_label(name), bound_text(promise.get("value"))))
        if top is not None and top is not summary:
            score = score_text(top["score"], top.get("standard_error"), unit)
            width = f", {top['width']}" if top.get("width") else ""
            facts.append((f"best of all: {shortened(top['method'])}{width}", score))
    return facts


def _bound_label(name: str) -> str:
    return f"bound: {shortened(name)}"


def _meanings(summaries: Sequence[Document], recommendation: Document) -> dict[str, str]:
    """What the bounds of the recommended line state, by their labels."""
    return {
        _bound_label(name): str(promise.get("statement") or "")
        for summary in summaries
        if _is_advised(summary, recommendation)
        for name, promise in _promises(summary).items()
        if not _says_nothing(promise)
    }


def _facts(document: Document, summaries: Sequence[Document]) -> list[tuple[str, str]]:
    """A few lines about the data and the run."""
    data = document.get("data") or {}
    facts = []
    if data.get("name"):
        facts.append(("data", shortened(data["name"], 60)))
    if data.get("rows") is not None:
        facts.append(("rows × columns", f"{_count(data['rows'])} × {_count(data.get('columns'))}"))  # noqa: RUF001
    if data.get("target"):
        facts.append(("target", shortened(data["target"], 60)))
    classes = data.get("classes")
    if classes:
        names = ", ".join(shortened(label, 20) for label in classes[:6])
        more = ", …" * (len(classes) > 6)
        facts.append((f"{len(classes)} classes", names + more))
    elif data.get("task"):
        facts.append(("task", str(data["task"])))
    seeds = {s["seeds"] for s in summaries if s.get("seeds")}
    if seeds:
        low, high = min(seeds), max(seeds)
        facts.append(("seeds", str(low) if low == high else f"{low} to {high}"))
    return facts


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else value_text(value)


def _table(
    summaries: Sequence[Document],
    looks: Mapping[str, Series],
    measure: Document,
    recommendation: Document,
) -> Table:
    unit = str(measure.get("unit") or "")
    top = best(summaries, measure)
    promises = _promise_names(summaries)
    with_seeds = len({s.get("seeds") for s in summaries}) > 1
    with_settings = any(s.get("chosen") for s in summaries)
    columns = [
        Column("method"),
        Column("width", numeric=True),
        Column(measure_text(measure), numeric=True),
        Column("fit", numeric=True),
        Column("transform", numeric=True),
    ]
    columns += [Column("seeds", numeric=True)] * with_seeds
    columns += [Column(f"bound: {name}", numeric=True) for name in promises]
    columns += [Column("chosen")] * with_settings
    rows = []
    for summary in summaries:
        score = score_text(summary.get("score"), summary.get("standard_error"), unit)
        entries = [
            Entry(str(summary["method"])),
            Entry(str(summary.get("width") or "exact"), number(summary.get("width"))),
            Entry(score, number(summary.get("score"))),
            Entry(seconds_text(summary.get("fit")), number(summary.get("fit"))),
            Entry(seconds_text(summary.get("transform")), number(summary.get("transform"))),
        ]
        if with_seeds:
            seeds = summary.get("seeds")
            entries.append(Entry(str(seeds or MISSING), number(seeds)))
        for name in promises:
            value = number(_promises(summary).get(name, {}).get("value"))
            entries.append(Entry(bound_text(value), value))
        if with_settings:
            entries.append(Entry(settings_text(summary.get("chosen"))))
        advised = _is_advised(summary, recommendation)
        tags = ["best"] * (summary is top) + ["recommended"] * advised
        look = looks[str(summary["method"])]
        rows.append(Row(tuple(entries), look.key, look, tuple(tags)))
    return Table("Results", tuple(columns), tuple(rows))


def _promises(summary: Document) -> dict[str, Document]:
    """The guarantees of a line by their names: of its kernel, and of its decisions."""
    found = (summary.get("guarantee"), summary.get("certificate"))
    return {str(promise.get("name") or "bound"): promise for promise in found if promise}


def _promise_names(summaries: Sequence[Document]) -> list[str]:
    return list(dict.fromkeys(name for s in summaries for name in _promises(s)))


def _says_nothing(promise: Document) -> bool:
    value, trivial = number(promise.get("value")), number(promise.get("uninformative"))
    return value is not None and trivial is not None and value >= trivial


def _guarantees(
    summaries: Sequence[Document], looks: Mapping[str, Series], recommendation: Document
) -> list[Guarantee]:
    """One kind after the other; what all of a kind say is said once, above them."""
    columns = (Column("method"), Column("width", numeric=True), Column("value", numeric=True))
    guarantees = []
    for name in _promise_names(summaries):
        having = [s for s in summaries if name in _promises(s)]
        statements = tuple(
            (_called(s), str(_promises(s)[name].get("statement") or "")) for s in having
        )
        rows = []
        for summary in having:
            promise = _promises(summary)[name]
            value = number(promise.get("value"))
            look = looks[str(summary["method"])]
            entries = (
                Entry(str(summary["method"])),
                Entry(str(summary.get("width") or "exact"), number(summary.get("width"))),
                Entry(bound_text(value), value),
            )
            tags = ("says nothing",) if _says_nothing(promise) else ()
            rows.append(Row(entries, look.key, look, tags))
        alike = len({statement for _, statement in statements}) == 1
        advised = (i for i, s in enumerate(having) if _is_advised(s, recommendation))
        whose, statement = statements[next(advised, 0)]
        guarantees.append(
            Guarantee(
                name,
                "" if alike else whose,
                statement,
                Table(name, columns, tuple(rows)),
                () if alike else statements,
            )
        )
    return guarantees


def _called(summary: Document) -> str:
    width = summary.get("width")
    return f"{summary['method']}, width {width}" if width else str(summary["method"])


def _patches(patches: Sequence[Document], looks: Mapping[str, Series]) -> list[Patches]:
    return [
        Patches(
            str(entry["method"]),
            looks[str(entry["method"])].key if str(entry["method"]) in looks else "",
            str(entry.get("caption") or ""),
            tuple(grey_picture(image) for image in entry.get("images") or ()),
        )
        for entry in patches
    ]


def _cells(
    cells: Sequence[Document], looks: Mapping[str, Series], measure: Document
) -> Table | None:
    if not cells:
        return None
    unit = str(measure.get("unit") or "")
    columns = (
        Column("method"),
        Column("width", numeric=True),
        Column("seed", numeric=True),
        Column(measure_text(measure), numeric=True),
        Column("fit", numeric=True),
        Column("transform", numeric=True),
        Column("whole cell", numeric=True),
        Column("chosen"),
    )
    rows = []
    for cell in cells:
        look = looks.get(str(cell["method"]))
        entries = (
            Entry(str(cell["method"])),
            Entry(str(cell.get("width") or "exact"), number(cell.get("width"))),
            Entry(value_text(cell.get("seed")), number(cell.get("seed"))),
            Entry(score_text(cell.get("score"), unit=unit), number(cell.get("score"))),
            Entry(seconds_text(cell.get("fit")), number(cell.get("fit"))),
            Entry(seconds_text(cell.get("transform")), number(cell.get("transform"))),
            Entry(seconds_text(cell.get("seconds")), number(cell.get("seconds"))),
            Entry(settings_text(cell.get("chosen"))),
        )
        rows.append(Row(entries, look.key if look else "", look))
    return Table("Every cell", columns, tuple(rows))
