"""A new map or kernel is one class and one entry: then every command knows it.

Formats and studies have the same test in `tests/cli/test_formats.py` and
`tests/cli/test_reproduce.py`.
"""

import json
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from typer.testing import CliRunner

from bochner import FourierFeatures
from bochner.cli.app import app
from bochner.kernels import KERNELS, Gaussian
from bochner.models.files import load_model
from bochner.models.methods import METHODS, Method
from bochner.models.trust import trusted_types


class Bins(TransformerMixin, BaseEstimator):
    """How far every row is from a few training rows; nothing that anybody needs."""

    def __init__(self, n_components=8, gamma=1.0, random_state=None):
        self.n_components, self.gamma, self.random_state = n_components, gamma, random_state

    def fit(self, X, y=None):
        X = validate_data(self, X)
        self.points_ = X[: self.n_components]
        return self

    def transform(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        squares = ((X[:, None, :] - self.points_) ** 2).sum(axis=2)
        return np.exp(-self.gamma * squares)


@dataclass(frozen=True, kw_only=True)
class Doubled(Gaussian):
    """The Gaussian kernel of twice the gamma, under a name of its own."""

    def __call__(self, X, Y=None):
        return Gaussian(gamma=2 * self.width)(X, Y)

    def sample(self, n, d, random_state):
        return Gaussian(gamma=2 * self.width).sample(n, d, random_state)


@pytest.fixture
def new_map(monkeypatch):
    entry = Method(
        "Bins",
        "a map of the tests",
        Bins,
        cost=0,
        limit=lambda width, rows: "Bins has had enough" if width == 64 else None,
        saved_types=(f"{Bins.__module__}.{Bins.__qualname__}",),
    )
    monkeypatch.setitem(METHODS, entry.name, entry)
    return entry.name


@pytest.fixture
def new_kernel(monkeypatch):
    monkeypatch.setitem(KERNELS, "doubled", Doubled)
    entry = replace(
        METHODS["FourierFeatures"],
        name="FourierFeatures, doubled",
        make=partial(FourierFeatures, kernel="doubled", sampling="iid"),
    )
    monkeypatch.setitem(METHODS, entry.name, entry)
    return entry.name


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("kind", ["new_map", "new_kernel"])
def test_one_entry_is_enough(kind, request, tmp_path):
    name = request.getfixturevalue(kind)
    folder, model = tmp_path / "results", tmp_path / "model.skops"
    compared = run(
        *("compare", "iris", "--method", name, "--method", "RBFSampler"),
        *("--widths", "8,64", "--seeds", 1, "--jobs", 1, "--output", folder),
    )
    assert name in compared
    document = json.loads((folder / "results.json").read_text())
    widths = [s["width"] for s in document["summaries"] if s["method"] == name]
    assert widths == ([8] if kind == "new_map" else [8, 64])
    assert ("Bins has had enough" in document["left_out"]) == (kind == "new_map")
    assert document["cells"][0]["method"] == ("Bins" if kind == "new_map" else "RBFSampler")
    assert name in (folder / "page.html").read_text()

    run("fit", "iris", "--method", name, "--width", 8, "--output", model)
    loaded = load_model(model)
    fitted = loaded.pipeline.named_steps["map"]
    if kind == "new_map":
        assert type(fitted) is Bins
    else:
        assert type(fitted.kernel_) is Doubled
    predictions = tmp_path / "predictions.csv"
    run("predict", model, "iris", "--output", predictions)
    assert len(predictions.read_text().split()) == 151


def test_what_is_not_registered_is_not_trusted(new_map, monkeypatch):
    full_name = f"{Bins.__module__}.{Bins.__qualname__}"
    assert full_name in trusted_types()
    monkeypatch.delitem(METHODS, new_map)
    assert full_name not in trusted_types()
