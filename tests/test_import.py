"""Imports: light for the user, and pointing only downwards in the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bochner

SOURCE = Path(bochner.__file__).parent

# From the bottom up; a module may import from its own layer and from those before it.
LAYERS = [
    ("engine",),
    ("linear",),
    ("base", "spectral", "spherical", "mercer", "kernels", "guarantees"),
    ("datasets", "experiments", "plots"),
    ("cli",),
    ("__main__",),
]


def modules_after(statement):
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(output.stdout.split())


def test_no_heavy_package_is_imported_before_it_is_used():
    ours = modules_after("import bochner") - modules_after("import sklearn.kernel_approximation")
    packages = {name.partition(".")[0] for name in ours}
    heavy = {"numba", "torch", "dask", "typer", "rich", "pandas", "array_api_compat", "matplotlib"}
    assert not packages & heavy


def layer(name):
    return next(i for i, names in enumerate(LAYERS) if name in names)


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"],
    ids=lambda path: path.relative_to(SOURCE).as_posix(),
)
def test_imports_point_downwards(path):
    own = layer(path.relative_to(SOURCE).parts[0].removesuffix(".py"))
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "bochner":
            names = [alias.name for alias in node.names if not alias.name.startswith("__")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bochner."):
            names = [node.module.split(".")[1]]
        else:
            continue
        for name in names:
            assert layer(name) <= own, f"{path.name} imports bochner.{name}, which is above it"
