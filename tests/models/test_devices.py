"""Models fitted and used on a device, for which PyTorch on the CPU stands in."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from bochner import GradientMetric, KernelClassifier
from bochner.base import CheckedRows
from bochner.data.formats import base
from bochner.data.tables import read_table
from bochner.linear import SquaredHingeClassifier
from bochner.linear.scoring import choose_measure
from bochner.models import problem
from bochner.models.devices import BatchPredictor
from bochner.models.files import load_model, save_model
from bochner.models.methods import METHODS
from bochner.models.pipelines import make_model
from bochner.models.problem import Problem
from bochner.models.schema import Schema
from bochner.models.selection import learn, learn_whole
from bochner.models.streaming import RowStream
from bochner.models.training import train, train_kernel_model

torch = pytest.importorskip("torch")
THERE = torch.device("cpu")
# float32 is not enough for columns as alike as those of landmarks of a wide kernel
QUICK = {
    "features": "FourierFeatures",
    "kernel": "gaussian",
    "metric": None,
    "scaling": "standard",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "CHUNK", 70)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 3)), columns=list("abc"))
    frame["town"] = rng.choice(["Ulm", "Rom"], 500)
    frame["z"] = frame["a"] * frame["b"] + (frame["town"] == "Rom") + rng.normal(size=500)
    frame.loc[::7, "c"] = np.nan
    for part in range(2):
        frame[part::2].to_parquet(tmp_path / f"{part}.parquet")
    return tmp_path


def tables(folder, task):
    if task == "classification":
        for path in folder.glob("*.parquet"):
            rows = pd.read_parquet(path)
            rows.assign(z=np.where(rows["z"] > 0.4, "yes", "no")).to_parquet(path)
    return read_table(folder, "z", max_rows=200)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_model_of_a_device_is_that_of_the_host(folder, task, tmp_path):
    """To float32; on file it holds nothing of the device."""
    table, found = tables(folder, task), []
    for device in ("cpu", THERE):
        stream = RowStream.of(table, device=device)
        found.append(
            train_kernel_model(table, width=20, stream=stream, device=device, **QUICK),
        )
        if task == "classification":
            given = {"gamma": 0.1, "C": 1.0, "width": 20, "stream": stream, "device": device}
            found.append(train(table, "FourierFeatures", **given))
    half = len(found) // 2
    for one, other in zip(found[:half], found[half:], strict=True):
        assert one.n_rows == other.n_rows == 500
        assert isinstance(other.pipeline[-1].coef_, np.ndarray)
        X = pd.concat([pd.read_parquet(path) for path in table.files]).drop(columns="z")
        decide = "decision_function" if task == "classification" else "predict"
        expected = getattr(one.pipeline, decide)(X)
        path = save_model(other.pipeline, tmp_path / "model.skops", schema=Schema.of(X))
        loaded = load_model(path).pipeline
        for values in (
            getattr(loaded, decide)(X),
            getattr(BatchPredictor(loaded, THERE), decide)(X),
        ):
            assert np.abs(values - expected).max() < 1e-4 * np.abs(expected).max()


def test_a_pass_of_the_squared_hinge_on_a_device(rng):
    X = rng.normal(size=(300, 5)).astype(np.float32)
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int) + (X[:, 1] > 1)
    weights = rng.uniform(size=300)
    expected = SquaredHingeClassifier(C=2.0).fit_blocks([(X, y, weights)])
    head = SquaredHingeClassifier(C=2.0).fit_blocks([(torch.as_tensor(X), y, weights)])
    np.testing.assert_allclose(head.coef_, expected.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("whole", [False, True])
def test_models_of_a_comparison(whole, monkeypatch):
    """A map with its head after a metric, and a whole model: rows arrive there as tensors."""
    X, y = load_iris(return_X_y=True)
    measure = choose_measure(y, "classification", "accuracy")
    there = Problem(X, y, "classification", measure, gamma=0.3, device=THERE)
    seen, validate = [], CheckedRows._validate_rows
    monkeypatch.setattr(
        CheckedRows,
        "_validate_rows",
        lambda self, X, **options: seen.append(type(X)) or validate(self, X, **options),
    )
    if whole:
        model = learn_whole(replace(METHODS["KernelClassifier"], whole=small_model), X, there)
    else:
        monkeypatch.setattr(problem, "make_metric", quick_metric)
        model = learn("FourierFeatures", 20, replace(there, metric="diagonal"))
        assert isinstance(model.head.coef_, np.ndarray)
    assert np.mean(model.predict(X) == y) > 0.9
    assert set(seen) == {torch.Tensor}


def small_model(**given):
    return KernelClassifier(10, random_state=0, **QUICK)


def quick_metric(mode, task, random_state):
    return GradientMetric(mode, n_frequencies=20, n_rounds=1, target=task, random_state=0)


def test_what_runs_on_the_host_only():
    table = read_table("iris")
    with pytest.raises(ValueError, match="exact is scikit-learn's and runs on the CPU"):
        train(table, "exact", device=THERE)
    model = make_model("exact", table.X, table.y, table.task).fit(table.X, table.y)
    with pytest.raises(ValueError, match="SVC runs on the CPU only"):
        BatchPredictor(model, THERE)
