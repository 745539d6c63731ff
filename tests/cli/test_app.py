"""The program as a person meets it: in a process of its own."""

import subprocess
import sys
from inspect import getdoc

import pandas as pd
import pytest
from sklearn.datasets import make_classification

pytest.importorskip("typer", reason="the program's packages are not installed")

from bochner.cli.app import app
from bochner.models.files import save_model
from bochner.models.pipelines import make_model
from bochner.models.schema import Schema


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


@pytest.mark.parametrize("command", ["compare", "fit", "reproduce"])
def test_paragraphs_of_the_help_are_wrapped_by_the_terminal(command):
    (info,) = (one for one in app.registered_commands if one.callback.__name__ == command)
    _, described = info.help.split("\n\n")
    assert "\n" not in described
    assert described.split() == getdoc(info.callback).split("\n\n")[1].split()


HEAVY = (
    "numba",
    "torch",
    "dask",
    "plotly",
    "matplotlib",
    "bochner.images",
    "bochner.margin",
    "bochner.mercer",
    "bochner.models.tuner",
    "bochner.compare",
    "bochner.papers",
    "bochner.report",
)


def test_predicting_is_light(tmp_path):
    """A thousand rows wait for nothing that they do not need: neither libraries nor compilers."""
    pytest.importorskip("skops")
    X, y = make_classification(1040, 4, n_redundant=0, random_state=0)
    rows = pd.DataFrame(X, columns=list("abcd"))
    rows[40:].to_csv(tmp_path / "new.csv", index=False)
    for name, method in (("one", "FourierFeatures"), ("two", "NystroemFeatures, exponential")):
        model = make_model(method, rows[:40], y[:40], "classification", width=20)
        model.fit(rows[:40], y[:40])
        save_model(model, tmp_path / f"{name}.skops", schema=Schema.of(rows))
    code = (
        "import sys\n"
        "from bochner.__main__ import main\n"
        "for name in ('one', 'two'):\n"
        "    sys.argv = ['bochner', 'predict', name + '.skops', 'new.csv', '--output', name]\n"
        "    try:\n        main()\n    except SystemExit as end:\n        assert not end.code\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
    )
    assert result.stdout.splitlines()[-1:] == ["[]"], result.stdout + result.stderr
    assert len((tmp_path / "two").read_text().splitlines()) == 1001


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
