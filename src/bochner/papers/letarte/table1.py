"""Table 1: a support vector machine, and linear models on similarities to landmarks.

Two studies, one per solver of the linear model: trained to its optimum, and stopped where the
authors' program stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bochner.papers.groups import Groups, error_percent
from bochner.papers.letarte import common, svm, tuned_landmarks
from bochner.papers.letarte.common import RBF, SHARED
from bochner.papers.letarte.tuned_landmarks import COLUMNS, OWN, PB
from bochner.papers.study import Request, Runner, Version, grid
from bochner.records.cells import Cell, Result
from bochner.records.sections import Claim, Row, Section, Value, value
from bochner.records.statistics import format_mean, is_noise, mean_and_error

MAX_TRAIN = 5000
AUTHORS_SPLITS = 3
LANDMARKS = 0.1  # share of the training rows
SOLVER_WORDS = {
    common.AUTHORS: "stopped where the authors' program stops",
    common.OPTIMUM: "trained to its optimum",
}


def collect(request: Request, run: Runner, solver: str = common.OPTIMUM) -> list[Result]:
    """Measure the SVM, and linear models on plain and on learned similarities."""
    max_train = common.training_rows(request, MAX_TRAIN)
    gammas = svm.choose_gamma(request, run)
    cells = grid("table1", request, [(svm.METHOD, None)], max_train, gammas)
    settings: dict[str, Any] = {"solver": solver}
    methods, coarse = [RBF, PB, SHARED], request.quick
    if solver == common.AUTHORS:
        request, coarse = replace(request, seeds=min(request.seeds, AUTHORS_SPLITS)), True
        methods.remove(SHARED)  # the question is what the paper's own landmarks owe to the solver
    if coarse:
        settings["coarse"] = True
    columns = [(method, None) for method in methods]
    return run(cells + grid("table1", request, columns, max_train, gammas, [settings]))


def measure(cell: Cell, device: str = "cpu") -> Result:
    """Measure one cell; only tuned D and beta use the device, the others are too quick for it."""
    split = common.load_split(cell.task, cell.seed, cell.max_train)
    if cell.method == svm.METHOD:
        return svm.measure_svm(cell, split)
    if cell.method == PB:
        return tuned_landmarks.measure_tuned(cell, split, LANDMARKS, device)
    return common.measure_landmarks(cell, split, LANDMARKS)


def sections(results: Sequence[Result], solver: str = common.OPTIMUM) -> list[Section]:
    """Report our means beside the published numbers."""
    groups = Groups(list(tuned_landmarks.by_column(results)))
    methods = [svm.METHOD, RBF, *COLUMNS]
    ours = [f"{OWN}, beta = {common.LANDMARK_BETA:g} and D = {common.LANDMARK_FREQUENCIES}"]
    claims = [_learned_and_plain(groups, PB), _learned_and_plain(groups, OWN)]
    if solver == common.OPTIMUM:
        methods.append(SHARED)
        ours.append(f"{SHARED}, a pool of frequencies for all landmarks, at its defaults")
        claims += _shared_and_plain(groups)
    titles = []
    for method in methods:
        titles += [method, "(paper)"] if method in common.PUBLISHED_COLUMNS else [method]
    rows: list[Row] = [("dataset", "gamma", *titles, "splits", "note")]
    for task in groups.tasks:
        theirs = dict(zip(common.PUBLISHED_COLUMNS, common.PUBLISHED[task], strict=True))
        of_task = [result for result in results if result.cell.task == task]
        row: list[str | Value] = [task, value(of_task[0].details["gamma"])]
        for method in methods:
            row.append(groups.mean(task, method, None, error_percent))
            if method in theirs:
                row.append(value(theirs[method], ".2f"))
        linear = [result for result in of_task if result.cell.method != svm.METHOD]
        splits = {result.cell.seed for result in linear or of_task}
        rows.append((*row, value(len(splits)), common.cut_note(of_task[0])))
    lines = (
        "gamma chosen by the SVM once, on the authors' split (seed 42); C by validation error"
        f" on each split, those that take LIBSVM more than {svm.MOST_STEPS} steps left out.",
        f"Landmarks: k-means in each class, {LANDMARKS:.0%} of the training rows. PB: D"
        " and beta by validation error; PB beta=1: only D; PB D=64: only beta.",
        f"Ours: {'; '.join(ours)}.",
        f"{common.solver_text(solver)} {_tried(results)}",
        _winners(groups),
    )
    heading = f"Test error in percent, linear model {SOLVER_WORDS[solver]}, {groups.over('split')}"
    return [Section(heading, tuple(rows), lines, claims=tuple(claims))]


def _tried(results: Sequence[Result]) -> str:
    coarse = any(result.cell.setting("coarse") for result in results)
    frequencies, betas = (", ".join(f"{n:g}" for n in ns) for ns in tuned_landmarks.tried(coarse))
    return f"D of {frequencies}; beta of {betas}."


def _winners(groups: Groups) -> str:
    """Say on how many datasets the support vector machine errs least, ours and theirs."""
    ours, theirs, whole = 0, 0, 0
    for task in groups.tasks:
        found = [groups.numbers(task, name, None, error_percent) for name in (svm.METHOD, RBF, PB)]
        if all(found):
            exact, *others = map(np.mean, found)
            published, *their_others = common.PUBLISHED[task][:3]
            whole += 1
            ours += bool(exact < min(others))
            theirs += published < min(their_others)
    return f"The SVM errs less than RBF and PB on {ours} of {whole} (paper: {theirs})."


def _learned_and_plain(groups: Groups, column: str) -> Claim:
    what = {PB: "D and beta tuned (PB)", OWN: "no choice (own)"}[column]
    claim = Claim(f"learned landmarks with {what} err less than plain ones (RBF), all but mnist56")
    for task in groups.tasks:
        if task != "mnist56":
            claim.compare(groups.differences(task, None, RBF, column, error_percent), task)
    return claim


def _shared_and_plain(groups: Groups) -> list[Claim]:
    """Check two claims of ours: never above plain landmarks except for noise, and below them."""
    no_more = Claim("shared frequencies err no more than plain landmarks, but for noise (ours)")
    less = Claim("shared frequencies err less than plain landmarks (ours)")
    for task in groups.tasks:
        gains = groups.differences(task, None, RBF, SHARED, error_percent)
        if gains:
            mean, error = mean_and_error(gains)
            text = f"{task}: {format_mean(mean, error, '+.2g', '.1g')}"
            no_more.check(mean >= 0 or is_noise(mean, error), text)
            less.compare(gains, task)
    return [no_more, less]


_study = partial(
    common.make_study,
    tasks=common.DATASETS,
    quick=Version(2, "60 s", "500 training rows, two splits, fewer values of D and beta"),
    measure=measure,
)
TABLE1 = _study(
    "Table 1",
    "a kernel SVM, and linear models on landmark similarities",
    full=Version(10, "2 h"),
    collect=collect,
    sections=sections,
    on_devices=True,
)
# The authors' solver takes twenty times as long as the optimum: fewer splits, and only every
# second D and beta.
TABLE1_AUTHORS = _study(
    "Table 1 cut",
    "as Table 1, linear models cut short as the authors' are",
    full=Version(AUTHORS_SPLITS, "2 h"),
    collect=partial(collect, solver=common.AUTHORS),
    sections=partial(sections, solver=common.AUTHORS),
)
