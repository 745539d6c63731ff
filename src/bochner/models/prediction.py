"""A model applied to a file, a piece at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.data.images import flatten_images, shape_text
from bochner.data.table_files import (
    CHUNK,
    FORMATS,
    TableError,
    TextForm,
    csv_frames,
    decimal_commas_note,
    file_format,
    parquet_frames,
    reading,
    svmlight_rows,
    text_form,
)
from bochner.data.tables import NAMED
from bochner.linear.scoring import MEASURES
from bochner.models.calibration import probabilities
from bochner.models.files import Model
from bochner.models.wording import counted

Beside = Literal["scores", "probabilities"] | None

_ROWS = ("X", "X_test", "X_train", "x_test", "x_train", "data")  # names in a npz file, in turn


@dataclass
class Summary:
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
    model: Model, source: str | Path, file: BinaryIO, beside: Beside = None
) -> Summary:
    """Predict the rows of a file and write the predictions as CSV, one line a row.

    A CSV or Parquet file is read and written in pieces, so that it may be larger than memory.

    Parameters
    ----------
    model : Model
        See :func:`bochner.models.files.load_model`.
    source : str or Path
        Data as for :func:`bochner.data.tables.read_table`, with or without the target.
    file : binary file
        Where the CSV goes.
    beside : {None, "scores", "probabilities"}, default=None
        What else to write for every row: a column for each class (for two classes one score).

    Returns
    -------
    Summary

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
    >>> from bochner.models.pipelines import make_model
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
    summary = Summary()
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    names, extra = _columns(model, beside)
    writer.writerow(["prediction", *names])
    truth: list[NDArray[Any]] = []
    found: list[NDArray[Any]] = []
    commas: set[str] = set()
    for given, y in _pieces(model, Path(source), commas):
        X, notes = model.schema.arrange(given)
        summary.notes.extend(note for note in notes if note not in summary.notes)
        for name, count in model.schema.unseen(X).items():
            summary.unseen[name] = summary.unseen.get(name, 0) + count
        labels = np.asarray(model.pipeline.predict(X))
        values = extra(X).tolist() if extra is not None else [[]] * len(labels)
        pairs = zip(labels.tolist(), values, strict=True)
        writer.writerows([label, *more] for label, more in pairs)
        summary.n_rows += len(labels)
        if y is not None:
            told = _told(y)
            truth.append(np.asarray(y, object)[told])
            found.append(labels[told])
    text.flush()
    text.detach()  # or the file would be closed with it
    if summary.n_rows == 0:
        raise TableError(f"the file {source} has no rows.")
    if commas:
        summary.notes.append(decimal_commas_note(sorted(commas)).rstrip("."))
    if truth:
        _judge(model, np.concatenate(truth), np.concatenate(found), summary)
    return summary


def _columns(model: Model, beside: Beside) -> tuple[list[str], Any]:
    """The names of the columns beside the prediction, and the function that gives them."""
    if beside is None:
        return [], None
    if not hasattr(model.pipeline, "decision_function"):
        raise TableError(f"{beside} are for classes, and this model predicts numbers.")
    decide, classes = model.pipeline.decision_function, list(model.pipeline.classes_)
    if beside == "scores":
        shown = classes[1:] if len(classes) == 2 else classes
        return [f"score_{name}" for name in shown], lambda X: _two_dimensions(decide(X))
    calibration = model.details.get("calibration")
    if calibration is None:
        raise TableError("this model has no probabilities; use --scores.")
    names = [f"probability_{name}" for name in classes]
    return names, lambda X: probabilities(decide(X), calibration)


def _two_dimensions(values: NDArray[Any]) -> NDArray[Any]:
    return values[:, None] if values.ndim == 1 else values


def _pieces(model: Model, path: Path, commas: set[str]) -> Iterator[tuple[Any, Any]]:
    """Rows as they are in a file, and their labels where the file has them.

    Columns that are written with decimal commas are added to `commas`.
    """
    if str(path) in NAMED:
        X, y = NAMED[str(path)](str(path))
        yield from _cut(X, y)
        return
    if not path.is_file():
        raise TableError(f"there is no file {str(path)!r}; what can be read is {FORMATS}.")
    if path.stat().st_size == 0:
        raise TableError(f"the file {path} is empty.")
    kind = file_format(path)
    if kind == "npz":
        yield from _cut(*_arrays(path, model))
    elif kind == "svmlight":
        X, y, _ = svmlight_rows(path, None, np.random.RandomState(0))
        yield from _cut(X, y)
    else:
        frames = parquet_frames(path) if kind == "parquet" else _frames(model, path, commas)
        for frame in frames:
            if not len(frame):
                continue
            has_target = model.target is not None and model.target in frame.columns
            y = frame[model.target] if has_target else None
            yield (frame.drop(columns=[model.target]) if has_target else frame), y


