"""Measurement of a cell of a comparison: a method at a width on a random split.

All methods share the split and the prepared rows. Settings are chosen on held-out training rows
(:mod:`bochner.models.selection`), never on the test rows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compare.guarantees import Evidence, NoGuarantee, guarantee_of
from bochner.compare.pictures import draw_cell
from bochner.compare.plan import METRIC, Setup, split_rows
from bochner.compare.race import BY_ROW, written
from bochner.data.tables import take_rows
from bochner.engine import features, fourier_sums, kernel_rows
from bochner.kernels import Gaussian
from bochner.models.methods import METHODS
from bochner.models.pipelines import gamma_by_rule
from bochner.models.preparation import make_preparation, prepared_names
from bochner.models.selection import GAMMAS, FittedModel, Problem, learn, learn_whole
from bochner.records.cells import Cell, Result

MOST_IMPORTANT = 20  # columns that are shown
_DIRECTIONS, _ENTRIES = 3, 5  # directions that are shown, and largest entries of each


@dataclass(frozen=True)
class Split:
    """Prepared training rows as a problem, without and with a metric, and prepared test rows.

    `prepare` is what prepared them; `raw` has training and test rows as they are in the file.
    """

    problem: Problem
    with_metric: Problem
    X_test: Any
    y_test: NDArray[Any]
    training: NDArray[np.intp]
    test: NDArray[np.intp]
    prepare: Any
    raw: tuple[Any, Any]

    def problem_of(self, cell: Cell) -> Problem:
        """Return the problem of a cell, with a metric or without."""
        return self.problem if cell.setting(METRIC) is None else self.with_metric

    def test_rows(self, cell: Cell) -> Any:
        """Return the test rows as the model of a cell takes them."""
        return self.X_test if METHODS[cell.method].whole is None else self.raw[1]

    def prepared(self, cell: Cell, X: Any) -> Any:
        """Convert rows as they are in a file to rows that the model of a cell takes."""
        return self.prepare.transform(X) if METHODS[cell.method].whole is None else X


def make_split(setup: Setup, seed: int) -> Split:
    """Return the rows of a random split, prepared by what is fitted to the training rows."""
    table = setup.table
    training, test = split_rows(setup, seed)
    X, X_test = take_rows(table.X, training), take_rows(table.X, test)
    prepare = make_preparation(X, table.image_shape).fit(X)
    problem = Problem(
        prepare.transform(X),
        table.y[training],
        table.task,
        setup.measure,
        seed,
        setup.gamma,
        setup.device,
        table.image_shape,
    )
    return Split(
        problem,
        replace(problem, metric=setup.metric),
        prepare.transform(X_test),
        table.y[test],
        training,
        test,
        prepare,
        (X, X_test),
    )


@cache
def _load_compiled() -> None:
    """Load the compiled loops once per process, outside the time of its first cell."""
    rows = np.eye(3)
    features(rows, rows)
    fourier_sums(rows, rows, rows)
    kernel_rows(rows, rows, Gaussian(gamma=1.0))


@dataclass
class Measurer:
    """Function that measures cells of a setup; keeps the prepared split for the next cell."""

    setup: Setup
    _split: tuple[int, Split] | None = field(default=None, repr=False)

    def __call__(self, cell: Cell) -> Result:
        """Measure one cell."""
        _load_compiled()
        start = time.perf_counter()
        model, split = self.learn(cell)
        begun = time.perf_counter()
        predictions = model.predict(split.test_rows(cell))
        transform = time.perf_counter() - begun
        score = self.setup.measure.score(split.y_test, predictions)
        if not np.isfinite(score):
            raise ValueError(f"the score of the test rows is not a finite number: {score}.")
        details: dict[str, Any] = {
            "transform": transform,
            "chosen": model.settings,
            "n_test": len(split.y_test),
            "guarantee": None,
            BY_ROW: written(self.setup.measure.by_row(split.y_test, predictions)),
            **_count_errors(self.setup, split.y_test, predictions),
        }
        if cell.seed == 0:
            details |= self._guarantee(cell, model, split)
            details |= draw_cell(self.setup, cell, model, split)
            if model.metric.fitted is not None:
                details[METRIC] = describe_metric(
                    model.metric.fitted, prepared_names(split.prepare)
                )
        seconds = time.perf_counter() - start
        return Result(cell, score, model.seconds, seconds, details)

    def learn(self, cell: Cell) -> tuple[FittedModel, Split]:
        """Return the fitted model of a cell, and its split."""
        if self._split is None or self._split[0] != cell.seed:
            self._split = cell.seed, make_split(self.setup, cell.seed)
        split, entry = self._split[1], METHODS[cell.method]
        if entry.whole is None:
            return learn(cell.method, cell.width, split.problem_of(cell)), split
        return learn_whole(entry, split.raw[0], split.problem_of(cell)), split

    def _guarantee(self, cell: Cell, model: FittedModel, split: Split) -> dict[str, Any]:
        """Return the guarantee for the map's kernel, or the reason why there is none."""
        method, problem = METHODS[cell.method], split.problem_of(cell)
        if not method.has_kernel:
            return {"no_guarantee": "it has none"}
        evidence = Evidence(
            model.place(model.metric(split.test_rows(cell))),
            self.setup.table.X,
            self.setup.table.y,
            problem.task,
            problem.seed,
            gamma_by_rule(problem.X),
            GAMMAS if problem.gamma is None else (),
            model.place,
            problem.image_shape,
            problem.metric is not None,
        )
        found = guarantee_of(method.guarantee, model.feature_map, evidence)
        if isinstance(found, NoGuarantee):
            return {"no_guarantee": found.reason}
        return {"guarantee": found.as_dict()}


