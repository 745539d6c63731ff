"""What a release is made of: one version, a wheel with all that it needs and nothing else."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import bochner

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "bochner"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

pytestmark = pytest.mark.skipif(not SOURCE.exists(), reason="the sources are not here")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sdist, made by the backend without an environment of its own."""
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return folder


def package_files():
    """What must be in a wheel: modules, templates, scripts and the marker of types."""
    kept = {".py", ".html", ".css", ".js", ".typed"}
    found = (path for path in SOURCE.rglob("*") if path.suffix in kept or path.name == "py.typed")
    return {path.relative_to(SOURCE.parent).as_posix() for path in found}


def test_the_wheel_holds_the_package_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    assert {name for name in names if ".dist-info/" not in name} == package_files()
    assert f"\nVersion: {bochner.__version__}\n" in metadata
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert wheel.stat().st_size < 2e6


def test_the_wheel_can_be_imported_without_the_extras(built, tmp_path):
    """From the unpacked wheel, with every module of the extras refused."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    script = """
import sys
class Refuse:
    extras = "typer rich skops pandas pooch jinja2 torch dask distributed onnx skl2onnx matplotlib"
    def find_spec(self, name, path=None, target=None):
        if name in self.extras.split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.path.insert(0, sys.argv[1])
sys.meta_path.insert(0, Refuse())
import bochner, bochner.linear, bochner.guarantees, bochner.data
assert bochner.__file__.startswith(sys.argv[1])
"""
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_sdist_can_be_tested(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in ("pyproject.toml", "conftest.py", "tests/conftest.py", "benchmarks/fuzz.py"):
        assert needed in names
    assert {f"src/{name}" for name in package_files()} <= names
    assert not [name for name in names if "_build" in name or name.startswith((".venv", "dist"))]


def test_the_version_is_in_one_place():
    assert PROJECT["dynamic"] == ["version"]
    pattern = re.compile(rf"(?<![\d.]){re.escape(bochner.__version__)}(?![\d.])")
    files = [ROOT / "pyproject.toml", ROOT / "CITATION.cff", *SOURCE.rglob("*.py")]
    holders = [path for path in files if pattern.search(path.read_text())]
    assert holders == [SOURCE / "__init__.py"]


def test_the_conda_recipe_has_the_version_and_the_core_dependencies():
    text = (ROOT / "conda" / "recipe" / "recipe.yaml").read_text()
    assert f'  version: "{bochner.__version__}"' in text
    run = text[text.index("  run:") : text.index("  run_constraints:")]
    listed = {line.strip("- ").replace(" ", "") for line in run.splitlines()[1:] if line.strip()}
    assert listed == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}


def test_the_changelog_is_ready_for_a_release():
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    if "dev" not in bochner.__version__:
        assert re.fullmatch(
            rf"{re.escape(bochner.__version__)} \(\d{{4}}-\d\d-\d\d\)", headings[1]
        )
