"""The published figures of Letarte, Morvant and Germain (2019), and our tables beside them.

G. Letarte, E. Morvant and P. Germain, Pseudo-Bayesian learning with kernel Fourier transform as
prior, AISTATS 2019. Their figures are from one split; ours are means with the standard error over
splits. Figures 1 to 6 are pictures without numbers: of these only what the paper says can be
checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from bochner.papers.letarte.measures import (
    AUTHORS,
    CONVERGED,
    GREEDY,
    LANDMARK_BETA,
    LANDMARK_FREQUENCIES,
    LANDMARKS,
    MNIST49_ROWS,
    OKRFF,
    PB,
    PB_C,
    PB_R,
    PBRFF,
    RBF,
    RBF_C,
    RBF_R,
    RFF,
    SOLVERS,
    SVM,
    TABLE1_METHODS,
    TOY_FREQUENCIES,
    TOY_LANDMARKS,
)
from bochner.papers.letarte.pictures import toy_picture
from bochner.papers.letarte.toys import TOY_SPLIT
from bochner.records.cells import Result, mean_and_error, plus_minus
from bochner.records.sections import (
    Chart,
    Claim,
    Row,
    Section,
    Sections,
    as_reports,
    chart,
    curve,
)

# Table 1: test error in percent (landmarks by k-means, 10 % of the training rows). PB tunes beta
# and D, "PB beta=1" only D, "PB D=64" only beta; ours has beta = 1 and D = 64.
PUBLISHED_COLUMNS = ("SVM", "RBF", "PB", "PB beta=1", "PB D=64")
PUBLISHED: dict[str, tuple[float, ...]] = {
    "ads": (3.05, 10.98, 4.88, 5.12, 5.00),
    "adult": (19.70, 19.60, 17.99, 17.99, 17.99),
    "breast": (4.90, 6.99, 3.50, 3.50, 2.80),
    "farm": (11.58, 17.47, 15.73, 14.19, 15.73),
    "mnist17": (0.34, 0.74, 0.42, 0.32, 0.32),
    "mnist49": (1.16, 2.26, 1.80, 2.09, 2.50),
    "mnist56": (0.55, 0.97, 1.06, 1.55, 1.03),
}
# Table 2: rows to train, to validate, to test, and columns.
PUBLISHED_SIZES: dict[str, tuple[int, int, int, int]] = {
    "ads": (1967, 492, 820, 1554),
    "adult": (26048, 6513, 16281, 108),
    "breast": (340, 86, 143, 30),
    "farm": (2485, 622, 1036, 54877),
    "mnist17": (9101, 2276, 3793, 784),
    "mnist49": (8268, 2068, 3446, 784),
    "mnist56": (7912, 1979, 3298, 784),
}

FEW, MANY = 50, 1000  # frequencies: what we take "a small" and "a large number" to mean
SIMILAR = 1.0  # percent: and what "similar" means

Key = tuple[str, str, float]  # task, method, what is on the x axis
Groups = dict[Key, dict[int, Result]]  # by seed


def svm_sections(results: Sequence[Result]) -> list[Section]:
    """What the `svm` study says."""
    rows: list[Row] = [("dataset", "train", "test", "gamma", "C", "error %", "published", "note")]
    for result in results:
        name, details = result.cell.task, result.details
        rows.append(
            (
                name,
                f"{details['n_train']:g}",
                f"{details['n_test']:g}",
                f"{details['gamma']:g}",
                f"{details['C']:g}",
                f"{error_percent(result):.2f}",
                f"{PUBLISHED[name][0]:.2f}",
                _cut_note(result),
            )
        )
    seeds = sorted({result.cell.seed for result in results})
    return [
        Section(
            f"Gaussian support vector machine, split by seed {', '.join(map(str, seeds))}",
            tuple(rows),
            ("gamma and C by validation error; trained on the training rows only.",),
        )
    ]


def table1_sections(results: Sequence[Result], gamma_per_seed: bool = False) -> list[Section]:
    """What the `table1` study says: our means beside the published figures, by solver."""
    solvers = [
        name
        for name in SOLVERS
        if any(r.cell.method != SVM and _solver(r) == name for r in results)
    ]
    n_seeds = len({result.cell.seed for result in results})
    chosen = "on each split" if gamma_per_seed else "once, on the authors' split (seed 42)"
    sections = [
        Section(
            f"Test error in percent, mean ± standard error over {n_seeds} splits",
            lines=(
                f"gamma chosen by the SVM {chosen}; C by validation error on each split.",
                f"Landmarks: k-means in each class, {LANDMARKS:.0%} of the training rows. PB: "
                f"beta = {LANDMARK_BETA:g}, {LANDMARK_FREQUENCIES} frequencies"
                " (paper: with beta = 1 and D tuned, with D = 64 and beta tuned).",
            ),
        )
    ]
    for solver in solvers or [CONVERGED]:
        of_solver = [r for r in results if r.cell.method == SVM or _solver(r) == solver]
        sections.append(_table1_section(of_solver, solver))
    return sections


def landmarks_sections(results: Sequence[Result]) -> list[Section]:
    """What the `landmarks` study says (Figures 2 and 6)."""
    groups = _grouped(results, lambda result: result.cell.setting("percent"))
    tasks, methods, percents = _axes(groups)
    n_seeds = len({result.cell.seed for result in results})
    solvers = sorted({_solver(result) for result in results})
    sections = [
        Section(
            "Test error in percent against the share of the training rows that are landmarks, "
            f"mean ± standard error over {n_seeds} splits",
            lines=(
                "R: landmarks are rows at random, C: centroids of k-means in each class. PB: "
                f"beta = {LANDMARK_BETA:g}, {LANDMARK_FREQUENCIES} frequencies (paper: both"
                " chosen on validation rows).",
                "gamma chosen by the SVM on the authors' split; C by validation error. "
                f"Linear machine: {_solver_names(solvers)}.",
                *_cut_lines(results),
            ),
        )
    ]
    for task in tasks:
        rows: list[Row] = [("percent", *methods)]
        rows += [
            (f"{percent:g}", *(_error(groups.get((task, m, percent), {})) for m in methods))
            for percent in percents
        ]
        sections.append(
            Section(
                task,
                tuple(rows),
                chart=_chart(groups, task, methods, "landmarks, percent of the training rows"),
            )
        )
    claims = [
        Claim("learned landmarks (PB) err less than plain ones (RBF) on the average of the shares")
    ]
    for task in tasks:
        for plain, learned in ((RBF_R, PB_R), (RBF_C, PB_C)):
            differences = _averaged(groups, task, plain, learned)
            if differences:
                claims[0].compare(differences, f"{task} {learned}")
    claims.append(Claim(f"rows at random and centroids are within {SIMILAR:g} percent on average"))
    claims.append(Claim("centroids vary less from split to split than rows at random"))
    for task in tasks:
        for at_random, centroids in ((RBF_R, RBF_C), (PB_R, PB_C)):
            differences = _averaged(groups, task, at_random, centroids)
            if not differences:
                continue
            mean = float(np.mean(differences))
            claims[1].check(abs(mean) <= SIMILAR, f"{task} {centroids}: {mean:+.2f}")
            spreads = [_spread(groups, task, method) for method in (at_random, centroids)]
            if np.isfinite(spreads).all():
                claims[2].check(
                    spreads[1] < spreads[0],
                    f"{task} {centroids}: {spreads[1]:.2f} against {spreads[0]:.2f}",
                )
    sections.append(Section("What the paper claims", lines=tuple(map(str, claims))))
    return sections


def greedy_sections(results: Sequence[Result]) -> list[Section]:
    """What the `greedy` study says (Figures 3 and 5)."""
    groups = _grouped(results, lambda result: (result.cell.width or 0) // 2)
    tasks, methods, counts = _axes(groups)
    n_seeds = len({result.cell.seed for result in results})
    candidates = sorted({result.cell.setting("candidates") for result in results})
    strengths = "; ".join(
        f"{name}'s {parameter} of {', '.join(f'{value:g}' for value in values)}"
        for name, (_, parameter, values) in GREEDY.items()
    )
    sections = [
        Section(
            "Train and test error in percent against the number D of frequencies, "
            f"mean ± standard error over {n_seeds} splits",
            lines=(
                f"N = {', '.join(map(str, candidates))} candidates (paper: 20000), drawn from"
                f" with replacement. Chosen on validation rows for each D: C, {strengths} (rho as"
                " a multiple of N).",
                "gamma chosen by the SVM on the authors' split. The linear machine is the squared"
                " hinge at its optimum, with an intercept that is not penalised.",
                "The text of the paper does not say which datasets are in which figure: Figure 3"
                " has three, Figure 5 the others.",
                *_cut_lines(results),
            ),
        )
    ]
    for task in tasks:
        rows: list[Row] = [("D", *methods, *(f"{method}, train" for method in methods))]
        for count in counts:
            cells = [groups.get((task, method, count), {}) for method in methods]
            rows.append(
                (f"{count:g}", *map(_error, cells), *(_error(c, train_percent) for c in cells))
            )
        title = "frequencies"
        train = _chart(groups, task, methods, title, train_percent, ", train", log_x=True)
        test = _chart(groups, task, methods, title, log_x=True)
        series = (*(test.series if test else ()), *(train.series if train else ()))
        drawn = chart(title, "error in percent", series, log_x=True)
        sections.append(Section(task, tuple(rows), chart=drawn))
    claims = []
    for method in (OKRFF, PBRFF):
        claims.append(Claim(f"{method} errs less than {RFF} at D <= {FEW}"))
        for task, count in ((t, c) for t in tasks for c in counts if c <= FEW):
            differences = _paired(groups, task, count, RFF, method)
            if differences:
                claims[-1].compare(differences, f"{task} {count:g}")
        claims.append(Claim(f"{method} is within {SIMILAR:g} percent of {RFF} at D >= {MANY}"))
        for task, count in ((t, c) for t in tasks for c in counts if c >= MANY):
            differences = _paired(groups, task, count, RFF, method)
            if differences:
                mean = float(np.mean(differences))
                claims[-1].check(abs(mean) <= SIMILAR, f"{task} {count:g}: {mean:+.2f}")
    claims.append(Claim(f"{OKRFF} errs slightly less than {PBRFF} on the average of all D"))
    for task in tasks:
        differences = _averaged(groups, task, PBRFF, OKRFF)
        if differences:
            claims[-1].compare(differences, task)
    sections.append(Section("What the paper claims", lines=tuple(map(str, claims))))
    return sections


def toys_sections(results: Sequence[Result]) -> list[Section]:
    """What the `toys` study says (Figures 1 and 4)."""
    groups = _grouped(results, lambda result: 0.0)
    tasks, methods, _ = _axes(groups)
    n_seeds = len({result.cell.seed for result in results})
    rows: list[Row] = [("data", *methods)]
    rows += [
        (task, *(_error(groups.get((task, method, 0.0), {})) for method in methods))
        for task in tasks
    ]
    claim = Claim(
        "a linear machine predicts better from learned similarities (PB-R) than from plain ones"
        " (RBF-R)"
    )
    for task in tasks:
        differences = _paired(groups, task, 0.0, RBF_R, PB_R)
        if differences:
            claim.compare(differences, task)
    n_train, n_valid, n_test = TOY_SPLIT
    return [
        Section(
            f"Toy data in the plane, {TOY_LANDMARKS} landmarks: test error in percent, "
            f"mean ± standard error over {n_seeds} draws",
            tuple(rows),
            (
                f"{n_train} rows to train, {n_valid} to choose gamma and C on, {n_test} to test."
                f" PB: beta = {LANDMARK_BETA:g}, {TOY_FREQUENCIES} frequencies, as in the paper;"
                " gamma by the SVM. The paper gives no formula for its data: these are our own.",
                str(claim),
            ),
        ),
        *(
            Section(f"{task}, seed {shown[0].cell.seed}", picture=partial(toy_picture, shown))
            for task in tasks
            if (shown := _shown(groups, task))
        ),
    ]


def mnist49_sections(results: Sequence[Result]) -> list[Section]:
    """What the `mnist49` study says: accuracy by method and frequencies."""
    groups = _grouped(results, lambda result: (result.cell.width or 0) // 2)
    _, methods, widths = _axes(groups)
    rows: list[Row] = [("frequencies", *(f"{width:g}" for width in widths))]
    for method in methods:
        cells = [groups.get(("mnist49", method, width), {}).values() for width in widths]
        rows.append((method, *(plus_minus([100 * r.score for r in c], 1) for c in cells)))
    n_seeds = len({result.cell.seed for result in results})
    first = results[0]
    return [
        Section(
            f"MNIST 4 against 9, {first.details['n_train']:g} training rows, "
            f"{first.details['n_test']:g} test rows: "
            f"accuracy in percent, mean ± standard error over {n_seeds} seeds",
            tuple(rows),
            (
                f"gamma {first.cell.setting('gamma'):g}; the strength of the posterior, and C of"
                f" the linear machine, by {MNIST49_ROWS[1]} validation rows.",
            ),
        )
    ]


SECTIONS: dict[str, Sections] = {
    "svm": svm_sections,
    "table1": table1_sections,
    "landmarks": landmarks_sections,
    "greedy": greedy_sections,
    "toys": toys_sections,
    "mnist49": mnist49_sections,
}
REPORTS = as_reports(SECTIONS)


def error_percent(result: Result) -> float:
    """Test error in percent."""
    return 100 * (1 - result.score)


def train_percent(result: Result) -> float:
    """Training error in percent."""
    return 100 * result.details["train error"]


def _shown(groups: Groups, task: str) -> list[Result]:
    """Plain and learned landmarks of the first seed that has both."""
    plain, learned = (groups.get((task, method, 0.0), {}) for method in (RBF_R, PB_R))
    seeds = sorted(plain.keys() & learned.keys())
    return [plain[seeds[0]], learned[seeds[0]]] if seeds else []


def _table1_section(results: Sequence[Result], solver: str) -> Section:
    groups: dict[str, dict[str, list[Result]]] = {}
    for result in results:
        cell = result.cell
        groups.setdefault(cell.task, {}).setdefault(cell.method, []).append(result)
    rows: list[Row] = [
        ("dataset", "gamma", "SVM", "(paper)", "RBF", "(paper)", "PB", "(paper)", "note")
    ]
    ours = published = 0
    both = 0
    claim = Claim("learned landmarks (PB) err less than plain ones (RBF), all but mnist56")
    machine = compared = 0
    for name, group in groups.items():
        theirs = dict(zip(PUBLISHED_COLUMNS, PUBLISHED[name], strict=True))
        errors = {m: [error_percent(r) for r in group.get(m, [])] for m in TABLE1_METHODS}
        gammas = sorted({r.details["gamma"] for method in group for r in group[method]})
        if errors[RBF] and errors[PB]:
            both += 1
            ours += np.mean(errors[PB]) < np.mean(errors[RBF])
            published += theirs["PB beta=1"] < theirs["RBF"]
            by_seed = [_by_seed(group[method]) for method in (RBF, PB)]
            paired = [by_seed[0][s] - by_seed[1][s] for s in by_seed[0] if s in by_seed[1]]
            if paired and name != "mnist56":
                claim.compare(paired, name)
            if errors[SVM]:
                means = [float(np.mean(errors[method])) for method in TABLE1_METHODS]
                compared += 1
                machine += means[0] < min(means[1:])
        rows.append(
            (
                name,
                f"{gammas[0]:g}" if len(gammas) == 1 else f"{gammas[0]:g}..{gammas[-1]:g}",
                plus_minus(errors[SVM]),
                f"{theirs['SVM']:.2f}",
                plus_minus(errors[RBF]),
                f"{theirs['RBF']:.2f}",
                plus_minus(errors[PB]),
                f"{theirs['PB beta=1']:.2f}, {theirs['PB D=64']:.2f}",
                _cut_note(next(iter(group.values()))[0]),
            )
        )
    lines = [
        f"Linear machine: {_solver_names([solver])}.",
        f"PB beats RBF on {ours} of {both} datasets (paper, beta = 1: {published}).",
        f"The SVM errs less than both on {machine} of {compared} (paper: on 4 of 7).",
        str(claim),
    ]
    return Section(f"Linear machine {_SOLVER_WORDS[solver]}", tuple(rows), tuple(lines))


_SOLVER_WORDS = {
    CONVERGED: "trained to its optimum",
    AUTHORS: "stopped where the authors' program stops",
}


def _solver(result: Result) -> str:
    return str(result.cell.setting("solver", CONVERGED))


def _solver_names(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {SOLVERS[name]}" for name in names)


def _by_seed(results: Iterable[Result]) -> dict[int, float]:
    return {result.cell.seed: error_percent(result) for result in results}


def _grouped(results: Sequence[Result], x: Callable[[Result], float]) -> Groups:
    groups: Groups = {}
    for result in results:
        key = result.cell.task, result.cell.method, x(result)
        groups.setdefault(key, {})[result.cell.seed] = result
    return groups


def _axes(groups: Groups) -> tuple[list[str], list[str], list[float]]:
    tasks, methods, values = (list(dict.fromkeys(axis)) for axis in zip(*groups, strict=True))
    return tasks, methods, sorted(values)


def _error(cells: dict[int, Result], value: Callable[[Result], float] = error_percent) -> str:
    return plus_minus([value(result) for result in cells.values()])


def _paired(groups: Groups, task: str, x: float, worse: str, better: str) -> list[float]:
    """By how many percent the second errs less than the first, seed by seed."""
    first, second = (groups.get((task, method, x), {}) for method in (worse, better))
    return [error_percent(first[s]) - error_percent(second[s]) for s in first if s in second]


def _averaged(groups: Groups, task: str, worse: str, better: str) -> list[float]:
    """The same, averaged over what is on the x axis; seeds that have every value."""
    values = [x for t, method, x in groups if t == task and method == better]
    by_seed: dict[int, list[float]] = {}
    for x in values:
        first, second = (groups.get((task, method, x), {}) for method in (worse, better))
        for seed in first.keys() & second.keys():
            difference = error_percent(first[seed]) - error_percent(second[seed])
            by_seed.setdefault(seed, []).append(difference)
    return [float(np.mean(d)) for _, d in sorted(by_seed.items()) if len(d) == len(values)]


def _spread(groups: Groups, task: str, method: str) -> float:
    """Standard error of the test error, averaged over what is on the x axis."""
    errors = [
        mean_and_error([error_percent(result) for result in cells.values()])[1]
        for (t, m, _), cells in groups.items()
        if (t, m) == (task, method)
    ]
    return float(np.mean(errors))


def _chart(
    groups: Groups,
    task: str,
    methods: Sequence[str],
    x_title: str,
    value: Callable[[Result], float] = error_percent,
    suffix: str = "",
    log_x: bool = False,
) -> Chart | None:
    series = [
        curve(
            method + suffix,
            {
                x: [value(result) for result in cells.values()]
                for (t, m, x), cells in groups.items()
                if (t, m) == (task, method)
            },
        )
        for method in methods
    ]
    return chart(x_title, "test error in percent", series, log_x=log_x)


def _cut_note(result: Result) -> str:
    n_train, n_available = (result.details[name] for name in ("n_train", "n_available"))
    return "" if n_train == n_available else f"{n_train:g} of {n_available:g} training rows"


def _cut_lines(results: Sequence[Result]) -> list[str]:
    notes = {result.cell.task: _cut_note(result) for result in results if _cut_note(result)}
    return ["; ".join(f"{task}: {note}" for task, note in notes.items()) + "."] if notes else []
