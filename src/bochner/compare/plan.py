"""Plan of a comparison: the setup, its cells in order, and what is left out and why."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bochner import __version__
from bochner.data.tables import Table
from bochner.linear.scoring import Measure
from bochner.linear.splits import hold_out
from bochner.models.methods import METHODS, Rows, find_method
from bochner.records.cells import Cell

METRIC = "metric"  # the setting of a cell with a metric: its mode
TEST = 0.25  # share of the rows
_VERSION = 8  # of the meaning of a cell: a change makes those on file stale

Line = tuple[str, int | None, str | None]  # method, width, mode of a metric


@dataclass(frozen=True)
class Setup:
    """The rows and settings of a comparison, except for methods, widths and seeds.

    `gamma` is given by the user, or None if it is chosen on held-out rows; `device` is
    ``"cpu"`` for NumPy, otherwise a device of PyTorch. With a `metric`, a name of
    :data:`bochner.models.pipelines.METRICS`, every method that can have one is
    measured without and with it.
    """

    table: Table
    measure: Measure
    gamma: float | None = None
    device: Any = "cpu"
    metric: str | None = None


def line_name(cell: Cell) -> str:
    """Return the name of a cell's line: its method, and whether a metric comes before it."""
    return cell.method if cell.setting(METRIC) is None else f"{cell.method} after a metric"


def split_rows(setup: Setup, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the training rows and the test rows of a random split."""
    y = setup.table.y
    return hold_out(
        y, seed, classes=setup.measure.classes, fraction=TEST, n_held=int(TEST * len(y))
    )


def plan_cells(
    setup: Setup, methods: Sequence[str], widths: Sequence[int], n_seeds: int
) -> tuple[list[Cell], list[str]]:
    """Return the cells of a comparison, and a sentence without full stop for each thing left out.

    One split comes after the other. Each begins with the narrowest maps of all methods, the
    cheapest first, so that as many methods as possible can be compared whenever time is up. A
    method without a width is among the narrowest. With a metric, all lines of a width are repeated
    after it, except for methods for images, whose pixels it would mix, and whole models.
    """
    table = setup.table
    study = fingerprint(setup)
    n_training = len(split_rows(setup, 0)[0])
    d, is_sparse = table.X.shape[1], sparse.issparse(table.X)
    rows = Rows(n_training, d, table.task, table.image_shape, is_sparse)
    pairs, left_out = [], []
    for method in map(find_method, methods):
        for width in tuple(widths) if method.has_width else (None,):
            reason = method.why_not(width, rows)
            if reason is None:
                pairs.append((method.name, width))
            elif reason not in left_out:
                left_out.append(reason)
    modes = (None,) if setup.metric is None else (None, setup.metric)
    lines = [(m, w, mode) for m, w in pairs for mode in modes if not mode or _takes_metric(m)]
    cells = [
        Cell(study, table.name, method, width, seed, settings=((METRIC, mode),) if mode else ())
        for seed in range(n_seeds)
        for method, width, mode in _narrowest_first(lines)
    ]
    return cells, left_out


def _takes_metric(method: str) -> bool:
    return not METHODS[method].images and METHODS[method].whole is None


def line_of(cell: Cell) -> Line:
    """Return the method, width and metric of a cell, over whose splits scores are averaged."""
    return cell.method, cell.width, cell.setting(METRIC)


def _narrowest_first(lines: Sequence[Line]) -> list[Line]:
    """Sort lines: every method at its smallest width, then at its next; the cheapest first.

    At the last width the costliest come first, so that no process is left with a long one when
    the others have nothing more to do.
    """
    widths: dict[str, set[int]] = {}
    for method, width, _ in lines:
        widths.setdefault(method, set()).add(width or 0)

    def turn(line: Line) -> tuple[int, bool, int]:
        method, width, mode = line
        narrower = sorted(widths[method]).index(width or 0)
        cost, is_last = METHODS[method].cost, 0 < narrower == len(widths[method]) - 1
        return narrower, mode is not None, -cost if is_last else cost

    return sorted(lines, key=turn)


def fingerprint(setup: Setup) -> str:
    """Return a name for data and settings: cells with another one are not reused."""
    digest = hashlib.sha256()
    settings = {
        "version": [__version__, _VERSION],
        "task": setup.table.task,
        "measure": setup.measure.name,
        "gamma": setup.gamma,
        "device": str(setup.device),
        "image_shape": setup.table.image_shape,
    }
    digest.update(json.dumps(settings, sort_keys=True).encode())
    for part in (*_bytes_of(setup.table.X), *_bytes_of(setup.table.y)):
        digest.update(part)
    return digest.hexdigest()[:16]


def _bytes_of(values: Any) -> list[bytes]:
    if sparse.issparse(values):
        pieces = (values.data, values.indices, values.indptr)
        return [str(values.shape).encode(), *(np.asarray(piece).tobytes() for piece in pieces)]
    if hasattr(values, "iloc"):
        from pandas.util import hash_pandas_object

        parts = []
        for name in values.columns:
            column = values[name]
            try:
                hashes = hash_pandas_object(column, index=False)
            except TypeError:  # lists and the like
                hashes = hash_pandas_object(column.map(str), index=False)
            parts += [f"{name}:{column.dtype}".encode(), hashes.to_numpy().tobytes()]
        return parts
    values = np.ascontiguousarray(values)
    return [f"{values.dtype}{values.shape}".encode(), values.tobytes()]
