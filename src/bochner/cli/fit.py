"""The command `fit`: one model, trained and written to a file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bochner.cli.console import (
    check_device,
    check_free,
    check_memory,
    check_positive,
    check_width,
    command_line,
    console,
    fail,
    introduce,
    one_line_errors,
    row_progress,
    say,
    score_text,
    written,
)
from bochner.cli.options import (
    ClusterAddress,
    Device,
    Force,
    Gamma,
    ImageShape,
    Kernel,
    MeasureName,
    OwnMetric,
    ScalingName,
    SkipBadFiles,
    Target,
    Task,
    data_help,
    kernel_choices,
    metric_mode,
)
from bochner.records.files import is_stdout
from bochner.records.wording import counted

if TYPE_CHECKING:
    from bochner.data.tables import Table
    from bochner.models.training import Trained

_SAMPLE = 100_000  # rows in memory, on which everything is chosen
_SHOWN_COLUMNS = 5
_METHOD_WIDTH = 256
_WIDEST_BY_ITSELF = 2048  # columns of a kernel model where no width is asked for
KERNEL_MODEL = "KernelModel"  # the method that the file of a kernel model names


def fit(
    data: Annotated[str, typer.Argument(help=data_help())],
    target: Target = None,
    image_shape: ImageShape = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Feature map: a name that 'bochner compare' shows. [default: the "
            "kernel model, which chooses scaling, metric, kernel and map itself]"
        ),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of columns of the feature map. [default: 256 for a method; the kernel "
            "model uses all rows as landmarks up to 40000 rows, and 2048 columns for more]",
        ),
    ] = None,
    kernel: Kernel = None,
    scaling: ScalingName = None,
    metric: OwnMetric = None,
    gamma: Gamma = None,
    C: Annotated[
        float | None,
        typer.Option("--C", help="Weight of the loss. [default: chosen on held-out rows]"),
    ] = None,
    time_budget: Annotated[
        float | None,
        typer.Option(help="Time budget of the kernel model in seconds. [default: no limit]"),
    ] = None,
    task: Task = "auto",
    measure: MeasureName = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 0,
    max_rows: Annotated[
        int | None,
        typer.Option(
            min=20, help="Largest number of rows; of more, a random sample is used. [default: all]"
        ),
    ] = None,
    skip_bad_files: SkipBadFiles = False,
    cluster: ClusterAddress = None,
    device: Device = "cpu",
    output: Annotated[
        Path, typer.Option(help="The model file to write; - is standard output.")
    ] = Path("model.skops"),
    onnx: Annotated[
        Path | None, typer.Option(help="Also write the model as ONNX to this file.")
    ] = None,
    force: Force = False,
) -> None:
    """Train one model on files and write it to a file.

    The kernel model chooses how columns are scaled, whether a learned metric helps, the kernel,
    its bandwidth and the penalty, all on held-out rows, and reports its choices with the
    alternatives. With --method, the features are those of one method. A fifth of the rows is set
    aside for an honest score; then the model is trained again on all rows. With more than 100000
    rows, everything is chosen on a sample, and the linear model is finally fitted to all rows, a
    piece at a time.
    """
    for path in filter(None, (output, onnx)):
        check_free(path, force)
    if onnx is not None and is_stdout(onnx) and is_stdout(output):
        fail("give one of --output and --onnx as standard output")
    if onnx is not None and find_spec("skl2onnx") is None:
        fail("--onnx needs skl2onnx: pip install 'bochner[onnx]'")
    _check_options(method, {"--gamma": gamma, "--C": C}, (kernel, scaling, time_budget))
    columns = width or (_WIDEST_BY_ITSELF if method is None else _METHOD_WIDTH)
    check_width("--width", [columns])
    for option, value in (("--gamma", gamma), ("--C", C), ("--time-budget", time_budget)):
        check_positive(option, value)
    with one_line_errors():
        from bochner.data.images import parse_image_shape
        from bochner.data.tables import read_table

        mode = metric_mode(metric or ("auto" if method is None else "none"))
        given: dict[str, Any] = {"width": columns, "measure": measure, "random_state": seed}
        given |= {"metric": mode, "device": check_device(device)}
        if cluster is not None and device != "cpu":
            fail("--device is for this machine: leave out one of --device and --cluster")
        if method is None:
            given |= {**kernel_choices(kernel, scaling), "time_budget": time_budget}
            given["width"] = width
        else:
            method = _find(method, mode)
            given |= {"gamma": gamma, "C": C}
        shape, most = parse_image_shape(image_shape), max_rows or _SAMPLE
        with console.status("Reading"):
            table = read_table(data, target, task, most, seed, shape, skip_bad_files)
        check_memory("--width", [columns], table, blocks=method is None)
        _check_data(table, method, columns, given, onnx is not None)
        is_whole = max_rows is not None or table.n_drawn_from is None
        if cluster is not None and is_whole:
            fail(f"--cluster is for more than {_SAMPLE} rows, and without --max-rows")
        if is_whole:
            introduce(table)
        else:
            note = "By these the model is chosen; its linear part is fitted to all rows."
            introduce(table, note, n_rows=table.n_rows_in_file)
        trained = _train(table, method, given, is_whole, cluster)
        _report(method, columns, trained, table.task)
        _save(table, method or KERNEL_MODEL, trained, output)
        if onnx is not None:
            _write_onnx(table, trained, onnx)


def _check_options(
    method: str | None, of_methods: Mapping[str, Any], of_the_model: tuple[Any, ...]
) -> None:
    """Exit with an error if an option does not apply to the model that is trained."""
    if method is None:
        for option, value in of_methods.items():
            if value is not None:
                fail(f"{option} is for a method; the kernel model chooses its own: add --method")
    elif any(value is not None for value in of_the_model):
        fail("--kernel, --scaling and --time-budget are for the kernel model: leave out --method")


def _find(method: str, metric: str | None) -> str:
    """Return the full name of a method, which must be able to have this metric."""
    from bochner.models.methods import find_method
    from bochner.models.pipelines import check_metric

    found = find_method(method)
    check_metric(found, metric)
    return found.name


def _check_data(
    table: Table, method: str | None, width: int, given: Mapping[str, Any], onnx: bool
) -> None:
    """Raise errors before training that would otherwise come after it."""
    from bochner.models.preparation import make_preparation
    from bochner.models.training import check_method

    if method is not None:
        check_method(table, method, width, given["device"])
    if onnx:
        from bochner.models.onnx.pipelines import check_convertible
        from bochner.models.pipelines import make_model

        model = make_preparation(table.X, table.image_shape)
        if method is not None:
            known: dict[str, Any] = {"width": width, "gamma": 1.0, "metric": given["metric"]}
            shape = table.image_shape
            model = make_model(method, table.X, table.y, table.task, image_shape=shape, **known)
        check_convertible(model)


def _train(
    table: Table, method: str | None, given: dict[str, Any], whole: bool, cluster: str | None
) -> Trained:
    """Train on the table, or on all rows of its files if the table is only a sample."""
    from bochner.models.cluster import connected
    from bochner.models.streaming import RowStream
    from bochner.models.training import train, train_kernel_model

    with ExitStack() as stack:
        if whole:
            stack.enter_context(console.status("Choosing settings and training"))
        else:
            title = "Choosing settings, then training on all rows"
            watch = stack.enter_context(row_progress(title, table.n_rows_in_file))
            there = None if cluster is None else stack.enter_context(connected(cluster))
            given = {**given, "stream": RowStream.of(table, watch, there, given["device"])}
        if method is None:
            return train_kernel_model(table, **given)
        return train(table, method, **given)


def _report(method: str | None, width: int, trained: Trained, task: str) -> None:
    if method is None:
        from bochner.cli.kernel_choice import choice_lines

        say(*choice_lines(trained, task))
    else:
        _report_method(method, width, trained)
    say(
        f"{score_text(trained.measure, trained.score)} on {trained.n_scored} rows set aside; then "
        f"trained again on all {trained.n_rows}."
    )
    if trained.n_unknown:
        left_out = counted(trained.n_unknown, "row")
        say(f"Left out: {left_out} of classes that the drawn rows do not hold.")


def _report_method(method: str, width: int, trained: Trained) -> None:
    if metric := trained.pipeline.named_steps.get("metric"):
        say(_metric_line(trained.pipeline.named_steps["prepare"], metric))
    has_map = trained.pipeline.named_steps["map"] != "passthrough"
    settings = ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in trained.chosen.items()
    )
    say(f"{method}, {f'{width} columns' if has_map else 'no map'}: {settings}")


def _metric_line(prepare: Any, metric: Any) -> str:
    """Describe a fitted metric, and the columns that matter most."""
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
        "rows": trained.n_rows,
        "calibration": trained.calibration,
        "command": command_line(),
    }
    schema = Schema.of(table.X, pixels=table.image_shape is not None)
    save_model(trained.pipeline, output, schema=schema, details=details)
    say(f"Wrote {written(output)}.")


def _write_onnx(table: Table, trained: Trained, path: Path) -> None:
    from bochner.models.onnx.pipelines import to_onnx
    from bochner.records.files import writing_whole

    # One input for all pixels, whatever their names.
    named = hasattr(table.X, "columns") and table.image_shape is not None
    graph = to_onnx(trained.pipeline, table.X.to_numpy() if named else table.X)
    with writing_whole(path) as file:
        file.write(graph.SerializeToString())
    say(f"Wrote {written(path)}.")
