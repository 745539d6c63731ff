"""``--device`` of the commands; PyTorch on the CPU stands in for a GPU."""

import importlib
import json
import sys

import pandas as pd
import pytest

pytest.importorskip("typer", reason="the program's packages are not installed")
pytest.importorskip("skops", reason="the program's packages are not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.cli.commands import refused, run  # noqa: E402

DEVICES = {"cpu": "cpu", "cuda": torch.device("cpu")}


@pytest.fixture
def stand_in(monkeypatch):
    """The arrays that went to a device."""
    sent, tensor = [], torch.as_tensor
    for name in ("fit", "predict", "compare"):
        module = importlib.import_module(f"bochner.cli.{name}")
        monkeypatch.setattr(module, "check_device", lambda device: torch.device("cpu"))
    monkeypatch.setattr(
        torch, "as_tensor", lambda *given, **more: sent.append(1) or tensor(*given, **more)
    )
    return sent


QUICK = ("--kernel", "gaussian", "--metric", "none", "--scaling", "standard")


def test_fit_and_predict(here, stand_in):
    found = []
    for device in ("cpu", "cuda"):
        said = run("fit", "train.csv", "--device", device, "--force", "--width", 30, *QUICK)
        assert said.exit_code == 0, said.output
        said = run("predict", "model.skops", "new.csv", "--device", device, "--force")
        assert said.exit_code == 0, said.output
        found.append(pd.read_csv("predictions.csv")["prediction"])
    assert stand_in
    assert (found[0] == found[1]).mean() > 0.97


def test_compare(here, stand_in):
    said = run(
        *("compare", "iris", "--method", "FourierFeatures", "--method", "RBFSampler"),
        *("--widths", 8, "--seeds", 1, "--jobs", 1, "--gamma", 0.3, "--device", "cuda"),
        *("--output", "results"),
    )
    assert said.exit_code == 0, said.output
    assert "failed" not in said.output
    assert stand_in
    cells = (here / "results" / "cells.jsonl").read_text().splitlines()
    assert len(cells) == 2
    assert min(json.loads(cell)["score"] for cell in cells) > 0.7


@pytest.mark.parametrize("command", [("fit", "train.csv"), ("predict", "model.skops", "new.csv")])
def test_what_is_missing(here, command, monkeypatch):
    if not torch.cuda.is_available():
        refused(run(*command, "--device", "cuda"), "--device cuda cannot be used: ")
    refused(run(*command, "--device", "gpu"), "--device gpu cannot be used: ")
    for package in ("array_api_compat", "torch"):
        monkeypatch.setitem(sys.modules, package, None)
        refused(run(*command, "--device", "cuda"), f"--device cuda needs {package}: pip install")
        monkeypatch.undo()
        monkeypatch.chdir(here)


def test_a_device_is_not_on_a_cluster(here, stand_in):
    beside = ("--device", "cuda", "--cluster", "tcp://127.0.0.1:1")
    refused(run("fit", "train.csv", *beside), "leave out one of --device and --cluster")
    (here / "many").mkdir()
    (here / "new.csv").rename(here / "many" / "new.csv")
    refused(run("predict", "model.skops", "many", *beside), "leave out one of --device and --c")


def test_models_of_scikit_learn(here, stand_in):
    said = run("fit", "iris", "--method", "exact", "--device", "cuda")
    refused(said, "exact is scikit-learn's and runs on the CPU")
