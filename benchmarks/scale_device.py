"""``python -m benchmarks scale --device cuda [ROWS]``: rows of host memory through one GPU.

First the program: `fit`, `predict` and `compare` with ``--device cuda`` and on the CPU, on files
of 150 000 rows. Then least squares on 4096 Fourier features for ten classes, by default for 10^7
rows of 100 columns in float32 in host memory: the total time, the share of it in which the GPU
computes (CUDA events around the work on every block; if PyTorch's profiler works, also of the
kernels alone), and the difference to the coefficients computed on the host. Also available as
``python -m benchmarks.scale_device``, which needs no more packages than the program.
"""

from __future__ import annotations

import operator
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bochner import FourierFeatures
from bochner.engine.rowwise import row_slices
from bochner.engine.transfer import staged
from bochner.linear import RidgeClassifier, SquaredHingeClassifier
from bochner.linear.blocks import IteratedBlocks

ROWS, COLUMNS, FEATURES, CLASSES = 10**7, 100, 4096, 10
_BLOCK = 2**17  # rows that are sent at a time
_PROGRAM_ROWS = 150_000  # more than are held in memory
_C = 1e-2


class TimedBlocks:
    """Blocks of arrays in host memory, sent to a device; records the time of the work on each."""

    def __init__(self, X: Any, y: Any, device: Any) -> None:
        self.X, self.y, self.device = X, y, device
        self.spans: list[tuple[Any, Any]] = []

    def reduce(
        self,
        function: Callable[..., Any],
        shared: Any = None,
        merge: Callable[[Any, Any], Any] = operator.add,
    ) -> Any:
        """See :class:`bochner.linear.blocks.Blocks`."""
        rows = row_slices(len(self.y), _BLOCK)
        blocks = staged(((self.X[part], self.y[part]) for part in rows), self.device)
        return IteratedBlocks(blocks).reduce(self._timed(function), shared, self._timed(merge))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **options: Any) -> Any:
            begun = self._moment()
            result = function(*given, **options)
            self.spans.append((begun, self._moment()))
            return result

        return timed

    def _moment(self) -> Any:
        if "cuda" not in str(self.device):
            return time.perf_counter()
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self) -> float:
        """Seconds of the work on all blocks, on the stream that computes."""
        if self.spans and isinstance(self.spans[0][0], float):
            return float(sum(end - begun for begun, end in self.spans))
        return sum(begun.elapsed_time(end) for begun, end in self.spans) / 1e3


