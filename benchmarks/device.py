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


def against_the_limits(n: int, d: int, N: int, bandwidth: float) -> dict[str, float]:
    import torch

    X, W = torch.randn(n, d, device="cuda"), torch.randn(d, N, device="cuda") * d**-0.5
    a = torch.randn(n, device="cuda")
    heading(f"float32, n={n}, d={d}, N={N}")
    part = min(n, 2**30 // N)  # one product of at most 4 GB
    product = median_seconds(lambda: X[:part] @ W) * n / part
    row("product alone", f"{product * 1e3:.2f} ms", f"{2e-12 * n * d * N / product:.1f} TF/s")
    written = n * 2 * N * 4 / bandwidth
    row("writing the features", f"{written * 1e3:.2f} ms")
    seconds = {
        "features": median_seconds(lambda: engine.features(X, W), repeats=10),
        "sums": median_seconds(lambda: engine.fourier_sums(X, W, a), repeats=10),
    }
    for name, floor in (("features", max(product, written)), ("sums", product)):
        row(name, f"{seconds[name] * 1e3:.2f} ms", f"{floor / seconds[name]:.0%}", "of limit")
    return {f"{name} {n} {d} {N}": value for name, value in seconds.items()}


def main() -> None:
    import torch

    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
    check()
    results: dict[str, float] = {}

    source = torch.empty(2**30, device="cuda")
    bandwidth = 2 * source.nbytes / median_seconds(source.clone)
    del source
    row("memory, copy", f"{bandwidth / 1e12:.2f} TB/s")

    for n, d, N in ((1_000_000, 100, 2000), (1_000_000, 784, 2000), (60_000, 784, 10_000)):
        results |= against_the_limits(n, d, N, bandwidth)

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
