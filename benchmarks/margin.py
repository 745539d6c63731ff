"""100 learned features beside random ones on pairs of MNIST: time to fit, and what they give.

``BOCHNER_DATA`` names the folder with ``mnist.npz``. On a GPU: ``python -m benchmarks.device``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.harness import best_times, heading, row
from bochner import MarginFourierFeatures
from bochner.data.local import LocalDataset, load_pair
from bochner.linear import SquaredHingeClassifier
from bochner.linear.scoring import MEASURES
from bochner.models.selection import choose_map
from bochner.papers.bullins.common import RANDOM
from bochner.papers.bullins.table1 import TABLE1
from bochner.records.cells import Cell

PAIRS = ("mnist17", "mnist49", "mnist56")
GIVEN: dict[str, Any] = {"dual_update": "corrective", "band": 12.0, "damping": 0.3, "n_peaks": 5}
WIDTHS = (12, 30, 12, 12)


def margin(n_components: int = 100, random_widths: tuple[int, ...] = (100, 1000)) -> None:
    heading(f"{n_components} features for pairs of MNIST, beside tuned random ones")
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
    """Of a linear model with the squared hinge, whose C was chosen on held-out training rows."""
    assert pair.y_test is not None
    rows, measure = (pair.X_train, pair.y_train), MEASURES["accuracy"]
    _, model = choose_map({1.0: make}, *rows, SquaredHingeClassifier(), measure, 0)
    return f"{100 * measure.score(pair.y_test, model.predict_in_blocks(pair.X_test)):.2f} %"