def _frames(model: Model, path: Path, commas: set[str]) -> Iterator[Any]:
    columns = model.schema.columns or ()
    form = _form(path, [column.name for column in columns])
    texts = set(model.schema.text_columns())
    if model.task == "classification":
        texts.discard(model.target or "")
    as_text = [name for name in form.names if name in texts]
    return csv_frames(path, form, as_text=as_text, commas=commas)


def _form(path: Path, names: list[str]) -> TextForm:
    """How the file is written; without a header it is the columns of the model in their order."""
    try:
        form = text_form(path)
    except TableError:
        if len(names) != 1:
            raise
        with reading(path), path.open(encoding="utf-8-sig") as file:
            header = file.readline().strip().strip('"') == names[0]
        # One column has no separator; a comma would cut decimal commas.
        return TextForm(";", tuple(names), header, "utf-8-sig")
    unnamed = [f"column{i + 1}" for i in range(len(names) + 1)]
    if not form.header and len(form.names) == len(names) and set(names) <= set(unnamed):
        return TextForm(form.separator, tuple(names), False, form.encoding)
    return form


def _arrays(path: Path, model: Model) -> tuple[Any, Any]:
    with reading(path), np.load(path, allow_pickle=False) as archive:
        found = [name for name in _ROWS if name in archive.files]
        if not found:
            raise TableError(
                f"the file {path} must hold an array {_ROWS[0]!r}; it holds "
                f"{', '.join(archive.files)}."
            )
        X = archive[found[0]]
        labels = found[0].replace("X", "y").replace("x", "y").replace("data", "target")
        name = labels if labels in archive.files else model.target
        y = archive[name] if name in archive.files else None
    if X.ndim < 2 or X.dtype.kind not in "fiub":
        raise TableError(
            f"{found[0]} in {path} must be numbers of shape (rows, columns), got {X.dtype} of "
            f"shape {X.shape}."
        )
    wanted = _image_shape(model)
    X, shape = flatten_images(X, wanted)
    if wanted is not None and shape not in (None, wanted):
        raise TableError(
            f"the model takes images of {shape_text(wanted)}, those in {path} are "
            f"{shape_text(shape)}."
        )
    return X, y.ravel() if y is not None and y.size == len(X) else None


def _image_shape(model: Model) -> tuple[int, int, int] | None:
    """Height, width and channels of the images that a model was trained with."""
    given = model.details.get("image_shape")
    if not isinstance(given, (list, tuple)) or len(given) != 3:
        return None
    return int(given[0]), int(given[1]), int(given[2])


def _cut(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    for first in range(0, X.shape[0], CHUNK):
        rows = slice(first, first + CHUNK)
        yield X[rows], None if y is None else y[rows]


def _told(y: Any) -> NDArray[np.bool_]:
    """Which labels are there."""
    import pandas as pd

    return np.asarray(pd.notna(y), bool)


def _judge(model: Model, truth: Any, found: Any, summary: Summary) -> None:
    """The score of the predictions, as it was measured in training; nothing if it cannot be."""
    measure = model.details.get("measure") or ("R2" if model.task == "regression" else "accuracy")
    if not len(truth) or measure not in MEASURES:
        return
    if measure == "R2":
        try:
            truth = truth.astype(np.float64)
        except (TypeError, ValueError):
            summary.notes.append("the target of these rows does not hold numbers: no score")
            return
        if len(truth) < 2 or np.ptp(truth) == 0:
            return
        score = MEASURES[measure].score(truth, found)
    else:
        truth, found = (np.array([_label(value) for value in part]) for part in (truth, found))
        new = ~np.isin(truth, [_label(value) for value in model.pipeline.classes_])
        if new.any():
            verb = "is" if new.sum() == 1 else "are"
            summary.notes.append(
                f"{counted(int(new.sum()), 'row')} {verb} of classes that the model never saw"
            )
        if measure == "balanced-accuracy":
            score = float(np.mean([np.mean(found[truth == c] == c) for c in np.unique(truth)]))
        else:
            score = float(np.mean(truth == found))
    summary.measure, summary.score, summary.n_scored = measure, float(score), len(truth)


def _label(value: Any) -> str:
    """A class as text: 3.0 is the class 3, which a column with gaps makes of it."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()
