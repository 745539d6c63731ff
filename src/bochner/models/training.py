"""Training of one model for use: choice of settings, an honest score, then a fit on all rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from bochner.data.tables import Table, take_rows
from bochner.engine.places import is_numpy_device, on_device
from bochner.linear.scoring import Measure, choose_measure
from bochner.linear.splits import hold_out
from bochner.models.calibration import fit_calibration
from bochner.models.classifier import KernelClassifier
from bochner.models.devices import BatchPredictor, fit_pipeline
from bochner.models.limits import may_be_exact
from bochner.models.methods import Rows, find_method
from bochner.models.pipelines import make_model
from bochner.models.preparation import make_preparation, prepared_names
from bochner.models.regressor import KernelRegressor
from bochner.models.selection import Problem, choose
from bochner.models.settings import SQUARES
from bochner.models.streaming import RowCount, RowStream, can_stream, refit_head
from bochner.models.tuner import WIDTH

SET_ASIDE = 0.2  # share of the rows, for the score
_BUDGET_SHARE = 0.6  # share for the choice; the rest is for the model of all rows


@dataclass(frozen=True)
class Trained:
    """A pipeline fitted on all rows, and how it was chosen.

    `chosen` holds gamma, `C` and the settings of the map. `score` is the score of a model with the
    same settings on `n_scored` rows that took no part in choosing or training; `calibration` is
    from the same rows, see :func:`bochner.models.calibration.fit_calibration`. `n_rows` counts the
    rows that the linear model was fitted to; `n_unknown` more were left out because their classes
    do not occur in the table. For a kernel model, `importances` holds those of the prepared
    columns, the largest first, and `tried` the settings that were tried.
    """

    pipeline: Pipeline
    chosen: dict[str, Any]
    measure: str
    score: float
    n_scored: int
    calibration: dict[str, Any] | None
    n_rows: int
    n_unknown: int = 0
    importances: tuple[tuple[str, float], ...] = ()
    tried: tuple[dict[str, Any], ...] = ()


def check_method(table: Table, method: str, width: int | None, device: Any = "cpu") -> None:
    """Raise a ValueError if a method does not allow this width, this device or such data."""
    found = find_method(method)
    if found.baseline and not is_numpy_device(device):
        raise ValueError(
            f"{found.name} is scikit-learn's and runs on the CPU: leave out --device."
        )
    rows = Rows(len(table.y), table.X.shape[1], table.task, table.image_shape)
    reason = found.only_compared or found.why_not(None if found.exact else width, rows)
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
    stream: RowStream | None = None,
    device: Any = "cpu",
) -> Trained:
    """Choose the settings of a method, score them on rows set aside, and train on all rows.

    A fifth of the rows is set aside. Settings are chosen on the other rows alone, and a model with
    these settings, trained on the other rows, is scored on the rows set aside. The model that is
    returned has the same settings and is trained on all rows, so that the score is, if anything, a
    little too low for it. A `gamma` or `C` that is given is not chosen. With a `metric`, a name in
    :data:`bochner.models.pipelines.METRICS`, a metric is learned before the map, each time without
    the rows that judge it. With a `stream`, the table is a sample of its rows: the linear model is
    finally fitted to all of them, if it is one of :mod:`bochner.linear`. With a PyTorch `device`,
    metric, map and linear model are fitted there.

    Examples
    --------
    >>> from bochner.data.tables import read_table
    >>> from bochner.models.training import train
    >>> trained = train(read_table("iris"), "FourierFeatures", width=20)
    >>> trained.measure, trained.n_scored, trained.score > 0.8
    ('accuracy', 30, True)
    """
    found = find_method(method)
    check_method(table, found.name, width, device)
    counted = choose_measure(table.y, table.task, measure)
    width = None if found.exact else width
    aside = _set_aside(table, counted, random_state)
    X, y = aside.X, aside.y

    def model(X: Any, y: Any, settings: dict[str, Any]) -> Pipeline:
        pipeline = make_model(
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
        )
        return fit_pipeline(pipeline, X, y, device, chosen.refit)

    with _interruptible():
        prepared = make_preparation(X, table.image_shape).fit_transform(X)
        problem = Problem(
            prepared,
            y,
            table.task,
            counted,
            random_state,
            gamma,
            device,
            image_shape=table.image_shape,
            metric=metric,
        )
        chosen = choose(found, width, problem)

        def settings_for(n_rows: int) -> dict[str, Any]:
            return {**chosen.settings, "C": chosen.Cs(n_rows) if C is None else C}

        trial = model(X, y, settings_for(len(y)))
        score, calibration = aside.judge(trial, device)
        final = settings_for(len(table.y))
        pipeline = model(table.X, table.y, final)
        count = RowCount(n_used=len(table.y))
        if stream is not None and can_stream(pipeline):
            final = settings_for(table.n_drawn_from or len(table.y))
            pipeline, count = refit_head(pipeline, stream, final["C"])
    held = len(aside.y_held)
    rows = count.n_used, count.n_unknown
    return Trained(pipeline, final, counted.name, score, held, calibration, *rows)


def train_kernel_model(
    table: Table,
    *,
    width: int | None = None,
    measure: str = "auto",
    random_state: int = 0,
    time_budget: float | None = None,
    stream: RowStream | None = None,
    device: Any = "cpu",
    **choices: Any,
) -> Trained:
    """Choose a kernel model, score it on rows set aside, and train it on all rows.

    This works like :func:`train`, with :class:`~bochner.KernelClassifier` or
    :class:`~bochner.KernelRegressor`, which make all choices on held-out rows of their own. Rows
    are imputed but not standardised, as these models scale the columns themselves. A `width` of
    None leaves the number of features to them, too. Settings that are not to be chosen are given
    in `choices`: `kernel`, `metric`, `scaling`.

    Examples
    --------
    >>> from bochner.data.tables import read_table
    >>> from bochner.models.training import train_kernel_model
    >>> trained = train_kernel_model(read_table("iris"), width=64, metric=None)
    >>> list(trained.pipeline.named_steps), trained.n_scored, trained.score > 0.8
    (['prepare', 'scaling', 'map', 'head'], 30, True)
    """
    counted = choose_measure(table.y, table.task, measure)
    aside = _set_aside(table, counted, random_state)
    given: dict[str, Any] = {"random_state": random_state, **choices}
    if time_budget is not None:
        given["time_budget"] = _BUDGET_SHARE * time_budget
    if counted.balanced:
        given["class_weight"] = "balanced"
    kind = KernelClassifier if counted.classes else KernelRegressor
    if stream is not None:  # not all rows are in memory, and there is only one pass
        width = width or WIDTH
        if counted.classes:
            given["loss"] = SQUARES

    def prepared(X: Any) -> Any:
        return make_preparation(X, table.image_shape, standardize=False).fit(X)

    with _interruptible():
        prepare = prepared(aside.X)
        rows = on_device(prepare.transform(aside.X), device)
        hurried = time_budget is not None
        if width is None and not may_be_exact(rows, len(table.y), hurried=hurried):
            width = WIDTH  # there is room for the rows to choose with, but not for all
        model = kind(width or "auto", **given).fit(rows, aside.y)
        trial = Pipeline([("prepare", prepare), *model.pipeline_.steps])
        score, calibration = aside.judge(trial, device)
        important = _important(model.importances_, prepared_names(prepare))
        prepare = prepared(table.X)
        blocks = None if stream is None else stream.prepared_by(prepare)
        rows = on_device(prepare.transform(table.X), device)
        final = model.trained_again(rows, table.y, blocks)
    count = RowCount(n_used=len(table.y)) if blocks is None else blocks.count
    return Trained(
        Pipeline([("prepare", prepare), *final.steps]),
        model.chosen_,
        counted.name,
        score,
        len(aside.y_held),
        calibration,
        count.n_used,
        count.n_unknown,
        important,
        tuple(model.search_results_),
    )


def _important(importances: Any, names: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return columns with their importances, the most important first."""
    if importances is None:
        return ()
    pairs = zip(names, (float(value) for value in importances), strict=True)
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))


