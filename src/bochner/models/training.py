"""One model for use: settings chosen, an honest score, then trained again on all rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from bochner.data.tables import Table, take_rows
from bochner.linear.scoring import choose_measure
from bochner.linear.splits import hold_out
from bochner.models.calibration import fit_calibration
from bochner.models.methods import Rows, find_method
from bochner.models.pipelines import make_model
from bochner.models.preparation import make_preparation
from bochner.models.selection import Problem, choose

SET_ASIDE = 0.2  # of the rows, for the score


@dataclass(frozen=True)
class Trained:
    """A pipeline fitted on all rows, and how it came about.

    `chosen` has gamma, `C` and the settings of the map. `score` is that of a model with the same
    settings on `n_scored` rows that took no part in choosing or training; `calibration` is from
    the same rows, see :func:`bochner.models.calibration.fit_calibration`.
    """

    pipeline: Pipeline
    chosen: dict[str, Any]
    measure: str
    score: float
    n_scored: int
    calibration: dict[str, Any] | None


def check_method(table: Table, method: str, width: int | None) -> None:
    """A ValueError where a method cannot have this width, or is not for such data."""
    found = find_method(method)
    rows = Rows(len(table.y), table.X.shape[1], table.task, table.image_shape)
    reason = found.why_not(None if found.exact else width, rows)
    if reason is not None:
        raise ValueError(f"{reason}.")


def train(
    table: Table,
    method: str,
    *,
    width: int | None = 256,
    gamma: float | None = None,
    C: float | None = None,
    measure: str = "auto",
    random_state: int = 0,
    metric: str | None = None,
) -> Trained:
    """Choose the settings of a method, score them on rows set aside, and train on all.

    A fifth of the rows is set aside. Settings are chosen on a part of the others, which never
    sees them; a model of those settings and the others is scored on them. The model that comes
    back has the same settings and was trained with all rows, so that the score is, if anything,
    a little too low for it. A `gamma` or `C` that is given is not chosen. With a `metric`, a mode
    of :class:`~bochner.GradientMetric`, one is learned before the map, each time without the rows
    that judge it.

    Examples
    --------
    >>> from bochner.data.tables import read_table
    >>> from bochner.models.training import train
    >>> trained = train(read_table("iris"), "FourierFeatures", width=20)
    >>> trained.measure, trained.n_scored, trained.score > 0.8
    ('accuracy', 30, True)
    """
    found = find_method(method)
    check_method(table, found.name, width)
    counted = choose_measure(table.y, table.task, measure)
    width = None if found.exact else width
    split = hold_out(table.y, random_state, classes=counted.classes, fraction=SET_ASIDE)
    kept, held = (np.sort(rows) for rows in split)
    X, y = take_rows(table.X, kept), table.y[kept]
    X_held, y_held = take_rows(table.X, held), table.y[held]

    def model(X: Any, y: Any, settings: dict[str, Any]) -> Pipeline:
        return make_model(
            found.name,
            X,
            y,
            table.task,
            width=width,
            balanced=counted.balanced,
            random_state=random_state,
            image_shape=table.image_shape,
            metric=metric,
            **settings,
        ).fit(X, y)

    with _interruptible():
        prepared = make_preparation(X, table.image_shape).fit_transform(X)
        problem = Problem(
            prepared,
            y,
            table.task,
            counted,
            random_state,
            gamma,
            image_shape=table.image_shape,
            metric=metric,
        )
        chosen = choose(found, width, problem)

        def settings_for(n_rows: int) -> dict[str, Any]:
            return {**chosen.settings, "C": chosen.Cs(n_rows) if C is None else C}

        trial = model(X, y, settings_for(len(y)))
        predicted = trial.predict(X_held)
        if not counted.classes and not np.isfinite(predicted).all():
            raise ValueError("the predictions of rows set aside are not all finite numbers.")
        score = counted.score(y_held, predicted)
        calibration = None
        if counted.classes:
            decisions = trial.decision_function(X_held)
            calibration = fit_calibration(decisions, y_held, trial.classes_)
        final = settings_for(len(table.y))
        pipeline = model(table.X, table.y, final)
    return Trained(pipeline, final, counted.name, float(score), len(held), calibration)


@contextmanager
def _interruptible() -> Iterator[None]:
    """No warnings but one: a map that was interrupted, and would go on with what it has.

    Of the others, widths that cut a shell of eigenvalues, or searches that stop early, the score
    tells.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "interrupted", ConvergenceWarning)
        try:
            yield
        except ConvergenceWarning as warning:
            raise KeyboardInterrupt from warning
