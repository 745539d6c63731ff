"""Table 1: a support vector machine, and linear models on similarities to landmarks."""

from __future__ import annotations

from collections.abc import Sequence

from bochner.papers.groups import Groups, error_percent
from bochner.papers.letarte import common, svm
from bochner.papers.letarte.common import PB, RBF, SHARED
from bochner.papers.study import Request, Runner, Version, grid
from bochner.records.cells import Cell, Result
from bochner.records.sections import Claim, Row, Section, Value, value
from bochner.records.statistics import format_mean, is_noise, mean_and_error

MAX_TRAIN = 5000
LANDMARKS = 0.1  # of the training rows
SOLVER_WORDS = {
    common.AUTHORS: "stopped where the authors' program stops",
    common.CONVERGED: "trained to its optimum",
}


def collect(request: Request, run: Runner) -> list[Result]:
    """The SVM, and linear models on plain and on learned similarities, with both solvers."""
    max_train = common.training_rows(request, MAX_TRAIN)
    gammas = svm.choose_gamma(request, run)
    columns = [(method, None) for method in (RBF, PB, SHARED)]
    solvers = [{"solver": name} for name in (common.AUTHORS, common.CONVERGED)]
    return run(
        [
            *grid("table1", request, [(svm.METHOD, None)], max_train, gammas),
            *grid("table1", request, columns, max_train, gammas, solvers),
        ]
    )


def measure(cell: Cell) -> Result:
    """Measure one cell."""
    split = common.load_split(cell.task, cell.seed, cell.max_train)
    if cell.method == svm.METHOD:
        return svm.measure_svm(cell, split)
    return common.measure_landmarks(cell, split, LANDMARKS)


def sections(results: Sequence[Result]) -> list[Section]:
    """Our means beside the published numbers, one table per solver."""
    linear = {_solver(result) for result in results if result.cell.method != svm.METHOD}
    shown = [name for name in common.SOLVERS if name in (linear or {common.CONVERGED})]
    introduction = Section(
        f"Test error in percent, {Groups(results).over('split')}",
        lines=(
            "gamma chosen by the SVM once, on the authors' split (seed 42); C by validation error"
            " on each split.",
            f"Landmarks: k-means in each class, {LANDMARKS:.0%} of the training rows. PB: "
            f"beta = {common.LANDMARK_BETA:g}, {common.LANDMARK_FREQUENCIES} frequencies"
            " (paper: with beta = 1 and D tuned, with D = 64 and beta tuned).",
            "Shared: ours, a pool of frequencies for all landmarks, beta by held-out rows.",
        ),
    )
    return [introduction, *(_table(results, name) for name in shown)]


def _table(results: Sequence[Result], solver: str) -> Section:
    own = [r for r in results if r.cell.method == svm.METHOD or _solver(r) == solver]
    groups = Groups(own)
    rows: list[Row] = [
        ("dataset", "gamma", "SVM", "(paper)", "RBF", "(paper)", "PB", "(paper)", SHARED, "note")
    ]
    both, learned_wins, svm_wins = [], [], []
    with_svm = 0
    claim = Claim("learned landmarks (PB) err less than plain ones (RBF), all but mnist56")
    for task in groups.tasks:
        theirs = dict(zip(common.PUBLISHED_COLUMNS, common.PUBLISHED[task], strict=True))
        exact, plain, learned, shared = (
            groups.mean(task, method, None, error_percent)
            for method in (svm.METHOD, RBF, PB, SHARED)
        )
        first = next(result for result in own if result.cell.task == task)
        rows.append(
            (
                task,
                value(first.details["gamma"]),
                exact,
                value(theirs["SVM"], ".2f"),
                plain,
                value(theirs["RBF"], ".2f"),
                learned,
                Value(f"{theirs['PB beta=1']:.2f}, {theirs['PB D=64']:.2f}", theirs["PB beta=1"]),
                shared,
                common.cut_note(first),
            )
        )
        if plain.number is None or learned.number is None:
            continue
        both.append(task)
        learned_wins += [task] * (learned.number < plain.number)
        if task != "mnist56":
            claim.compare(groups.differences(task, None, RBF, PB, error_percent), task)
        if exact.number is not None:
            with_svm += 1
            svm_wins += [task] * (exact.number < min(plain.number, learned.number))
    published_wins = sum(common.PUBLISHED[task][3] < common.PUBLISHED[task][1] for task in both)
    lines = (
        common.solver_text(solver),
        f"PB beats RBF on {len(learned_wins)} of {len(both)} datasets"
        f" (paper, beta = 1: {published_wins}).",
        f"The SVM errs less than both on {len(svm_wins)} of {with_svm} (paper: on 4 of 7).",
    )
    return Section(
        f"Linear model {SOLVER_WORDS[solver]}",
        tuple(rows),
        lines,
        claims=(claim, _shared_and_plain(groups)),
    )


def _shared_and_plain(groups: Groups) -> Claim:
    claim = Claim("shared frequencies err no more than plain landmarks, but for noise (ours)")
    for task in groups.tasks:
        gains = groups.differences(task, None, RBF, SHARED, error_percent)
        if gains:
            mean, error = mean_and_error(gains)
            text = f"{task}: {format_mean(mean, error, '+.2g', '.1g')}"
            claim.check(mean >= 0 or is_noise(mean, error), text)
    return claim


def _solver(result: Result) -> str:
    return str(result.cell.setting("solver", common.CONVERGED))


TABLE1 = common.make_study(
    "Table 1",
    "a kernel SVM, and linear models on landmark similarities",
    common.DATASETS,
    Version(10, "about 2 h"),
    Version(2, "40 s", "500 training rows, two splits"),
    collect=collect,
    measure=measure,
    sections=sections,
)
