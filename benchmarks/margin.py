"""Learned features against random ones: 100 for pairs of MNIST, and 32 to 2048 for tables.

``BOCHNER_DATA`` names the folder with ``mnist.npz``. On a GPU: ``python -m benchmarks.device``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.datasets import make_classification

from benchmarks.harness import best_times, heading, row
from benchmarks.tables import TABLES, Task, split
from bochner import FourierFeatures, MarginFourierFeatures
from bochner.data.local import LocalDataset, load_pair
from bochner.linear import RidgeClassifier, SquaredHingeClassifier
from bochner.linear.scoring import MEASURES
from bochner.models.selection import choose_map
from bochner.papers.bullins.common import RANDOM
from bochner.papers.bullins.table1 import TABLE1
from bochner.records.cells import Cell

PAIRS = ("mnist17", "mnist49", "mnist56")
GIVEN: dict[str, Any] = {"dual_update": "corrective", "band": 12.0, "damping": 0.3, "n_peaks": 5}
WIDTHS = (12, 30, 12, 12)
ROWS = 8000


def margin(n_components: int = 100, random_widths: tuple[int, ...] = (100, 1000)) -> None:
    heading(f"{n_components} features for pairs of MNIST, against tuned random ones")
    try:
        pairs = [load_pair(name) for name in PAIRS]
    except FileNotFoundError as error:
        print(f"left out: {error}")
        return
    row("pair", "features", "fit", "accuracy", widths=WIDTHS)
    for pair in pairs:
        maps = {
            "learned, defaults": partial(learned, n_components),
            "learned, settings given": partial(learned, n_components, **GIVEN),
        }
        fits = {name: partial(fit, make, pair) for name, make in maps.items()}
        times = best_times(fits, repeats=2)
        for name, make in maps.items():
            row(pair.name, name, f"{times[name]:.2f} s", accuracy(make, pair), widths=WIDTHS)
        for width in random_widths:
            result = TABLE1.measure(Cell("table1", pair.name, RANDOM, width, 0))
            score = f"{100 * result.score:.2f} %"
            row(pair.name, f"{width} random, tuned", f"{result.fit:.2f} s", score, widths=WIDTHS)


def learned(n_components: int, **settings: Any) -> MarginFourierFeatures:
    return MarginFourierFeatures(n_components=n_components, random_state=0, **settings)


def fit(make: partial[MarginFourierFeatures], pair: LocalDataset) -> MarginFourierFeatures:
    return make().fit(pair.X_train, pair.y_train)


def accuracy(make: partial[MarginFourierFeatures], pair: LocalDataset) -> str:
    """Return the accuracy of a squared-hinge classifier, C chosen on held-out training rows."""
    measure, head = MEASURES["accuracy"], SquaredHingeClassifier()
    _, model = choose_map({"": make}, pair.X_train, pair.y_train, head, measure, seed=0)
    return f"{100 * measure.score(pair.y_test, model.predict(pair.X_test)):.2f} %"


def made(n_classes: int, noise: float, seed: int) -> Task:
    """Return clusters in 16 columns; a share of the labels is drawn at random."""
    X, y = make_classification(
        3 * ROWS // 2,
        16,
        n_informative=16,
        n_redundant=0,
        n_classes=n_classes,
        class_sep=2.5 if n_classes > 2 else 1.0,
        flip_y=noise,
        random_state=seed,
    )
    return split(X, y, seed)


def widths(widths: tuple[int, ...] = (32, 128, 512, 2048), seed: int = 0) -> None:
    heading(f"maps of {ROWS} rows, C chosen on held-out rows, then all of them used")
    tables: dict[str, Callable[[int], Task]] = {
        "26 classes": partial(made, 26, 0.0),
        "noisy": partial(made, 2, 0.5),
        "covtype": TABLES["covtype"],
        "mnist": TABLES["mnist"],
    }
    columns = (12, 8, 10, 10, 10, 10, 10)
    row("table", "columns", "random", "to the end", "learned", "of them", "fit", widths=columns)
    for name, load in tables.items():
        try:
            task = load(seed).standardised() if name != "mnist" else load(seed)
        except FileNotFoundError as error:
            print(f"left out: {error}")
            continue
        for width in widths:
            random, _ = on_table(partial(FourierFeatures, gamma="median"), width, task, seed)
            whole, _ = on_table(partial(MarginFourierFeatures, stop=None), width, task, seed)
            stopped, model = on_table(MarginFourierFeatures, width, task, seed)
            count = f"{2 * model.feature_map.n_learned_}"
            scores = (f"{100 * score:.2f} %" for score in (random, whole, stopped))
            row(name, width, *scores, count, f"{model.seconds:.1f} s", widths=columns)


def on_table(make: Any, width: int, task: Task, seed: int) -> tuple[float, Any]:
    """Return the accuracy on the test rows, and the model."""
    measure, X, y = MEASURES["accuracy"], task.X[:ROWS], task.y[:ROWS]
    maps = {"": partial(make, n_components=width, random_state=seed)}
    _, model = choose_map(maps, X, y, RidgeClassifier(), measure, seed)
    return measure.score(task.y_test, model.predict_in_blocks(task.X_test)), model
