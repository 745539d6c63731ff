"""The commands `fit` and `predict`: a model on file, and what it says of new rows."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from bochner.cli.console import check_width, console, errors, fail

_MAX_ROWS = 100_000


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(fit)
    app.command()(predict)


def fit(
    data: Annotated[
        str, typer.Argument(help="A CSV, Parquet, svmlight or .npz file, or a dataset by name.")
    ],
    target: Annotated[
        str | None,
        typer.Option(
            help="The column to predict: name or position, 1 is the first. [default: the last]"
        ),
    ] = None,
    image_shape: Annotated[
        str | None,
        typer.Option(help="What every row is an image of: 28x28, 32x32x3; none for no images."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="How rows become features; 'bochner compare' tells which is good.")
    ] = "FourierFeatures",
    width: Annotated[int, typer.Option(min=1, help="Columns of the feature map.")] = 256,
    gamma: Annotated[
        float | None, typer.Option(help="Of the kernel; chosen on held-out rows by default.")
    ] = None,
    C: Annotated[
        float | None,
        typer.Option("--C", help="Weight of the loss; chosen on held-out rows by default."),
    ] = None,
    task: Annotated[str, typer.Option(help="auto, classification or regression.")] = "auto",
    measure: Annotated[
        str, typer.Option(help="auto, accuracy or balanced-accuracy, for classes.")
    ] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 0,
    max_rows: Annotated[
        int, typer.Option(min=20, help="Of more rows, so many are drawn at random.")
    ] = _MAX_ROWS,
    output: Annotated[Path, typer.Option(help="The model file to write.")] = Path("model.skops"),
    onnx: Annotated[
        Path | None, typer.Option(help="Write the model as ONNX too, to this file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Train one model on a file and write it to a file."""
    for path in filter(None, (output, onnx)):
        _check_free(path, force)
    if onnx is not None and find_spec("skl2onnx") is None:
        fail("--onnx needs skl2onnx: pip install 'bochner[onnx]'")
    check_width("--width", [width])
    if gamma is not None and not 0 < gamma < float("inf"):
        fail(f"--gamma must be a positive number, got {gamma}")
    if C is not None and not 0 < C < float("inf"):
        fail(f"--C must be a positive number, got {C}")
    with _one_line():
        from bochner.data.images import parse_image_shape
        from bochner.data.tables import read_table
        from bochner.models.files import save_model
        from bochner.models.methods import find_method
        from bochner.models.preparation import preparation_notes
        from bochner.models.schema import Schema
        from bochner.models.training import check_method, train

        name = find_method(method).name
        shape = parse_image_shape(image_shape)
        table = read_table(data, target, task, max_rows, seed, shape)
        check_width("--width", [width], len(table.y))
        check_method(table, name, width)
        if onnx is not None:
            _check_onnx(table, name, width)
        _print(_described(table))
        _say(*table.notes, *preparation_notes(table.X, table.image_shape))
        with console.status("Choosing settings and training"):
            trained = train(
                table, name, width=width, gamma=gamma, C=C, measure=measure, random_state=seed
            )
        settings = ", ".join(f"{key} {_short(value)}" for key, value in trained.chosen.items())
        _print(f"{name}, {_width(trained, width)}: {settings}")
        _print(
            f"{_score(trained.measure, trained.score)} on {trained.n_scored} rows set aside; then "
            f"trained again on all {len(table.y)}."
        )
        classes = trained.pipeline.classes_ if table.task == "classification" else None
        details = {
            "data": table.name,
            "task": table.task,
            "target": table.target,
            "classes": classes,
            "image_shape": table.image_shape,
            "method": name,
            "chosen": trained.chosen,
            "measure": trained.measure,
            "score": trained.score,
            "rows": len(table.y),
            "calibration": trained.calibration,
            "command": shlex.join(["bochner", *sys.argv[1:]]),
        }
        schema = Schema.of(table.X, pixels=table.image_shape is not None)
        save_model(trained.pipeline, output, schema=schema, details=details)
        _print(f"Wrote {output} ({_size(output)}).")
        if onnx is not None:
            # One input for all pixels, whatever their names.
            named = hasattr(table.X, "columns") and table.image_shape is not None
            X = table.X.to_numpy() if named else table.X
            _write_onnx(trained.pipeline, X, onnx)


