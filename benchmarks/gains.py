"""``python -m benchmarks gains``: learned maps with default parameters, compared with random ones.

All maps get standardised columns, the same rule for gamma and the same linear model, whose
penalty is chosen on held-out training rows that the map has not seen. Results are saved as they
are measured: an interrupted run continues where it stopped, and results of another commit are
measured again. Parts (``--tables digits --seed 0``, and so on) may run as separate processes that
share one file. ``--report --output FILE.md`` writes the page from it.

Settings that a map chooses itself while the penalty is chosen (number of frequencies, strength)
are kept when it is fitted again on all rows, as in the program.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from sklearn.pipeline import make_pipeline

from benchmarks.harness import heading, row
from benchmarks.metric import digits
from benchmarks.models import last_commit
from benchmarks.tables import TABLES, TEST, TRAIN, Task, friedman, split
from bochner.data import checkerboard_sphere
from bochner.fourier.posterior_features import Draw, PosteriorFourierFeatures
from bochner.linear.scoring import MEASURES
from bochner.models.methods import find_method
from bochner.models.pipelines import count_classes, make_head, make_metric
from bochner.models.selection import choose_map
from bochner.records.cells import Cell, Notebook, Result
from bochner.records.files import write_text_whole
from bochner.records.statistics import format_mean, mean_and_error
from bochner.records.wording import counted

FILE = Path("bochner-results/gains.jsonl")
WIDTHS = (32, 128, 512)
LEAST = 0.5  # points: smaller differences do not matter
RANDOM = "random"

_NAMES = ("adult", "a9a", "ijcnn1", "covtype", "cpusmall", "cadata", "internet_ads", "mnist")
SPHERE = "sphere"  # the one table whose rows are on the sphere


def sphere(seed: int, n: int = TRAIN + TEST) -> Task:
    """Return a checkerboard on the sphere, with one label in ten taken from another row."""
    X, y = checkerboard_sphere(n, a=3, b=4, random_state=seed)
    rng = np.random.default_rng(seed)
    return split(X, np.where(rng.random(n) < 0.1, rng.permutation(y), y), seed)


TASKS: Mapping[str, Callable[[int], Task]] = {
    **{name: TABLES[name] for name in _NAMES},
    "digits": digits,
    SPHERE: sphere,
}


# Methods of the registry, and whether a metric comes before them.
MAPS: Mapping[str, tuple[str, bool]] = {
    RANDOM: ("FourierFeatures", False),
    "posterior": ("PosteriorFourierFeatures", False),
    "landmarks": ("LandmarkSimilarities", False),
    "margin": ("MarginFourierFeatures", False),
    "harmonics": ("MarginHarmonicFeatures", False),
    "metric": ("FourierFeatures", True),
}


def make_map(name: str, width: int | None, task: str, seed: int) -> Any:
    """Return the unfitted map with its default parameters."""
    method, metric = MAPS[name]
    found = find_method(method).make_map(width=width, task=task, random_state=seed)
    return make_pipeline(make_metric("auto", task, seed), found) if metric else found


def found_by(name: str) -> Callable[[Any], dict[str, Any]]:
    """Return a function from a fitted map to the settings that it chose itself."""
    method, metric = MAPS[name]
    if metric:
        return lambda steps: {"gradientmetric__mode": steps[0].mode_}
    return find_method(method).settle


def title(name: str) -> str:
    method, metric = MAPS[name]
    return f"GradientMetric, {method}" if metric else method


@dataclass(frozen=True)
class Gain:
    """Lead of a map over the random one, in points (of accuracy, or of 100 R2)."""

    table: str
    width: int
    random: tuple[float, float]
    learned: tuple[float, float]
    difference: tuple[float, float]
    seconds: float

    @property
    def verdict(self) -> str:
        mean, error = self.difference
        if mean < -max(LEAST, 2 * error):
            return "worse"
        return "better" if mean > 2 * error else "same"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gains")
    parser.add_argument("--tables", default=",".join(TASKS), help="names, with commas")
    learned = [name for name in MAPS if name != RANDOM]
    parser.add_argument("--maps", default=",".join(learned), help="names, with commas")
    parser.add_argument("--rows", type=int, default=TRAIN, help="the most training rows")
    parser.add_argument("--seeds", type=int, default=3, help="how many random splits")
    parser.add_argument("--seed", type=int, action="append", help="only this one of them")
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)), help="columns")
    parser.add_argument("--version", default=last_commit(), help="the commit that is measured")
    parser.add_argument("--file", type=Path, default=FILE, help="where cells are kept")
    parser.add_argument("--output", type=Path, help="a page to write, in Markdown")
    parser.add_argument("--report", action="store_true", help="only of what is on file")
    parser.add_argument("--times", action="store_true", help="seconds of posterior fits alone")
    given = parser.parse_args(arguments)
    if given.times:
        fit_times()
        return
    tables, maps = given.tables.split(","), given.maps.split(",")
    for names, known in ((tables, TASKS), (maps, MAPS)):
        unknown = [name for name in names if name not in known]
        if unknown:
            parser.error(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
    widths = [int(width) for width in given.widths.split(",")]
    cells = [
        Cell("gains", table, name, width, seed, given.rows, (("version", given.version),))
        for seed in given.seed or range(given.seeds)
        for table in tables
        for width in widths
        for name in (RANDOM, *maps)
        if table == SPHERE or name != "harmonics"
    ]
    notebook = Notebook(given.file)
    if not given.report:
        measure_all(cells, notebook)
    results = [notebook[cell] for cell in cells if cell in notebook]
    found = {name: gains_of(results, name) for name in maps}
    for name, gains in found.items():
        print_gains(name, gains)
    if given.output is not None:
        write_text_whole(given.output, page(found, given.rows, given.seeds))


def fit_times(n: int = TRAIN, d: int = 50) -> None:
    """Time the fit of a chosen set and of the paper's draws."""
    heading(f"fit of PosteriorFourierFeatures, n={n}, d={d}, 100 columns: seconds of CPU")
    task = friedman(0, n=n * 4 // 3, d=d).standardised()
    for draw in get_args(Draw):
        learned = PosteriorFourierFeatures(draw=draw, gamma=0.5 / d, random_state=0)
        learned.fit(task.X[:100], task.y[:100])  # compiles
        begun = time.process_time()
        learned.fit(task.X[:n], task.y[:n])
        row(draw, f"{time.process_time() - begun:.2f} s")


def measure_all(cells: Sequence[Cell], notebook: Notebook) -> None:
    """Measure all cells whose table is available and that are not in the notebook."""
    missing: set[str] = set()
    tasks: dict[tuple[str, int], Task] = {}
    for cell in cells:
        if cell in notebook or cell.task in missing:
            continue
        key = cell.task, cell.seed
        try:
            tasks = tasks if key in tasks else {key: TASKS[cell.task](cell.seed)}
        except FileNotFoundError as error:
            print(f"{cell.task} is left out: {error}")
            missing.add(cell.task)
            continue
        notebook.add(measure(tasks[key], cell))
        found = notebook[cell]
        print(
            f"{cell.task}, split {cell.seed}, {cell.width} columns, {cell.method}: "
            f"{100 * found.score:.2f}, fit {found.fit:.1f} s, {found.seconds:.1f} s of CPU",
            flush=True,
        )


def measure(task: Task, cell: Cell) -> Result:
    """Fit one map, choose the penalty on held-out rows, and score it on the test rows."""
    task = task._replace(X=task.X[: cell.max_train], y=task.y[: cell.max_train]).standardised()
    kind, name = ("classification", "accuracy") if task.classes else ("regression", "R2")
    begun = time.process_time()
    head = make_head(kind, count_classes(task.y, kind))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns, searches that stop
        _, model = choose_map(
            {None: lambda: make_map(cell.method, cell.width, kind, cell.seed)},
            task.X,
            task.y,
            head,
            MEASURES[name],
            cell.seed,
            settle=found_by(cell.method),
        )
        score = MEASURES[name].score(task.y_test, model.predict_in_blocks(task.X_test))
    details = {"measure": name, "n_train": len(task.y)}
    chosen = getattr(model.feature_map, "n_chosen_", None)
    details |= {} if chosen is None else {"chosen": chosen}
    return Result(cell, score, model.seconds, time.process_time() - begun, details)


def gains_of(results: Sequence[Result], name: str) -> list[Gain]:
    """Return the gains by table and width, over the seeds that both maps were measured with."""
    scores: dict[tuple[str, int, str], dict[int, Result]] = {}
    for result in results:
        cell = result.cell
        key = cell.task, cell.width or 0, cell.method
        scores.setdefault(key, {})[cell.seed] = result
    gains = []
    for table, width, method in scores:
        if method != name:
            continue
        learned, random = (scores.get((table, width, one), {}) for one in (name, RANDOM))
        seeds = sorted(learned.keys() & random.keys())
        if not seeds:
            continue
        pairs = 100 * np.array([[random[s].score, learned[s].score] for s in seeds])
        columns = (*pairs.T, pairs[:, 1] - pairs[:, 0])
        before, after, ahead = (mean_and_error(list(column)) for column in columns)
        seconds = float(np.mean([learned[s].fit for s in seeds]))
        gains.append(Gain(table, width, before, after, ahead, seconds))
    return gains


def rows_of(gains: Sequence[Gain]) -> list[tuple[str, ...]]:
    return [
        (
            gain.table,
            str(gain.width),
            format_mean(*gain.random),
            format_mean(*gain.learned),
            format_mean(*gain.difference, "+.2f", ".2f"),
            gain.verdict,
            f"{gain.seconds:.1f}",
        )
        for gain in gains
    ]


_HEADER = ("table", "columns", "random", "learned", "difference", "verdict", "seconds of fit")


def summary(gains: Sequence[Gain]) -> list[str]:
    """Return the mean gain of each width with its standard error over tables, and verdicts."""
    lines = []
    for width in dict.fromkeys(gain.width for gain in gains):
        values = [gain.difference[0] for gain in gains if gain.width == width]
        mean = format_mean(*mean_and_error(values), "+.2f", ".2f")
        lines.append(
            f"{width} columns: {mean} points in the mean of {counted(len(values), 'table')}, "
            f"the least {min(values):+.2f}"
        )
    counts = [gain.verdict for gain in gains]
    kinds = [f"{counts.count(kind)} {kind}" for kind in dict.fromkeys(counts)]
    return [*lines, f"of {len(gains)} cells: {', '.join(kinds)}"]


def print_gains(name: str, gains: Sequence[Gain]) -> None:
    heading(f"{title(name)} beside FourierFeatures: accuracy in %, or 100 R2")
    widths = (14, 9, 16, 16, 16, 14, 16)
    for cells in (_HEADER, *rows_of(gains)):
        row(*cells, widths=widths)
    for line in summary(gains):
        print(line)


def page(found: Mapping[str, Sequence[Gain]], rows: int, seeds: int) -> str:
    """Return the page of the documentation; every figure on it is measured."""
    parts = [
        "# What learned maps gain over random ones",
        "",
        "Each learned map with its default parameters, compared with `FourierFeatures` of the",
        f"same width on at most {rows} training rows of standardised columns and {seeds} random",
        "splits. The penalty of the linear model is chosen on held-out training rows. Scores",
        "are accuracy in percent, or 100 R2, with standard errors over the splits;",
        "differences are paired by split. *Better* means by more than two standard errors;",
        f"*worse* means the same, and by more than {LEAST} points. Seconds are wall-clock",
        "times on a computer that was also doing other work. Written by",
        "`python -m benchmarks gains`.",
        "",
        "The map has not seen the rows on which the penalty is chosen. A linear model that",
        "chooses its penalty on rows from which the map was learned tends to take one that",
        "is too weak.",
    ]
    for name, gains in found.items():
        header = [_HEADER, tuple("---" for _ in _HEADER)]
        table = ["| " + " | ".join(cells) + " |" for cells in (*header, *rows_of(gains))]
        lines = [f"- {line}" for line in summary(gains)]
        parts += ["", f"## {title(name)}", "", *lines, "", *table]
    return "\n".join(parts) + "\n"
