"""``python -m benchmarks scale [ROWS ...]``: linear models on 1024 features of rows on disk.

Rows of 20 columns are written to eight Parquet files in a temporary folder, by default 10^5 and
10^6 of them (10^7 takes an hour). ``ridge``, ``hinge``, ``sgd`` and ``lightgbm`` select models;
without any, all are measured, each in a separate process: least squares in one pass, the squared
hinge loss in one pass per Newton step, one epoch of scikit-learn's ``SGDClassifier`` on blocks of
``RBFSampler`` and, if it is installed, LightGBM with 100 trees on all rows in memory. All read
the same files through the same reader and preparation. ``--generated`` generates the rows block
by block, again in every pass: for more rows than fit on a disk.
``--device cuda`` without it measures something else: see :mod:`benchmarks.scale_device`.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import heading, row
from bochner.engine.rowwise import row_slices
from bochner.engine.transfer import staged

COLUMNS, FEATURES, FILES, TEST_ROWS = 20, 1024, 8, 20_000
GAMMA, RIDGE, C = 0.02, 1e-5, 1.0  # fixed: this benchmark is about time and memory
_BATCH = 100_000
_WIDTHS = (12, 8, 10, 12, 10, 8, 10, 10)

NAMES = ("ridge", "hinge", "sgd", "lightgbm")

Result = tuple[float, float, int, float, float]  # seconds, of all cores, passes, MB, accuracy


def make_arrays(n: int, seed: int) -> tuple[Any, Any]:
    """Return noisy rows of two classes with a curved border."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, COLUMNS))
    value = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5
    return X, (value + 0.3 * rng.standard_normal(n) > 0).astype(np.int64)


def make_rows(n: int, seed: int) -> Any:
    """Return the same rows as a table."""
    import pandas as pd

    X, y = make_arrays(n, seed)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(COLUMNS)]).assign(y=y)


class GeneratedRows:
    """Blocks of rows generated when they are needed, on a device if one is given."""

    def __init__(self, n_rows: int, device: Any = None) -> None:
        self.n_rows, self.device, self.passes = n_rows, device, 0

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        self.passes += 1
        pieces = row_slices(self.n_rows, _BATCH)
        blocks = (make_arrays(p.stop - p.start, 1 + p.start // _BATCH) for p in pieces)
        return iter(blocks if self.device is None else staged(blocks, self.device))


def write_files(folder: Path, n_rows: int) -> None:
    """Write eight Parquet files, block by block."""
    import pyarrow as pa
    from pyarrow import parquet

    for file in range(FILES):
        left, piece, writer = n_rows // FILES, 0, None
        while left:
            height = min(left, _BATCH)
            seed = 1 + file * 10**6 + piece
            rows = pa.Table.from_pandas(make_rows(height, seed), preserve_index=False)
            writer = writer or parquet.ParquetWriter(folder / f"{file}.parquet", rows.schema)
            writer.write_table(rows)
            left, piece = left - height, piece + 1
        assert writer is not None
        writer.close()


def _fit_ours(head: Any, blocks: Any, feature_map: Any) -> Callable[[Any], Any]:
    head.fit_blocks(blocks, feature_map.transform, classes=[0, 1])
    return lambda X: head.predict(feature_map.transform(X))


def _fit_sgd(blocks: Any, sampler: Any) -> Callable[[Any], Any]:
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="hinge", alpha=1e-6, random_state=0)

    def learn(X: Any, y: Any) -> int:
        for first in range(0, len(y), 4096):
            part = slice(first, first + 4096)
            model.partial_fit(sampler.transform(X[part]), y[part], classes=[0, 1])
        return 0

    blocks.reduce(learn)
    return lambda X: model.predict(sampler.transform(X))


def _fit_trees(blocks: Any) -> Callable[[Any], Any]:
    from lightgbm import LGBMClassifier

    parts = blocks.reduce(lambda X, y: [(X, y)])
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    model = LGBMClassifier(n_estimators=100, random_state=0, verbose=-1, n_jobs=1).fit(X, y)
    return lambda X: model.predict(X)


def measure(name: str, folder: str, n_rows: int) -> Result:
    """Measure one candidate in this process."""
    from sklearn.kernel_approximation import RBFSampler

    from bochner import FourierFeatures
    from bochner.data.tables import read_table
    from bochner.linear import RidgeClassifier, SquaredHingeClassifier
    from bochner.models.preparation import make_preparation
    from bochner.models.streaming import RowStream

    table = read_table(folder, "y", max_rows=5000)
    prepare = make_preparation(table.X).fit(table.X)
    done: list[int] = []  # rows of the pass so far, after every piece
    blocks = RowStream.of(table, done.append).prepared_by(prepare)
    X = prepare.transform(table.X)
    ours = FourierFeatures(n_components=FEATURES, gamma=GAMMA, random_state=0).fit(X)
    theirs = RBFSampler(n_components=FEATURES, gamma=GAMMA, random_state=0).fit(X)
    ours.transform(X[:100])  # compiled code is loaded here
    ridge, hinge = RidgeClassifier(1 / (2 * RIDGE * n_rows)), SquaredHingeClassifier(C)
    fits = {
        "ridge": lambda: _fit_ours(ridge, blocks, ours),
        "hinge": lambda: _fit_ours(hinge, blocks, ours),
        "sgd": lambda: _fit_sgd(blocks, theirs),
        "lightgbm": lambda: _fit_trees(blocks),
    }
    begun = time.perf_counter()
    worked = time.process_time()
    predict = fits[name]()
    seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    test = make_rows(TEST_ROWS, 0)
    right = predict(prepare.transform(test.drop(columns="y"))) == test["y"].to_numpy()
    return seconds, worked, done.count(done[-1]), megabytes, float(right.mean())


def measure_generated(name: str, n_rows: int, device: str | None) -> Result:
    """Measure one of our models on generated rows."""
    from bochner import FourierFeatures
    from bochner.linear import RidgeClassifier, SquaredHingeClassifier

    phi = FourierFeatures(n_components=FEATURES, gamma=GAMMA, random_state=0)
    phi.fit(make_arrays(5000, 0)[0])
    ridge, hinge = RidgeClassifier(1 / (2 * RIDGE * n_rows)), SquaredHingeClassifier(C)
    head = {"ridge": ridge, "hinge": hinge}[name]
    blocks, warm = GeneratedRows(n_rows, device), GeneratedRows(_BATCH, device)
    _fit_ours(RidgeClassifier(), warm, phi)  # compiled code is loaded here
    begun, worked = time.perf_counter(), time.process_time()
    _fit_ours(head, blocks, phi)
    seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    X, y = make_arrays(TEST_ROWS, 0)
    right = head.to_host().predict(phi.transform(X)) == y
    return seconds, worked, blocks.passes, megabytes, float(right.mean())


def scale(sizes: list[int], names: list[str]) -> None:
    """Print time per row and peak memory for each number of rows."""
    _print_header(f"from {FILES} Parquet files")
    for n_rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), n_rows)
            for name in names:
                _print_line(n_rows, name, measure, name, folder, n_rows)