@dataclass(frozen=True)
class _Aside:
    """Rows to choose and train with, and others to judge by."""

    X: Any
    y: NDArray[Any]
    X_held: Any
    y_held: NDArray[Any]
    measure: Measure

    def judge(self, trial: Pipeline, device: Any) -> tuple[float, dict[str, Any] | None]:
        """Return score and calibration of a model trained without the rows set aside."""
        predictor = BatchPredictor(trial, device)
        predicted = predictor.predict(self.X_held)
        if not self.measure.classes:
            if not np.isfinite(predicted).all():
                raise ValueError("the predictions of rows set aside are not all finite numbers.")
            return float(self.measure.score(self.y_held, predicted)), None
        decisions = predictor.decision_function(self.X_held)
        calibration = fit_calibration(decisions, self.y_held, trial.classes_)
        return float(self.measure.score(self.y_held, predicted)), calibration


def _set_aside(table: Table, measure: Measure, seed: int) -> _Aside:
    split = hold_out(table.y, seed, classes=measure.classes, fraction=SET_ASIDE)
    kept, held = (np.sort(rows) for rows in split)
    X, X_held = (take_rows(table.X, rows) for rows in (kept, held))
    return _Aside(X, table.y[kept], X_held, table.y[held], measure)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ignore all warnings but that of an interrupted map, which becomes a KeyboardInterrupt.

    The effect of what the others are about, widths that cut a shell of eigenvalues or searches
    that stop early, shows in the score.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "interrupted", ConvergenceWarning)
        try:
            yield
        except ConvergenceWarning as warning:
            raise KeyboardInterrupt from warning
