"""The image experiments of Mukuta and Harada (CVPR 2016), done again.

As a command (``BOCHNER_DATA`` names the folder of the data files)::

    python -m bochner.papers.mukuta.networks_plan table2 --device cuda --resume table2.jsonl
    python -m bochner.papers.mukuta.networks_plan maps --device cuda
    python -m bochner.papers.mukuta.networks_plan covariance

``table2`` puts a linear machine on the features of convolutional kernel networks, with four
approximations of the patch kernel in the same architectures, on all images of MNIST and CIFAR-10.
``maps`` is Figure 6: fewer maps in the last layer. ``covariance`` is Figure 5: how far from
diagonal the covariance of the last layer's features is. CIFAR-100 and SVHN are left out: their
images are not among the data files.

``--quick`` is a small version of each study on few images, and ``--resume`` keeps results on file,
as in :mod:`bochner.papers.bullins.plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bochner.papers.command import add_options, even, new_parser, run_and_report
from bochner.papers.mukuta.networks_measures import GIBIBYTE, METHODS, measure
from bochner.papers.mukuta.networks_tables import REPORTS
from bochner.records.cells import Cell


@dataclass(frozen=True)
class Plan:
    """Which cells a study has; `quick_images` train in the small version, half as many test."""

    help: str
    tasks: tuple[str, ...]
    quick_tasks: tuple[str, ...]
    widths: tuple[int | None, ...] = (None,)
    quick_widths: tuple[int | None, ...] = (None,)
    seeds: int = 2
    quick_images: int = 600


PLANS = {
    "table2": Plan(
        "linear machines on network features (Table 2)",
        ("mnist-gm", "mnist-pm", "mnist-pm1", "cifar-gm", "cifar-pm"),
        ("mnist-pm",),
    ),
    "maps": Plan(
        "fewer maps in the last layer (Figure 6)",
        ("cifar-pm",),
        ("cifar-pm",),
        widths=(200, 400, 600, 800),
        quick_widths=(40, 80),
    ),
    "covariance": Plan(
        "covariance of the last layer's features (Figure 5)", ("cifar-pm",), ("cifar-pm",)
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
    >>> from bochner.papers.mukuta.networks_plan import cells
    >>> len(cells("table2")), len(cells("table2", quick=True))
    (40, 4)
    """
    plan = PLANS[study]
    n_seeds = seeds if seeds is not None else 1 if quick else plan.seeds
    return [
        Cell(study, task, method, width, seed, plan.quick_images if quick else None)
        for task in tasks or (plan.quick_tasks if quick else plan.tasks)
        for seed in range(n_seeds)
        for width in widths or (plan.quick_widths if quick else plan.widths)
        for method in methods or METHODS
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a study from the command line and print its table."""
    parser = new_parser(
        "bochner.papers.mukuta.networks_plan", "Mukuta and Harada (CVPR 2016) with images"
    )
    studies = parser.add_subparsers(dest="study", required=True)
    for name, plan in PLANS.items():
        study = studies.add_parser(name, help=plan.help)
        add_options(
            study,
            plan.tasks,
            plan.seeds,
            "few images, one seed, one quantile, a short optimisation",
        )
        study.add_argument(
            "--methods",
            nargs="+",
            choices=METHODS,
            metavar="METHOD",
            help=f"of {', '.join(METHODS)} (default: all)",
        )
        study.add_argument("--widths", nargs="+", type=even, help="maps of the last layer")
        study.add_argument(
            "--device", default="cpu", help="cpu, or a device of PyTorch such as cuda"
        )
        study.add_argument(
            "--budget",
            type=float,
            default=1.0,
            metavar="GIB",
            help="scratch memory of a network (default: 1)",
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
    measured = partial(measure, device=options.device, budget=int(options.budget * GIBIBYTE))
    run_and_report(parser, options, planned, measured, REPORTS)


if __name__ == "__main__":
    main()
