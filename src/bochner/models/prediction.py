"""A model applied to a file, a piece at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.data.tables import Expected, TableError, stream_table
from bochner.models.calibration import probabilities
from bochner.models.files import Model
from bochner.models.running_score import running_score

Extra = Literal["scores", "probabilities"] | None


@dataclass
class PredictionSummary:
    """What there is to say after predicting.

    Attributes
    ----------
    n_rows : int
        Rows predicted.
    notes : list of str
        Sentences for the user, each once.
    unseen : dict
        For each category, rows with a value that was not there in training.
    measure, score, n_scored
        The score on the rows that have a target; None and 0 where there are none.
    """

    n_rows: int = 0
    notes: list[str] = field(default_factory=list)
    unseen: dict[str, int] = field(default_factory=dict)
    measure: str | None = None
    score: float | None = None
    n_scored: int = 0


def predict_file(
    model: Model, source: str | Path, file: BinaryIO, extra: Extra = None
) -> PredictionSummary:
    """Predict the rows of a file and write the predictions as CSV, one line per row.

    Rows are read and predictions written in pieces, so that a file may be larger than memory
    (but for a npz file, whose arrays are read whole).

    Parameters
    ----------
    model : Model
        See :func:`bochner.models.files.load_model`.
    source : str or Path
        Data as for :func:`bochner.data.tables.read_table`, with or without the target.
    file : binary file
        Where the CSV goes.
    extra : {None, "scores", "probabilities"}, default=None
        What else to write for every row: a column for each class (for two classes one score).

    Returns
    -------
    PredictionSummary

    Raises
    ------
    TableError, SchemaError
        In one line, where the file cannot be read or does not fit the model.

    Examples
    --------
    >>> import io
    >>> from bochner.data.tables import read_table
    >>> from bochner.models.prediction import predict_file
    >>> from bochner.models.files import Model
    >>> from bochner.models.methods import make_model
    >>> from bochner.models.schema import Schema
    >>> X, y = read_table("iris").X, read_table("iris").y
    >>> pipeline = make_model("MercerFeatures", X, y, "classification", width=15).fit(X, y)
    >>> file = io.BytesIO()
    >>> summary = predict_file(Model(pipeline, Schema.of(X), {}), "iris", file)
    >>> file.getvalue().split()[:3]
    [b'prediction', b'0', b'0']
    >>> summary.n_rows, summary.score > 0.9
    (150, True)
    """
    import pandas as pd

    names, extra_values = _extra_columns(model, extra)
    summary, file_notes = PredictionSummary(), list[str]()
    measure = model.details.get("measure") or ("R2" if model.task == "regression" else "accuracy")
    score = running_score(measure, getattr(model.pipeline, "classes_", ()))
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    writer.writerow(["prediction", *names])
    for rows, y in stream_table(source, _expected(model), file_notes):
        X, notes = model.schema.arrange(rows)
        summary.notes.extend(note for note in notes if note not in summary.notes)
        for name, count in model.schema.unseen(X).items():
            summary.unseen[name] = summary.unseen.get(name, 0) + count
        predicted = np.asarray(model.pipeline.predict(X))
        values = extra_values(X).tolist() if extra_values else [[]] * len(predicted)
        pairs = zip(predicted.tolist(), values, strict=True)
        writer.writerows([label, *more] for label, more in pairs)
        summary.n_rows += len(predicted)
        if y is not None and score is not None:
            known = np.asarray(pd.notna(y), bool)
            score.add(np.asarray(y, object)[known], predicted[known])
    text.flush()
    text.detach()  # or the file would be closed with it
    if summary.n_rows == 0:
        raise TableError(f"the file {source} has no rows.")
    summary.notes += [note.rstrip(".") for note in file_notes]
    if score is not None:
        summary.notes += score.notes()
        summary.score = score.value()
    if score is not None and summary.score is not None:
        summary.measure, summary.n_scored = measure, score.n_rows
    return summary


def _expected(model: Model) -> Expected:
    shape: Any = model.details.get("image_shape")
    is_shape = isinstance(shape, (list, tuple)) and len(shape) == 3
    return Expected(
        columns=tuple(column.name for column in model.schema.columns or ()),
        text_columns=frozenset(model.schema.text_columns()),
        target=model.target,
        image_shape=(int(shape[0]), int(shape[1]), int(shape[2])) if is_shape else None,
    )


def _extra_columns(
    model: Model, extra: Extra
) -> tuple[list[str], Callable[[Any], NDArray[Any]] | None]:
    """The names of the columns after the prediction, and the function that gives them."""
    if extra is None:
        return [], None
    if not hasattr(model.pipeline, "decision_function"):
        raise TableError(f"{extra} are for classes, and this model predicts numbers.")
    decide, classes = model.pipeline.decision_function, list(model.pipeline.classes_)
    if extra == "scores":
        shown = classes[1:] if len(classes) == 2 else classes
        return [f"score_{name}" for name in shown], lambda X: _as_columns(decide(X))
    calibration = model.details.get("calibration")
    if calibration is None:
        raise TableError("this model has no probabilities; use --scores.")
    names = [f"probability_{name}" for name in classes]
    return names, lambda X: probabilities(decide(X), calibration)


def _as_columns(values: NDArray[Any]) -> NDArray[Any]:
    return values[:, None] if values.ndim == 1 else values
