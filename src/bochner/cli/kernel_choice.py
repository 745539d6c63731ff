"""The report of `fit` on a kernel model: what was chosen, and the alternatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bochner.cli.console import score_text
from bochner.models.training import Trained

_SHOWN_COLUMNS = 3


def choice_lines(trained: Trained, task: str) -> Iterator[str]:
    """Yield lines that describe a kernel model: scaling, metric, kernel, important columns."""
    chosen, tried = trained.chosen, trained.tried
    measure = "accuracy" if task == "classification" else "R2"
    coarse = [one for one in tried if _size(one) == _size(tried[0])]
    plain = [one for one in coarse if one["metric"] is None]
    first = [
        one
        for one in coarse
        if one["scaling"] == chosen["scaling"] and one["kernel"] == tried[0]["kernel"]
    ]
    others = [one for one in tried if one["kernel"] != tried[0]["kernel"]]
    same = [
        one
        for one in tried
        if others
        and _size(one) == _size(others[0])
        and (one["scaling"], one["metric"]) == (others[0]["scaling"], others[0]["metric"])
    ]
    if chosen["all_rows"]:
        kernel = f"{chosen['kernel']}, exact: all rows are landmarks"
    else:
        kernel = f"{chosen['kernel']}, by {chosen['features']}, {chosen['n_components']} columns"
    if chosen["bandwidth"] is not None:
        kernel += f", bandwidth {chosen['bandwidth']:g} times the median distance"
    held_out = f"{score_text(measure, chosen['score'])} on the rows it was chosen on"
    by = ", by their logistic loss" if task == "classification" else ""
    yield f"Kernel model, {held_out}{by}:"
    yield f"  scaling {chosen['scaling']}{_among('scaling', plain, measure)}"
    yield f"  metric {_name(chosen['metric'])}{_among('metric', first, measure)}"
    yield f"  kernel {kernel}{_among('kernel', same, measure)}"
    yield f"  penalty {chosen['penalty']:g} per row"
    if (other := chosen["averaged_with"]) is not None:
        parts = f"{other['kernel']}, metric {_name(other['metric'])}, scaling {other['scaling']}"
        yield f"  its mean with a second model, which errs on other rows: kernel {parts}"
    if trained.importances:
        shown = trained.importances[:_SHOWN_COLUMNS]
        columns = ", ".join(f"{name} {value:.2f}" for name, value in shown)
        yield f"  columns that matter most: {columns}"


def _size(one: Mapping[str, Any]) -> tuple[int, int]:
    """Return the rows and columns of a trial: only trials of equal size can be compared."""
    return one["n_rows"], one["n_components"]


def _among(part: str, tried: Sequence[Mapping[str, Any]], measure: str) -> str:
    """Return the best score of each option tried, as text; empty if there is only one."""
    best: dict[str, float] = {}
    for one in tried:
        name = _name(one[part])
        best[name] = max(one["score"], best.get(name, one["score"]))
    if len(best) < 2:
        return ""
    digits = ".3f" if measure == "R2" else ".1%"
    return f" ({', '.join(f'{name} {score:{digits}}' for name, score in best.items())})"


def _name(value: str | None) -> str:
    return "none" if value is None else value
