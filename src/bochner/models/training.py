"""One model for use: settings chosen, an honest score, then trained again on all rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline

from bochner.compare.measure import MOST_EXACT, measure_for
from bochner.data.tables import Table
from bochner.models.calibration import fit_calibration
from bochner.models.methods import EXACT, find_method, for_images, make_model
from bochner.models.selection import stratification, tune_model

HELD_OUT = 0.2  # of the rows, for the score

SCORES = {
    "accuracy": accuracy_score,
    "balanced-accuracy": balanced_accuracy_score,
    "R2": r2_score,
}


@dataclass(frozen=True)
class Trained:
    """A fitted pipeline, and how it came about.

    Attributes
    ----------
    pipeline : Pipeline
        Fitted on all rows.
    chosen : dict
        Gamma, `C` and the settings of the map.
    measure : {"accuracy", "balanced-accuracy", "R2"}
    score : float
        Of a model with the same settings on rows that took no part in choosing or training.
    n_scored : int
        How many rows that were.
    calibration : dict or None
        See :func:`bochner.models.calibration.fit_calibration`, from the same rows.
    """

    pipeline: Pipeline
    chosen: dict[str, Any]
    measure: str
    score: float
    n_scored: int
    calibration: dict[str, Any] | None


def check_method(table: Table, method: str, width: int | None) -> None:
    """A ValueError where a method cannot have this width, or is not for such data.

    Parameters
    ----------
    table, method, width
        As for :func:`train`.

    Examples
    --------
    >>> from bochner.data.tables import read_table
    >>> from bochner.models.training import check_method
    >>> check_method(read_table("iris"), "FourierFeatures", 7)
    Traceback (most recent call last):
    ...
    ValueError: width must be even for FourierFeatures, got 7: cosines and sines.
    """
    found = find_method(method)
    n, most = len(table.y), MOST_EXACT[table.task]
    if found.name == EXACT and n > most:
        raise ValueError(
            f"the exact machine is for at most {most} rows, these are {n}: use --max-rows {most} "
            "or a feature map."
        )
    if found.even and width is not None and width % 2:
        raise ValueError(f"width must be even for {found.name}, got {width}: cosines and sines.")
    if found.images and table.image_shape is None:
        raise ValueError(for_images(found.name))


def train(
    table: Table,
    method: str,
    *,
    width: int | None = 256,
    gamma: float | None = None,
    C: float | None = None,
    measure: str = "auto",
    random_state: int = 0,
) -> Trained:
    """Choose the settings of a method, score them on rows set aside, and train on all.

    A fifth of the rows is set aside. Settings are chosen on a part of the others, which never
    sees them; a model of those settings and the others is scored on them. The model that comes
    back has the same settings and was trained with all rows, so that the score is, if anything,
    a little too low for it.

    Parameters
    ----------
    table : Table
        The data.
    method : str
        A key of :data:`bochner.models.methods.METHODS`.
    width : int or None, default=256
        Columns of the map.
    gamma, C : float or None, default=None
        None: chosen.
    measure : {"auto", "accuracy", "balanced-accuracy"}, default="auto"
        See :func:`bochner.compare.measure.measure_for`.
    random_state : int, default=0
        The seed of all that is random.

    Returns
    -------
    Trained

    Examples
    --------
    >>> from bochner.data.tables import read_table
    >>> from bochner.models.training import train
    >>> trained = train(read_table("iris"), "FourierFeatures", width=20)
    >>> trained.measure, trained.n_scored, trained.score > 0.8
    ('accuracy', 30, True)
    """
    name = find_method(method).name
    check_method(table, name, width)
    measure = measure_for(table, measure)
    options: dict[str, Any] = {
        "width": None if name == EXACT else width,
        "balanced": measure == "balanced-accuracy",
        "random_state": random_state,
        "image_shape": table.image_shape,
    }
    kept, held = _split(table, random_state)
    X, y = table.X, table.y
    with _interruptible():
        trial, chosen, _ = tune_model(
            name, _take(X, kept), y[kept], table.task, gamma=gamma, **options
        )
        if C is not None:
            chosen = {**chosen, "C": C}
            trial = make_model(name, _take(X, kept), y[kept], table.task, **options, **chosen)
        trial.fit(_take(X, kept), y[kept])
        score = SCORES[measure](y[held], trial.predict(_take(X, held)))
        calibration = None
        if table.task == "classification":
            decisions = trial.decision_function(_take(X, held))
            calibration = fit_calibration(decisions, y[held], trial.classes_)
        pipeline = make_model(name, X, y, table.task, **options, **chosen).fit(X, y)
    return Trained(pipeline, chosen, measure, float(score), len(held), calibration)


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


def _split(table: Table, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    y = table.y
    n_classes = len(np.unique(y)) if table.task == "classification" else None
    kept, held = train_test_split(
        np.arange(len(y)),
        test_size=HELD_OUT,
        random_state=seed,
        stratify=stratification(y, n_classes, HELD_OUT),
    )
    return np.sort(kept), np.sort(held)


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]
