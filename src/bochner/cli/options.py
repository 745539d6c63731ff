"""Options shared by several commands."""

from __future__ import annotations

from typing import Annotated

import typer

Target = Annotated[
    str | None,
    typer.Option(
        help="Target column: name or position, 1 is the first. [default: the last column]"
    ),
]
Task = Annotated[str, typer.Option(help="Kind of target: auto, classification or regression.")]
ImageShape = Annotated[
    str | None,
    typer.Option(
        help="Shape of the images in the rows: 28x28, 32x32x3; none for rows that are not images. "
        "[default: known for digits and for .npz]"
    ),
]
MeasureName = Annotated[
    str, typer.Option(help="auto, accuracy or balanced-accuracy (all classes weigh the same).")
]
Gamma = Annotated[
    float | None,
    typer.Option(
        help="Gamma of the kernel, for prepared rows. [default: chosen on held-out rows]"
    ),
]
Metric = Annotated[
    str,
    typer.Option(
        help="Learned before the map: none, diagonal (weighs columns), root or full (turn and "
        "weigh directions), auto (one of these, chosen on held-out rows), relevance (weighs "
        "columns by descent on the error of a kernel)."
    ),
]
OwnMetric = Annotated[
    str | None,
    typer.Option(
        help="Learned before the map: none, diagonal, root, full, relevance or auto. "
        "[default: auto for the kernel model, none for a method]"
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(help="Kernel of the kernel model: gaussian, exponential, ... [default: chosen]"),
]
ScalingName = Annotated[
    str | None,
    typer.Option(
        "--scaling",
        help="Scaling of the columns in the kernel model: standard, none, robust or quantile. "
        "[default: chosen]",
    ),
]
MaxRows = Annotated[
    int, typer.Option(min=20, help="Largest number of rows; of more, a random sample is used.")
]
SkipBadFiles = Annotated[
    bool,
    typer.Option("--skip-bad-files", help="Leave out damaged files if several are given."),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="A running dask scheduler, such as tcp://host:8786, whose workers see the same files "
        "and do the work, a file at a time.",
    ),
]
Device = Annotated[
    str,
    typer.Option(
        help="cpu, or cuda (needs PyTorch): where features, metric and linear model are computed."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]


def metric_mode(text: str) -> str | None:
    """Return the name of the requested metric, or None for no metric."""
    from bochner.cli.console import fail
    from bochner.models.pipelines import METRICS

    known = ["none", "auto", *METRICS]
    if text not in known:
        fail(f"--metric must be one of {', '.join(known)}, got {text!r}")
    return None if text == "none" else text


def kernel_choices(kernel: str | None, scaling: str | None) -> dict[str, str]:
    """Return kernel and scaling of a kernel model: as given, or ``auto`` to let it choose."""
    from bochner.cli.console import fail
    from bochner.kernels import KERNELS
    from bochner.models.scaling import SCALINGS

    if kernel not in (None, "auto", *KERNELS):
        fail(f"--kernel must be one of auto, {', '.join(KERNELS)}, got {kernel!r}")
    if scaling not in (None, "auto", *SCALINGS):
        fail(f"--scaling must be one of auto, {', '.join(SCALINGS)}, got {scaling!r}")
    return {"kernel": kernel or "auto", "scaling": scaling or "auto"}


def data_help() -> str:
    """Return what can be given as data, for the help of a command."""
    from bochner.data.bundled import BUNDLED
    from bochner.data.formats import FORMATS

    return (
        f"A file ({', '.join(FORMATS)}), a folder or a quoted pattern of files that are one "
        f"table, or a dataset by name: {', '.join(BUNDLED)}."
    )
