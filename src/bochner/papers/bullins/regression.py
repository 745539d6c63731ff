"""Regression with learned and random features (not in the paper)."""

from __future__ import annotations

from collections.abc import Sequence

from bochner.data import local
from bochner.data.local import LocalDataset, load_regression
from bochner.linear import RidgeRegressor
from bochner.papers.bullins import common
from bochner.papers.bullins.common import OURS, RANDOM
from bochner.papers.groups import Groups, detail, score
from bochner.papers.study import Version
from bochner.records.cells import Result
from bochner.records.sections import Row, Section, value


def _load(task: str, seed: int) -> LocalDataset:
    return load_regression(task, random_state=seed)


EXPERIMENT = common.Experiment(
    name="regression",
    load=_load,
    head=RidgeRegressor(),
    measure="R2",
    multiples=common.NARROW_MULTIPLES[:-3],
    widths=(50, 100, 200, 500),
    quick_widths=(50,),
    baseline_widths=(100, 200, 500, 1000, 2000),
    quick_baseline_widths=(100,),
)


def sections(results: Sequence[Result]) -> list[Section]:
    """Report R2 and root mean squared errors by the number of columns."""
    groups = Groups(results)
    rows: list[Row] = [
        ("task", "columns", "random R2", "ours R2", "random RMSE", "ours RMSE", "fit s")
    ]
    for task in groups.tasks:
        form = ".0f" if task == "cadata" else ".3f"
        rows += [
            (
                task,
                value(width),
                *(groups.mean(task, m, width, score, ".4f") for m in (RANDOM, OURS)),
                *(groups.mean(task, m, width, detail("RMSE"), form) for m in (RANDOM, OURS)),
                common.fit_value(groups, task, OURS, width),
            )
            for width in groups.xs(task)
        ]
    over = common.over(groups, results)
    return [
        Section(
            f"Regression on test rows, {over}; each seed has its own split",
            tuple(rows),
            ("Ridge on top, C (and gamma of the random features) chosen on held-out rows.",),
        )
    ]


REGRESSION = common.make_study(
    EXPERIMENT,
    sections,
    item="Regression",
    summary="numbers to predict (not in the paper)",
    tasks=tuple(local.REGRESSION),
    files={name: (file,) for name, file in local.REGRESSION.items()},
    full=Version(3, "about 20 min"),
    quick=Version(1, "10 s", "1000 training rows, 50 columns and 100 random ones, one seed"),
)
