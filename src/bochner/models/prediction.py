"""A model applied to files, a piece at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from bochner.data.bundled import BUNDLED
from bochner.data.columns import count_infinite, infinite_note
from bochner.data.errors import DamagedFileError, EmptyFileError
from bochner.data.formats import name_without_suffixes, written_format
from bochner.data.formats.base import Piece, TableWriter
from bochner.data.sources import check_one_format, find_source, left_out_note
from bochner.data.tables import TableError, stream_file, stream_table
from bochner.engine.rowwise import merge_tree
from bochner.engine.uncompiled import few_rows
from bochner.linear.scoring import MEASURES, Measure
from bochner.models.calibration import as_columns, probabilities
from bochner.models.cluster import Cluster
from bochner.models.devices import BatchPredictor
from bochner.models.files import Model
from bochner.models.running_score import RunningScore, running_score
from bochner.models.schema import SchemaError
from bochner.models.streaming import expected_rows
from bochner.records.files import writing_whole

FEW_ROWS = 4000  # rows up to which compiled loops are not worth loading

Extra = Literal["scores", "probabilities"] | None


@dataclass
class PredictionSummary:
    """What to report after predicting."""

    n_rows: int = 0  # rows predicted
    n_files: int = 1
    notes: list[str] = field(default_factory=list)  # sentences for the user, each once
    unseen: dict[str, int] = field(default_factory=dict)  # rows with a new value, by category
    # the score of the rows that have a target, if any do
    measure: str | None = None
    score: float | None = None
    n_scored: int = 0


@dataclass
class _Outcome:
    """The outcome of predicting some rows; two outcomes can be added."""

    score: RunningScore | None
    n_rows: int = 0
    n_files: int = 0
    n_infinite: int = 0
    unseen: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # of the columns
    file_notes: list[str] = field(default_factory=list)
    empty: tuple[Path, ...] = ()
    bad: tuple[Path, ...] = ()

    def __add__(self, other: _Outcome) -> _Outcome:
        names = {*self.unseen, *other.unseen}
        return _Outcome(
            None if self.score is None or other.score is None else self.score + other.score,
            self.n_rows + other.n_rows,
            self.n_files + other.n_files,
            self.n_infinite + other.n_infinite,
            {name: self.unseen.get(name, 0) + other.unseen.get(name, 0) for name in sorted(names)},
            list(dict.fromkeys(self.notes + other.notes)),
            list(dict.fromkeys(self.file_notes + other.file_notes)),
            self.empty + other.empty,
            self.bad + other.bad,
        )


class _Predictor:
    """A model that is ready to predict pieces of files."""

    def __init__(self, model: Model, extra: Extra, device: Any = "cpu") -> None:
        self.model = model
        self.expected = expected_rows(model.schema, model.target, model.details.get("image_shape"))
        self.classes = list(getattr(model.pipeline, "classes_", ()))
        self.measure = _find_measure(model)
        self._pipeline, self._n_rows = BatchPredictor(model.pipeline, device), 0
        self._names, self._extra = _extra_columns(model, self._pipeline, extra)

    def run(self, pieces: Iterable[Piece], writer: TableWriter, notes: list[str]) -> _Outcome:
        """Predict and write; `notes` are those of the reader of the pieces."""
        score = None if self.measure is None else running_score(self.measure, self.classes)
        outcome = _Outcome(score, n_files=1, file_notes=notes)
        for rows, y in pieces:
            self._predict(rows, y, writer, outcome)
        return outcome

    def run_file(self, path: Path, writer: TableWriter) -> _Outcome:
        """Run on one of several files: errors name the file, and it may be empty."""
        notes: list[str] = []
        try:
            outcome = self.run(stream_file(path, self.expected, notes), writer, notes)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from error
        except EmptyFileError:
            outcome = self.nothing()
        if outcome.n_rows == 0:
            outcome.n_files, outcome.empty = 0, (path,)
        return outcome

    def nothing(self) -> _Outcome:
        """Return the outcome of no rows."""
        return _Outcome(None if self.measure is None else running_score(self.measure))

    def _predict(self, rows: Any, y: Any, writer: TableWriter, outcome: _Outcome) -> None:
        import pandas as pd

        X, notes = self.model.schema.arrange(rows)
        if hasattr(X, "columns"):
            outcome.n_infinite += count_infinite(rows[list(X.columns)])
        outcome.notes.extend(note for note in notes if note not in outcome.notes)
        for name, count in self.model.schema.unseen(X).items():
            outcome.unseen[name] = outcome.unseen.get(name, 0) + count
        self._n_rows += X.shape[0]
        with few_rows(self._n_rows <= FEW_ROWS):
            predicted = self._pipeline.predict(X)
            more = self._extra(X).T.tolist() if self._extra else []
        columns = zip(["prediction", *self._names], [predicted.tolist(), *more], strict=True)
        writer.write(dict(columns))
        outcome.n_rows += len(predicted)
        if y is not None and outcome.score is not None:
            known = np.asarray(pd.notna(y), bool)
            outcome.score.add(np.asarray(y, object)[known], predicted[known])

    def summary(self, outcome: _Outcome, source: str | Path) -> PredictionSummary:
        """Return what to report once everything is predicted."""
        if outcome.n_rows == 0:
            raise TableError(f"the file {source} has no rows.")
        summary = PredictionSummary(outcome.n_rows, outcome.n_files, unseen=outcome.unseen)
        summary.notes = [*outcome.notes, *_formula_note(self.classes)]
        summary.notes += [infinite_note(outcome.n_infinite)] * bool(outcome.n_infinite)
        summary.notes += [note.rstrip(".") for note in outcome.file_notes]
        for files, why in ((outcome.empty, "no rows"), (outcome.bad, "damage")):
            summary.notes += [left_out_note(files, why)] * bool(files)
        if self.measure is not None and outcome.score is not None:
            summary.notes += outcome.score.notes()
            summary.score = outcome.score.value()
            if summary.score is not None:
                summary.measure, summary.n_scored = self.measure.name, outcome.score.n_rows
        return summary


def predict_file(
    model: Model,
    source: str | Path,
    file: BinaryIO,
    extra: Extra = None,
    name: str | Path = "",
    device: Any = "cpu",
) -> PredictionSummary:
    """Predict the rows of a file, or of several, and write one table, one line per row.

    Rows are read and predictions written in pieces, so that a file may be larger than memory
    (except for an npz file, whose arrays are read whole). The target may be missing. `extra` says
    what else to write for every row: one column per class (for two classes, a single score). The
    suffix of `name` determines the format, by default CSV. A file that cannot be read, or does not
    fit the model, raises a TableError or a SchemaError in one line.

    Class names are written as they are, so that the names read back are those that were learned; a
    note says so if a spreadsheet would take one for a formula.
    """
    predictor, notes = _Predictor(model, extra, device), list[str]()
    writer = written_format(Path(name)).writer(file)
    if str(source) in BUNDLED or not (found := find_source(source)).several:
        outcome = predictor.run(stream_table(source, predictor.expected, notes), writer, notes)
    else:
        check_one_format(found.files)
        outcome = reduce(add, (predictor.run_file(path, writer) for path in found.files))
    writer.close()
    return predictor.summary(outcome, source)


def predict_folder(
    model: Model,
    source: str | Path,
    folder: Path,
    extra: Extra = None,
    *,
    skip_bad_files: bool = False,
    watch: Callable[[int], None] = lambda n_files: None,
    cluster: Cluster | None = None,
    device: Any = "cpu",
) -> PredictionSummary:
    """Predict several files, each into a file of its own in an existing folder.

    The result of a file has the same name, and the same format if that can be written, otherwise
    CSV. Files without rows are left out, as are, with `skip_bad_files`, files that cannot be read;
    the notes say how many. `watch` is called with the number of files that are done. On a cluster,
    whose workers must see the same folders, every file is one task.
    """
    predictor = _Predictor(model, extra, device)
    files = find_source(source).files
    check_one_format(files)
    tasks = list(zip(files, _result_paths(files, folder), strict=True))
    if cluster is None:
        outcomes = (
            _predict_one(predictor, path, result, skip_bad_files)
            for path, result in _watched(tasks, watch)
        )
        outcome = reduce(add, outcomes)
    else:
        import dask

        of_file, sent = dask.delayed(_predict_one, pure=False), dask.delayed(predictor)
        parts = [
            of_file(sent, path.resolve(), result.resolve(), skip_bad_files)
            for path, result in tasks
        ]
        outcome = cluster.compute(merge_tree(parts, add))
    return predictor.summary(outcome, source)


Task = tuple[Path, Path]


def _watched(tasks: Iterable[Task], watch: Callable[[int], None]) -> Iterator[Task]:
    for done, task in enumerate(tasks):
        watch(done)
        yield task


def _result_paths(files: tuple[Path, ...], folder: Path) -> list[Path]:
    """Return the paths of the predictions of files, in the same subfolders as the files."""
    parents = [path.resolve().parent for path in files]
    common = os.path.commonpath(parents)
    paths = []
    for path, parent in zip(files, parents, strict=True):
        suffix = written_format(path).suffixes[0]
        name = f"{name_without_suffixes(path)}{suffix}"
        paths.append(folder / parent.relative_to(common) / name)
        if paths.index(paths[-1]) < len(paths) - 1:
            first = files[paths.index(paths[-1])]
            raise TableError(f"the predictions of {first} and {path} would have one name.")
    return paths


def _predict_one(
    predictor: _Predictor, path: Path, result: Path, skip_bad_files: bool
) -> _Outcome:
    result.parent.mkdir(parents=True, exist_ok=True)
    try:
        with writing_whole(result) as file:
            writer = written_format(result).writer(file)
            outcome = predictor.run_file(path, writer)
            writer.close()
    except DamagedFileError:
        if not skip_bad_files:
            raise
        outcome = predictor.nothing()
        outcome.bad = (path,)
    if outcome.n_rows == 0:
        result.unlink(missing_ok=True)
    return outcome


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
    """Return the measure that the model was trained for; by default the first for its task."""
    name = model.details.get("measure")
    if name:
        return MEASURES.get(str(name))
    is_class = model.task != "regression"
    return next(measure for measure in MEASURES.values() if measure.classes == is_class)


def _extra_columns(
    model: Model, predictor: BatchPredictor, extra: Extra
) -> tuple[list[str], Callable[[Any], NDArray[Any]] | None]:
    """Return the names of the columns after the prediction, and a function for their values."""
    if extra is None:
        return [], None
    if not hasattr(model.pipeline, "decision_function"):
        raise TableError(f"{extra} are for classes, and this model predicts numbers.")
    decide, classes = predictor.decision_function, list(model.pipeline.classes_)
    if extra == "scores":
        shown = classes[1:] if len(classes) == 2 else classes
        return [f"score_{name}" for name in shown], lambda X: as_columns(decide(X))
    calibration = model.details.get("calibration")
    if calibration is None:
        raise TableError("this model has no probabilities; use --scores.")
    names = [f"probability_{name}" for name in classes]
    return names, lambda X: probabilities(decide(X), calibration)
