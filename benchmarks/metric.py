"""GradientMetric: time, memory and gain, compared with xRFM."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.harness import PeakMemory, best_times, heading, row
from benchmarks.peers import XRFM
from benchmarks.tables import TABLES, TEST, TRAIN, Task, friedman, split
from bochner import FourierFeatures, GradientMetric
from bochner.linear import RidgeClassifier, RidgeRegressor
from bochner.linear.base import LinearHead
from bochner.linear.scoring import MEASURES
from bochner.models.selection import Problem, learn
from bochner.records.statistics import format_mean, mean_and_error

WIDTH = 4000  # columns of the features
_TABLES = ("ijcnn1", "covtype", "cadata", "cpusmall", "adult")


def two_directions(seed: int) -> Task:
    """Return a target of two oblique directions of 30 columns, with as much noise as signal."""
    rng = np.random.RandomState(seed)
    X = rng.rand(TRAIN + TEST, 30)
    u, v = np.linalg.qr(rng.normal(size=(30, 2)))[0].T
    signal = np.sin(3 * X @ u) + (X @ v) ** 2 / 2
    return split(X, signal + signal.std() * rng.normal(size=len(X)), seed)


def digits(seed: int) -> Task:
    X, y = load_digits(return_X_y=True)
    return split(X, y, seed)


TASKS: Mapping[str, Callable[[int], Task]] = {
    "Friedman 1, 50 columns": friedman,
    "two directions of 30": two_directions,
    **{name: TABLES[name] for name in _TABLES},
    "digits": digits,
}


class RidgeProblem(Problem):
    """Ridge problem with the same linear model for any number of classes."""

    def head(self, *, squares: bool = True) -> LinearHead:
        return RidgeClassifier() if self.measure.classes else RidgeRegressor()


def ours(task: Task, mode: str | None, seed: int) -> float:
    """Return R2 or accuracy of Fourier features and ridge, gamma and C chosen on held-out rows."""
    kind, measure = ("classification", "accuracy") if task.classes else ("regression", "R2")
    problem = RidgeProblem(task.X, task.y, kind, MEASURES[measure], seed, metric=mode)
    model = learn("FourierFeatures", WIDTH, problem)
    return problem.measure.score(task.y_test, model.predict(task.X_test))


def fit_time() -> None:
    heading("fit of GradientMetric, n=10000, d=50, and of one ridge regression of its width")
    task = friedman(0, n=TRAIN * 4 // 3).standardised()
    features = FourierFeatures(n_components=1024, gamma="median", random_state=0)
    times = best_times(
        {
            "GradientMetric": lambda: GradientMetric(random_state=0).fit(task.X, task.y),
            "FourierFeatures(1024), ridge": lambda: RidgeRegressor().fit(
                features.fit_transform(task.X), task.y
            ),
        },
        repeats=2,
    )
    first, second = times.values()
    for name, seconds in times.items():
        row(name, f"{seconds:.2f} s")
    row("ratio", f"{first / second:.1f} x")


def memory(n: int = 200_000, d: int = 20) -> None:
    heading(f"GradientMetric of a memory map, n={n}, d={d}, float32")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        X = np.memmap(path, np.float32, "w+", shape=(n, d))
        rng = np.random.default_rng(0)
        y = np.empty(n)
        for start in range(0, n, 100_000):
            part = rng.uniform(-2, 2, size=(min(100_000, n - start), d))
            X[start : start + len(part)] = part
            y[start : start + len(part)] = np.sin(part[:, 0] * part[:, 1])
        X.flush()
        rows = np.memmap(path, np.float32, "r", shape=(n, d))
        GradientMetric(random_state=0).fit(rows[:5000], y[:5000])  # compiles
        for some in (n // 4, n):
            with PeakMemory() as peak:
                start_time = time.perf_counter()
                GradientMetric(random_state=0).fit(rows[:some], y[:some])
                seconds = time.perf_counter() - start_time
            row(f"{some} rows", f"{seconds:.1f} s", f"{peak.extra:.0f} MB")


def scores(seeds: int = 3) -> None:
    heading(f"FourierFeatures({WIDTH}) and ridge without and with a metric: R2 or accuracy")
    row("", "none", "metric", widths=(26, 20, 20))
    for name, make in TASKS.items():
        found: dict[str | None, list[float]] = {None: [], "auto": []}
        for seed in range(seeds):
            try:
                task = make(seed).standardised()
            except FileNotFoundError as error:
                print(f"{name} is left out: {error}")
                break
            for mode, values in found.items():
                values.append(ours(task, mode, seed))
        texts = [format_mean(*mean_and_error(v), ".4f") for v in found.values() if v]
        row(name, *texts, widths=(26, 20, 20))


def xrfm_score(task: Task, seed: int) -> float:
    measure = MEASURES["accuracy" if task.classes else "R2"]
    return measure.score(task.y_test, XRFM(seed).fit(task.X, task.y).predict(task.X_test))


def beside_xrfm(names: tuple[str, ...] = tuple(TASKS)) -> None:
    heading("a metric, FourierFeatures(4000) and ridge beside xRFM: score and seconds of all")
    if find_spec("xrfm") is None:
        print("xRFM is not installed: pip install 'bochner[bench]'")
        return
    row("", "ours", "xRFM", "ours", "xRFM", widths=(26, 10, 10, 12, 12))
    for name in names:
        try:
            task = TASKS[name](0).standardised()
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}")
            continue
        found, seconds = [], []
        for score in (partial(ours, task, "auto", 0), partial(xrfm_score, task, 0)):
            start = time.perf_counter()
            found.append(f"{score():.4f}")
            seconds.append(f"{time.perf_counter() - start:.1f} s")
        row(name, *found, *seconds, widths=(26, 10, 10, 12, 12))


def metric() -> None:
    fit_time()
    memory()
    scores()
    beside_xrfm()
