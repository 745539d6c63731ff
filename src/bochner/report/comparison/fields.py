"""The columns that the tables of a comparison share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bochner.report.comparison.document import Measure
from bochner.report.numbers import MISSING, number, seconds_text, settings_text, value_text
from bochner.report.tables import Column, Entry, Field


def number_field(key: str, text: Callable[[Any], str] = value_text, title: str = "") -> Field:
    """Return the column of one number of the document."""
    return Field(
        Column(title or key, numeric=True),
        lambda line: Entry(text(line.get(key)), number(line.get(key))),
    )


def score_field(measure: Measure) -> Field:
    return Field(
        Column(measure.label, numeric=True),
        lambda line: Entry(measure.text(line), number(line.get("score"))),
    )


METHOD = Field(Column("method"), lambda line: Entry(str(line["method"])))
WIDTH = number_field("width", lambda width: str(width or MISSING))
FIT, TRANSFORM = number_field("fit", seconds_text), number_field("transform", seconds_text)
CHOSEN = Field(Column("chosen"), lambda line: Entry(settings_text(line.get("chosen"))))
