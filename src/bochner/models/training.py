"""One model for use: settings chosen, an honest score, then trained again on all rows."""

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
from bochner.models.methods import Rows, find_method
from bochner.models.pipelines import make_model
from bochner.models.preparation import make_preparation, prepared_names
from bochner.models.regressor import KernelRegressor
from bochner.models.selection import Problem, choose
from bochner.models.settings import SQUARES
from bochner.models.streaming import RowCount, RowStream, can_stream, refit_head
from bochner.models.tuner import WIDTH

SET_ASIDE = 0.2  # of the rows, for the score
_BUDGET_SHARE = 0.6  # for the choice; the rest is for the model of all rows


@dataclass(frozen=True)
class Trained:
    """A pipeline fitted on all rows, and how it came about.

    `chosen` has gamma, `C` and the settings of the map. `score` is that of a model with the same
    settings on `n_scored` rows that took no part in choosing or training; `calibration` is from
    the same rows, see :func:`bochner.models.calibration.fit_calibration`. `n_rows` are all that
    the linear model was fitted to; `n_unknown` more were left out, being of classes that the table
    does not hold. For a kernel model there are `importances` of the prepared columns, the largest
    first, and what was `tried`.
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
    """A ValueError where a method cannot have this width or device, or is not for such data."""
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
    """Choose the settings of a method, score them on rows set aside, and train on all.

    A fifth of the rows is set aside. Settings are chosen on a part of the others, which never
    sees them; a model of those settings and the others is scored on them. The model that comes
    back has the same settings and was trained with all rows, so that the score is, if anything,
    a little too low for it. A `gamma` or `C` that is given is not chosen. With a `metric`, a name
    of :data:`bochner.models.pipelines.METRICS`, one is learned before the map, each time without
    the rows that judge it. With a `stream`, the table is a sample of its rows: the linear model is
    at last fitted to all of them, where it is one of :mod:`bochner.linear`. With a `device` of
    PyTorch metric, map and linear model are fitted there.

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
    """Choose a kernel model, score it on rows set aside, and train it on all.

    As :func:`train`, with :class:`~bochner.KernelClassifier` or :class:`~bochner.KernelRegressor`,
    which choose everything on held-out rows of their own, and rows that are filled in but not
    standardised, as they scale the columns. A `width` of None leaves the number of features to
    them, too. What is not to be chosen is given in `choices`: `kernel`, `metric`, `scaling`.

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
    if stream is not None:  # the rows in memory are not all of them, and there is one pass
        width = width or WIDTH
        if counted.classes:
            given["loss"] = SQUARES

    def prepared(X: Any) -> Any:
        return make_preparation(X, table.image_shape, standardize=False).fit(X)

    with _interruptible():
        prepare = prepared(aside.X)
        rows = on_device(prepare.transform(aside.X), device)
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
    """Columns with their importances, the most important first."""
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
        """The score of a model that was trained without the rows set aside, and calibration."""
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
