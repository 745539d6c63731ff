"""What a new process waits for: the import, and the first call once the cache is warm."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.harness import heading, row

IMPORT = "import time; t = time.perf_counter(); import {0}; print(time.perf_counter() - t)"
FIRST_CALL = """
import time, numpy as np
from bochner import engine
X, W, a = np.ones((100, 5), np.{0}), np.ones((5, 50), np.{0}), np.ones(100, np.{0})
times = []
for _ in range(2):
    t = time.perf_counter()
    engine.features(X, W), engine.potential_and_gradient(X, W, a)
    times.append(time.perf_counter() - t)
print(times[0] - times[1])
"""


def _best(code: str, repeats: int = 5) -> float:
    return min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(repeats)
    )


def new_process() -> None:
    heading("a new process (compiled code in the cache)")
    theirs, ours = (_best(IMPORT.format(m)) for m in ("sklearn.kernel_approximation", "bochner"))
    row("import sklearn.kernel_approximation", f"{theirs:.2f} s")
    row("import bochner", f"{ours:.2f} s", f"{ours / theirs:.2f} x")
    for dtype in ("float32", "float64"):
        row(f"first call, {dtype}: extra time", f"{_best(FIRST_CALL.format(dtype)):.2f} s")