def predict(
    model: Annotated[Path, typer.Argument(help="A model file that 'bochner fit' wrote.")],
    data: Annotated[str, typer.Argument(help="New rows, with or without the target.")],
    output: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("predictions.csv"),
    scores: Annotated[
        bool,
        typer.Option(
            "--scores", help="Also what the machine decides by; not with --probabilities."
        ),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Also estimated probabilities of the classes; not with --scores.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Predict the rows of a file with a model, and write the predictions as CSV."""
    _check_free(output, force)
    if scores and probabilities:
        fail("give one of --scores and --probabilities")
    beside: Any = "scores" if scores else "probabilities" if probabilities else None
    with _one_line():
        from bochner.models.files import ModelFileWarning, load_model, writing_whole
        from bochner.models.prediction import predict_file
        from bochner.models.wording import counted

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ModelFileWarning)
            loaded = load_model(model)
        for warning in caught:
            if issubclass(warning.category, ModelFileWarning):
                errors.print(f"bochner: {warning.message}", highlight=False, markup=False)
        with console.status("Predicting"), writing_whole(output) as file:
            summary = predict_file(loaded, data, file, beside)
        _say(*(f"{note[0].upper()}{note[1:]}." for note in summary.notes))
        for column, count in summary.unseen.items():
            rows = f"{counted(count, 'row')} {'has' if count == 1 else 'have'}"
            _say(f"{rows} a value of {column!r} that was not there in training.")
        if summary.score is not None and summary.measure is not None:
            shown = _score(summary.measure, summary.score)
            _print(f"{shown} on {counted(summary.n_scored, 'row')} with a target.")
        _print(f"Wrote {counted(summary.n_rows, 'prediction')} to {output}.")


@contextmanager
def _one_line() -> Iterator[None]:
    """What the user did wrong is one line, not a traceback."""
    try:
        yield
    except ModuleNotFoundError as error:
        fail(f"this needs {error.name}: pip install 'bochner[cli]'")
    except (ValueError, NotImplementedError) as error:
        fail(error)
    except MemoryError:
        fail("this does not fit into memory: use fewer rows (--max-rows) or a smaller --width")
    except KeyboardInterrupt:
        fail("interrupted; nothing was written", 130)


def _check_free(path: Path, force: bool) -> None:
    if not path.parent.is_dir():
        fail(f"there is no folder {path.parent} to write {path.name} to")
    if path.is_dir():
        fail(f"{path} is a folder")
    if path.exists() and not force:
        fail(f"{path} is there already: use --force to replace it, or another name")


def _check_onnx(table: Any, method: str, width: int) -> None:
    """An error before training where the model could not be written as ONNX after it."""
    from bochner.models.onnx.pipelines import check_convertible
    from bochner.models.pipelines import make_model

    options: dict[str, Any] = {"width": width, "gamma": 1.0, "image_shape": table.image_shape}
    check_convertible(make_model(method, table.X, table.y, table.task, **options))


def _write_onnx(pipeline: Any, X: Any, path: Path) -> None:
    from bochner.models.files import writing_whole
    from bochner.models.onnx.pipelines import to_onnx

    graph = to_onnx(pipeline, X).SerializeToString()
    with writing_whole(path) as file:
        file.write(graph)
    _print(f"Wrote {path} ({_size(path)}).")


def _described(table: Any) -> str:
    from bochner.models.wording import counted

    shape = f"{table.name}: {len(table.y)} rows, {counted(table.X.shape[1], 'column')}"
    if table.task == "regression":
        return f"{shape}; {table.target or 'the target'} is a number"
    n_classes = len(set(table.y.tolist()))
    return f"{shape}; {table.target or 'the target'} has {n_classes} classes"


def _say(*notes: str) -> None:
    for note in notes:
        _print(note, "dim")


def _print(line: str, style: str | None = None) -> None:
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def _score(measure: str, value: float) -> str:
    return f"R2 {value:.3f}" if measure == "R2" else f"{measure.replace('-', ' ')} {value:.1%}"


def _width(trained: Any, width: int) -> str:
    return "no map" if trained.pipeline.named_steps["map"] == "passthrough" else f"{width} columns"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _size(path: Path) -> str:
    kilobytes = path.stat().st_size / 1000
    return f"{kilobytes / 1000:.1f} MB" if kilobytes >= 1000 else f"{kilobytes:.0f} kB"
