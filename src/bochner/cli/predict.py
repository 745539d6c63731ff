"""The command `predict`: what a model on file says of new rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bochner.cli.console import check_free, console, fail, one_line_errors, say, score_text, warn
from bochner.cli.options import Force, data_help

if TYPE_CHECKING:
    from bochner.models.files import Model
    from bochner.models.prediction import Extra, PredictionSummary


def predict(
    model: Annotated[Path, typer.Argument(help="A model file that 'bochner fit' wrote.")],
    data: Annotated[
        str, typer.Argument(help=f"New rows, with or without the target. {data_help()}")
    ],
    output: Annotated[
        Path, typer.Option(help="The CSV file to write; - is standard output.")
    ] = Path("predictions.csv"),
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Also what the model decides by; not with --probabilities."),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Also estimated probabilities of the classes; not with --scores.",
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Predict the rows of a file with a model, and write the predictions as CSV."""
    check_free(output, force)
    if scores and probabilities:
        fail("give one of --scores and --probabilities")
    extra: Extra = "scores" if scores else "probabilities" if probabilities else None
    with one_line_errors():
        from bochner.models.prediction import predict_file
        from bochner.records.files import writing_whole

        loaded = _load(model)
        with console.status("Predicting"), writing_whole(output) as file:
            summary = predict_file(loaded, data, file, extra)
        _report(summary, output)


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
    from bochner.records.files import is_stdout
    from bochner.records.wording import counted

    say(*(f"{note[0].upper()}{note[1:]}." for note in summary.notes), style="dim")
    for column, count in summary.unseen.items():
        rows = f"{counted(count, 'row')} {'has' if count == 1 else 'have'}"
        say(f"{rows} a value of {column!r} that was not there in training.", style="dim")
    if summary.score is not None and summary.measure is not None:
        rows = counted(summary.n_scored, "row")
        say(f"{score_text(summary.measure, summary.score)} on {rows} with a target.")
    where = "standard output" if is_stdout(output) else output
    say(f"Wrote {counted(summary.n_rows, 'prediction')} to {where}.")
