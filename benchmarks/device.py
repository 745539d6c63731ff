"""The operations on a GPU, relative to its limits: ``python -m benchmarks.device``.

Times are medians of CUDA events. The limits are measured in the same run: the matrix product
inside the operation by itself, computed by PyTorch in float32 (without TF32), and the memory
bandwidth, as the rate of a large copy. Results are first checked against float64 on the host.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import heading, row
from benchmarks.margin import GIVEN
from bochner import MarginFourierFeatures, engine
from bochner.data.local import load_pair
from bochner.engine import plain
from bochner.kernels import Exponential
from bochner.linear import solve_squared_hinge

WIDTHS = (34, 12, 14, 14)


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
    """Check results against float64 on the host; print errors relative to the largest entries."""
    import torch

    heading("largest error relative to float64, as a share of the largest entry")
    rng = np.random.default_rng(0)
    kernel = Exponential(gamma=0.1)
    for n, d, N in ((3001, 100, 700), (1501, 784, 300)):
        X, A = rng.normal(size=(n, d)).astype("f4"), rng.normal(size=(n, 3)).astype("f4")
        W = (rng.normal(size=(d, N)) * d**-0.5).astype("f4")
        c = np.exp(1j * np.arange(N))[:, None]
        there, few = torch.from_numpy(X).cuda(), W[:, :50]
        pairs = {
            "features": (engine.features(there, W, scale=1.0), plain.features(X, W)),
            "sums": (engine.fourier_sums(there, W, A), plain.fourier_sums(X, W, A)),
            "gradient": (
                engine.potential_and_gradient(there, few, A)[1],
                plain.potential_and_gradient(X, few, A)[1],
            ),
            "kernel rows": (
                engine.kernel_rows(there, X[:200], kernel),
                plain.kernel_rows(X, X[:200], kernel),
            ),
            "outer product": (
                engine.gradient_outer_product(there[:200], W, c),
                plain.gradient_outer_product(X[:200], W, c),
            ),
        }
        for name, (ours, expected) in pairs.items():
            error = np.abs(ours.cpu().numpy() - expected).max() / np.abs(expected).max()
            row(f"{name}, d={d}", f"{error:.1e}")
            if not error <= 3e-6:
                sys.exit(f"{name} is wrong on the device")


def against_the_product(n: int, d: int, N: int, bandwidth: float) -> dict[str, float]:
    import torch

    X, W = torch.randn(n, d, device="cuda"), torch.randn(d, N, device="cuda") * d**-0.5
    a = torch.randn(n, device="cuda")
    heading(f"float32, n={n}, d={d}, N={N}")
    part = min(n, 2**30 // N)  # one product of at most 4 GB
    product = median_seconds(lambda: X[:part] @ W) * n / part
    row("product alone", f"{product * 1e3:.2f} ms", f"{2e-12 * n * d * N / product:.1f} TF/s")
    row("writing the features", f"{n * 8e3 * N / bandwidth:.2f} ms")
    operations: dict[str, Callable[[], Any]] = {
        "features": lambda: engine.features(X, W),
        "sums": lambda: engine.fourier_sums(X, W, a),
        "kernel rows": lambda: engine.kernel_rows(X, W.T, Exponential(gamma=0.1)),
    }
    results: dict[str, float] = {}
    for name, operation in operations.items():
        seconds = median_seconds(operation, repeats=10)
        scratch = scratch_bytes(operation)
        of_it, held = f"{seconds / product:.2f} of it", f"{scratch / 2**20:.0f} MB held"
        row(name, f"{seconds * 1e3:.2f} ms", of_it, held, widths=WIDTHS)
        results |= {f"{name} {n} {d} {N}": seconds, f"{name} {n} {d} {N} ratio": seconds / product}
        if scratch > 2**29:
            sys.exit(f"{name} holds more than its result and a few tiles")
    return results


def scratch_bytes(operation: Callable[[], Any]) -> int:
    """Return the peak memory of an operation, without its result."""
    import torch

    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = operation()
    return int(torch.cuda.max_memory_allocated() - before - result.nbytes)


def against_two_products(n: int, d: int, N: int) -> dict[str, float]:
    import torch

    X, W = torch.randn(n, d, device="cuda"), torch.randn(d, N, device="cuda") * d**-0.5
    a = torch.randn(n, device="cuda")
    heading(f"potential_and_gradient, n={n}, d={d}, N={N}")
    P, G = torch.empty(n, N, device="cuda"), torch.empty(d, N, device="cuda")

    def products() -> None:
        torch.matmul(X, W, out=P)
        torch.matmul(X.T, P, out=G)

    limit = median_seconds(products)
    seconds = median_seconds(lambda: engine.potential_and_gradient(X, W, a))
    row("two products", f"{limit * 1e3:.3f} ms")
    row("bochner", f"{seconds * 1e3:.3f} ms", f"{seconds / limit:.2f} of them", widths=WIDTHS)
    return {f"potential {n} {d} {N}": seconds, f"potential {n} {d} {N} ratio": seconds / limit}


def many_rows(n: int = 10**7, d: int = 100, N: int = 2000) -> None:
    import torch

    X, W = torch.randn(n, d, device="cuda"), torch.randn(d, N, device="cuda") * d**-0.5
    a = torch.randn(n, device="cuda")
    heading(f"sums, n={n}, d={d}, N={N}")
    seconds = median_seconds(lambda: engine.fourier_sums(X, W, a), repeats=3)
    scratch = scratch_bytes(lambda: engine.fourier_sums(X, W, a))
    row("bochner", f"{seconds * 1e3:.1f} ms", f"{scratch / 2**20:.0f} MB held", widths=WIDTHS)


def margin_game(name: str = "mnist49", repeats: int = 6) -> dict[str, float]:
    """Learn 100 features for a pair of MNIST; compare with the unavoidable matrix products."""
    import torch

    heading(f"MarginFourierFeatures(n_components=100) on {name}")
    try:
        pair = load_pair(name)
    except FileNotFoundError as error:
        print(f"left out: {error}")
        return {}
    X, y, X_test = (torch.from_numpy(a).cuda() for a in (pair.X_train, pair.y_train, pair.X_test))
    signs = y.to(X.dtype)
    results: dict[str, float] = {}
    row("", "seconds", "rounds", "products", "accuracy")
    defaults = {name: value for name, value in GIVEN.items() if name != "n_peaks"}
    for label, settings in (("n_peaks=5", GIVEN), ("settings given", defaults), ("defaults", {})):
        times = []
        for _ in range(repeats):
            model = MarginFourierFeatures(n_components=100, random_state=0, **settings)
            torch.cuda.synchronize()
            start = time.perf_counter()
            model.fit(X, y)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
        results[f"margin {label}"] = min(times[1:])
        solution = solve_squared_hinge(model.transform(X), signs, 1.0, tol=1e-4)
        decided = model.transform(X_test) @ solution.coefficients + solution.intercepts
        right = np.sign(decided.cpu().numpy()[:, 0]) == pair.y_test
        floor = model.n_iter_ * search_products(len(X), model)
        row(
            label,
            f"{results[f'margin {label}']:.3f} s",
            model.n_iter_,
            f"{floor:.4f} s",
            f"{100 * right.mean():.2f} %",
        )
    return results


def search_products(n: int, model: MarginFourierFeatures) -> float:
    """Return the seconds of one round's matrix products alone, two per step."""
    import torch

    d, n_chains = model.n_directions, model.n_chains
    X, W = torch.randn(n, d, device="cuda"), torch.randn(d, n_chains, device="cuda")
    P, G = torch.empty(n, n_chains, device="cuda"), torch.empty(d, n_chains, device="cuda")

    def products() -> None:
        for _ in range(model.n_steps + 1):
            torch.matmul(X, W, out=P)
            torch.matmul(X.T, P, out=G)

    return median_seconds(products)


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
        results |= against_the_product(n, d, N, bandwidth)

    results |= against_two_products(12_000, 784, 500)
    many_rows()
    results |= margin_game()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
