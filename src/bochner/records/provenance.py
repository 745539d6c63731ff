"""What is needed to repeat a measurement: versions and the machine."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bochner import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "torch")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that compute."""
    installed = {"python": platform.python_version(), "bochner": __version__}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def machine(device: str = "cpu") -> dict[str, Any]:
    """The processor, how many of its cores we may use, and the device of the computation."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cores": cores, "device": device, "processor": platform.processor() or _processor()}


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if "model name" in line:
                return line.partition(":")[2].strip()
    return platform.machine()