def make_rows(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Return rows of ten classes with curved borders, in float32."""
    rng = np.random.default_rng(seed)
    X, y = np.empty((n, COLUMNS), np.float32), np.empty(n, np.int64)
    for rows in row_slices(n, _BLOCK):
        X[rows] = rng.standard_normal(X[rows].shape, np.float32)
        left, right = X[rows, :CLASSES], X[rows, CLASSES : 2 * CLASSES]
        y[rows] = (np.sin(2 * left) + 0.5 * right).argmax(axis=1)
    return X, y


def make_map(features: int) -> FourierFeatures:
    """Return an unfitted map."""
    return FourierFeatures(n_components=features, gamma=0.3 / COLUMNS, random_state=0)


def synchronise(device: Any) -> None:
    """Wait for the GPU."""
    if "cuda" in str(device):
        import torch

        torch.cuda.synchronize()


def measure_ridge(device: Any, n_rows: int, features: int = FEATURES) -> None:
    """Measure the pass over all rows: total time, and the share in which the device computes."""
    begun = time.perf_counter()
    X, y = make_rows(n_rows)
    test_X, test_y = make_rows(50_000, 1)
    print(f"made {n_rows:,} rows x {COLUMNS} ({X.nbytes / 1e9:.1f} GB)", flush=True)
    print(f"  in {time.perf_counter() - begun:.1f} s", flush=True)
    phi = make_map(features).fit(X[:5000])
    warm = TimedBlocks(X[:_BLOCK], y[:_BLOCK], device)
    RidgeClassifier(_C).fit_blocks(warm, phi.transform, classes=range(CLASSES))
    for repeat in range(2):
        blocks, head = TimedBlocks(X, y, device), RidgeClassifier(_C)
        synchronise(device)
        begun = time.perf_counter()
        head.fit_blocks(blocks, phi.transform, classes=range(CLASSES))
        synchronise(device)
        seconds = time.perf_counter() - begun
        worked = blocks.seconds()
        print(
            f"ridge, {features} features, {CLASSES} classes, run {repeat + 1}: {seconds:.2f} s in "
            f"all, {seconds / n_rows * 1e6:.3f} us per row, {worked:.2f} s on the blocks: "
            f"{worked / seconds:.1%}",
            flush=True,
        )
    right = [
        head.predict(phi.transform(part)) == label
        for part, label in staged([(test_X, test_y)], device)
    ]
    print(f"accuracy on 50 000 new rows: {np.mean(right):.1%}", flush=True)
    if "cuda" in str(device):
        import torch

        print(f"peak GPU memory: {torch.cuda.max_memory_allocated() / 1e9:.2f} GB", flush=True)
        _profile(device, X[: 8 * _BLOCK], y[: 8 * _BLOCK], phi)


def _profile(device: Any, X: Any, y: Any, phi: Any) -> None:
    """Print for how much of a few blocks' time kernels run, and which ones."""
    try:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            begun = time.perf_counter()
            blocks = TimedBlocks(X, y, device)
            RidgeClassifier(_C).fit_blocks(blocks, phi.transform, classes=range(CLASSES))
            synchronise(device)
            seconds = time.perf_counter() - begun
        kernels = [one for one in profiler.key_averages() if one.self_device_time_total]
        total = sum(one.self_device_time_total for one in kernels if "Memcpy" not in one.key)
        print(f"kernels alone, {len(y):,} rows: {total / 1e6:.3f} of {seconds:.3f} s")
        for one in sorted(kernels, key=lambda one: -one.self_device_time_total)[:8]:
            print(
                f"  {one.self_device_time_total / 1e3:9.1f} ms  {one.count:5d} x  {one.key[:90]}"
            )
    except Exception as error:  # the profiler is not available everywhere
        print(f"no profile: {error}")


def check_coefficients(device: Any, n_rows: int = 200_000, features: int = 512) -> None:
    """Compare the coefficients of the device with those of the host."""
    X, y = make_rows(n_rows)
    phi = make_map(features).fit(X[:5000])
    for head, labels in ((RidgeClassifier(_C), y), (SquaredHingeClassifier(_C), (y > 4) * 1)):
        found, seconds, classes = [], [], np.unique(labels)
        for where in ("cpu", device):
            begun = time.perf_counter()
            blocks = TimedBlocks(X, labels, where)
            found.append(head.fit_blocks(blocks, phi.transform, classes=classes).coef_.copy())
            seconds.append(time.perf_counter() - begun)
        error = np.abs(found[1] - found[0]).max() / np.abs(found[0]).max()
        print(
            f"{type(head).__name__}, {n_rows:,} rows, {features} features: host "
            f"{seconds[0]:.2f} s, device {seconds[1]:.2f} s, coefficients differ by {error:.1e}",
            flush=True,
        )


def write_files(folder: Path, n_rows: int) -> None:
    """Write three CSV files of a table with ten columns and two classes."""
    import pandas as pd

    rng = np.random.default_rng(0)
    for part in range(3):
        X = rng.standard_normal((n_rows // 3, 10))
        value = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(len(X))
        frame = pd.DataFrame(X.round(4), columns=[f"x{i}" for i in range(10)])
        frame.assign(y=np.where(value > 0, "yes", "no")).to_csv(
            folder / f"{part}.csv", index=False
        )


def run_program(device: str, n_rows: int = _PROGRAM_ROWS) -> None:
    """Run `fit`, `predict` and `compare` on the CPU and on the device, as a user would."""
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        data.mkdir()
        write_files(data, n_rows)
        quick = ["--kernel", "gaussian", "--scaling", "standard"]
        for where in (device, "cpu"):
            on = ["--device", where, "--force"]
            _command(name, "fit", "data", "--target", "y", "--width", "1024", *quick, *on)
            _command(name, "predict", "model.skops", "data", *on)
            hinge = ["--method", "FourierFeatures", "--width", "512", "--gamma", "0.05"]
            _command(name, "fit", "data", "--target", "y", *hinge, *on)
            few = ["--method", "FourierFeatures", "--method", "KernelClassifier"]
            few += [
                "--metric",
                "diagonal",
                "--widths",
                "256",
                "--seeds",
                "1",
                "--max-rows",
                "6000",
            ]
            _command(name, "compare", "data/0.csv", "--target", "y", *few, "--device", where)


def _command(folder: str, *arguments: str) -> None:
    begun = time.perf_counter()
    command = [sys.executable, "-m", "bochner", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    print(f"$ bochner {' '.join(arguments)}  [{seconds:.1f} s, exit {done.returncode}]")
    lines = (done.stdout + done.stderr).strip().splitlines()
    print(*(f"    {line[:160]}" for line in lines[:14]), sep="\n", flush=True)


def main(arguments: list[str], device: Any = "cuda") -> None:
    """Run the program, compare coefficients, and measure the large pass."""
    n_rows = int(float(arguments[0])) if arguments else ROWS
    import torch

    print(f"PyTorch {torch.__version__}", flush=True)
    if torch.cuda.is_available():
        print(torch.cuda.get_device_name(0), flush=True)
    if isinstance(device, str):
        run_program(device, min(n_rows, _PROGRAM_ROWS))
    check_coefficients(device, min(n_rows, 200_000))
    measure_ridge(device, n_rows, FEATURES if n_rows > 10**5 else 128)


if __name__ == "__main__":
    main(sys.argv[1:])
