"""Wheel and sdist, tested as a user has them: ``python .ci/dist.py [core cli ... tests]``.

Builds both into `dist/`, installs the wheel into clean environments in a temporary folder, first
with the core dependencies only, then with each extra, and runs `tests/smoke.py` in each. At last
`tests`: a chosen part of the tests, from the unpacked sdist without its `src`, on the wheel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("core", "cli", "gpu", "dask", "onnx", "plots")
# What a wheel can lack: templates, data files, the program, files on disk. A minute.
TESTS = (
    "tests/engine/test_operations.py",
    "tests/guarantees/test_letarte_theorems.py",
    "tests/data/formats/test_delimited.py",
    "tests/models/test_files.py",
    "tests/cli/test_app.py",
    "tests/report/test_page.py",
)


def call(*command: object, cwd: Path = ROOT) -> None:
    """Run a command; PYTHONPATH and the repository's environment do not reach it."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONPATH", "VIRTUAL_ENV", "BOCHNER_DATA")
    }
    kept["OMP_NUM_THREADS"] = "1"
    subprocess.run([str(part) for part in command], cwd=cwd, env=kept, check=True)


def build() -> tuple[Path, Path]:
    """The wheel and the sdist, the wheel from the unpacked sdist."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    call(sys.executable, "-m", "build", "--no-isolation")
    (wheel,) = (ROOT / "dist").glob("*.whl")
    (sdist,) = (ROOT / "dist").glob("*.tar.gz")
    return wheel, sdist


def environment(folder: Path, *requirements: object) -> Path:
    """The Python of a new environment with the given packages."""
    call(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    call(
        sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, *requirements
    )
    return python


def main(wanted: list[str]) -> None:
    wheel, sdist = build()
    with tempfile.TemporaryDirectory(prefix="bochner-dist-") as name:
        folder = Path(name)
        shutil.copy(ROOT / "tests" / "smoke.py", folder)
        for extra in [extra for extra in EXTRAS if extra in wanted]:
            started = time.perf_counter()
            package = wheel if extra == "core" else f"bochner[{extra}] @ {wheel.as_uri()}"
            python = environment(folder / extra, package)
            call(python, "smoke.py", extra, cwd=folder)
            print(f"{extra}: {time.perf_counter() - started:.0f} s", flush=True)
            shutil.rmtree(folder / extra)
        if "tests" in wanted:
            with tarfile.open(sdist) as archive:
                archive.extractall(folder, filter="data")
            unpacked = folder / sdist.name.removesuffix(".tar.gz")
            shutil.rmtree(unpacked / "src")
            package = f"bochner[cli,dask,onnx,plots] @ {wheel.as_uri()}"
            tools = ("pytest", "hypothesis", "array-api-strict", "array-api-compat", "psutil")
            python = environment(folder / "tests", package, *tools)
            call(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, cwd=unpacked)


if __name__ == "__main__":
    main(sys.argv[1:] or [*EXTRAS, "tests"])
