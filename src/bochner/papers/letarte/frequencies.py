"""Figures 3 and 5: error against the number of frequencies, random or drawn from a posterior."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain

import numpy as np

from bochner.fourier.features import FourierFeatures
from bochner.papers.groups import Groups, error_percent
from bochner.papers.letarte import common, svm
from bochner.papers.letarte.candidate_waves import CandidateWaves
from bochner.papers.study import Request, Runner, Version, grid
from bochner.records.cells import Cell, Result
from bochner.records.sections import Claim, Row, Section, chart, value

RFF, OKRFF, PBRFF = "RFF", "OKRFF", "PBRFF"
# The paper's names, the strengths and what they are called; rho is a multiple of the candidates.
POSTERIORS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    OKRFF: ("chi2", "rho", tuple(float(f"1e{k}") for k in range(-4, 1))),
    PBRFF: ("kl", "beta", tuple(float(f"1e{k}") for k in range(-3, 4))),
}
METHODS = (RFF, *POSTERIORS)
FREQUENCIES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
QUICK_FREQUENCIES = (1, 10, 100, 1000)
CANDIDATES, QUICK_CANDIDATES = 20_000, 2000
MAX_TRAIN = 2000  # with more, models on thousands of columns take minutes per cell
FEW, MANY = 50, 1000  # frequencies: what we take "a small" and "a large number" to mean


def collect(request: Request, run: Runner) -> list[Result]:
    """Measure random frequencies, and those drawn with replacement from two kinds of posterior."""
    counts = request.widths or (QUICK_FREQUENCIES if request.quick else FREQUENCIES)
    candidates = QUICK_CANDIDATES if request.quick else CANDIDATES
    gammas = svm.choose_gamma(request, run)
    columns = [(method, 2 * count) for method in METHODS for count in counts]
    max_train = common.training_rows(request, MAX_TRAIN)
    variants = [{"candidates": candidates, "solver": common.OPTIMUM}]
    parts = common.by_width(request)
    cells = (grid("frequencies", part, columns, max_train, gammas, variants) for part in parts)
    return run(list(chain.from_iterable(cells)))


def measure(cell: Cell, device: str = "cpu") -> Result:
    """Measure one cell; support vector machines with a whole kernel matrix run on the host."""
    if cell.method == svm.METHOD:
        return svm.measure(cell)
    if cell.method not in METHODS:
        raise ValueError(f"there is no method {cell.method!r}; there are {', '.join(METHODS)}.")
    start = time.perf_counter()
    split = common.load_split(cell.task, cell.seed, cell.max_train, device)
    gamma, path = cell.setting("gamma"), common.path_of(cell)
    if cell.method == RFF:
        feature_map = FourierFeatures(
            n_components=cell.width or 0, sampling="iid", gamma=gamma, random_state=cell.seed
        )
        tuned = common.tune([(0.0, feature_map.fit(split.X_train))], split, gamma, path)
        return common.as_result(cell, split, tuned, start)
    place = (cell.task, cell.seed, cell.max_train, device)
    waves = _candidates(*place, gamma, cell.setting("candidates"))
    divergence, name, strengths = POSTERIORS[cell.method]
    count = (cell.width or 0) // 2
    maps = ((s, waves.draw(divergence, s, count, cell.seed)) for s in strengths)
    tuned = common.tune(maps, waves.phases, gamma, path)
    return common.as_result(cell, split, tuned, start, details={name: tuned.strength})


@lru_cache(maxsize=1)
def _candidates(
    task: str, seed: int, max_train: int | None, device: str, gamma: float, candidates: int
) -> CandidateWaves:
    """Return the candidates from which every posterior of a split draws."""
    split = common.load_split(task, seed, max_train, device)
    return CandidateWaves.of_split(split, gamma, candidates, seed)


def sections(results: Sequence[Result]) -> list[Section]:
    """Report one table and chart per dataset, and what the paper claims."""
    groups = Groups(results, lambda result: (result.cell.width or 0) // 2)
    candidates = sorted({result.cell.setting("candidates") for result in results})
    strengths = "; ".join(
        f"{name}'s {parameter} of {', '.join(f'{strength:g}' for strength in values)}"
        for name, (_, parameter, values) in POSTERIORS.items()
    )
    introduction = Section(
        "Train and test error in percent against the number D of frequencies, "
        f"{groups.over('split')}",
        lines=(
            f"N = {', '.join(map(str, candidates))} candidates (paper: {CANDIDATES}), drawn from"
            f" with replacement. Chosen on validation rows for each D: C, {strengths} (rho as"
            " a multiple of N).",
            f"gamma chosen by the SVM on the authors' split. {common.solver_text(common.OPTIMUM)}",
            "The text of the paper does not say which datasets are in which figure: Figure 3"
            " has three, Figure 5 the others.",
            *common.cut_lines(results),
            *common.wide_lines(groups.tasks),
        ),
    )
    return [
        introduction,
        *(_task_section(groups, task) for task in groups.tasks),
        Section("What the paper claims", claims=tuple(_claims(groups))),
    ]


def train_percent(result: Result) -> float:
    """Return the training error in percent."""
    return 100 * result.details["train error"]


def _task_section(groups: Groups, task: str) -> Section:
    methods = groups.methods
    rows: list[Row] = [("D", *methods, *(f"{method}, train" for method in methods))]
    rows += [
        (
            value(count),
            *(groups.mean(task, method, count, error_percent) for method in methods),
            *(groups.mean(task, method, count, train_percent) for method in methods),
        )
        for count in groups.xs()
    ]
    curves = groups.curves(task, error_percent)
    curves += groups.curves(task, train_percent, suffix=", train")
    heading = groups.heading(task, "split")
    return Section(
        heading, tuple(rows), chart=chart("frequencies", "error in percent", curves, log_x=True)
    )


def _claims(groups: Groups) -> Iterator[Claim]:
    for method in (OKRFF, PBRFF):
        better = Claim(f"{method} errs less than {RFF} at D <= {FEW}")
        similar = Claim(f"{method} is within {common.SIMILAR:g} percent of {RFF} at D >= {MANY}")
        for task in groups.tasks:
            for count in groups.xs():
                differences = groups.differences(task, count, RFF, method, error_percent)
                if count <= FEW:
                    better.compare(differences, f"{task} {count:g}")
                if count >= MANY and differences:
                    mean = float(np.mean(differences))
                    similar.check(abs(mean) <= common.SIMILAR, f"{task} {count:g}: {mean:+.2f}")
        yield from (better, similar)
    slightly = Claim(f"{OKRFF} errs slightly less than {PBRFF} on the average of all D")
    for task in groups.tasks:
        slightly.compare(common.averaged_differences(groups, task, PBRFF, OKRFF), task)
    yield slightly


_figure = partial(
    common.make_study,
    collect=collect,
    measure=measure,
    sections=sections,
    widths="frequencies",
    on_devices=True,
)
NOTE = "500 training rows, 2000 candidates, up to 1000 frequencies, two splits"
FIGURE3 = _figure(
    "Figure 3",
    "error against the number of frequencies from a posterior",
    ("ads", "breast", "mnist49"),
    Version(3, "about 15 min"),
    Version(2, "30 s", NOTE),
)
FIGURE5 = _figure(
    "Figure 5",
    "as Figure 3, the other datasets",
    tuple(task for task in common.DATASETS if task not in FIGURE3.tasks),
    Version(3, "about 40 min"),
    Version(2, "35 s", NOTE),
)
