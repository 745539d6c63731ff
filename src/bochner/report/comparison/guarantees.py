"""The guarantees of a comparison: the bounds of each kind, and what they state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bochner.report.comparison.document import Comparison, Line
from bochner.report.comparison.fields import METHOD, WIDTH
from bochner.report.numbers import bound_text, number
from bochner.report.section import Section
from bochner.report.tables import Column, Entry, Field, Table


@dataclass(frozen=True)
class Guarantee:
    """One kind of guarantee, and the methods that have it.

    If the statements differ, even if only in their numbers, `statement` is that of `owner`, and
    `statements` has all of them with their owners.
    """

    name: str
    owner: str
    statement: str
    table: Table
    statements: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Guarantees(Section):
    """All kinds, and why the kernels of some methods have none."""

    template: ClassVar[str] = "guarantees.html"
    guarantees: tuple[Guarantee, ...]
    reasons: tuple[str, ...] = ()


def guarantees_section(comparison: Comparison) -> Guarantees:
    kinds = tuple(_guarantee(comparison, name) for name in bound_names(comparison.summaries))
    return Guarantees(
        name="guarantees",
        heading="What is guaranteed",
        guarantees=kinds,
        reasons=_reasons(comparison.summaries),
    )


def _reasons(summaries: Sequence[Line]) -> tuple[str, ...]:
    """Return the reasons why kernels have no guarantee, each with the methods it applies to."""
    methods: dict[str, dict[str, None]] = {}
    for summary in summaries:
        if summary.get("no_guarantee"):
            methods.setdefault(str(summary["no_guarantee"]), {})[str(summary["method"])] = None
    return tuple(f"{', '.join(names)}: {reason}." for reason, names in methods.items())


def bounds_of(summary: Line) -> dict[str, Mapping[str, Any]]:
    """Return the guarantees of a summary by name: of its kernel, and of its decisions."""
    bounds = (summary.get("guarantee"), summary.get("certificate"))
    return {str(bound.get("name") or "bound"): bound for bound in bounds if bound}


def bound_names(summaries: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(name for summary in summaries for name in bounds_of(summary)))


def bound_field(name: str, title: str) -> Field:
    """Return the column of the bounds of one name."""

    def entry(summary: Line) -> Entry:
        value = number(bounds_of(summary).get(name, {}).get("value"))
        return Entry(bound_text(value), value)

    return Field(Column(title, numeric=True), entry)


def is_informative(bound: Mapping[str, Any]) -> bool:
    """Whether a bound says more than one that always holds."""
    value, trivial = number(bound.get("value")), number(bound.get("uninformative"))
    return value is None or trivial is None or value < trivial


def _guarantee(comparison: Comparison, name: str) -> Guarantee:
    """Collect a guarantee; a statement that all methods share is made once, above them."""
    having = [s for s in comparison.summaries if name in bounds_of(s)]
    statements = tuple((_owner(s), str(bounds_of(s)[name].get("statement") or "")) for s in having)
    fields = [METHOD, WIDTH, bound_field(name, "value")]
    tags = (() if is_informative(bounds_of(s)[name]) else ("says nothing",) for s in having)
    lines = zip(having, map(comparison.look, having), tags, strict=True)
    alike = len({statement for _, statement in statements}) == 1
    recommended = (i for i, s in enumerate(having) if comparison.is_recommended(s))
    owner, statement = statements[next(recommended, 0)]
    table = Table.of(name, fields, lines)
    return Guarantee(name, "" if alike else owner, statement, table, () if alike else statements)


def _owner(summary: Line) -> str:
    width = summary.get("width")
    return f"{summary['method']}, width {width}" if width else str(summary["method"])