def is_complete(result: Result) -> bool:
    """Whether a result from a file has everything that is shown, in the right form."""
    details = result.details
    chosen, n_test, errors = (details.get(name) for name in ("chosen", "n_test", "errors"))
    times = (result.fit, result.seconds, details.get("transform"))
    return (
        all(isinstance(number, (int, float)) and np.isfinite(number) for number in times)
        and bool(np.isfinite(result.score))
        and isinstance(chosen, dict)
        and isinstance(n_test, int)
        and (errors is None or (isinstance(errors, int) and 0 <= errors <= n_test))
        and {"errors", "guarantee"} <= details.keys()
        and _are_counts(details.get("class_errors"))
        and _is_guarantee(details["guarantee"])
    )


def _are_counts(by_class: Any) -> bool:
    """Whether these are pairs of whole numbers, wrong decisions and rows, or None."""
    if by_class is None:
        return True
    return isinstance(by_class, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(isinstance(number, int) for number in pair)
        and 0 <= pair[0] <= pair[1]
        for pair in by_class
    )


def _is_guarantee(found: Any) -> bool:
    """Whether this is a guarantee as kept on file, or None."""
    if found is None:
        return True
    kinds = {"name": str, "value": float | int, "uninformative": float | int, "statement": str}
    return isinstance(found, dict) and all(
        isinstance(found.get(name), kind) for name, kind in kinds.items()
    )


def describe_metric(metric: Any, names: Sequence[str]) -> dict[str, Any]:
    """Describe a fitted metric: its mode, the columns that matter most, and its directions.

    A direction has the names and weights of its largest entries, the largest one positive.
    """

    def largest(values: NDArray[Any], most: int) -> list[tuple[str, float]]:
        order = np.argsort(-np.abs(values), kind="stable")[:most]
        sign = np.sign(values[order[0]]) or 1.0
        return [(names[i], float(sign * values[i])) for i in order]

    directions = metric.directions_ if metric.directions_ is not None else ()
    return {
        "mode": metric.mode_,
        "columns": len(names),
        "importances": largest(metric.importances_, MOST_IMPORTANT),
        "directions": [largest(one, _ENTRIES) for one in directions[:_DIRECTIONS]],
    }


def _count_errors(setup: Setup, y: NDArray[Any], predictions: NDArray[Any]) -> dict[str, Any]:
    """Count wrong decisions, in all and per class with its number of rows; None for regression."""
    if not setup.measure.classes:
        return {"errors": None, "class_errors": None}
    wrong = predictions != y
    by_class = [
        [int(np.sum(wrong[y == label])), int(np.sum(y == label))]
        for label in np.unique(setup.table.y)
    ]
    return {"errors": int(np.sum(wrong)), "class_errors": by_class}
