"""What is needed to repeat a measurement: versions and the machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bochner import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "torch")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that compute.

    Examples
    --------
    >>> from bochner.records.provenance import versions
    >>> list(versions())[:3]
    ['python', 'bochner', 'numpy']
    """
    found = {"python": platform.python_version(), "bochner": __version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine(device: str = "cpu") -> dict[str, Any]:
    """The processor, how many of its cores we may use, and the device of the computation."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cores": cores, "device": device, "processor": platform.processor() or _processor()}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.machine()
