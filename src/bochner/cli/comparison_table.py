"""The output of `compare`: the table, what is guaranteed, and how to read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table as Grid

from bochner.records.statistics import format_mean

_OVER_SPLITS = " ± is the standard error over the splits, which share rows"
_ERRORS = {  # keyed by what the errors of the lines are over
    frozenset({"splits"}): f"{_OVER_SPLITS}.",
    frozenset({"rows"}): " ± is the standard error over the test rows.",
    frozenset({"splits", "rows"}): f"{_OVER_SPLITS}; of what has one split, over its test rows.",
}
_WIDE = 100  # characters of a screen with room for every column of the table


def make_grid(document: Mapping[str, Any], screen: int) -> Grid:
    """Return a table with one line per method and width, for a screen of this many characters."""
    measure, summaries = document["measure"], document["summaries"]
    best = max(summary["score"] for summary in summaries)
    digits = 1 if measure["unit"] == "%" else 3
    classes = document["data"]["task"] == "classification"
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("method", no_wrap=True)
    titles = ["columns", f"{measure['name']} {measure['unit']}".strip(), "fit s", "transform s"]
    for title in titles + ["error ≤ %"] * classes:
        grid.add_column(title, justify="right", no_wrap=title != "balanced accuracy %")
    shows_kernel = screen >= _WIDE
    if shows_kernel:
        grid.add_column("of the kernel")
    previous: Mapping[str, Any] = {}
    for summary in summaries:
        if previous and previous["method"] != summary["method"]:
            grid.add_section()
        score = format_mean(summary["score"], summary["standard_error"], f".{digits}f")
        row = [
            _label(summary, previous),
            str(summary["width"] or "-"),
            f"[bold]{score}[/bold]" if summary["score"] == best else score,
            f"{summary['fit']:.2f}",
            f"{summary['transform']:.4f}",
        ]
        guarantee, certificate = summary["guarantee"], summary["certificate"]
        if classes:
            row.append("" if certificate is None else f"{100 * certificate['value']:.1f}")
        if shows_kernel:
            row.append("" if guarantee == certificate else _of_the_kernel(guarantee))
        grid.add_row(*row)
        previous = summary
    return grid


def _label(summary: Mapping[str, Any], previous: Mapping[str, Any]) -> str:
    """Return the method of a line, as far as it differs from the line before."""
    if summary["method"] == previous.get("method"):
        return ""
    same = summary.get("metric") and summary["entry"] == previous.get("entry")
    return "  after a metric" if same else summary["method"]


def guarantee_lines(document: Mapping[str, Any]) -> list[str]:
    """State what is guaranteed for the recommended method, and why its kernel has no guarantee."""
    advice = document["recommendation"]
    summary = next(
        one
        for one in document["summaries"]
        if (one["method"], one["width"]) == (advice["method"], advice["width"])
    )
    guarantees = [one for one in (summary["certificate"], summary["guarantee"]) if one]
    lines = [f"Guaranteed: {one['statement']}" for one in guarantees if _says_something(one)]
    if summary["no_guarantee"]:
        lines.append(f"No guarantee for its kernel: {summary['no_guarantee']}.")
    return list(dict.fromkeys(lines))


def _says_something(guarantee: Mapping[str, Any]) -> bool:
    return bool(guarantee["value"] < guarantee["uninformative"])


def _of_the_kernel(guarantee: Mapping[str, Any]) -> str:
    text = f"{guarantee['name']} ≤ {guarantee['value']:.3f}"
    return text if _says_something(guarantee) else f"{text}: says nothing"


def footnote(document: Mapping[str, Any]) -> str:
    """Explain how to read the table."""
    summaries = document["summaries"]
    errors = {summary.get("error_over") for summary in summaries}
    lines = [
        "Gamma, C and posteriors were chosen on held-out training rows."
        + _ERRORS.get(frozenset(errors - {None}), "")
        + " Fit is the time in seconds for everything done with the training rows, including the "
        "choice of settings; transform is that for the features and decisions of the test rows."
    ]
    if any(summary["certificate"] for summary in summaries):
        lines.append(
            "Error ≤: on new rows, with probability 0.95 for all lines at once, of the models of "
            "the first split, from its test rows; fit trains again on all rows."
        )
    if any(summary["guarantee"] != summary["certificate"] for summary in summaries):
        lines.append(
            "What is guaranteed of the kernels, with probability 0.95 each, is in the results and "
            "on the page."
        )
    return " ".join(lines)
