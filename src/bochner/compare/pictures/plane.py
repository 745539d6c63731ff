"""Pictures of a comparison of rows in the plane: the decisions of every method at each point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compare.plan import METRIC, Setup, line_name
from bochner.engine import fourier_sums
from bochner.engine.places import to_numpy
from bochner.models.methods import METHODS
from bochner.records.cells import Cell, Result
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


def draw_plane(setup: Setup, cell: Cell, model: Any, split: Any) -> dict[str, Any] | None:
    """Return what a model predicts on a grid, and the potential if frequencies were found.

    None if rows are not points in a plane.
    """
    table = setup.table
    if not is_plane(table):
        return None
    grid: Any = np.column_stack([part.ravel() for part in np.meshgrid(*_axes(table))])
    if hasattr(table.X, "iloc"):
        import pandas as pd

        grid = pd.DataFrame(grid, columns=table.X.columns)
    values = model.predict(split.prepared(cell, grid))
    if table.task == "classification":
        values = np.searchsorted(np.unique(table.y), values)
    picture: dict[str, Any] = {
        "values": np.asarray(values).reshape(RESOLUTION, RESOLUTION).round(6).tolist()
    }
    if METHODS[cell.method].patterns == "found" and cell.setting(METRIC) is None:
        picture["potential"] = _potential(model, split.problem, table.task)
    return picture


def plane(setup: Setup, results: Sequence[Result]) -> dict[str, Any] | None:
    """Return the decisions of every method on a grid, and the Fourier potential of the labels.

    Each method is shown at its best width on the first split. None if rows are not points in a
    plane.
    """
    table = setup.table
    best = best_of_first_split([one for one in results if "values" in _drawn(one)])
    if not best:
        return None
    frame = hasattr(table.X, "iloc")
    names = [str(name) for name in table.X.columns] if frame else ["first", "second"]
    classes = np.unique(table.y) if table.task == "classification" else None
    x, y = _axes(table)
    points, complete = _points(table)
    shown = np.flatnonzero(complete)
    if len(shown) > _MOST_POINTS:
        shown = np.sort(np.random.RandomState(0).permutation(shown)[:_MOST_POINTS])
    labels = table.y[shown]
    picture: dict[str, Any] = {
        "x": x.tolist(),
        "y": y.tolist(),
        "names": names,
        "points": {
            "x": points[shown, 0].tolist(),
            "y": points[shown, 1].tolist(),
            "label": labels.tolist() if classes is None else [str(label) for label in labels],
        },
        "decisions": [
            {
                "method": method,
                "width": result.cell.width,
                "values": _drawn(result)["values"],
                "classes": None if classes is None else [str(label) for label in classes],
            }
            for method, result in best.items()
        ],
    }
    found = [_drawn(one)["potential"] for one in best.values() if _drawn(one).get("potential")]
    return {**picture, "potential": found[-1]} if found else picture


def _drawn(result: Result) -> dict[str, Any]:
    drawn: dict[str, Any] = result.details.get("plane") or {}
    return drawn


def _points(table: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the rows as points, and which of them have both numbers."""
    points = np.asarray(table.X, dtype=np.float64)
    return points, np.asarray(np.isfinite(points).all(axis=1))


def _axes(table: Any) -> list[NDArray[np.float64]]:
    """Return the axes of the grid, which span a little more than the points."""
    points, complete = _points(table)
    low, high = points[complete].min(axis=0), points[complete].max(axis=0)
    edge = 0.05 * np.maximum(high - low, 1e-12)
    return [np.linspace(low[i] - edge[i], high[i] + edge[i], RESOLUTION) for i in (0, 1)]


def best_of_first_split(results: Sequence[Result]) -> dict[str, Result]:
    """Return the best result on the first split of every method, with a metric or without."""
    best: dict[str, Result] = {}
    for result in results:
        name = line_name(result.cell)
        known = best.get(name)
        if result.cell.seed == 0 and (known is None or result.score > known.score):
            best[name] = result
    return best


def _potential(model: Any, problem: Any, task: str) -> dict[str, Any]:
    r"""Return the Fourier potential of the labels, of at most 1, and the chosen frequencies.

    .. math:: v(w) = \sum_k \Bigl| \sum_i A_{ik} e^{i \langle w, x_i \rangle} \Bigr|^2
    """
    rows, y = problem.X, problem.y
    frequencies = to_numpy(model.feature_map.frequencies_)
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
