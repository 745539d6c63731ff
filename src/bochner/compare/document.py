"""The results of a comparison, as one document of plain values: for people, pages and programs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from bochner.compare.advice import counting_rows, guess_score, recommend, still_rising
from bochner.compare.guarantees import balanced_error, error_rate
from bochner.compare.plan import METRIC, Setup, line_name, line_of, plan_cells
from bochner.compare.race import error_by_rows, is_decided, set_aside
from bochner.models.methods import METHODS
from bochner.models.preparation import preparation_notes
from bochner.records.cells import Cell, Result
from bochner.records.files import plain_values
from bochner.records.provenance import machine, versions
from bochner.records.statistics import mean_and_error


def measure_of(setup: Setup) -> dict[str, Any]:
    """Return the name and unit of what is measured."""
    name = setup.measure.name.replace("-", " ")
    return {"name": name, "unit": setup.measure.unit, "higher_is_better": True}


def summarise(setup: Setup, results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return a line for each method and width: means over the splits, and guarantees."""
    order = list(METHODS)
    groups: dict[tuple[int, bool, int], list[Result]] = {}
    for result in results:
        cell = result.cell
        after_metric = cell.setting(METRIC) is not None
        key = order.index(cell.method), after_metric, cell.width or 0
        groups.setdefault(key, []).append(result)
    first = [result for result in results if result.cell.seed == 0]
    n_splits = len({result.cell.seed for result in results})
    aside = set_aside(results) if n_splits > 1 or is_decided(results) else {}

    def is_aside(group: Sequence[Result]) -> bool:
        line = line_of(group[0].cell)  # unless all splits were asked for, or ran ahead
        return line in aside and len(group) <= max(aside[line], n_splits - 1)

    return [
        _summary(setup, groups[key], len(first), is_aside(groups[key])) for key in sorted(groups)
    ]


def wider_cells(setup: Setup, results: Sequence[Result]) -> list[Cell]:
    """Return the cells of twice the width, if the best map still gets better with its columns.

    Empty if it does not, or if the method cannot have that many.
    """
    n_test = counting_rows(setup, int(results[0].details["n_test"]))
    overlap = overlap_of(setup, results[0])
    rising = still_rising(summarise(setup, results), measure_of(setup), n_test, overlap)
    if rising is None:
        return []
    wide = rising[0]
    seeds = 1 + max(result.cell.seed for result in results)
    modes = setup if wide["metric"] is None else replace(setup, metric=wide["metric"])
    cells, _ = plan_cells(modes, [wide["entry"]], [2 * wide["width"]], seeds)
    return [cell for cell in cells if cell.setting(METRIC) == wide["metric"]]


def _summary(
    setup: Setup, group: Sequence[Result], n_certified: int, is_aside: bool
) -> dict[str, Any]:
    cell = group[0].cell
    scores = {str(result.cell.seed): setup.measure.factor * result.score for result in group}
    score, error = mean_and_error(list(scores.values()), overlap_of(setup, group[0]))
    first = next((result for result in group if result.cell.seed == 0), None)
    over = "splits"
    if math.isnan(error):
        over, error = "rows", setup.measure.factor * error_by_rows(group[0])
    guarantee = no_guarantee = certificate = None
    if first is not None:
        guarantee = first.details["guarantee"]
        no_guarantee = first.details.get("no_guarantee")
        errors: Any = first.details["errors"]
        by_class: Any = first.details.get("class_errors")
        if setup.measure.balanced and by_class is not None:
            certificate = balanced_error(by_class, n_certified).as_dict()
        elif errors is not None:
            n_test = int(first.details["n_test"])
            certificate = error_rate(errors, n_test, n_certified).as_dict()
    return {
        "method": line_name(cell),
        "entry": cell.method,
        "metric": cell.setting(METRIC),
        "width": cell.width,
        "score": score,
        "standard_error": None if math.isnan(error) else error,
        "error_over": None if math.isnan(error) else over,
        "seeds": len(group),
        "set_aside": is_aside,
        "scores": scores,
        "fit": float(np.mean([result.fit for result in group])),
        "transform": float(np.mean([result.details["transform"] for result in group])),
        "baseline": METHODS[cell.method].baseline,
        "guarantee": guarantee or certificate,
        "no_guarantee": no_guarantee,
        "certificate": certificate,
        "chosen": _typical([result.details["chosen"] for result in group]),
    }


def overlap_of(setup: Setup, result: Result) -> float:
    """Return the test rows per training row: how far random splits share their rows."""
    n_test = int(result.details["n_test"])
    return n_test / max(len(setup.table.y) - n_test, 1)


def _typical(chosen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the median of every setting, or its most frequent value."""
    typical: dict[str, Any] = {}
    for name in chosen[0]:
        values = [settings.get(name) for settings in chosen]
        numbers = [value for value in values if isinstance(value, (int, float))]
        if len(numbers) == len(values):
            typical[name] = float(np.median(numbers))
        else:
            typical[name] = Counter(map(repr, values)).most_common(1)[0][0].strip("'")
    return typical


def make_document(
    setup: Setup,
    results: Sequence[Result],
    *,
    command: str,
    seconds: float,
    left_out: Sequence[str] = (),
    interrupted: bool = False,
    pictures: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build the whole document, of plain values that JSON can hold.

    There must be at least one result; `seconds` is the time taken by this run, `left_out` lists
    what was not measured and why, and `interrupted` is whether cells are missing.
    """
    table = setup.table
    measure = measure_of(setup)
    summaries = summarise(setup, results)
    factor = setup.measure.factor
    n_test = counting_rows(setup, int(results[0].details["n_test"]))
    cells = [
        {
            "method": line_name(result.cell),
            "metric": result.cell.setting(METRIC),
            "width": result.cell.width,
            "seed": result.cell.seed,
            "score": factor * result.score,
            "fit": result.fit,
            "transform": result.details["transform"],
            "seconds": result.seconds,
            "chosen": result.details["chosen"],
            "guarantee": result.details["guarantee"],
            "no_guarantee": result.details.get("no_guarantee"),
        }
        for result in results
    ]
    classes = None
    if table.task == "classification":
        classes = [str(label) for label in np.unique(table.y)]
    document = {
        "kind": "comparison",
        "version": 1,
        "title": f"Kernels compared on {table.name}",
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": seconds,
        "versions": versions(),
        "machine": machine(str(setup.device)),
        "data": {
            "name": table.name,
            "rows": len(table.y),
            "columns": table.X.shape[1],
            "task": table.task,
            "classes": classes,
            "target": table.target,
            "image_shape": table.image_shape,
            "notes": [*table.notes, *preparation_notes(table.X, table.image_shape)],
        },
        "measure": measure,
        "summaries": summaries,
        "cells": cells,
        "recommendation": recommend(
            summaries,
            measure,
            n_test,
            guess_score(setup),
            complete=not interrupted,
            overlap=overlap_of(setup, results[0]),
        ),
        "left_out": list(left_out),
        "interrupted": interrupted,
        "metric": next((r.details[METRIC] for r in results if METRIC in r.details), None),
        "pictures": dict(pictures or {}),
    }
    plain: dict[str, Any] = plain_values(document)
    return plain
