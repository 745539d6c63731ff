"""A model applied to a file, a piece at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.data.columns import count_infinite, infinite_note
from bochner.data.tables import Expected, TableError, stream_table
from bochner.linear.scoring import MEASURES, Measure
from bochner.models.calibration import as_columns, probabilities
from bochner.models.files import Model
from bochner.models.folding import fold_pipeline
from bochner.models.running_score import running_score

Extra = Literal["scores", "probabilities"] | None


@dataclass
class PredictionSummary:
    """What there is to say after predicting."""

    n_rows: int = 0  # rows predicted
    notes: list[str] = field(default_factory=list)  # sentences for the user, each once
    unseen: dict[str, int] = field(default_factory=dict)  # rows with a new value, by category
    # the score of the rows that have a target, if there are any
    measure: str | None = None
    score: float | None = None
    n_scored: int = 0


def predict_file(
    model: Model, source: str | Path, file: BinaryIO, extra: Extra = None
) -> PredictionSummary:
    """Predict the rows of a file and write the predictions as CSV, one line per row.

    Rows are read and predictions written in pieces, so that a file may be larger than memory
    (but for an npz file, whose arrays are read whole). The target may be missing. `extra` is what
    else to write for every row: a column for each class (for two classes one score). A file that
    cannot be read, or does not fit the model, is a TableError or a SchemaError in one line.

    Names of classes are written as they are, so that what is read back is what was learned; a note
    says so where a spreadsheet would take one for a formula.
    """
    import pandas as pd

    pipeline = fold_pipeline(model.pipeline)
    names, extra_values = _extra_columns(model, pipeline, extra)
    summary, file_notes = PredictionSummary(), list[str]()
    measure = _find_measure(model)
    classes = getattr(model.pipeline, "classes_", ())
    score = None if measure is None else running_score(measure, classes)
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    writer.writerow(["prediction", *names])
    n_infinite = 0
    for rows, y in stream_table(source, _expected(model), file_notes):
        X, notes = model.schema.arrange(rows)
        n_infinite += count_infinite(rows[list(X.columns)]) if hasattr(X, "columns") else 0
        summary.notes.extend(note for note in notes if note not in summary.notes)
        for name, count in model.schema.unseen(X).items():
            summary.unseen[name] = summary.unseen.get(name, 0) + count
        predicted = np.asarray(pipeline.predict(X))
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
    summary.notes += _formula_note(classes)
    summary.notes += [infinite_note(n_infinite)] * bool(n_infinite)
    summary.notes += [note.rstrip(".") for note in file_notes]
    if measure is not None and score is not None:
        summary.notes += score.notes()
        summary.score = score.value()
        if summary.score is not None:
            summary.measure, summary.n_scored = measure.name, score.n_rows
    return summary


def _formula_note(classes: Iterable[Any]) -> list[str]:
    formulas = [name for name in map(str, classes) if name.startswith(("=", "+", "-", "@"))]
    formulas = [name for name in formulas if not _is_number(name)]
    note = f"the class {formulas[0]!r} is written as it is" if formulas else ""
    return [f"{note}; a spreadsheet may take it for a formula"] * bool(note)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _find_measure(model: Model) -> Measure | None:
    """The measure that the model was trained for; by default the first that suits its task."""
    name = model.details.get("measure")
    if name:
        return MEASURES.get(str(name))
    is_class = model.task != "regression"
    return next(measure for measure in MEASURES.values() if measure.classes == is_class)


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
    model: Model, pipeline: Any, extra: Extra
) -> tuple[list[str], Callable[[Any], NDArray[Any]] | None]:
    """The names of the columns after the prediction, and the function that gives them."""
    if extra is None:
        return [], None
    if not hasattr(pipeline, "decision_function"):
        raise TableError(f"{extra} are for classes, and this model predicts numbers.")
    decide, classes = pipeline.decision_function, list(pipeline.classes_)
    if extra == "scores":
        shown = classes[1:] if len(classes) == 2 else classes
        return [f"score_{name}" for name in shown], lambda X: as_columns(decide(X))
    calibration = model.details.get("calibration")
    if calibration is None:
        raise TableError("this model has no probabilities; use --scores.")
    names = [f"probability_{name}" for name in classes]
    return names, lambda X: probabilities(decide(X), calibration)
