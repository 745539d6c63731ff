"""What a comparison measures: the setup, its cells in order, and what is left out and why."""

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

TEST = 0.25  # of the rows
_VERSION = 4  # of what a cell means: a change makes those on file stale


@dataclass(frozen=True)
class Setup:
    """What is compared on which rows, but for methods, widths and seeds.

    `gamma` is given by the user, or None where it is chosen on held-out rows; `device` is
    ``"cpu"`` for NumPy, otherwise a device of PyTorch.
    """

    table: Table
    measure: Measure
    gamma: float | None = None
    device: str = "cpu"


def split_rows(setup: Setup, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which rows a random split learns from, and which it is tested on."""
    y = setup.table.y
    return hold_out(
        y, seed, classes=setup.measure.classes, fraction=TEST, n_held=int(TEST * len(y))
    )


def plan_cells(
    setup: Setup, methods: Sequence[str], widths: Sequence[int], n_seeds: int
) -> tuple[list[Cell], list[str]]:
    """The cells of a comparison, and a sentence without full stop for each thing left out.

    One split comes after the other, in each the narrowest maps of all methods first, the cheapest
    of them first: whenever time is up, as many methods as possible can be compared. The exact
    kernel method is among the narrowest.
    """
    table = setup.table
    study = fingerprint(setup)
    n_training = len(split_rows(setup, 0)[0])
    rows = Rows(n_training, table.X.shape[1], table.task, table.image_shape)
    pairs, left_out = [], []
    for method in map(find_method, methods):
        for width in (None,) if method.exact else tuple(widths):
            reason = method.why_not(width, rows)
            if reason is None:
                pairs.append((method.name, width))
            elif reason not in left_out:
                left_out.append(reason)
    cells = [
        Cell(study, table.name, method, width, seed)
        for seed in range(n_seeds)
        for method, width in _narrowest_first(pairs)
    ]
    return cells, left_out


def _narrowest_first(pairs: Sequence[tuple[str, int | None]]) -> list[tuple[str, int | None]]:
    """First every method at its smallest width, then at its next; the cheapest first."""
    widths: dict[str, list[int]] = {}
    for method, width in pairs:
        widths.setdefault(method, []).append(width or 0)

    def turn(pair: tuple[str, int | None]) -> tuple[int, int]:
        method, width = pair
        return sorted(widths[method]).index(width or 0), METHODS[method].cost

    return sorted(pairs, key=turn)


def fingerprint(setup: Setup) -> str:
    """A name for data and settings: cells with another one are not reused."""
    digest = hashlib.sha256()
    settings = {
        "version": [__version__, _VERSION],
        "task": setup.table.task,
        "measure": setup.measure.name,
        "gamma": setup.gamma,
        "device": setup.device,
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
