"""Figures 2 and 6: error against the share of the training rows that are landmarks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np

from bochner.papers.groups import Groups, error_percent
from bochner.papers.letarte import common, svm, tuned_landmarks
from bochner.papers.letarte.common import PB_C, PB_R, RBF_C, RBF_R
from bochner.papers.study import Request, Runner, Version, grid
from bochner.records.cells import Cell, Result
from bochner.records.sections import Claim, Row, Section, chart, value
from bochner.records.statistics import mean_and_error

METHODS = (RBF_R, RBF_C, PB_R, PB_C)
PERCENTS, QUICK_PERCENTS = (1, 5, 10, 15, 20, 25), (1, 10, 25)
# With more rows a quarter of them as landmarks, with 64 frequencies each, take minutes per cell.
MAX_TRAIN = 2000


def collect(request: Request, run: Runner) -> list[Result]:
    """Measure shares of the rows as landmarks, at random or centroids, plain or learned."""
    percents = request.widths or (QUICK_PERCENTS if request.quick else PERCENTS)
    gammas, columns = svm.choose_gamma(request, run), [(method, None) for method in METHODS]
    variants = [{"percent": percent, "solver": common.OPTIMUM} for percent in percents]
    max_train = common.training_rows(request, MAX_TRAIN)
    parts = common.by_width(request)
    cells = (grid("landmarks", part, columns, max_train, gammas, variants) for part in parts)
    return run(list(chain.from_iterable(cells)))


def measure(cell: Cell, device: str = "cpu") -> Result:
    """Measure one cell; only learned landmarks use the device, the others are too quick for it."""
    if cell.method == svm.METHOD:
        return svm.measure(cell)
    split, share = (
        common.load_split(cell.task, cell.seed, cell.max_train),
        cell.setting("percent") / 100,
    )
    if cell.method in (PB_R, PB_C):
        return tuned_landmarks.measure_own(cell, split, share, device)
    return common.measure_landmarks(cell, split, share)


def sections(results: Sequence[Result]) -> list[Section]:
    """Report one table and chart per dataset, and what the paper claims."""
    groups = Groups(results, lambda result: result.cell.setting("percent"))
    methods = groups.methods
    found = [
        Section(
            "Test error in percent against the share of the training rows that are landmarks, "
            f"{groups.over('split')}",
            lines=(
                "R: landmarks are rows at random, C: centroids of k-means in each class. PB: "
                f"beta = {common.LANDMARK_BETA:g}, {common.LANDMARK_FREQUENCIES} frequencies"
                " (paper: both chosen on validation rows).",
                "gamma chosen by the SVM on the authors' split; C by validation error. "
                f"{common.solver_text(common.OPTIMUM)}",
                *common.cut_lines(results),
                *common.wide_lines(groups.tasks),
            ),
        )
    ]
    for task in groups.tasks:
        rows: list[Row] = [("percent", *methods)]
        rows += [
            (value(percent), *(groups.mean(task, m, percent, error_percent) for m in methods))
            for percent in groups.xs()
        ]
        curves = groups.curves(task, error_percent)
        x_title = "landmarks, percent of the training rows"
        drawn = chart(x_title, "test error in percent", curves)
        found.append(Section(groups.heading(task, "split"), tuple(rows), chart=drawn))
    return [*found, Section("What the paper claims", claims=_claims(groups))]


def _claims(groups: Groups) -> tuple[Claim, ...]:
    better = Claim(
        "learned landmarks (PB) err less than plain ones (RBF) on the average of the shares"
    )
    similar = Claim(
        f"rows at random and centroids are within {common.SIMILAR:g} percent on average"
    )
    steady = Claim("centroids vary less from split to split than rows at random")
    for task in groups.tasks:
        for plain, learned in ((RBF_R, PB_R), (RBF_C, PB_C)):
            differences = common.averaged_differences(groups, task, plain, learned)
            better.compare(differences, f"{task} {learned}")
        for at_random, centroids in ((RBF_R, RBF_C), (PB_R, PB_C)):
            differences = common.averaged_differences(groups, task, at_random, centroids)
            if not differences:
                continue
            mean = float(np.mean(differences))
            similar.check(abs(mean) <= common.SIMILAR, f"{task} {centroids}: {mean:+.2f}")
            random_spread, spread = (
                _spread(groups, task, method) for method in (at_random, centroids)
            )
            if np.isfinite([spread, random_spread]).all():
                place = f"{task} {centroids}: {spread:.2f} against {random_spread:.2f}"
                steady.check(spread < random_spread, place)
    return better, similar, steady


def _spread(groups: Groups, task: str, method: str) -> float:
    """Return the standard error of the test error, averaged over the shares."""
    errors = [
        mean_and_error(groups.numbers(task, method, x, error_percent))[1]
        for x in groups.xs(task, method)
    ]
    return float(np.mean(errors))


_figure = partial(
    common.make_study,
    collect=collect,
    measure=measure,
    sections=sections,
    widths="percents of the rows as landmarks",
    on_devices=True,
)
NOTE = "500 training rows, 1, 10 and 25 percent of them as landmarks, two splits"
FIGURE2 = _figure(
    "Figure 2",
    "error against the share of the rows that are landmarks",
    ("ads",),
    Version(5, "about 7 min"),
    Version(2, "25 s", NOTE),
)
FIGURE6 = _figure(
    "Figure 6",
    "as Figure 2, the other datasets",
    tuple(task for task in common.DATASETS if task not in FIGURE2.tasks),
    Version(5, "about 90 min"),
    Version(2, "90 s", NOTE),
)
