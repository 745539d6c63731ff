"""``python -m benchmarks [NAME ...]``: run all benchmarks, or the named ones.

``models``, ``advice``, ``gains`` and ``noise`` take hours and have options of their own: see
:mod:`benchmarks.models`, :mod:`benchmarks.advice`, :mod:`benchmarks.gains` and
:mod:`benchmarks.noise`. ``scale [ROWS ...]`` writes large files: see :mod:`benchmarks.scale`.
``fuzz [N]`` looks for failures and measures no time: see :mod:`benchmarks.fuzz`.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from importlib import import_module

from benchmarks import (
    images,
    landmarks,
    linear,
    margin,
    mercer,
    metric,
    nystroem,
    operations,
    sampling,
    scaling,
    startup,
)

MEASUREMENTS: dict[str, Callable[[], None]] = {
    "features": operations.features,
    "sums": operations.sums,
    "gradient": operations.gradient,
    "sparse": operations.sparse_rows,
    "landmarks": landmarks.landmarks,
    "landmark-gains": landmarks.gains,
    "linear": linear.linear,
    "margin": margin.margin,
    "margin-widths": margin.widths,
    "mercer": mercer.mercer,
    "metric": metric.metric,
    "nystroem": nystroem.nystroem,
    "images": images.images,
    "scaling": scaling.rows_against_time,
    "sampling": sampling.kernel_error,
    "startup": startup.new_process,
}


WITH_OPTIONS = ("advice", "gains", "models", "noise", "scale")  # which take long


def main(names: list[str]) -> None:
    if names[:1] == ["fuzz"]:
        from benchmarks.fuzz import fuzz

        sys.exit(min(1, fuzz(names[1:])))
    if names and names[0] in WITH_OPTIONS:
        import_module(f"benchmarks.{names[0]}").main(names[1:])
        return
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        sys.exit(f"no measurement {unknown[0]!r}; there are {', '.join(MEASUREMENTS)}")
    from bochner.engine.threads import default_threads

    print(f"{platform.processor() or platform.machine()}, {default_threads()} threads")
    for name in names or MEASUREMENTS:
        MEASUREMENTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
