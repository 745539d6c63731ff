"""GradientMetric: its time, its memory, what it gains, and xRFM side by side."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, make_friedman1
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import PeakMemory, best_times, heading, row
from bochner import FourierFeatures, GradientMetric
from bochner.data.local import find_file
from bochner.linear import RidgeClassifier, RidgeRegressor
from bochner.linear.base import LinearHead
from bochner.linear.scoring import MEASURES
from bochner.models.selection import Problem, learn
from bochner.records.statistics import format_mean, mean_and_error

TRAIN, TEST = 10_000, 10_000  # the most rows of a table
WIDTH = 4000  # columns of the features
_NUMBERS = ("cadata", "cpusmall")
_TABLES = ("ijcnn1", "covtype", *_NUMBERS, "adult")


class Task(NamedTuple):
    """Standardised rows and labels to learn from, and to be tested on."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any

    @property
    def classes(self) -> bool:
        return np.asarray(self.y).dtype.kind != "f"


def split(X: Any, y: Any, seed: int) -> Task:
    order = np.random.RandomState(seed).permutation(len(y))
    n = min(TRAIN, int(0.75 * len(y)))
    train, test = order[:n], order[n : n + TEST]
    scaler = StandardScaler().fit(X[train])
    return Task(scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def friedman(seed: int, n: int = TRAIN + TEST, d: int = 50) -> Task:
    X, y = make_friedman1(n, d, noise=1.0, random_state=seed)
    return split(X, y, seed)


def two_directions(seed: int) -> Task:
    """Of 30 columns two directions, neither of them a column, under as much noise as signal."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(-1, 1, size=(TRAIN + TEST, 30))
    u, v = np.linalg.qr(rng.normal(size=(30, 2)))[0].T
    signal = np.sin(3 * X @ u) + (X @ v) ** 2 / 2
    return split(X, signal + signal.std() * rng.normal(size=len(X)), seed)


def digits(seed: int) -> Task:
    X, y = load_digits(return_X_y=True)
    return split(X, y, seed)


def local(name: str, seed: int) -> Task:
    path = find_file(f"{name}.npz")
    if path is None:
        raise FileNotFoundError(f"there is no {name}.npz in the folder of the data.")
    with np.load(path) as file:
        parts = [key for key in file.files if key.startswith("X")]
        X = np.concatenate([file[key] for key in parts])
        y = np.concatenate([file[key.replace("X", "y")] for key in parts])
    return split(X.astype(np.float32), y.astype(float if name in _NUMBERS else int), seed)


TASKS: Mapping[str, Callable[[int], Task]] = {
    "Friedman 1, 50 columns": friedman,
    "two directions of 30": two_directions,
    **{name: partial(local, name) for name in _TABLES},
    "digits": digits,
}


class RidgeProblem(Problem):
    """With the same head for any number of classes."""

    def head(self) -> LinearHead:
        return RidgeClassifier() if self.measure.classes else RidgeRegressor()


def ours(task: Task, mode: str | None, seed: int) -> float:
    """R2 or accuracy of Fourier features and ridge; gamma and C chosen on held-out rows."""
    kind, measure = ("classification", "accuracy") if task.classes else ("regression", "R2")
    problem = RidgeProblem(task.X, task.y, kind, MEASURES[measure], seed, metric=mode)
    model = learn("FourierFeatures", WIDTH, problem)
    return problem.measure.score(task.y_test, model.predict(task.X_test))


def fit_time() -> None:
    heading("fit of GradientMetric, n=10000, d=50, and of one ridge regression of its width")
    task = friedman(0, n=TRAIN * 4 // 3)
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
                task = make(seed)
            except FileNotFoundError as error:
                print(f"{name} is left out: {error}")
                break
            for mode, values in found.items():
                values.append(ours(task, mode, seed))
        texts = [format_mean(*mean_and_error(v), ".4f") for v in found.values() if v]
        row(name, *texts, widths=(26, 20, 20))


def xrfm_score(task: Task, seed: int) -> float:
    """xRFM as it comes, on the CPU; a fifth of the training rows is what it tunes with."""
    import torch
    from xrfm import xRFM

    model = xRFM(device="cpu", random_state=seed, verbose=False)
    order = np.random.RandomState(seed).permutation(len(task.y))
    labels, y = np.unique(task.y, return_inverse=True) if task.classes else (None, task.y)
    parts = []
    for rows in np.split(order, [int(0.8 * len(order))]):
        parts += [torch.tensor(task.X[rows], dtype=torch.float32), torch.tensor(y[rows])]
    if not task.classes:
        parts = [part.float() if part.ndim == 2 else part.float()[:, None] for part in parts]
    model.fit(*parts)
    predictions = model.predict(torch.tensor(task.X_test, dtype=torch.float32))
    predictions = np.asarray(predictions).ravel()
    if labels is None:
        return MEASURES["R2"].score(task.y_test, predictions)
    return float(np.mean(labels[predictions.astype(int)] == task.y_test))


def beside_xrfm(names: tuple[str, ...] = tuple(TASKS)) -> None:
    heading("a metric, FourierFeatures(4000) and ridge beside xRFM: score and seconds of all")
    if find_spec("xrfm") is None:
        print("xRFM is not installed: pip install 'bochner[bench]'")
        return
    row("", "ours", "xRFM", "ours", "xRFM", widths=(26, 10, 10, 12, 12))
    for name in names:
        try:
            task = TASKS[name](0)
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
