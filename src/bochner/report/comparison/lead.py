"""Above the sections: the recommendation in numbers, and a few facts about data and run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bochner.report.comparison.document import Comparison
from bochner.report.comparison.guarantees import bounds_of, is_informative
from bochner.report.numbers import bound_text, seconds_text, shortened, value_text

Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Lead:
    """The recommendation, its reason and numbers, and the facts."""

    sentence: str
    reason: str
    recommended: Facts
    meanings: Mapping[str, str]  # of labels of `recommended`, where the document states them
    facts: Facts
    interrupted: bool


def read_lead(comparison: Comparison) -> Lead:
    recommended, meanings = _recommended(comparison)
    return Lead(
        sentence=str(comparison.recommendation.get("sentence") or ""),
        reason=str(comparison.recommendation.get("reason") or ""),
        recommended=recommended,
        meanings=meanings,
        facts=_facts(comparison),
        interrupted=bool(comparison.document.get("interrupted")),
    )


def _recommended(comparison: Comparison) -> tuple[Facts, dict[str, str]]:
    """How good it is, at what cost, with what guarantee, and what the guarantees state."""
    measure, best = comparison.measure, comparison.best
    facts: list[tuple[str, str]] = []
    meanings = {}
    for summary in filter(comparison.is_recommended, comparison.summaries):
        facts.append((measure.label, measure.text(summary)))
        facts += [(name, seconds_text(summary.get(name))) for name in ("fit", "transform")]
        for name, bound in bounds_of(summary).items():
            if is_informative(bound):
                label = f"bound: {shortened(name)}"
                facts.append((label, bound_text(bound.get("value"))))
                meanings[label] = str(bound.get("statement") or "")
        if best is not None and best is not summary:
            width = f", {best['width']}" if best.get("width") else ""
            label = f"best of all: {shortened(best['method'])}{width}"
            facts.append((label, measure.text(best)))
    return tuple(facts), meanings


def _facts(comparison: Comparison) -> Facts:
    data = comparison.data
    facts = [("data", shortened(data.get("name") or "", 60))]
    if data.get("rows") is not None:
        facts.append(("rows × columns", f"{_count(data['rows'])} × {_count(data.get('columns'))}"))  # noqa: RUF001
    facts.append(("target", shortened(data.get("target") or "", 60)))
    classes = data.get("classes") or ()
    if classes:
        names = ", ".join(shortened(label, 20) for label in classes[:6])
        facts.append((f"{len(classes)} classes", names + ", …" * (len(classes) > 6)))
    else:
        facts.append(("task", str(data.get("task") or "")))
    seeds = {s["seeds"] for s in comparison.summaries if s.get("seeds")}
    if seeds:
        low, high = min(seeds), max(seeds)
        facts.append(("seeds", str(low) if low == high else f"{low} to {high}"))
    return tuple((label, text) for label, text in facts if text)


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else value_text(value)
