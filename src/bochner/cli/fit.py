"""The command `fit`: one model, trained and written to a file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bochner.cli.console import (
    check_free,
    check_memory,
    check_positive,
    check_width,
    command_line,
    console,
    fail,
    introduce,
    one_line_errors,
    say,
    score_text,
    written,
)
from bochner.cli.options import (
    Force,
    Gamma,
    ImageShape,
    MaxRows,
    MeasureName,
    Metric,
    Target,
    Task,
    data_help,
    metric_mode,
)
from bochner.records.files import is_stdout

if TYPE_CHECKING:
    from bochner.data.tables import Table
    from bochner.models.training import Trained

_MAX_ROWS = 100_000
_SHOWN_COLUMNS = 5


def fit(
    data: Annotated[str, typer.Argument(help=data_help())],
    target: Target = None,
    image_shape: ImageShape = None,
    method: Annotated[
        str, typer.Option(help="How rows become features; 'bochner compare' tells which is good.")
    ] = "FourierFeatures",
    width: Annotated[int, typer.Option(min=1, help="Columns of the feature map.")] = 256,
    gamma: Gamma = None,
    metric: Metric = "none",
    C: Annotated[
        float | None,
        typer.Option("--C", help="Weight of the loss. [default: chosen on held-out rows]"),
    ] = None,
    task: Task = "auto",
    measure: MeasureName = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 0,
    max_rows: MaxRows = _MAX_ROWS,
    output: Annotated[
        Path, typer.Option(help="The model file to write; - is standard output.")
    ] = Path("model.skops"),
    onnx: Annotated[
        Path | None, typer.Option(help="Write the model as ONNX too, to this file.")
    ] = None,
    force: Force = False,
) -> None:
    """Train one model on a file and write it to a file."""
    for path in filter(None, (output, onnx)):
        check_free(path, force)
    if onnx is not None and is_stdout(onnx) and is_stdout(output):
        fail("give one of --output and --onnx as standard output")
    if onnx is not None and find_spec("skl2onnx") is None:
        fail("--onnx needs skl2onnx: pip install 'bochner[onnx]'")
    check_width("--width", [width])
    check_positive("--gamma", gamma)
    check_positive("--C", C)
    with one_line_errors():
        from bochner.data.images import parse_image_shape
        from bochner.data.tables import read_table
        from bochner.models.methods import find_method
        from bochner.models.pipelines import check_metric
        from bochner.models.training import check_method, train

        found, mode = find_method(method), metric_mode(metric)
        check_metric(found, mode)
        name = found.name
        table = read_table(data, target, task, max_rows, seed, parse_image_shape(image_shape))
        check_memory("--width", [width], table)
        check_method(table, name, width)
        if onnx is not None:
            _check_onnx(table, name, width, mode)
        introduce(table)
        with console.status("Choosing settings and training"):
            trained = train(
                table,
                name,
                width=width,
                gamma=gamma,
                C=C,
                measure=measure,
                random_state=seed,
                metric=mode,
            )
        _report(table, name, width, trained)
        _save(table, name, trained, output)
        if onnx is not None:
            _write_onnx(table, trained, onnx)


def _report(table: Table, method: str, width: int, trained: Trained) -> None:
    if metric := trained.pipeline.named_steps.get("metric"):
        say(_metric_line(trained.pipeline.named_steps["prepare"], metric))
    has_map = trained.pipeline.named_steps["map"] != "passthrough"
    settings = ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in trained.chosen.items()
    )
    say(f"{method}, {f'{width} columns' if has_map else 'no map'}: {settings}")
    say(
        f"{score_text(trained.measure, trained.score)} on {trained.n_scored} rows set aside; then "
        f"trained again on all {len(table.y)}."
    )


def _metric_line(prepare: Any, metric: Any) -> str:
    """What a fitted metric does, and the columns that matter most."""
    from bochner.models.preparation import prepared_names

    names = prepared_names(prepare)
    largest = sorted(range(len(names)), key=lambda i: -metric.importances_[i])[:_SHOWN_COLUMNS]
    columns = ", ".join(f"{names[i]} {metric.importances_[i]:.2f}" for i in largest)
    mode = "none, as none helps" if metric.mode_ is None else metric.mode_
    return f"Metric: {mode}. Importances: {columns}"


def _save(table: Table, method: str, trained: Trained, output: Path) -> None:
    from bochner.models.files import save_model
    from bochner.models.schema import Schema

    details = {
        "data": table.name,
        "task": table.task,
        "target": table.target,
        "classes": trained.pipeline.classes_ if table.task == "classification" else None,
        "image_shape": table.image_shape,
        "method": method,
        "metric": getattr(trained.pipeline.named_steps.get("metric"), "mode_", None),
        "chosen": trained.chosen,
        "measure": trained.measure,
        "score": trained.score,
        "rows": len(table.y),
        "calibration": trained.calibration,
        "command": command_line(),
    }
    schema = Schema.of(table.X, pixels=table.image_shape is not None)
    save_model(trained.pipeline, output, schema=schema, details=details)
    say(f"Wrote {written(output)}.")


def _check_onnx(table: Table, method: str, width: int, metric: str | None) -> None:
    """An error before training where the model could not be written as ONNX after it."""
    from bochner.models.onnx.pipelines import check_convertible
    from bochner.models.pipelines import make_model

    given: dict[str, Any] = {
        "width": width,
        "gamma": 1.0,
        "image_shape": table.image_shape,
        "metric": metric,
    }
    check_convertible(make_model(method, table.X, table.y, table.task, **given))


def _write_onnx(table: Table, trained: Trained, path: Path) -> None:
    from bochner.models.onnx.pipelines import to_onnx
    from bochner.records.files import writing_whole

    # One input for all pixels, whatever their names.
    named = hasattr(table.X, "columns") and table.image_shape is not None
    graph = to_onnx(trained.pipeline, table.X.to_numpy() if named else table.X)
    with writing_whole(path) as file:
        file.write(graph.SerializeToString())
    say(f"Wrote {written(path)}.")
