"""Start-up time: imports, the first call with a warm cache, a prediction."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from sklearn.datasets import make_classification

from benchmarks.harness import heading, row
from bochner.models.files import save_model
from bochner.models.pipelines import make_model
from bochner.models.schema import Schema

IMPORT = "import time; t = time.perf_counter(); {0}; print(time.perf_counter() - t)"
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
    statements = "import sklearn.kernel_approximation", "from bochner import *"
    theirs, ours = (_best(IMPORT.format(statement)) for statement in statements)
    row(statements[0], f"{theirs:.2f} s")
    row(statements[1], f"{ours:.2f} s", f"{ours / theirs:.2f} x")
    for dtype in ("float32", "float64"):
        row(f"first call, {dtype}: extra time", f"{_best(FIRST_CALL.format(dtype)):.2f} s")
    for method in ("FourierFeatures", "NystroemFeatures, exponential"):
        row(f"bochner predict, 1000 rows, {method}", f"{_prediction(method):.2f} s")


def _prediction(method: str, repeats: int = 5) -> float:
    """Return the seconds of a prediction with a saved model, including the start."""
    X, y = make_classification(4000, 12, n_informative=8, random_state=0)
    rows = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    model = make_model(method, rows[:3000], y[:3000], "classification", width=256)
    with TemporaryDirectory() as folder:
        file, table = Path(folder) / "m.skops", Path(folder) / "new.csv"
        save_model(model.fit(rows[:3000], y[:3000]), file, schema=Schema.of(rows))
        rows[3000:].to_csv(table, index=False)
        arguments = ["predict", str(file), str(table), "--output", "-"]
        command = [sys.executable, "-m", "bochner", *arguments]
        times = []
        for _ in range(repeats):
            begun = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            times.append(time.perf_counter() - begun)
    return min(times)
