"""Time and memory against the number of rows, streamed from a memory-mapped file."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.utils import gen_batches

from benchmarks.harness import PeakMemory, heading, row
from bochner import FourierFeatures, engine

D, COLUMNS, BATCH = 20, 512, 50_000


def rows_against_time(largest: int = 10_000_000) -> None:
    heading(f"rows streamed from a file: d={D}, {COLUMNS} columns, float32")
    row(
        "rows",
        "sums",
        "ns a row",
        "extra MB",
        "transform",
        "ns a row",
        "extra MB",
        widths=(14, 11, 11, 11, 12, 11, 11),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        file = np.lib.format.open_memmap(path, "w+", np.float32, (largest, D))
        rng = np.random.default_rng(0)
        for batch in gen_batches(largest, 10**6):
            file[batch] = rng.standard_normal((batch.stop - batch.start, D), np.float32)
        file.flush()
        del file
        X = np.load(path, mmap_mode="r")
        features = FourierFeatures(n_components=COLUMNS, gamma=0.05, random_state=0).fit(X[:100])
        W, a = features.frequencies_, np.ones(largest, np.float32)
        engine.fourier_sums(X[:1000], W, a[:1000])
        n = 10_000
        while n <= largest:
            with PeakMemory() as memory:
                start = time.perf_counter()
                engine.fourier_sums(X[:n], W, a[:n])
                seconds = time.perf_counter() - start
            with PeakMemory() as streamed:
                start = time.perf_counter()
                total = np.zeros(COLUMNS)
                for batch in gen_batches(n, BATCH):
                    total += features.transform(X[batch]).mean(axis=0)
                transform = time.perf_counter() - start
            row(
                f"{n:,}",
                f"{seconds:.3f} s",
                f"{seconds / n * 1e9:.0f}",
                f"{memory.extra:.0f}",
                f"{transform:.3f} s",
                f"{transform / n * 1e9:.0f}",
                f"{streamed.extra:.0f}",
                widths=(14, 11, 11, 11, 12, 11, 11),
            )
            n *= 10
