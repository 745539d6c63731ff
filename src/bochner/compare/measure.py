"""Feature maps side by side on a table: the same splits, the same machine on top.

One *cell* is one method at one width on one random split. All methods share the split and the
prepared rows. Settings are chosen on held-out training rows
(:mod:`bochner.models.selection`); the test rows are only counted.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import train_test_split

from bochner import __version__
from bochner.compare.guarantees import Evidence, NoGuarantee, guarantee_of
from bochner.data.tables import Table
from bochner.images.single_layer import one_layer
from bochner.margin.sphere.features import EXACT_DIMENSIONS
from bochner.models.methods import EXACT, METHODS, find_method, for_images, scale_rule
from bochner.models.preparation import make_preparation
from bochner.models.selection import (
    GAMMAS,
    Learned,
    Problem,
    code_labels,
    learn,
    stratification,
)
from bochner.records.cells import Cell, Result

MEASURES = ("auto", "accuracy", "balanced-accuracy")
TEST = 0.25  # of the rows
MOST_EXACT = {"classification": 10_000, "regression": 5000}  # training rows
MOST_ZONAL = 64  # columns that are worth a search each
MOST_COVARIANCE = 1024  # columns: eigenvectors of more, for each gamma, outweigh all the rest
LANDMARK_FREQUENCIES = 64
MOST_LANDMARK_NUMBERS = 20_000_000  # in the frequencies of all landmarks, drawn many times
_VERSION = 2  # of what a cell means: a change makes those on file stale
_FEWER_THAN_EVEN = 0.2
_CHEAPEST_FIRST = (
    "RBFSampler",
    "FourierFeatures",
    "Nystroem",
    "MercerFeatures",
    "MarginFourierFeatures",
    "LandmarkSimilarities",
    "PosteriorFourierFeatures",
    "ConvolutionalKernelNetwork",
    "MarginHarmonicFeatures",
    EXACT,
)  # variants after the comma cost about the same


@dataclass(frozen=True)
class Setup:
    """What is compared on which rows, but for methods, widths and seeds.

    Attributes
    ----------
    table : Table
        The data.
    measure : {"accuracy", "balanced-accuracy", "R2"}
        What is reported.
    gamma : float or None
        Given by the user; None: chosen on held-out rows.
    device : str
        ``"cpu"`` for NumPy, otherwise a device of PyTorch.
    """

    table: Table
    measure: str
    gamma: float | None = None
    device: str = "cpu"

    @property
    def balanced(self) -> bool:
        """Whether all classes weigh the same."""
        return self.measure == "balanced-accuracy"


def measure_for(table: Table, wanted: str = "auto") -> str:
    """What to report of a table.

    For classes ``"auto"`` is the accuracy, unless the smallest class has less than a fifth of the
    rows it would have if all had the same number: then it is the balanced accuracy, the mean over
    the classes of the share that was classified rightly.

    Parameters
    ----------
    table : Table
        The data.
    wanted : {"auto", "accuracy", "balanced-accuracy"}, default="auto"
        Overrules it.

    Examples
    --------
    >>> from bochner.data.tables import read_table
    >>> from bochner.compare.measure import measure_for
    >>> measure_for(read_table("iris")), measure_for(read_table("diabetes"))
    ('accuracy', 'R2')
    """
    if wanted not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {wanted!r}.")
    if table.task == "regression":
        if wanted != "auto":
            raise ValueError(f"measure {wanted!r} is for classes, and these are numbers.")
        return "R2"
    if wanted != "auto":
        return wanted
    _, counts = np.unique(table.y, return_counts=True)
    small = counts.min() * len(counts) < _FEWER_THAN_EVEN * len(table.y)
    return "balanced-accuracy" if small else "accuracy"


def fingerprint(setup: Setup) -> str:
    """A name for data and settings: cells with another one are not reused."""
    digest = hashlib.sha256()
    settings = {
        "version": [__version__, _VERSION],
        "task": setup.table.task,
        "measure": setup.measure,
        "gamma": setup.gamma,
        "device": setup.device,
        "image_shape": setup.table.image_shape,
    }
    digest.update(json.dumps(settings, sort_keys=True).encode())
    for part in _parts(setup.table.X):
        digest.update(part)
    for part in _parts(setup.table.y):
        digest.update(part)
    return digest.hexdigest()[:16]


def _parts(values: Any) -> list[bytes]:
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


def plan(
    setup: Setup, methods: Sequence[str], widths: Sequence[int], n_seeds: int
) -> tuple[list[Cell], list[str]]:
    """The cells of a comparison, and a line for what is left out.

    One split comes after the other, in each the narrowest maps of all methods first, the cheapest
    of them first: whenever time is up, as many methods as possible can be compared. The exact
    machine is among the narrowest.

    Parameters
    ----------
    setup : Setup
        The data.
    methods : sequence of str
        Keys of `METHODS`.
    widths : sequence of int
        Numbers of columns.
    n_seeds : int
        Number of random splits.

    Returns
    -------
    cells : list of Cell
    left_out : list of str
        Sentences without the full stop.
    """
    table = setup.table
    study = fingerprint(setup)
    n_training = len(table.y) - _n_test(len(table.y))
    pairs, left_out = [], []
    for method in (find_method(name).name for name in methods):
        for width in (None,) if method == EXACT else tuple(widths):
            reason = _not_possible(method, width, n_training, table)
            if reason is None:
                pairs.append((method, width))
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
        return sorted(widths[method]).index(width or 0), _CHEAPEST_FIRST.index(_family(method))

    return sorted(pairs, key=turn)


def _family(method: str) -> str:
    return method.partition(",")[0]


def _not_possible(method: str, width: int | None, n_training: int, table: Table) -> str | None:
    """Why a method at a width is left out."""
    if table.task not in METHODS[method].tasks:
        return f"{method} is not for {table.task}"
    if width is None:
        most = MOST_EXACT[table.task]
        if n_training <= most:
            return None
        return (
            f"{method}: its time grows with the square of the training rows or faster, of which "
            f"there are {n_training}; the most is {most}"
        )
    n_columns = table.X.shape[1]
    if METHODS[method].images:
        return _no_network(method, width, table)
    if method.startswith(("Nystroem", "Landmark")) and width > n_training:
        return f"{method} with {width} columns needs as many training rows, there are {n_training}"
    if METHODS[method].even and width % 2:
        return f"{method} with {width} columns: its columns come in twos"
    if method == "MarginHarmonicFeatures" and width > MOST_ZONAL and n_columns > EXACT_DIMENSIONS:
        return (
            f"{method} with {width} columns would take a search for each, in {n_columns} "
            f"dimensions; the most is {MOST_ZONAL}"
        )
    drawn = width * LANDMARK_FREQUENCIES * n_columns
    if method == "LandmarkSimilarities" and drawn > MOST_LANDMARK_NUMBERS:
        return (
            f"{method} with {width} columns would draw {LANDMARK_FREQUENCIES} frequencies for "
            f"each, in {n_columns} dimensions"
        )
    if method == "MercerFeatures" and n_columns > MOST_COVARIANCE:
        return (
            f"{method} needs the covariance of all {n_columns} columns; the most is "
            f"{MOST_COVARIANCE}"
        )
    return None


def _no_network(method: str, width: int, table: Table) -> str | None:
    if table.image_shape is None:
        return for_images(method)
    try:
        one_layer(width, table.image_shape)
    except ValueError as error:
        return f"{method} with {width} columns: {error}"
    return None


@dataclass
class Measurer:
    """Measures cells of one setup; the split and its prepared rows are kept for the next cell."""

    setup: Setup
    _split: tuple[int, Any] | None = field(default=None, repr=False)

    def __call__(self, cell: Cell) -> Result:
        """Measure one cell."""
        start = time.perf_counter()
        learned, rows = self.learn(cell)
        begun = time.perf_counter()
        decisions = learned.decide(rows.X_test)
        transform = time.perf_counter() - begun
        with np.errstate(all="ignore"):
            score = rows.problem.machine.score(decisions, rows.y_test)
        if not np.isfinite(score):
            raise ValueError(f"the score of the test rows is no number, but {score}.")
        details: dict[str, Any] = {
            "transform": transform,
            "chosen": {**learned.chosen.settings, "C": learned.C},
            "errors": _errors(decisions, rows.y_test, rows.problem.n_classes),
            "n_test": len(rows.y_test),
            "class_errors": _class_errors(decisions, rows.y_test, rows.problem.n_classes),
            "guarantee": None,
        }
        if cell.seed == 0:
            details |= self._guarantee(cell, learned, rows)
        seconds = time.perf_counter() - start
        return Result(cell, score, learned.seconds, seconds, details)

    def learn(self, cell: Cell) -> tuple[Learned, Rows]:
        """The fitted machine of a cell, and its rows."""
        if self._split is None or self._split[0] != cell.seed:
            self._split = cell.seed, split(self.setup, cell.seed)
        rows: Rows = self._split[1]
        return learn(cell.method, cell.width, rows.problem), rows

    def _guarantee(self, cell: Cell, learned: Learned, rows: Rows) -> dict[str, Any]:
        """What is known of the map's kernel, or why nothing is."""
        method, problem = find_method(cell.method), rows.problem
        place = _as_it_is if method.baseline else problem.place
        evidence = Evidence(
            place(rows.X_test),
            self.setup.table.X,
            rows.y,
            problem.task,
            problem.seed,
            scale_rule(problem.X),
            GAMMAS if problem.gamma is None else (),
            problem.place,
            problem.image_shape,
        )
        found = guarantee_of(method.guarantee, learned.feature_map, evidence)
        if isinstance(found, NoGuarantee):
            return {"no_guarantee": found.reason}
        return {"guarantee": found.as_dict()}


