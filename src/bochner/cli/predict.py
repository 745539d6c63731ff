"""The command `predict`: predictions of a saved model for new rows."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bochner.cli.console import (
    check_device,
    check_free,
    check_free_folder,
    console,
    fail,
    one_line_errors,
    row_progress,
    say,
    score_text,
    warn,
)
from bochner.cli.options import ClusterAddress, Device, Force, SkipBadFiles, data_help
from bochner.records.files import is_stdout

if TYPE_CHECKING:
    from bochner.models.files import Model
    from bochner.models.prediction import Extra, PredictionSummary


def predict(
    model: Annotated[Path, typer.Argument(help="A model file that 'bochner fit' wrote.")],
    data: Annotated[
        str, typer.Argument(help=f"New rows, with or without the target. {data_help()}")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            help="The CSV or Parquet file to write; - is standard output. Of several files also a "
            "folder, with one file for each. [default: predictions.csv, or the folder "
            "predictions]"
        ),
    ] = None,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores",
            help="Also write the decision values of the model; not with --probabilities.",
        ),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Also write estimated probabilities of the classes; not with --scores.",
        ),
    ] = False,
    skip_bad_files: SkipBadFiles = False,
    cluster: ClusterAddress = None,
    device: Device = "cpu",
    force: Force = False,
) -> None:
    """Predict the rows of files with a model, and write the predictions."""
    if scores and probabilities:
        fail("give one of --scores and --probabilities")
    extra: Extra = "scores" if scores else "probabilities" if probabilities else None
    with one_line_errors():
        output, to_folder = _place(data, output)
        if not to_folder and (skip_bad_files or cluster):
            fail("--skip-bad-files and --cluster are for several files that go to a folder")
        if cluster is not None and device != "cpu":
            fail("--device is for this machine: leave out one of --device and --cluster")
        where = check_device(device)
        (check_free_folder if to_folder else check_free)(output, force)
        loaded = _load(model)
        if to_folder:
            options = {"skip_bad_files": skip_bad_files, "device": where}
            summary = _predict_folder(loaded, data, output, extra, cluster, options)
        else:
            from bochner.models.prediction import predict_file
            from bochner.records.files import writing_whole

            with console.status("Predicting"), writing_whole(output) as file:
                summary = predict_file(loaded, data, file, extra, output, where)
        _report(summary, output)


def _place(data: str, output: Path | None) -> tuple[Path, bool]:
    """Return where predictions go, and whether that is a folder."""
    from bochner.data.bundled import BUNDLED
    from bochner.data.formats import has_format
    from bochner.data.sources import find_source

    if data in BUNDLED or not find_source(data).several:
        return output or Path("predictions.csv"), False
    if output is None:
        return Path("predictions"), True
    one_file = is_stdout(output) or (has_format(output) and not output.is_dir())
    return output, not one_file


def _predict_folder(
    model: Model,
    data: str,
    folder: Path,
    extra: Extra,
    cluster: str | None,
    options: dict[str, Any],
) -> PredictionSummary:
    from bochner.data.sources import find_source
    from bochner.models.cluster import connected
    from bochner.models.prediction import predict_folder
    from bochner.records.files import writing_folder

    with ExitStack() as stack:
        there = None if cluster is None else stack.enter_context(connected(cluster))
        n_files = len(find_source(data).files)
        watch = stack.enter_context(row_progress("Predicting files", n_files))
        part = stack.enter_context(writing_folder(folder))
        return predict_folder(model, data, part, extra, watch=watch, cluster=there, **options)


def _load(path: Path) -> Model:
    from bochner.models.files import ModelFileWarning, load_model

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelFileWarning)
        model = load_model(path)
    for warning in caught:
        if issubclass(warning.category, ModelFileWarning):
            warn(f"bochner: {warning.message}")
    return model


def _report(summary: PredictionSummary, output: Path) -> None:
    from bochner.records.wording import counted

    say(*(f"{note[0].upper()}{note[1:]}." for note in summary.notes), style="dim")
    for column, count in summary.unseen.items():
        rows = f"{counted(count, 'row')} {'has' if count == 1 else 'have'}"
        say(f"{rows} a value of {column!r} that was not there in training.", style="dim")
    if summary.score is not None and summary.measure is not None:
        rows = counted(summary.n_scored, "row")
        say(f"{score_text(summary.measure, summary.score)} on {rows} with a target.")
    where = "standard output" if is_stdout(output) else str(output)
    if output.is_dir():
        where = f"{counted(summary.n_files, 'file')} in {output}"
    say(f"Wrote {counted(summary.n_rows, 'prediction')} to {where}.")
