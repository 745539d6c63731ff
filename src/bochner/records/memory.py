"""The memory that this process may have: the machine's, or less if there is a limit."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def memory_limit() -> int | None:
    """Return the bytes of memory that this process may have, if the system tells.

    This is the smallest of the physical memory, the limits of the control groups that the process
    is in (those of a container among them), and its own limit.

    >>> memory_limit() is None or memory_limit() > 0
    True
    """
    limits = []
    with suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ImportError, OSError):
        import resource

        limits.append(resource.getrlimit(resource.RLIMIT_AS)[0])
    for file in _limit_files():
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(file.read_text()))
    return min((limit for limit in limits if limit > 0), default=None)


def _limit_files() -> list[Path]:
    """Return limit files of the control groups of this process and their parents, v1 and v2."""
    roots = {
        "0": (_CGROUPS, "memory.max"),
        "memory": (_CGROUPS / "memory", "memory.limit_in_bytes"),
    }
    groups = {"0": "/", "memory": "/"}  # a container sees its own group as the root
    with suppress(OSError):
        for line in _OWN_GROUPS.read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            for key in {number, *controllers.split(",")} & groups.keys():
                groups[key] = path
    files = []
    for key, path in groups.items():
        root, name = roots[key]
        group = root / path.strip("/")
        files += [
            folder / name for folder in (group, *group.parents) if folder.is_relative_to(root)
        ]
    return files
