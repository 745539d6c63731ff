"""A table format that only its entry in the registry knows, through every command."""

import pandas as pd
import pytest
from sklearn.datasets import load_iris

pytest.importorskip("skops", reason="the program's packages are not installed")
pytest.importorskip("typer", reason="the program's packages are not installed")

from bochner.data.formats import FORMATS
from tests.cli.commands import refused, run
from tests.data.formats.bars import Bars, write_bars


def test_a_new_format_goes_through_every_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(FORMATS, Bars.name, Bars())
    X, y = load_iris(return_X_y=True)
    write_bars("flowers.bars", X, y)
    small = ("--method", "FourierFeatures")
    said = run("compare", "flowers.bars", *small, "--widths", "8", "--seeds", 1, "--jobs", 1)
    assert said.exit_code == 0, said.output
    assert "flowers: 150 rows, 4 columns, 3 classes" in said.stdout
    assert (tmp_path / "bochner-results" / "flowers-bars" / "results.json").exists()
    said = run("fit", "flowers.bars", *small, "--width", 8)
    assert said.exit_code == 0, said.output
    said = run("predict", "model.skops", "flowers.bars")
    assert said.exit_code == 0, said.output
    assert "Bars were read." in said.stdout
    assert "on 150 rows with a target" in said.stdout
    assert (pd.read_csv("predictions.csv")["prediction"] == y).mean() > 0.7


def test_it_is_in_help_and_errors(tmp_path, monkeypatch):
    monkeypatch.setitem(FORMATS, Bars.name, Bars())
    for command in ("compare", "fit", "predict"):
        said = " ".join(run(command, "--help").stdout.replace("│", " ").split())
        assert "CSV, Parquet, svmlight, npz, bars" in said
    for command in ("compare", "fit"):
        refused(run(command, tmp_path / "absent.csv"), "bars (.bars)")
