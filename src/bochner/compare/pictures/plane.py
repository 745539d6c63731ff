"""Pictures of a comparison of rows in the plane: what every method decides where."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compare.plan import METRIC, Setup, line_name, split_rows
from bochner.data.tables import take_rows
from bochner.engine import fourier_sums
from bochner.models.methods import METHODS
from bochner.models.pipelines import make_model
from bochner.records.cells import Result
from bochner.targets import Target

RESOLUTION = 80  # points along an axis
_MOST_POINTS = 600
_FREQUENCIES = 61


def is_plane(table: Any) -> bool:
    """Whether rows are points in a plane: two columns of numbers."""
    X = table.X
    if X.shape[1] != 2 or hasattr(X, "toarray"):
        return False
    if hasattr(X, "iloc"):
        return all(kind.kind in "fiu" for kind in X.dtypes if hasattr(kind, "kind"))
    return True


def plane(setup: Setup, results: Sequence[Result]) -> dict[str, Any] | None:
    """Decisions on a grid, of every method at its best width, and the labels' Fourier potential.

    Those of the first split; None where rows are not points in a plane.
    """
    table = setup.table
    if not is_plane(table):
        return None
    best = best_of_first_split(results)
    if not best:
        return None
    frame = hasattr(table.X, "iloc")
    names = [str(name) for name in table.X.columns] if frame else ["first", "second"]
    points = np.asarray(table.X, dtype=np.float64)
    complete = np.isfinite(points).all(axis=1)
    low, high = points[complete].min(axis=0), points[complete].max(axis=0)
    edge = 0.05 * np.maximum(high - low, 1e-12)
    axes = [np.linspace(low[i] - edge[i], high[i] + edge[i], RESOLUTION) for i in (0, 1)]
    grid: Any = np.column_stack([part.ravel() for part in np.meshgrid(*axes)])
    if frame:
        import pandas as pd

        grid = pd.DataFrame(grid, columns=table.X.columns)
    X, y = training_rows(setup)
    classes = np.unique(table.y) if table.task == "classification" else None
    drawn: dict[str, Any] = {}
    decisions = []
    for method, result in best.items():
        model = fit_again(setup, result, X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = model.predict(grid)
        if classes is not None:
            values = np.searchsorted(classes, values)
        cell = result.cell
        if METHODS[cell.method].patterns == "found" and cell.setting(METRIC) is None:
            drawn = _potential(model, X, y, table.task)
        decisions.append(
            {
                "method": method,
                "width": cell.width,
                "values": np.asarray(values).reshape(RESOLUTION, RESOLUTION).round(6).tolist(),
                "classes": None if classes is None else [str(label) for label in classes],
            }
        )
    shown = np.flatnonzero(complete)
    if len(shown) > _MOST_POINTS:
        shown = np.sort(np.random.RandomState(0).permutation(shown)[:_MOST_POINTS])
    labels = table.y[shown]
    picture: dict[str, Any] = {
        "x": axes[0].tolist(),
        "y": axes[1].tolist(),
        "names": names,
        "points": {
            "x": points[shown, 0].tolist(),
            "y": points[shown, 1].tolist(),
            "label": labels.tolist() if classes is None else [str(label) for label in labels],
        },
        "decisions": decisions,
    }
    if drawn:
        picture["potential"] = drawn
    return picture


def best_of_first_split(results: Sequence[Result]) -> dict[str, Result]:
    """For every method, with a metric or without, the cell of the first split that did best."""
    best: dict[str, Result] = {}
    for result in results:
        name = line_name(result.cell)
        known = best.get(name)
        if result.cell.seed == 0 and (known is None or result.score > known.score):
            best[name] = result
    return best


def training_rows(setup: Setup) -> tuple[Any, NDArray[Any]]:
    """Rows, as they were in the file, and labels that the first split learns from."""
    training, _ = split_rows(setup, 0)
    return take_rows(setup.table.X, training), setup.table.y[training]


def fit_again(setup: Setup, result: Result, X: Any, y: NDArray[Any]) -> Any:
    """The model of a cell as a pipeline, with the settings that were chosen."""
    chosen: Any = result.details["chosen"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_model(
            result.cell.method,
            X,
            y,
            setup.table.task,
            width=result.cell.width,
            balanced=setup.measure.balanced,
            random_state=result.cell.seed,
            image_shape=setup.table.image_shape,
            metric=result.cell.setting(METRIC),
            **chosen,
        ).fit(X, y)


def _potential(model: Any, X: Any, y: NDArray[Any], task: str) -> dict[str, Any]:
    r"""The Fourier potential of the labels over frequencies, of at most 1, and those chosen.

    .. math:: v(w) = \sum_k \Bigl| \sum_i A_{ik} e^{i \langle w, x_i \rangle} \Bigr|^2
    """
    rows = model.named_steps["prepare"].transform(X)
    frequencies = model.named_steps["map"].frequencies_
    if rows.shape[1] != 2:
        return {}
    columns = Target.of(y, "regression" if task == "regression" else "auto").raw_columns(y)
    columns = columns[:, :1] if task == "regression" else columns
    columns = columns - columns.mean(axis=0)
    extent = 1.15 * float(np.abs(frequencies).max())
    axis = np.linspace(-extent, extent, _FREQUENCIES)
    W = np.vstack([part.ravel() for part in np.meshgrid(axis, axis)])
    sums = fourier_sums(np.ascontiguousarray(rows), W, np.ascontiguousarray(columns))
    largest = float(np.sum(np.abs(columns).sum(axis=0) ** 2))
    values = np.sum(np.abs(sums) ** 2, axis=1) / largest
    return {
        "frequency_x": axis.tolist(),
        "frequency_y": axis.tolist(),
        "values": values.reshape(_FREQUENCIES, _FREQUENCIES).round(7).tolist(),
        "chosen": {"x": frequencies[0].tolist(), "y": frequencies[1].tolist()},
    }
