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
    ("engine", "records"),
    ("linear", "kernels", "targets"),
    ("base", "fourier", "margin", "mercer", "images", "guarantees"),
    ("data", "models", "plots"),
    ("compare", "papers", "report"),
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


def test_plain_install_is_enough():
    """Fitting and transforming NumPy rows needs nothing but the core dependencies."""
    code = """
import sys

class Absent:
    names = {"array_api_compat", "torch", "dask", "matplotlib", "rich", "typer", "pandas"}

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import warnings
import numpy as np
import bochner
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.normal(size=(100, 3)), np.arange(100) % 2
for name in bochner.__all__:
    if name == "ConvolutionalKernelNetwork":
        continue  # takes images
    for target in (y, np.arange(100) % 3, X[:, 0] ** 2):
        getattr(bochner, name)(n_components=4).fit(X, target).transform(X)
for update in ("corrective", "gradient"):
    for target in (y, X[:, 0] ** 2):
        bochner.MarginFourierFeatures(n_components=4, dual_update=update).fit(X, target)
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
