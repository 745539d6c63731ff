"""The experiments of Mukuta and Harada (CVPR 2016) with kernels, done again, and one more.

As a command (``BOCHNER_DATA`` names the folder of the data files)::

    python -m bochner.experiments.mukuta densities --resume densities.jsonl
    python -m bochner.experiments.mukuta clusters
    python -m bochner.experiments.mukuta images --resume images.jsonl
    python -m bochner.experiments.mukuta machines --resume machines.jsonl

``densities`` is Figure 1: the error of the Gram matrix under three densities, which needs no
files. ``clusters`` is not in the paper: data for which one gaussian density is far off.
``images`` has the protocol of Figure 2 on histograms of oriented gradients of CIFAR-10, a
stand-in for network features of ImageNet. ``machines`` is Figures 3 and 4: a ridge regression or a
linear support vector machine on the features of five data sets. Of the published figures there
are only pictures; what the paper says about them is checked and printed below each table.

``--quick`` is a small version of each study, and ``--resume`` keeps results on file, as in
:mod:`bochner.experiments.bullins`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bochner.experiments.cells import Cell, Notebook, run
from bochner.experiments.mukuta_measures import (
    CLASSIFICATION,
    MERCER,
    METHODS,
    NUMBERS,
    NYSTROEM,
    ORTHOGONAL,
    RANDOM,
    RERANKED,
    measure,
)
from bochner.experiments.mukuta_tables import REPORTS

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


PLANS = {
    "densities": Plan(
        "three densities in ten dimensions (Figure 1)",
        ("gaussian", "laplace", "uniform"),
        (*COMMON, *MIXTURES),
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
        (*NUMBERS, *CLASSIFICATION),
        (RANDOM, ORTHOGONAL, NYSTROEM, MERCER),
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
    >>> from bochner.experiments.mukuta import cells
    >>> len(cells("densities")), len(cells("images", methods=["Mercer"], widths=[40], seeds=1))
    (1320, 1)
    """
    plan = PLANS[study]
    n_seeds = seeds if seeds is not None else 2 if quick else plan.seeds
    return [
        Cell(study, task, method, width, seed, plan.quick_rows if quick else None)
        for task in tasks or plan.tasks
        for seed in range(n_seeds)
        for method in methods or plan.methods
        for width in widths or (plan.quick_widths if quick else plan.widths)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a study from the command line and print its table."""
    parser = argparse.ArgumentParser(
        prog="python -m bochner.experiments.mukuta",
        description="The experiments of Mukuta and Harada (CVPR 2016) with kernels, done again. "
        "The environment variable BOCHNER_DATA names the folder of the data files.",
    )
    studies = parser.add_subparsers(dest="study", required=True)
    for name, plan in PLANS.items():
        study = studies.add_parser(name, help=plan.help)
        if len(plan.tasks) > 1:
            study.add_argument(
                "--tasks", nargs="+", choices=plan.tasks, metavar="TASK", help="(default: all)"
            )
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
            type=_even,
            help=f"columns (default: {' '.join(map(str, plan.widths))})",
        )
        study.add_argument("--seeds", type=_positive, help=f"how many (default: {plan.seeds})")
        study.add_argument("--jobs", type=_positive, default=1, help="processes (default: 1)")
        study.add_argument(
            "--resume",
            type=Path,
            metavar="FILE",
            help="results as JSON lines; what is in it is not measured again",
        )
        study.add_argument("--quick", action="store_true", help="few rows, two seeds, two widths")
    options = parser.parse_args(arguments)

    planned = cells(
        options.study,
        getattr(options, "tasks", None),
        options.methods,
        options.widths,
        options.seeds,
        options.quick,
    )
    try:
        results = run(planned, measure, Notebook(options.resume), options.jobs)
    except FileNotFoundError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    print(REPORTS[options.study](results))


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def _even(text: str) -> int:
    value = _positive(text)
    if value % 2:
        raise argparse.ArgumentTypeError(f"must be even (a cosine and a sine each), got {value}")
    return value


if __name__ == "__main__":
    main()
