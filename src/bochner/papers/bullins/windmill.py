"""Figure 1a: bent arms in the plane, learned and random frequencies, and Gaussian SVMs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bochner.data.local import LocalDataset
from bochner.data.toys import windmill
from bochner.papers.bullins import common
from bochner.papers.bullins.common import OURS, RANDOM
from bochner.papers.groups import Groups
from bochner.records.cells import Cell, Result
from bochner.records.sections import Row, Section, Series, chart, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Accuracy in percent by frequencies, 2000 rows to train and 50000 to test; then of the Gaussian
# support vector machine.
PUBLISHED, PUBLISHED_RBF = {100: 98.6, 300: 99.1, 1000: 99.3}, 92.1

TASKS: dict[str, Callable[..., Any]] = {
    # twisted so that the Gaussian SVM at the median distance has the paper's 92.1
    "calibrated": partial(windmill, arms=2, twist=0.65),
    "W2": partial(windmill, arms=2),
    "W4": partial(windmill, arms=4),
}
RBF_MEDIAN, RBF_QUARTER = "RBF SVM at the median distance", "RBF SVM at a quarter of it"
SVMS = {RBF_MEDIAN: 1.0, RBF_QUARTER: 16.0}  # a quarter of the length scale is 16 times gamma
STAGES = (5, 20, 100)  # frequencies of the game in the picture


def _load(task: str, seed: int) -> LocalDataset:
    return common.draw_rows(task, TASKS[task], seed)


EXPERIMENT = common.Experiment(
    name="windmill",
    load=_load,
    # the paper's own update
    make_map=partial(common.PAPERS_GAME, dual_update="gradient", damping=0.3),
    multiples=common.NARROW_MULTIPLES[3:],
    widths=(30, 100, 300, 1000),  # frequencies
    quick_widths=(30,),
    baseline_widths=(30, 100, 300, 1000),
    quick_baseline_widths=(30,),
    columns_each=2,
    kernel_svms=tuple(SVMS),
    folds=5,
    bands=(3.0, 6.0, 12.0),
)


def measure(cell: Cell) -> Result:
    """Measure one cell."""
    if cell.width is not None:
        return common.measure_features(EXPERIMENT, cell)
    return common.measure_gaussian_svm(EXPERIMENT, cell, (SVMS[cell.method],), (1.0,))


def sections(results: Sequence[Result]) -> list[Section]:
    """Report the accuracies, a picture of one game, and one chart per windmill."""
    groups = Groups(results)
    widths = groups.xs()
    rows: list[Row] = [("task", "method", *(f"T = {width // 2}" for width in widths))]
    lines = []
    for task in groups.tasks:
        rows += [
            (task, method, *(groups.mean(task, method, width) for width in widths))
            for method in (RANDOM, OURS)
        ]
        times = (common.fit_value(groups, task, OURS, width) for width in widths)
        rows.append((task, "ours, fit s", *times))
        median, quarter = (groups.mean(task, method) for method in SVMS)
        lines.append(
            f"{task}: a Gaussian support vector machine, C = 1, has {median} with the median"
            f" distance as its length scale and {quarter} with a quarter of it."
        )
    rows.append(("paper", "ours", *(value(PUBLISHED.get(w // 2), ".1f") for w in widths)))
    lines.append(
        f"The paper's baseline of {PUBLISHED_RBF} is a matter of that bandwidth. Its"
        " windmill has no formula. 'calibrated' has two arms, twisted so that this baseline comes"
        " out; W2 and W4 are twisted more, with 2 and 4 arms."
    )
    others = {
        RBF_MEDIAN: "the Gaussian SVM at the median distance",
        RBF_QUARTER: "the same SVM at a quarter of it (not in the paper)",
        RANDOM: "as many random ones, with a tuned bandwidth (not in the paper)",
    }
    claims = tuple(
        groups.compare(f"learned frequencies do better than {text}", OURS, other)
        for other, text in others.items()
    )
    heading = f"Windmill, T frequencies: test accuracy in percent, {common.over(groups, results)}"
    first = groups.tasks[0]
    return [
        Section(heading, tuple(rows), tuple(lines), claims=claims),
        Section(
            f"windmill {first}: three stages of one game",
            picture=partial(picture, first, results[0].cell.seed),
        ),
        *(_chart_section(results, task) for task in groups.tasks),
    ]


def _chart_section(results: Sequence[Result], task: str) -> Section:
    by_frequencies = Groups(results, lambda result: result.cell.width and result.cell.width // 2)
    frequencies, accuracies = zip(*PUBLISHED.items(), strict=True)
    theirs = Series("paper ours", frequencies, accuracies, published=True, subject=OURS)
    curves = [*by_frequencies.curves(task, methods=(RANDOM, OURS)), theirs]
    drawn = chart("frequencies", "accuracy in percent", curves, log_x=True)
    return Section(f"windmill {task}", chart=drawn)


def picture(task: str, seed: int) -> Figure:
    """Draw dual weights, potential and decisions at three stages of one game."""
    from bochner.plots.margin import Panel, rounds_figure

    data = EXPERIMENT.load(task, seed)
    X, y = data.X_train[: common.PICTURE_ROWS], data.y_train[: common.PICTURE_ROWS]
    game = common.PAPERS_GAME(warm_start=True, random_state=seed)
    panels: list[Panel] = []
    for n_frequencies in STAGES:
        before = game.frequencies_.shape[1] if panels else 0
        game.set_params(n_components=2 * n_frequencies).fit(X, y)
        stage = deepcopy(game)
        panels.append(
            Panel(
                title=f"{n_frequencies} frequencies",
                weights=np.abs(stage.dual_weights_[:, 0]),
                score=partial(common.decide, stage, common.picture_model(stage.transform(X), y)),
                frequencies=stage.frequencies_,
                newest=stage.frequencies_[:, before:],
            )
        )
    return rounds_figure(X, y, panels, resolution=common.RESOLUTION)
