"""All ten digits of MNIST with learned and random features (not in the paper)."""

from __future__ import annotations

from collections.abc import Sequence

from bochner.data.local import LocalDataset, load_mnist
from bochner.linear import RidgeClassifier
from bochner.papers.bullins import common
from bochner.papers.bullins.common import OURS, RANDOM
from bochner.papers.groups import Groups
from bochner.papers.study import Version
from bochner.records.cells import Result
from bochner.records.sections import Row, Section, value


def _load(task: str, seed: int) -> LocalDataset:
    return load_mnist()


EXPERIMENT = common.Experiment(
    name="digits",
    load=_load,
    head=RidgeClassifier(),
    multiples=common.WIDE_MULTIPLES,
    widths=(100, 200, 500, 1000),
    baseline_widths=(100, 500, 1000, 4000),
    quick_baseline_widths=(100, 500),
    quick_rows=3000,
    seeded=False,
)


def sections(results: Sequence[Result]) -> list[Section]:
    """Report accuracies by the number of columns."""
    groups = Groups(results)
    rows: list[Row] = [("columns", "random", "ours", "fit s")]
    rows += [
        (
            value(width),
            groups.mean(task, RANDOM, width),
            groups.mean(task, OURS, width),
            common.fit_value(groups, task, OURS, width),
        )
        for task in groups.tasks
        for width in groups.xs(task)
    ]
    return [
        Section(
            f"All ten digits of MNIST: test accuracy in percent, {common.over(groups, results)}",
            tuple(rows),
            (
                "Ridge on one column per class, C chosen on held-out rows, and gamma of the"
                " random features on those of a subset.",
            ),
        )
    ]


DIGITS = common.make_study(
    EXPERIMENT,
    sections,
    item="Digits",
    summary="ten classes of MNIST (not in the paper)",
    tasks=("mnist",),
    files={"mnist": ("mnist.npz",)},
    full=Version(3, "about 20 min"),
    quick=Version(1, "25 s", "3000 training rows, 100 columns and 500 random ones, one seed"),
)
