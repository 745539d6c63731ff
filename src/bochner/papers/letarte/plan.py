"""The experiments of Letarte, Morvant and Germain (AISTATS 2019), done again.

As a command (``BOCHNER_DATA`` names the folder of the data files)::

    python -m bochner.papers.letarte.plan svm
    python -m bochner.papers.letarte.plan table1 --seeds 10 --output table1.jsonl
    python -m bochner.papers.letarte.plan mnist49 --seeds 3

``svm`` is the authors' baseline on the authors' own split. ``table1`` puts that machine beside a
linear one on similarities to landmarks, plain and with a learned posterior, over many splits: one
split decides little. ``mnist49`` compares ways to choose few frequencies. The figures of the paper
(``landmarks``, ``greedy``, ``toys``) are run by the program: ``bochner reproduce``.

One *cell* is one method on one split. Cells are independent but for gamma, which a support vector
machine chooses first. With ``--output`` each is written as soon as it is done: the same command
started again does only what is missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from bochner.papers.letarte.measures import (
    AUTHORS_SEED,
    CONVERGED,
    GREEDY_METHODS,
    LANDMARK_METHODS,
    MNIST49_FREQUENCIES,
    MNIST49_METHODS,
    MNIST49_ROWS,
    N_CANDIDATES,
    PB_R,
    RBF_R,
    SOLVERS,
    SVM,
    TABLE1_METHODS,
    TOY_LANDMARKS,
    measure,
)
from bochner.papers.letarte.tables import PUBLISHED, REPORTS, table1_sections
from bochner.records.cells import Cell, Notebook, Result
from bochner.records.cells import run as run_cells
from bochner.records.sections import as_text

Run = Callable[[Sequence[Cell]], list[Result]]  # measures what has not been measured

MAX_TRAIN, GAMMA_MAX_TRAIN = 5000, 10_000
PERCENTS = (1, 5, 10, 15, 20, 25)
FREQUENCIES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
# With more rows, machines on thousands of columns, or a quarter of the rows as landmarks with 64
# frequencies each, take minutes a cell.
FIGURES_MAX_TRAIN = 2000


def svm(tasks: Sequence[str], max_train: int, run: Run, seed: int = AUTHORS_SEED) -> list[Result]:
    """The Gaussian support vector machine on one split of each dataset, gamma and C tuned."""
    return run([_svm_cell(task, seed, max_train) for task in tasks])


def table1(
    tasks: Sequence[str],
    seeds: Iterable[int],
    max_train: int,
    run: Run,
    gamma_per_seed: bool = False,
    solvers: Sequence[str] = (CONVERGED,),
    gamma_max_train: int | None = None,
) -> list[Result]:
    """The machine, and linear machines on plain and on learned similarities to landmarks.

    gamma is the machine's choice, on each split or once on the authors' split, there with at
    most `gamma_max_train` rows. `solvers` is how the linear machines are trained, names in
    ``SOLVERS``.
    """
    seeds = tuple(seeds)
    places = [(task, seed) for task in tasks for seed in seeds]
    choices: dict[tuple[str, int], Result] = {}
    if gamma_per_seed:
        chosen = run([_svm_cell(task, seed, max_train) for task, seed in places])
        choices = dict(zip(places, chosen, strict=True))
    else:
        gammas = choose_gamma(tasks, gamma_max_train or max_train, run)
    cells: list[Cell] = []
    for task, seed in places:
        gamma = choices[task, seed].details["gamma"] if gamma_per_seed else gammas[task]
        methods = [method for method in TABLE1_METHODS if method != SVM or not gamma_per_seed]
        cells += [
            Cell("table1", task, method, None, seed, max_train, settings)
            for method in methods
            # The other solver does not concern the machine that is not linear.
            for settings in _table1_settings(gamma, () if method == SVM else solvers)
        ]
    results = run(cells)
    if gamma_per_seed:
        results += [choices[place] for place in places]
        order = {method: number for number, method in enumerate(TABLE1_METHODS)}
        results.sort(key=lambda r: (*_place(r, tasks), order[r.cell.method]))
    return results


def landmarks(
    tasks: Sequence[str],
    seeds: Iterable[int],
    max_train: int,
    run: Run,
    percents: Sequence[int] = PERCENTS,
    solver: str = CONVERGED,
    gamma_max_train: int | None = None,
) -> list[Result]:
    """Shares of the rows as landmarks, at random or centroids, plain or learned (Figures 2, 6)."""
    gammas = choose_gamma(tasks, gamma_max_train or max_train, run)
    return run(
        [
            Cell(
                "landmarks",
                task,
                method,
                None,
                seed,
                max_train,
                (("gamma", gammas[task]), ("percent", percent), ("solver", solver)),
            )
            for task in tasks
            for seed in seeds
            for percent in percents
            for method in LANDMARK_METHODS
        ]
    )


def greedy(
    tasks: Sequence[str],
    seeds: Iterable[int],
    max_train: int,
    run: Run,
    frequencies: Sequence[int] = FREQUENCIES,
    n_candidates: int = N_CANDIDATES,
    gamma_max_train: int | None = None,
) -> list[Result]:
    """Frequencies at random, or drawn from two kinds of posterior (Figures 3 and 5)."""
    gammas = choose_gamma(tasks, gamma_max_train or max_train, run)
    return run(
        [
            Cell(
                "greedy",
                task,
                method,
                2 * count,
                seed,
                max_train,
                (("candidates", n_candidates), ("gamma", gammas[task])),
            )
            for task in tasks
            for seed in seeds
            for method in GREEDY_METHODS
            for count in frequencies
        ]
    )


def toys(tasks: Sequence[str], seeds: Iterable[int], run: Run) -> list[Result]:
    """Five landmarks in the plane, plain and learned, and the support vector machine."""
    places = [(task, seed) for task in tasks for seed in seeds]
    machines = run([Cell("toys", task, SVM, None, seed) for task, seed in places])
    learned = run(
        [
            Cell(
                "toys",
                machine.cell.task,
                method,
                TOY_LANDMARKS,
                machine.cell.seed,
                settings=(("gamma", machine.details["gamma"]),),
            )
            for machine in machines
            for method in (RBF_R, PB_R)
        ]
    )
    return [*machines, *learned]


def mnist49(
    seeds: Iterable[int],
    run: Run,
    gamma: float,
    frequencies: Sequence[int] = MNIST49_FREQUENCIES,
    methods: Sequence[str] = MNIST49_METHODS,
) -> list[Result]:
    """Ways to choose few frequencies, with a linear machine on top: fours against nines.

    gamma is the same for all. The strength of a posterior (beta or rho) is chosen on the
    validation rows, like C: drawing with replacement is sensitive to it.
    """
    return run(
        [
            Cell(
                "mnist49",
                "mnist49",
                method,
                2 * count,
                seed,
                MNIST49_ROWS[0],
                (("gamma", gamma),),
            )
            for seed in seeds
            for method in methods
            for count in frequencies
        ]
    )


def choose_gamma(tasks: Sequence[str], max_train: int, run: Run) -> dict[str, float]:
    """What the support vector machine chooses on the authors' split, by dataset."""
    results = svm(tasks, max_train, run)
    return {result.cell.task: result.details["gamma"] for result in results}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a study from the command line and print its table."""
    parser = argparse.ArgumentParser(
        prog="python -m bochner.papers.letarte.plan",
        description="The experiments of Letarte, Morvant and Germain (AISTATS 2019), done again. "
        "The environment variable BOCHNER_DATA names the folder of the data files.",
    )
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--output", type=Path, help="results as JSON lines; what is in it is not measured again"
    )
    tabular = argparse.ArgumentParser(add_help=False)
    tabular.add_argument(
        "--datasets",
        type=_names,
        default=tuple(PUBLISHED),
        help=f"of {','.join(PUBLISHED)} (default: all)",
    )
    tabular.add_argument(
        "--max-train",
        type=int,
        default=MAX_TRAIN,
        help=f"larger training parts are cut to this many random rows (default: {MAX_TRAIN})",
    )
    studies = parser.add_subparsers(dest="study", required=True)
    one = studies.add_parser("svm", parents=[shared, tabular], help="the baseline, one split")
    one.add_argument("--seed", type=int, default=AUTHORS_SEED, help="of the split (default: 42)")
    many = studies.add_parser("table1", parents=[shared, tabular], help="landmarks, many splits")
    many.add_argument("--seeds", type=int, default=10, help="number of splits (default: 10)")
    many.add_argument("--first-seed", type=int, default=0, help="of the splits (default: 0)")
    many.add_argument(
        "--gamma-per-seed",
        action="store_true",
        help="choose gamma on each split (default: once, on the authors' split)",
    )
    many.add_argument(
        "--gamma-max-train",
        type=int,
        help="rows for the choice of gamma on the authors' split (default: as --max-train); "
        "fewer rows prefer another gamma",
    )
    many.add_argument(
        "--solver",
        choices=tuple(SOLVERS),
        default=CONVERGED,
        help="how the linear machine is trained: to the optimum, or as the authors did",
    )
    few = studies.add_parser("mnist49", parents=[shared], help="few frequencies, chosen well")
    few.add_argument("--seeds", type=int, default=3, help="number of draws (default: 3)")
    few.add_argument("--gamma", type=float, default=0.02, help="of the kernel (default: 0.02)")
    options = parser.parse_args(arguments)

    run: Run = partial(run_cells, measure=measure, notebook=Notebook(options.output))
    try:
        if options.study == "svm":
            results = svm(options.datasets, options.max_train, run, options.seed)
            text = REPORTS["svm"](results)
        elif options.study == "table1":
            seeds = range(options.first_seed, options.first_seed + options.seeds)
            results = table1(
                options.datasets,
                seeds,
                options.max_train,
                run,
                options.gamma_per_seed,
                [options.solver],
                options.gamma_max_train,
            )
            text = as_text(table1_sections(results, options.gamma_per_seed))
        else:
            text = REPORTS["mnist49"](mnist49(range(options.seeds), run, options.gamma))
    except FileNotFoundError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    print(text)


def _svm_cell(task: str, seed: int, max_train: int | None) -> Cell:
    return Cell("svm", task, SVM, None, seed, max_train)


def _table1_settings(
    gamma: float, solvers: Sequence[str]
) -> list[tuple[tuple[str, float | str], ...]]:
    if not solvers:
        return [(("gamma", gamma),)]
    return [(("gamma", gamma), ("solver", solver)) for solver in solvers]


def _place(result: Result, tasks: Sequence[str]) -> tuple[int, int]:
    return list(tasks).index(result.cell.task), result.cell.seed


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in PUBLISHED]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"there is no dataset {unknown[0]!r}; there are {', '.join(PUBLISHED)}"
        )
    return names


if __name__ == "__main__":
    main()
