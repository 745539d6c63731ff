"""Figure 6: accuracy against the number of maps of the last layer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bochner.papers.groups import Groups
from bochner.papers.mukuta import networks
from bochner.papers.mukuta.networks import MERCER, METHODS, RANDOM
from bochner.records.cells import Result
from bochner.records.sections import Claim, Row, Section, chart


def sections(results: Sequence[Result]) -> list[Section]:
    """Report accuracy by the number of maps in the last layer."""
    groups = Groups(results)
    methods = [method for method in METHODS if method in groups.methods]
    return [_section(groups, task, methods) for task in groups.tasks]


def _section(groups: Groups, task: str, methods: Sequence[str]) -> Section:
    widths = groups.xs(task)
    rows: list[Row] = [("approximation", *(f"{width} maps" for width in widths))]
    rows += [(method, *(groups.mean(task, method, w) for w in widths)) for method in methods]
    claim = Claim("with the fewest maps Mercer is more accurate than random features")
    claim.compare(groups.differences(task, widths[0], MERCER, RANDOM), f"{widths[0]} maps")
    line = f"Quantile {networks.QUANTILE:g}; C as in Table 2. Only a picture is published."
    curves = groups.curves(task, methods=methods)
    return Section(
        f"Figure 6: accuracy % with fewer maps, {task}",
        tuple(rows),
        (line,),
        chart("maps of the last layer", "accuracy %", curves),
        claims=(claim,),
    )


FIGURE6 = networks.make_study(
    ("cifar-pm",),
    "cifar-pm",
    item="Figure 6",
    summary="accuracy against the number of maps of the last layer",
    quick_time="40 s",
    full_time="hours",
    collect=partial(
        networks.collect, "maps", full_widths=(200, 400, 600, 800), quick_widths=(40, 80)
    ),
    measure=partial(networks.measure_accuracy, quantiles=(networks.QUANTILE,)),
    sections=sections,
    widths="maps of the last layer",
)