@dataclass(frozen=True)
class Rows:
    """A split: prepared training rows as a problem, prepared test rows, all labels as coded."""

    problem: Problem
    X_test: Any
    y_test: NDArray[Any]
    y: NDArray[Any]
    training: NDArray[np.intp]
    test: NDArray[np.intp]


def split(setup: Setup, seed: int) -> Rows:
    """Training and test rows of one random split, prepared by what the training rows say."""
    table = setup.table
    y, n_classes = code_labels(table.y, table.task)
    training, test = split_rows(table, seed)
    X, X_test = _take(table.X, training), _take(table.X, test)
    prepare = make_preparation(X, table.image_shape).fit(X)
    problem = Problem(
        _rows(prepare.transform(X)),
        y[training],
        table.task,
        n_classes,
        setup.balanced,
        seed,
        setup.gamma,
        partial(on_device, device=setup.device),
        table.image_shape,
    )
    return Rows(problem, _rows(prepare.transform(X_test)), y[test], y, training, test)


def split_rows(table: Table, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which rows a random split learns from, and which it is tested on."""
    y, n_classes = code_labels(table.y, table.task)
    training, test = train_test_split(
        np.arange(len(y)),
        test_size=_n_test(len(y)),
        random_state=seed,
        stratify=stratification(y, n_classes, TEST),
    )
    return training, test


def on_device(X: Any, device: str) -> Any:
    """Rows where the maps are to work: NumPy for ``"cpu"``, else a PyTorch tensor in float32.

    Sparse rows stay on the host.
    """
    if device == "cpu" or sparse.issparse(X):
        return X
    import torch

    return torch.as_tensor(X, dtype=torch.float32, device=device)


def _as_it_is(X: Any) -> Any:
    return X


def _rows(X: Any) -> Any:
    return X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X, dtype=np.float64)


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _wrong(decisions: NDArray[Any], y: NDArray[Any], n_classes: int) -> NDArray[np.bool_]:
    decided = np.where(decisions[:, 0] > 0, 1, -1) if n_classes == 2 else decisions.argmax(axis=1)
    wrong: NDArray[np.bool_] = decided != y
    return wrong


def _errors(decisions: NDArray[Any], y: NDArray[Any], n_classes: int | None) -> int | None:
    """Wrong decisions, of classes."""
    return None if n_classes is None else int(np.sum(_wrong(decisions, y, n_classes)))


def _class_errors(
    decisions: NDArray[Any], y: NDArray[Any], n_classes: int | None
) -> list[list[int]] | None:
    """Wrong decisions and rows of every class."""
    if n_classes is None:
        return None
    wrong = _wrong(decisions, y, n_classes)
    labels = (-1, 1) if n_classes == 2 else range(n_classes)
    return [[int(np.sum(wrong[y == label])), int(np.sum(y == label))] for label in labels]


def _n_test(n_rows: int) -> int:
    return int(TEST * n_rows)
