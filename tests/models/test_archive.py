"""A copy of skops that trusts less than the whole, and is enough for our own files."""

import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

pytest.importorskip("skops.io", reason="skops is not installed")

from bochner import FourierFeatures, NystroemFeatures
from bochner.models import archive, files
from bochner.models.files import ModelFileError, load_model, save_model
from bochner.models.pipelines import make_model
from bochner.models.schema import Schema

X = np.random.default_rng(0).normal(size=(40, 3))
Y = X[:, 0] > 0


@pytest.fixture
def small(monkeypatch):
    """The copy of a process that has not imported skops."""
    whole = {name: module for name, module in sys.modules.items() if name.startswith("skops")}
    for name in whole:
        monkeypatch.delitem(sys.modules, name)
    copy = archive.small_skops.__wrapped__()
    assert not any(name.startswith("skops") for name in sys.modules)
    sys.modules.update(whole)
    monkeypatch.setattr(files, "small_skops", lambda: copy)
    return copy


@pytest.fixture
def whole_calls(monkeypatch):
    calls = []
    monkeypatch.setattr(files, "whole_skops", lambda: calls.append(1) or archive.whole_skops())
    return calls


def test_it_trusts_nothing_that_the_whole_does_not_trust(small):
    from skops.io import _trusted_types

    assert small is not archive.whole_skops()
    few = archive._FewTypes("few")
    for name in (name for name in dir(_trusted_types) if name.endswith("_NAMES")):
        assert set(getattr(few, name)) <= set(getattr(_trusted_types, name)), name
    with pytest.raises(AttributeError):
        _ = few.PRIMITIVES_TYPES


@pytest.mark.parametrize("method", ["FourierFeatures", "NystroemFeatures, exponential"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_our_own_files_need_no_more(small, whole_calls, tmp_path, method, task):
    y = Y if task == "classification" else X[:, 0]
    model = make_model(method, X, y, task, width=10).fit(X, y)
    path = save_model(model, tmp_path / "m.skops", schema=Schema.of(X))
    whole_calls.clear()
    np.testing.assert_array_equal(load_model(path).pipeline.predict(X), model.predict(X))
    assert not whole_calls


def test_other_estimators_are_read_by_the_whole(small, whole_calls, tmp_path):
    model = make_pipeline(
        FourierFeatures(n_components=10, random_state=0), LogisticRegression()
    ).fit(X, Y)
    path = save_model(model, tmp_path / "m.skops", schema=Schema.of(X))
    whole_calls.clear()
    assert (load_model(path).pipeline.predict(X) == model.predict(X)).all()
    assert whole_calls


def test_what_neither_trusts_is_refused(small, tmp_path, monkeypatch):
    model = make_pipeline(NystroemFeatures(n_components=5), LogisticRegression()).fit(X, Y)
    path = save_model(model, tmp_path / "m.skops", schema=Schema.of(X))
    monkeypatch.setattr("bochner.models.trust.METHODS", {})
    with pytest.raises(ModelFileError, match=r"not trusted: bochner\.nystroem"):
        load_model(path)


def test_a_skops_of_other_modules_is_used_whole(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("skops")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(archive, "_FewTypes", lambda name: None)  # as if it were not there
    found = archive.small_skops.__wrapped__()
    assert found is sys.modules["skops.io"]


def test_reading_does_not_import_libraries_of_arrays(monkeypatch):
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    with archive._without_libraries_of_arrays(), pytest.raises(ImportError):
        import cupy  # noqa: F401
    assert "cupy" not in sys.modules
