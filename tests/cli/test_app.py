"""The program as a person meets it: in a process of its own."""

import subprocess
import sys

import pytest

pytest.importorskip("typer", reason="the program's packages are not installed")


def bochner(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "bochner", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_help_names_the_commands_and_is_light():
    """Nothing heavy is imported to show the help (scikit-learn imports pandas itself)."""
    code = (
        "import sys; sys.argv = ['bochner', '--help']\n"
        "from bochner.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print([name for name in sys.modules if name in "
        "('torch', 'numba', 'plotly', 'skops', 'matplotlib', 'dask')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.stdout.splitlines()[-1] == "[]", result.stdout + result.stderr
    for name in ("compare", "fit", "predict", "reproduce"):
        assert name in result.stdout


def test_version():
    assert bochner("--version").stdout.startswith("bochner 0.")


def test_missing_packages_are_named(tmp_path):
    """Without the packages of the program there is a line that says what to install."""
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError(name='typer')")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import bochner.__main__ as m; m.main()"
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 1
    assert "pip install 'bochner[cli]'" in result.stderr
