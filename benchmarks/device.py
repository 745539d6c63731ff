"""The operations on a GPU, against what the GPU can do: ``python -m benchmarks.device``.

Times are medians of CUDA events. The limits are measured in the same run: the matrix product
inside the operation, alone; and the memory, as the rate of a large copy. Correctness against
float64 on the host is checked first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import heading, row
from bochner import engine
from bochner.engine import plain


def median_seconds(function: Callable[[], Any], repeats: int = 20) -> float:
    import torch

    for _ in range(3):
        function()
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return float(np.median(times))


def check() -> None:
    import torch

    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(3001, 50)).astype("f4"), rng.normal(size=(50, 700)).astype("f4") * 0.2
    A = rng.normal(size=(3001, 3)).astype("f4")
    there = torch.from_numpy(X).cuda()
    pairs = [
        (engine.features(there, W, scale=1.0), plain.features(X, W)),
        (engine.fourier_sums(there, W, A), plain.fourier_sums(X, W, A)),
        (
            engine.potential_and_gradient(there, W[:, :50], A)[1],
            plain.potential_and_gradient(X, W[:, :50], A)[1],
        ),
    ]
    for name, (ours, expected) in zip(("features", "sums", "gradient"), pairs, strict=True):
        error = np.abs(ours.cpu().numpy() - expected).max() / np.abs(expected).max()
        row(f"largest relative error, {name}", f"{error:.1e}")
        if not error < 1e-5:
            sys.exit(f"{name} is wrong on the device")


def main() -> None:
    import torch

    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
    check()
    results: dict[str, float] = {}

    source = torch.empty(2**30, device="cuda")
    target = torch.empty_like(source)
    bandwidth = 2 * source.nbytes / median_seconds(lambda: target.copy_(source))
    del source, target
    row("memory, copy", f"{bandwidth / 1e12:.2f} TB/s")

    for n, d, N in ((1_000_000, 100, 2000), (1_000_000, 784, 2000), (60_000, 784, 10_000)):
        X, W = torch.randn(n, d, device="cuda"), torch.randn(d, N, device="cuda") * d**-0.5
        a = torch.randn(n, device="cuda")
        heading(f"float32, n={n}, d={d}, N={N}")
        rows_at_once = min(n, 2**32 // (4 * N))  # one product of at most 4 GB
        P = torch.empty(rows_at_once, N, device="cuda")
        product = median_seconds(lambda: torch.matmul(X[:rows_at_once], W, out=P))  # noqa: B023
        product *= n / rows_at_once
        del P
        rate = 2 * n * d * N / product / 1e12
        row("product alone", f"{product * 1e3:.2f} ms", f"{rate:.1f} TFLOP/s")
        written = n * 2 * N * 4 / bandwidth
        row("memory: the result written once", f"{written * 1e3:.2f} ms")
        # read X, write 2N columns; the write counts half of a copy
        floor = {"features": max(product, written / 2), "sums": product}
        for name, function in (
            ("features", lambda: engine.features(X, W)),  # noqa: B023
            ("sums", lambda: engine.fourier_sums(X, W, a)),  # noqa: B023
        ):
            seconds = median_seconds(function, repeats=10)
            results[f"{name} {n} {d} {N}"] = seconds
            row(name, f"{seconds * 1e3:.2f} ms", f"{product / seconds:.0%}", "of product")
            row("", "", f"{floor[name] / seconds:.0%}", "of floor")
    n, d, N = 12000, 784, 500
    X, W = torch.randn(n, d, device="cuda"), torch.randn(d, N, device="cuda") * d**-0.5
    a = torch.randn(n, device="cuda")
    heading(f"potential_and_gradient, n={n}, d={d}, N={N}")
    P, G = torch.empty(n, N, device="cuda"), torch.empty(d, N, device="cuda")

    def products() -> None:
        torch.matmul(X, W, out=P)
        torch.matmul(X.T, P, out=G)

    floor_seconds = median_seconds(products)
    seconds = median_seconds(lambda: engine.potential_and_gradient(X, W, a))
    row("two products", f"{floor_seconds * 1e3:.3f} ms")
    row("bochner", f"{seconds * 1e3:.3f} ms", f"{floor_seconds / seconds:.0%}", "of products")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
