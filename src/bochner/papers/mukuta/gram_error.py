"""The error of a Gram matrix: how it is measured, and how it is reported.

The score of a cell is the normalised spectral error of the Gram matrix of rows that no map has
seen, ``|K - Phi Phi^T|_2 / |K|_2``: small is good.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.metrics.pairwise import rbf_kernel

from bochner.engine.rowwise import row_slices
from bochner.guarantees.residuals import predicted_residual, relative_gram_bound, residuals
from bochner.papers.groups import Groups, score
from bochner.papers.mukuta.feature_maps import (
    MERCER,
    ORTHOGONAL,
    PAPER,
    RANDOM,
    Float,
    make_map,
    timed_fit,
)
from bochner.papers.study import Request, Runner, Study, Version, grid, timed_result
from bochner.records.cells import Cell, Result
from bochner.records.sections import Claim, Row, Section

STORED_GRAM = 5000  # rows whose Gram matrix is stored; that of more rows is computed when needed
WIDTHS, QUICK_WIDTHS, QUICK_ROWS = (40, 160, 640, 2560), (40, 160), 1000


def collect(
    experiment: str,
    request: Request,
    run: Runner,
    methods: Sequence[str],
    widths: Sequence[int] = WIDTHS,
) -> list[Result]:
    """Measure every map at every width."""
    widths = request.widths or (QUICK_WIDTHS if request.quick else widths)
    max_train = QUICK_ROWS if request.quick else None
    return run(grid(experiment, request, product(methods, widths), max_train))


def make_study(
    full_time: str, quick_time: str, seeds: int = 10, quick_note: str = "", **values: Any
) -> Study:
    """Make a study of columns, with what the quick versions have in common."""
    note = quick_note or "1000 rows, 40 and 160 columns, two seeds"
    quick = Version(2, quick_time, note)
    return Study(
        paper=PAPER, widths="columns", full=Version(seeds, full_time), quick=quick, **values
    )


class Gram:
    """Products with the Gram matrix of a Gaussian kernel, which is stored if there are few rows.

    Otherwise `block` rows of the matrix are computed at a time.
    """

    def __init__(self, X: NDArray[Any], gamma: float, block: int = 1000) -> None:
        self.X = X.astype(np.float64)
        self.gamma, self.block = gamma, block
        self.stored = rbf_kernel(self.X, gamma=gamma) if len(X) <= STORED_GRAM else None
        self.norm = spectral_norm(self.product, len(X))

    def product(self, v: Float) -> Float:
        """Return the matrix times a vector."""
        if self.stored is not None:
            return np.asarray(self.stored @ v)
        parts = [
            rbf_kernel(self.X[rows], self.X, gamma=self.gamma) @ v
            for rows in row_slices(len(self.X), self.block)
        ]
        return np.concatenate(parts)


@dataclass(frozen=True)
class Sample:
    """Rows to fit maps to, and the Gram matrix of other rows."""

    X: NDArray[Any]
    gram: Gram


def spectral_norm(product: Callable[[Float], Float], n: int) -> float:
    """Return the largest absolute eigenvalue of a symmetric matrix, from matrix products."""
    if n <= 3:  # too small for Lanczos
        columns = [product(column) for column in np.eye(n)]
        return float(np.linalg.norm(np.stack(columns), 2))
    operator = LinearOperator((n, n), matvec=lambda v: product(np.ravel(v)), dtype=np.float64)
    start = np.random.RandomState(0).standard_normal(n)
    values = eigsh(
        operator, k=1, which="LM", v0=start, tol=1e-5, return_eigenvectors=False, maxiter=1000
    )
    return float(np.abs(values).max())


def spectral_error(gram: Gram, features: NDArray[Any]) -> float:
    """Return ``|K - Phi Phi^T|_2 / |K|_2``, without forming the difference."""
    rows = features.astype(np.float64, copy=False)
    error = spectral_norm(lambda v: gram.product(v) - rows @ (rows.T @ v), len(rows))
    return error / gram.norm


def measure_error(cell: Cell, sample: Callable[[], Sample]) -> Result:
    """Measure the error of a map's Gram matrix, with its certificate if there is one."""
    start = time.perf_counter()
    drawn = sample()
    feature_map = make_map(cell.method, cell.width, drawn.gram.gamma, cell.seed)
    fit = timed_fit(feature_map, drawn.X)
    features = np.asarray(feature_map.transform(drawn.gram.X))
    details: dict[str, float] = {}
    if cell.method not in (RANDOM, ORTHOGONAL):
        r = residuals(features)
        details["residual"] = float(r.mean())
        details["certified"] = relative_gram_bound(features, r)
    if cell.method == MERCER:
        details["predicted"] = predicted_residual(feature_map.eigenvalues_)
    return timed_result(cell, spectral_error(drawn.gram, features), fit, start, details)


def error_sections(
    results: Sequence[Result],
    heading: str,
    line: str,
    claims: Callable[[Groups], list[Claim]],
    claims_heading: str = "What the paper claims",
) -> list[Section]:
    """Report a table and a chart of the errors for every task, and the checked claims."""
    groups = Groups(results)
    widths = groups.xs()
    found = [Section(f"{heading}, {groups.over()}", lines=(line,))]
    for task in groups.tasks:
        rows: list[Row] = [("method", *(f"D = {width}" for width in widths))]
        rows += [
            (method, *(groups.mean(task, method, w, score, ".3g", ".1g") for w in widths))
            for method in groups.methods
        ]
        chart = groups.chart(task, "columns", "spectral error", score, log_y=True)
        found.append(Section(task, tuple(rows), chart=chart))
    lines = certificate_lines(results)
    return [*found, Section(claims_heading, lines=lines, claims=tuple(claims(groups)))]


def smaller_error(
    groups: Groups, text: str, ours: str, theirs: str, most: float = np.inf
) -> Claim:
    """Check the claim that our error is the smaller one, with up to `most` columns."""
    claim = Claim(text)
    for task, method, width in groups:
        if method == ours and width <= most:
            differences = groups.differences(task, width, ours, theirs, score)
            claim.compare(differences, f"{task} {width}", sign=-1)
    return claim


def error_ratio(
    groups: Groups, text: str, ours: str, theirs: str, limit: float, least: int = 0
) -> Claim:
    """Check the claim that our mean error is at most `limit` times that of the other method."""
    claim = Claim(text)
    for task, method, width in groups:
        others = groups.numbers(task, theirs, width, score)
        if method == ours and others and width >= least:
            ratio = float(np.mean(groups.numbers(task, ours, width, score)) / np.mean(others))
            claim.check(ratio <= limit, f"{task} {width}: {ratio:.2f} times")
    return claim


def certificate_lines(results: Sequence[Result]) -> tuple[str, ...]:
    """Say if any certificate was violated, how loose they are, and how far off predictions are."""
    certified = [result for result in results if "certified" in result.details]
    if not certified:
        return ()
    bad = [str(r.cell) for r in certified if r.score > r.details["certified"] * (1 + 1e-3) + 1e-12]
    loose = np.median([r.details["certified"] / max(r.score, 1e-300) for r in certified])
    line = f"certificates: {len(bad)} of {len(certified)} violated{': ' * bool(bad)}"
    line += f"{'; '.join(bad)}, median bound {loose:.0f} times the error"
    predicted = [r for r in certified if "predicted" in r.details]
    if predicted:
        ratios = [r.details["predicted"] / max(r.details["residual"], 1e-300) for r in predicted]
        line += f"; predicted residuals are {min(ratios):.2f} to {max(ratios):.2f} of those found"
    return (line,)
