"""What `fit` says of a kernel model: what was chosen, and what it was chosen over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bochner.cli.console import score_text
from bochner.models.training import Trained

_SHOWN_COLUMNS = 3


def choice_lines(trained: Trained, task: str) -> Iterator[str]:
    """Lines about a kernel model: scaling, metric, kernel, and the columns that matter."""
    chosen, tried = trained.chosen, trained.tried
    measure = "accuracy" if task == "classification" else "R2"
    coarse = [one for one in tried if one["n_components"] == tried[0]["n_components"]]
    plain = [one for one in coarse if one["metric"] is None]
    turned = [one for one in coarse if one["scaling"] == chosen["scaling"]]
    first = [one for one in turned if one["kernel"] == tried[0]["kernel"]]
    same = [one for one in turned if one["metric"] == chosen["metric"]]
    width = trained.pipeline.named_steps["map"].n_components
    kernel = f"{chosen['kernel']}, by {chosen['features']} with {width} columns"
    if chosen["bandwidth"] is not None:
        kernel += f", bandwidth {chosen['bandwidth']:g} times the median distance"
    held_out = f"{score_text(measure, chosen['score'])} on the rows it was chosen on"
    by = ", by their logistic loss" if task == "classification" else ""
    yield f"Kernel model, {held_out}{by}:"
    yield f"  scaling {chosen['scaling']}{_among('scaling', plain, measure)}"
    yield f"  metric {_name(chosen['metric'])}{_among('metric', first, measure)}"
    yield f"  kernel {kernel}{_among('kernel', same, measure)}"
    yield f"  penalty {chosen['penalty']:g} per row"
    if trained.importances:
        shown = trained.importances[:_SHOWN_COLUMNS]
        columns = ", ".join(f"{name} {value:.2f}" for name, value in shown)
        yield f"  columns that matter most: {columns}"


def _among(part: str, tried: Sequence[Mapping[str, Any]], measure: str) -> str:
    """The best score of every option that was looked at, where there are several."""
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
