"""The experiments of Bullins, Zhang and Zhang (ICLR 2018), done again, and two more.

As a command (``BOCHNER_DATA`` names the folder of the data files)::

    python -m bochner.papers.bullins.plan table1 --resume table1.jsonl
    python -m bochner.papers.bullins.plan windmill
    python -m bochner.papers.bullins.plan checkerboard
    python -m bochner.papers.bullins.plan digits
    python -m bochner.papers.bullins.plan regression

``table1`` puts learned and random features, with a linear machine on top, beside the published
figures on eight pairs of classes. ``windmill`` and ``checkerboard`` are the pictures of the plane
and of the sphere; they need no files. ``digits`` (ten classes) and ``regression`` are not in the
paper. Random features are always tuned: a narrower bandwidth alone closes much of some gaps.

With ``--resume`` every cell is written to a file as soon as it is done, and the same command
started again does only what is missing. A result on file does not know which version of a method
made it: take a new file when a method has changed. ``--quick`` is a small version of each study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bochner.data.local import PAIRS, REGRESSION
from bochner.papers.bullins.measures import (
    ARCCOSINE_SVM,
    OURS,
    RANDOM,
    RBF_MEDIAN,
    RBF_QUARTER,
    RBF_SVM,
    measure,
)
from bochner.papers.bullins.tables import REPORTS
from bochner.papers.command import (
    add_options,
    even,
    new_parser,
    positive,
    run_and_report,
)
from bochner.records.cells import Cell


@dataclass(frozen=True)
class Plan:
    """Which cells a study has.

    `widths` are those of ours and `random_widths` those of random features, in columns, except
    that the windmill counts frequencies; `match` adds the former to the latter. `machines` are
    kernel machines, which have no width. The `quick` figures are of the small version.
    """

    help: str
    tasks: tuple[str, ...]
    widths: tuple[int, ...]
    random_widths: tuple[int, ...] = ()
    match: bool = True
    machines: tuple[str, ...] = ()
    columns_each: int = 1
    quick_widths: tuple[int, ...] = (100,)
    quick_random_widths: tuple[int, ...] = ()
    quick_rows: int = 1000
    seeds: int = 3


PLANS = {
    "table1": Plan(
        "eight pairs of classes beside the published figures",
        tuple(PAIRS),
        (100, 500, 1000),
        random_widths=(5000,),
        quick_random_widths=(500,),
    ),
    "windmill": Plan(
        "bent arms in the plane",
        ("calibrated", "W2", "W4"),
        (30, 100, 300, 1000),
        machines=(RBF_MEDIAN, RBF_QUARTER),
        columns_each=2,
        quick_widths=(30,),
    ),
    "checkerboard": Plan(
        "fields on the sphere",
        ("sphere",),
        (100,),
        match=False,
        machines=(ARCCOSINE_SVM, RBF_SVM),
    ),
    "digits": Plan(
        "all ten digits of MNIST",
        ("mnist",),
        (100, 200, 500, 1000),
        random_widths=(100, 500, 1000, 4000),
        match=False,
        quick_random_widths=(100, 500),
        quick_rows=3000,
    ),
    "regression": Plan(
        "numbers to predict",
        tuple(REGRESSION),
        (50, 100, 200, 500),
        random_widths=(100, 200, 500, 1000, 2000),
        match=False,
        quick_widths=(50,),
        quick_random_widths=(100,),
    ),
}


def cells(
    study: str,
    tasks: Sequence[str] | None = None,
    widths: Sequence[int] | None = None,
    seeds: int | None = None,
    quick: bool = False,
    random_widths: Sequence[int] | None = None,
) -> list[Cell]:
    """The cells of a study; what is None is as planned.

    Examples
    --------
    >>> from bochner.papers.bullins.plan import cells
    >>> len(cells("table1")), len(cells("table1", tasks=["mnist49"], widths=[100], seeds=1))
    (168, 3)
    """
    plan = PLANS[study]
    widths = tuple(widths or (plan.quick_widths if quick else plan.widths))
    if random_widths is None:
        random_widths = plan.quick_random_widths if quick else plan.random_widths
        random_widths = tuple(dict.fromkeys((*(widths if plan.match else ()), *random_widths)))
    n_seeds = seeds if seeds is not None else 1 if quick else plan.seeds
    max_train = plan.quick_rows if quick else None
    methods: list[tuple[str, int | None]] = [
        *((RANDOM, plan.columns_each * width) for width in random_widths),
        *((OURS, plan.columns_each * width) for width in widths),
        *((machine, None) for machine in plan.machines),
    ]
    return [
        Cell(study, task, method, width, seed, max_train)
        for task in (plan.tasks if tasks is None else tasks)
        for seed in range(n_seeds)
        for method, width in methods
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a study from the command line and print its table."""
    parser = new_parser("bochner.papers.bullins.plan", "Bullins, Zhang and Zhang (ICLR 2018)")
    studies = parser.add_subparsers(dest="study", required=True)
    for name, plan in PLANS.items():
        study = studies.add_parser(name, help=plan.help)
        add_options(study, plan.tasks, plan.seeds, "few rows, one seed, one width")
        if name != "checkerboard":
            study.add_argument(
                "--widths",
                nargs="+",
                type=even if plan.columns_each == 1 else positive,
                help=f"{'columns' if plan.columns_each == 1 else 'frequencies'} of our features "
                f"(default: {' '.join(map(str, plan.widths))})",
            )
            study.add_argument(
                "--random-widths",
                nargs="+",
                type=even if plan.columns_each == 1 else positive,
                help="the same of random features; thousands take minutes a cell",
            )
    options = parser.parse_args(arguments)

    planned = cells(
        options.study,
        getattr(options, "tasks", None),
        getattr(options, "widths", None),
        options.seeds,
        options.quick,
        getattr(options, "random_widths", None),
    )
    run_and_report(parser, options, planned, measure, REPORTS)


if __name__ == "__main__":
    main()
