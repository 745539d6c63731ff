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


def test_compare_prints_a_table():
    result = bochner("compare", "wine", "--widths", "8,200", "--seeds", "2")
    assert result.returncode == 0, result.stderr
    for expected in ("178 rows", "RBFSampler", "exact SVC", "±", "Left out: Nystroem with 200"):
        assert expected in result.stdout


def test_compare_only_some_methods():
    result = bochner("compare", "iris", "--widths", "8", "--seeds", "1", "--method", "RBFSampler")
    assert result.returncode == 0, result.stderr
    assert "RBFSampler" in result.stdout
    assert "Nystroem" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "there is no dataset 'nothing'"),
        (["--widths", "7"], "even numbers from 2 on, got 7"),
        (["--widths", "a,b"], "whole numbers separated by commas"),
        (["--method", "Magic"], "there is no method 'Magic'"),
    ],
)
def test_mistakes_give_one_line(arguments, message):
    result = bochner("compare", *arguments)
    assert result.returncode == 2
    assert message in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.stderr


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
