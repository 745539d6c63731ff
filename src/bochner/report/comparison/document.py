"""A results document of the kind "comparison", read once for all parts of its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bochner.report.numbers import number, score_text
from bochner.report.series import Series, method_series

# A summary of a method at a width, or one cell of it: an object of the document.
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Measure:
    """Name, unit and direction of the scores."""

    name: str
    unit: str = ""
    higher_is_better: bool = True

    @property
    def label(self) -> str:
        return f"{self.name}, {self.unit}" if self.unit else self.name

    @property
    def title(self) -> str:
        return self.name[:1].upper() + self.name[1:]

    def text(self, line: Line) -> str:
        """Format the score of a line, with its standard error if it has one."""
        return score_text(line.get("score"), line.get("standard_error"), self.unit)


class Comparison:
    """The parts of a document that sections share; None and NaN stand for what is missing."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.summaries: list[Line] = list(document.get("summaries") or [])
        self.cells: list[Line] = list(document.get("cells") or [])
        self.data: Mapping[str, Any] = document.get("data") or {}
        self.pictures: Mapping[str, Any] = document.get("pictures") or {}
        self.recommendation: Mapping[str, Any] = document.get("recommendation") or {}
        self.looks: dict[str, Series] = method_series(
            (str(s["method"]), bool(s.get("baseline"))) for s in self.summaries
        )
        measure = document.get("measure") or {}
        name = str(measure.get("name") or "score")
        self.measure = Measure(
            "R²" if name == "R2" else name,
            str(measure.get("unit") or ""),
            bool(measure.get("higher_is_better", True)),
        )

    @property
    def best(self) -> Line | None:
        """The summary with the best score, None if no score is a number."""
        scored = [s for s in self.summaries if number(s.get("score")) is not None]
        pick = max if self.measure.higher_is_better else min
        return pick(scored, key=lambda s: float(s["score"]), default=None)

    @property
    def widths(self) -> list[int]:
        return sorted({int(s["width"]) for s in self.summaries if s.get("width")})

    @property
    def has_errors(self) -> bool:
        return any(number(s.get("standard_error")) is not None for s in self.summaries)

    def is_recommended(self, summary: Line) -> bool:
        wanted = self.recommendation.get("method"), self.recommendation.get("width")
        return (summary["method"], summary.get("width")) == wanted

    def look(self, line: Line) -> Series | None:
        """Return the look of the method of a line, None for one without a summary."""
        return self.looks.get(str(line["method"]))

    def key(self, line: Line) -> str:
        look = self.look(line)
        return look.key if look else ""