def scale_generated(sizes: list[int], names: list[str], device: str | None) -> None:
    """Print the same for generated rows."""
    _print_header("made a piece at a time" + (f", sent to {device}" if device else ""))
    for n_rows in sizes:
        for name in names:
            _print_line(n_rows, name, measure_generated, name, n_rows, device)


def _print_header(title: str) -> None:
    heading(f"{title}: {COLUMNS} columns, {FEATURES} features, two classes")
    header = ("rows", "", "time", "us per row", "of CPU", "passes", "peak MB", "accuracy")
    row(*header, widths=_WIDTHS)


def _print_line(n_rows: int, name: str, function: Callable[..., Result], *given: Any) -> None:
    """Print what a separate process measured."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        seconds, worked, passes, megabytes, accuracy = pool.submit(function, *given).result()
    row(
        f"{n_rows:,}",
        name,
        f"{seconds:.1f} s",
        f"{seconds / n_rows * 1e6:.3g}",
        f"{worked / n_rows * 1e6:.3g}",
        f"{passes}",
        f"{megabytes:.0f}",
        f"{accuracy:.1%}",
        widths=_WIDTHS,
    )


def main(arguments: list[str]) -> None:
    """Measure the given numbers of rows and models, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale")
    parser.add_argument("what", nargs="*", help=f"numbers of rows; some of {', '.join(NAMES)}")
    parser.add_argument("--generated", action="store_true", help="make the rows in memory")
    parser.add_argument("--device", help="such as cuda; of rows on disk it measures other things")
    given = parser.parse_args(arguments)
    names = [name for name in given.what if name in NAMES]
    sizes = [int(float(text)) for text in given.what if text not in NAMES]
    if given.generated:
        scale_generated(sizes or [10**8], names or ["ridge"], given.device)
    elif given.device:
        from benchmarks import scale_device

        scale_device.main(given.what, given.device)
    else:
        installed = [name for name in NAMES if name != "lightgbm" or find_spec(name)]
        scale(sizes or [10**5, 10**6], names or installed)
