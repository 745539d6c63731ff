"""Provenance of a measurement: versions, the commit and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bochner import __version__
from bochner.records.memory import memory_limit
from bochner.records.wording import counted

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "torch")

_version = cache(version)  # which looks through all that is installed


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute."""
    installed = {"python": platform.python_version(), "bochner": __version__}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = _version(package)
    return installed


def commit() -> str | None:
    """Return the commit of this package's source, with a plus if files were changed since.

    None if it does not run from a checkout.

    >>> commit() is None or len(commit()) >= 10
    True
    """

    def git(*words: str) -> str | None:
        with suppress(OSError, subprocess.SubprocessError):
            command = ["git", "-C", str(Path(__file__).parent), *words]
            return subprocess.run(
                command, capture_output=True, text=True, check=True, timeout=20
            ).stdout.strip()
        return None

    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    found = git("rev-parse", "--short=10", "HEAD")
    changed = git("status", "--porcelain", "-uno", "--", "..")  # of the package
    return found and found + "+" * bool(changed)


def machine(device: str = "cpu") -> dict[str, Any]:
    """Return the processor, the usable cores and memory, and the device of the computation."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = memory_limit()
    return {
        "cores": cores,
        "memory": memory and f"{memory / 2**30:.0f} GB",
        "device": device,
        "processor": platform.processor() or _processor(),
    }


def machine_text(device: str = "cpu") -> str:
    """Describe the cores, the memory and the device in words.

    >>> machine_text().split()[1] in ("core,", "core", "cores,", "cores")
    True
    """
    about = machine(device)
    words = [counted(about["cores"], "core")]
    words += [f"{about['memory']} of memory"] * bool(about["memory"])
    words += [_device_name(device)] * (device != "cpu")
    return ", ".join(words)


def _device_name(device: str) -> str:
    """Return the name of a GPU, if PyTorch knows it."""
    with suppress(ImportError, RuntimeError, AssertionError, ValueError):
        import torch

        return str(torch.cuda.get_device_name(device))
    return device


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if "model name" in line:
                return line.partition(":")[2].strip()
    return platform.machine()
