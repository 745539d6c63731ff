"""``python -m benchmarks models``: KernelClassifier and KernelRegressor against other models.

All models receive the columns as they are in the file. Ours, gradient boosting and xRFM have
their default parameters. Results are saved as they are measured: an interrupted run continues
where it stopped, and results of another version (for ours: another commit) are measured again.
``--tables``, ``--methods``, ``--rows`` and ``--seeds`` select a part. The small tables that come
with scikit-learn are measured if they are named, or with ``--tables small``; ``--tables packaged``
measures those of :mod:`benchmarks.packaged`.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.harness import heading, row
from benchmarks.packaged import PACKAGED
from benchmarks.peers import PEERS
from benchmarks.tables import SMALL, TABLES, TEST, TRAIN, Task, friedman
from bochner.linear.scoring import MEASURES, Measure
from bochner.records.cells import Cell, Notebook, Result
from bochner.records.statistics import format_mean, mean_and_error

FILE = Path("bochner-results/models.jsonl")
_GROUPS: Mapping[str, Sequence[str]] = {"small": tuple(SMALL), "packaged": tuple(PACKAGED)}
_WIDTHS = (14, *[22] * len(PEERS))

Found = Mapping[tuple[str, str], Sequence[Result]]  # by table and method, one per seed


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks models")
    parser.add_argument(
        "--tables", default=",".join(TABLES), help=f"names, or {', '.join(_GROUPS)}; with commas"
    )
    parser.add_argument("--methods", default=",".join(PEERS), help="names, with commas")
    parser.add_argument("--rows", type=int, default=TRAIN, help="to learn from, at most")
    parser.add_argument("--seeds", type=int, default=3, help="how many random splits")
    parser.add_argument("--file", type=Path, default=FILE, help="where cells are kept")
    given = parser.parse_args(arguments)
    methods = given.methods.split(",")
    tables = [one for name in given.tables.split(",") for one in _GROUPS.get(name, [name])]
    for names, known in ((tables, _known_tables()), (methods, PEERS)):
        unknown = [name for name in names if name not in known]
        if unknown:
            parser.error(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
    seeds, notebook = range(given.seeds), Notebook(given.file)
    found = measure_all(tables, _installed(methods), seeds, notebook, given.rows)
    print_scores(found, given.rows)
    print_seconds(found)
    print_choices(found)


def _known_tables() -> Mapping[str, Callable[[int], Task]]:
    return {**PACKAGED, **SMALL, **TABLES}


def _installed(methods: Iterable[str]) -> list[str]:
    kept = []
    for name in methods:
        if PEERS[name].version is None:
            print(f"{PEERS[name].title} is left out: pip install 'bochner[bench]'")
        else:
            kept.append(name)
    return kept


def last_commit() -> str:
    """Return the last commit that changed the package; empty outside of a clone."""
    command = ["git", "log", "-1", "--format=%h", "--", "src"]
    folder = Path(__file__).parents[1]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def cell_of(table: str, method: str, seed: int, n_rows: int = TRAIN) -> Cell:
    version = last_commit() if method == "ours" else PEERS[method].version
    return Cell("models", table, method, None, seed, n_rows, (("version", version),))


def measure_all(
    tables: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    notebook: Notebook,
    n_rows: int = TRAIN,
) -> Found:
    """Measure what is not in the notebook, one seed after the other."""
    found: dict[tuple[str, str], list[Result]] = {}
    for seed in seeds:
        for table in tables:
            cells = {method: cell_of(table, method, seed, n_rows) for method in methods}
            task = None
            for method, cell in cells.items():
                if cell not in notebook:
                    try:
                        task = task or _known_tables()[table](seed).first(n_rows)
                    except FileNotFoundError as error:
                        print(f"{table} is left out: {error}")
                        break
                    notebook.add(measure(task, cell))
                    print(f"{cell}: {_describe(notebook[cell])}", flush=True)
                found.setdefault((table, method), []).append(notebook[cell])
    return found


def measure(task: Task, cell: Cell) -> Result:
    """Fit one model, and score it on the test rows."""
    model = PEERS[cell.method].make(task, cell.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns, searches that stop
        warm_up(cell.method)
        begun, cpu_begun = time.perf_counter(), time.process_time()
        model.fit(task.X, task.y)
        fit, cpu = time.perf_counter() - begun, time.process_time() - cpu_begun
        predictions = model.predict(task.X_test)
    name = "accuracy" if task.classes else "R2"
    details: dict[str, Any] = {"measure": name, "cpu": cpu}
    if cell.method == "ours":
        details |= {"chosen": model.chosen_, "tried": model.search_results_}
    score = MEASURES[name].score(task.y_test, predictions)
    return Result(cell, score, fit, time.perf_counter() - begun, details)


@cache
def warm_up(method: str) -> None:
    """Import and compile what a method needs, outside its measured time."""
    small = friedman(0, n=4000, d=5)  # fewer rows are fitted without features
    PEERS[method].make(small, 0).fit(small.X, small.y)


def mean_scores(found: Found) -> dict[str, dict[str, tuple[float, float]]]:
    """Return mean and standard error by table and method, in the units shown."""
    means: dict[str, dict[str, tuple[float, float]]] = {}
    for (table, method), results in found.items():
        factor = _measure(results).factor
        values = [factor * result.score for result in results]
        means.setdefault(table, {})[method] = mean_and_error(values)
    return means


def mean_ranks(found: Found) -> dict[str, float]:
    """Return the rank of each method's mean score, averaged over tables; 1 is the best.

    Only tables on which all methods were measured count.
    """
    means = mean_scores(found)
    methods = list(dict.fromkeys(method for _, method in found))
    ranks = [
        rankdata([-scores[method][0] for method in methods])
        for scores in means.values()
        if len(scores) == len(methods)
    ]
    return dict(zip(methods, np.mean(ranks, axis=0), strict=True)) if ranks else {}


def time_ratios(found: Found, method: str = "ours", other: str = "xrfm") -> dict[str, float]:
    """Return the ratio of the fit times of two methods, by table."""
    seconds = {key: sum(result.fit for result in results) for key, results in found.items()}
    tables = dict.fromkeys(table for table, _ in found)
    return {
        table: seconds[table, method] / seconds[table, other]
        for table in tables
        if (table, method) in seconds and (table, other) in seconds
    }


def _measure(results: Sequence[Result]) -> Measure:
    return MEASURES[results[0].details["measure"]]


def _describe(result: Result) -> str:
    measure = _measure([result])
    text = f"{measure.name} {measure.factor * result.score:.4g}, fit {result.fit:.1f} s"
    text += f" (CPU {result.details['cpu']:.1f} s)"
    chosen = result.details.get("chosen")
    return f"{text}, {_setting(chosen)}" if chosen else text


def _setting(chosen: Mapping[str, Any]) -> str:
    names = ("scaling", "metric", "kernel", "bandwidth", "penalty")
    text = ", ".join(f"{name} {chosen[name]}" for name in names)
    other = chosen["averaged_with"]
    return text if other is None else f"{text}; and {other['kernel']}, metric {other['metric']}"


def _print_table(found: Found, title: str, texts: Mapping[tuple[str, str], str]) -> None:
    heading(title)
    methods = list(dict.fromkeys(method for _, method in found))
    row("", *(PEERS[method].title for method in methods), widths=_WIDTHS)
    for table in dict.fromkeys(table for table, _ in found):
        row(table, *(texts.get((table, method), "-") for method in methods), widths=_WIDTHS)


def print_scores(found: Found, n_rows: int = TRAIN) -> None:
    means = mean_scores(found)
    texts = {
        (table, method): format_mean(
            *means[table][method], ".2f" if _measure(results).classes else ".4f"
        )
        for (table, method), results in found.items()
    }
    rows = f"at most {n_rows} training and {TEST} test rows"
    _print_table(found, f"accuracy in %, or R2; {rows}", texts)
    ranks = mean_ranks(found)
    row("mean rank", *(f"{rank:.2f}" for rank in ranks.values()), widths=_WIDTHS)


def print_seconds(found: Found) -> None:
    texts = {}
    for key, results in found.items():
        cpu = np.mean([result.details["cpu"] for result in results])
        texts[key] = f"{np.mean([result.fit for result in results]):.1f} ({cpu:.1f})"
    _print_table(found, "seconds of fit, all choices included (in brackets: of CPU)", texts)
    ratios = time_ratios(found)
    if ratios:
        each = ", ".join(f"{table} {ratio:.2f}" for table, ratio in ratios.items())
        mean = math.exp(np.mean(np.log(list(ratios.values()))))
        print(f"\ntime of ours / time of xRFM: {mean:.2f} (geometric mean); {each}")


def print_choices(found: Found) -> None:
    chosen = [r for (_, method), results in found.items() if method == "ours" for r in results]
    if chosen:
        heading("what ours chose")
    for result in chosen:
        seed = f"{result.cell.task}, seed {result.cell.seed}"
        row(seed, "  " + _setting(result.details["chosen"]), widths=(24, 0))
