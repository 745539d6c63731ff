"""The experiments of Mukuta and Harada (CVPR 2016) with kernels, done again, and one more.

As a command (``BOCHNER_DATA`` names the folder of the data files)::

    python -m bochner.papers.mukuta.plan densities --resume densities.jsonl
    python -m bochner.papers.mukuta.plan clusters
    python -m bochner.papers.mukuta.plan images --resume images.jsonl
    python -m bochner.papers.mukuta.plan machines --resume machines.jsonl

``densities`` is Figure 1: the error of the Gram matrix under three densities, which needs no
files. ``clusters`` is not in the paper: data for which one gaussian density is far off.
``images`` has the protocol of Figure 2 on histograms of oriented gradients of CIFAR-10, a
stand-in for network features of ImageNet. ``machines`` is Figures 3 and 4: a ridge regression or a
linear support vector machine on the features of five data sets. Of the published figures there
are only pictures; what the paper says about them is checked and printed below each table.

``--quick`` is a small version of each study, and ``--resume`` keeps results on file, as in
:mod:`bochner.papers.bullins.plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bochner.papers.command import add_options, even, new_parser, run_and_report
from bochner.papers.mukuta.measures import (
    CHOSEN,
    CLASSIFICATION,
    MERCER,
    METHODS,
    NUMBERS,
    NYSTROEM,
    ORTHOGONAL,
    RANDOM,
    RERANKED,
    YEARS,
    measure,
)
from bochner.papers.mukuta.tables import REPORTS
from bochner.records.cells import Cell

COMMON = (RANDOM, ORTHOGONAL, NYSTROEM, MERCER, RERANKED)
MIXTURES = tuple(f"{kind} {m}" for kind in ("weighted", "mixture") for m in (4, 16, 64))


@dataclass(frozen=True)
class Plan:
    """Which cells a study has; `quick_rows` are the rows of the small version."""

    help: str
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    widths: tuple[int, ...] = (40, 160, 640, 2560)
    seeds: int = 10
    quick_widths: tuple[int, ...] = (40, 160)
    quick_rows: int = 1000
    quick_methods: tuple[str, ...] = ()  # all, if none is named


PLANS = {
    "densities": Plan(
        "three densities in ten dimensions (Figure 1)",
        ("gaussian", "laplace", "uniform"),
        (*COMMON, *MIXTURES),
        quick_methods=(*COMMON, "weighted 16", "mixture 16"),
    ),
    "clusters": Plan(
        "eight clusters in ten dimensions",
        ("clusters",),
        (*COMMON, "weighted 4", "mixture 4", "mixture 8", "mixture 16"),
        widths=(40, 160, 640),
    ),
    "images": Plan(
        "CIFAR-10 as histograms of oriented gradients (protocol of Figure 2)",
        ("cifar10_hog",),
        COMMON,
        widths=(40, 160, 640, 2560, 10240),
        seeds=5,
    ),
    "machines": Plan(
        "linear machines on five data sets (Figures 3 and 4)",
        (*(task for task in NUMBERS if task != YEARS), *CLASSIFICATION),
        (RANDOM, ORTHOGONAL, NYSTROEM, MERCER, CHOSEN),
    ),
}


def cells(
    study: str,
    tasks: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    widths: Sequence[int] | None = None,
    seeds: int | None = None,
    quick: bool = False,
) -> list[Cell]:
    """The cells of a study; what is None is as planned.

    Examples
    --------
    >>> from bochner.papers.mukuta.plan import cells
    >>> len(cells("densities")), len(cells("images", methods=["Mercer"], widths=[40], seeds=1))
    (1320, 1)
    """
    plan = PLANS[study]
    n_seeds = seeds if seeds is not None else 2 if quick else plan.seeds
    return [
        Cell(study, task, method, width, seed, plan.quick_rows if quick else None)
        for task in tasks or plan.tasks
        for seed in range(n_seeds)
        for method in methods or (plan.quick_methods if quick else ()) or plan.methods
        for width in widths or (plan.quick_widths if quick else plan.widths)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a study from the command line and print its table."""
    parser = new_parser("bochner.papers.mukuta.plan", "Mukuta and Harada (CVPR 2016) with kernels")
    studies = parser.add_subparsers(dest="study", required=True)
    for name, plan in PLANS.items():
        study = studies.add_parser(name, help=plan.help)
        add_options(study, plan.tasks, plan.seeds, "few rows, two seeds, two widths")
        study.add_argument(
            "--methods",
            nargs="+",
            choices=METHODS,
            metavar="METHOD",
            help=f"of {', '.join(map(repr, METHODS))} (default: {', '.join(plan.methods)})",
        )
        study.add_argument(
            "--widths",
            nargs="+",
            type=even,
            help=f"columns (default: {' '.join(map(str, plan.widths))})",
        )
    options = parser.parse_args(arguments)

    planned = cells(
        options.study,
        getattr(options, "tasks", None),
        options.methods,
        options.widths,
        options.seeds,
        options.quick,
    )
    run_and_report(parser, options, planned, measure, REPORTS)


if __name__ == "__main__":
    main()
