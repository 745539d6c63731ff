"""Figures 1 and 4: five landmarks in the plane, plain and learned.

The paper shows two toy datasets and gives no formula for them. Here are two of our own: one
whose classes change along one direction only, and one where a ring surrounds a disc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.data.local import LocalDataset
from bochner.papers.groups import Groups, error_percent
from bochner.papers.letarte import common, svm
from bochner.papers.letarte.common import PB_R, RBF_R
from bochner.papers.study import Request, Runner, Version, grid
from bochner.records.cells import Cell, Result
from bochner.records.sections import Claim, Row, Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPLIT = (500, 500, 5000)  # rows to train, to validate, to test
LANDMARKS, FREQUENCIES = 5, 20
NOISE = 0.1

Rows = tuple[NDArray[np.float64], NDArray[np.int64]]


def stripes(n: int, random_state: RandomState) -> Rows:
    r"""Draw three stripes in the square.

    The labels are :math:`y = \operatorname{sign}(\sin 5 x_1 + \text{noise})`.
    """
    X = random_state.uniform(-1, 1, size=(n, 2))
    values = np.sin(5 * X[:, 0]) + NOISE * random_state.standard_normal(n)
    return X, np.where(values > 0, 1, -1)


def ring(n: int, random_state: RandomState) -> Rows:
    r"""Draw a ring around a disc in the square: the sign of :math:`0.45 - |x| + \text{noise}`."""
    X = random_state.uniform(-1, 1, size=(n, 2))
    # Half the noise: the distance from the middle varies half as much as the sine.
    values = 0.45 - np.linalg.norm(X, axis=1) + NOISE / 2 * random_state.standard_normal(n)
    return X, np.where(values > 0, 1, -1)


TOYS: dict[str, Callable[[int, RandomState], Rows]] = {"stripes": stripes, "ring": ring}


def collect(request: Request, run: Runner) -> list[Result]:
    """Measure the support vector machine, and linear models with its gamma on similarities."""
    exact = run(grid("toys", request, [(svm.METHOD, None)]))
    cells = [
        replace(
            result.cell,
            method=method,
            width=LANDMARKS,
            settings=(("gamma", result.details["gamma"]),),
        )
        for result in exact
        for method in (RBF_R, PB_R)
    ]
    return [*exact, *run(cells)]


def measure(cell: Cell) -> Result:
    """Measure one cell."""
    split = draw_split(cell.task, cell.seed)
    if cell.method == svm.METHOD:
        return svm.measure_svm(cell, split)
    return common.measure_landmarks(cell, split, LANDMARKS, FREQUENCIES)


@lru_cache(maxsize=1)
def draw_split(task: str, seed: int) -> common.Split:
    """Draw rows of toy data to train, to validate and to test."""
    X, y = TOYS[task](sum(SPLIT), RandomState(seed))
    return common.pool_split(LocalDataset(task, X, y), seed, *SPLIT)


def sections(results: Sequence[Result]) -> list[Section]:
    """Report the errors, and a picture of the similarities."""
    groups = Groups(results, lambda result: None)
    methods = groups.methods
    rows: list[Row] = [("data", *methods)]
    rows += [
        (task, *(groups.mean(task, method, None, error_percent) for method in methods))
        for task in groups.tasks
    ]
    claim = Claim(
        "a linear model predicts better from learned similarities (PB-R) than from plain ones"
        " (RBF-R)"
    )
    for task in groups.tasks:
        claim.compare(groups.differences(task, None, RBF_R, PB_R, error_percent), task)
    n_train, n_valid, n_test = SPLIT
    return [
        Section(
            f"Toy data in the plane, {LANDMARKS} landmarks: test error in percent, "
            f"{groups.over('draw')}",
            tuple(rows),
            (
                f"{n_train} rows to train, {n_valid} to choose gamma and C on, {n_test} to test."
                f" PB: beta = {common.LANDMARK_BETA:g}, {FREQUENCIES} frequencies, as in the"
                " paper; gamma by the SVM. The paper gives no formula for its data: these are our"
                " own.",
            ),
            claims=(claim,),
        ),
        *(
            Section(f"{task}, seed {pair[0].cell.seed}", picture=partial(picture, pair))
            for task in groups.tasks
            if (pair := _first_pair(groups, task))
        ),
    ]


def _first_pair(groups: Groups, task: str) -> list[Result]:
    """Return the plain and learned landmarks of the first seed that has both."""
    plain, learned = (groups.seeds(task, method) for method in (RBF_R, PB_R))
    seeds = sorted(plain.keys() & learned.keys())
    return [plain[seeds[0]], learned[seeds[0]]] if seeds else []


def picture(results: Sequence[Result]) -> Figure:
    """Draw the similarity to each landmark, and the linear model's decision; one row per result.

    The results are of the same toy data with the same seed: plain and learned landmarks.
    """
    from bochner.plots.landmarks import Similarities, similarity_maps

    rows = []
    for result in results:
        cell = result.cell
        split = draw_split(cell.task, cell.seed)
        feature_map = common.landmark_map(cell, LANDMARKS, FREQUENCIES)
        feature_map.fit(split.X_train, split.y_train)
        features = feature_map.transform(split.X_train)
        (model,) = common.linear_path(features, split.y_train, penalties=[result.details["C"]])
        title = f"{cell.method}\n{error_percent(result):.1f} % wrong"
        rows.append(Similarities(title, feature_map, model))
    return similarity_maps(rows, split.X_train, split.y_train)


FIGURE1 = common.make_study(
    "Figure 1",
    "five landmarks in the plane, plain and learned",
    ("stripes",),
    Version(10, "10 s"),
    Version(3, "10 s", "three draws of the data"),
    collect=collect,
    measure=measure,
    sections=sections,
)
FIGURE4 = replace(
    FIGURE1, item="Figure 4", summary="as Figure 1, other data", tasks=("ring",), name=""
)
