from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bochner import KernelClassifier
from bochner.linear import SquaredHingeClassifier
from bochner.models import limits, tuner
from bochner.models.hinge import is_affordable
from bochner.models.settings import Labelled
from tests.places import PLACES

GIVEN = {"kernel": "gaussian", "metric": None, "scaling": "standard", "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    X, y = load_digits(return_X_y=True)
    return X[:600] + 0.0, y[:600], X[600:], y[600:]


@pytest.mark.parametrize("place", ["numpy", "torch"])
def test_asked_for(rows, place):
    X, y, X_test, y_test = rows
    model = KernelClassifier(100, loss="squared_hinge", penalty=1e-3, **GIVEN)
    model.fit(PLACES[place](X), y)
    assert model.chosen_["loss"] == model.search_results_[-1]["loss"] == "squared_hinge"
    *first, (_, head) = model.pipeline_.steps
    assert isinstance(head, SquaredHingeClassifier)
    assert isinstance(head.coef_, np.ndarray)
    features = X
    for _, step in first:
        features = step.transform(features)
    ours = SquaredHingeClassifier(1 / (2 * 600 * model.chosen_["penalty"])).fit(features, y)
    ours, theirs = (each.decision_function(features) for each in (ours, head))
    np.testing.assert_allclose(theirs, ours, atol=0.01)
    assert model.score(X_test, y_test) > 0.85
    probable = model.predict_proba(X_test).argmax(axis=1)
    assert (model.classes_[probable] == model.predict(X_test)).all()
    again = model.trained_again(X, y)  # with the scaling of all rows
    assert isinstance(again["head"], SquaredHingeClassifier)
    assert np.mean(again.predict(X_test) == model.predict(X_test)) > 0.98


def test_many_rows_try_it(rows, monkeypatch):
    X, y, *_ = rows
    few = KernelClassifier(100, **GIVEN).fit(X, y)
    assert {record["loss"] for record in few.search_results_} == {"squared_error"}
    monkeypatch.setattr(limits, "MANY_ROWS", 300)
    many = KernelClassifier(100, **GIVEN).fit(X, y)
    hinge = many.search_results_[-1]
    assert hinge["loss"] == "squared_hinge"
    with monkeypatch.context() as patched:
        for worse in (False, True):
            patched.setattr(
                "bochner.models.tuner.clearly_worse",
                lambda *a, w=worse, counted=False, **k: w and counted,
            )
            chosen = KernelClassifier(100, **GIVEN).fit(X, y).chosen_["loss"]
            assert chosen == ("squared_hinge" if worse else "squared_error")
    certified = [model.certificate_.bound for model in (few, many)]
    settings = [int(text.split(" for ")[1].split()[0]) for text in certified]
    assert settings[1] == 2 * settings[0]


def test_features_that_are_not_kept_are_made_in_every_step(rows, monkeypatch):
    X, y, X_test, _ = rows
    model = KernelClassifier(60, loss="squared_hinge", penalty=1e-3, **GIVEN)
    kept = model.fit(X, y).decision_function(X_test)
    monkeypatch.setattr("bochner.models.hinge.KEPT_BYTES", 0)
    made = model.fit(X, y).decision_function(X_test)
    np.testing.assert_allclose(made, kept, atol=0.02)


def test_blocks_are_for_sums_of_squares(rows):
    X, y, *_ = rows
    model = KernelClassifier(60, loss="squared_hinge", penalty=1e-5, **GIVEN).fit(X, y)
    with pytest.raises(ValueError, match="loss='squared_error'"):
        model.trained_again(X, y, [(X, y)])


def test_it_is_not_tried_where_most_margins_are_short():
    columns = np.where(np.arange(10)[:, None] % 5 == np.arange(5), 1.0, -1.0)
    held = Labelled(None, np.arange(10) % 5, columns, None)
    assert is_affordable(SimpleNamespace(decisions=0.9 * columns), held)
    assert not is_affordable(SimpleNamespace(decisions=0.1 * columns), held)


def test_a_part_of_the_rows_decides_with_as_many_for_each_feature(rows, monkeypatch):
    X, y, *_ = rows
    monkeypatch.setattr(limits, "SEARCH_ROWS", 300)
    monkeypatch.setattr(tuner, "COARSE_WIDTH", 16)
    model = KernelClassifier(100, loss="squared_hinge", **GIVEN).fit(X, y)
    narrow, wide = [r for r in model.search_results_ if r["loss"] == "squared_hinge"]
    assert (narrow["n_components"], wide["n_components"]) == (50, 100)  # half of the rows
    assert narrow["penalty"] == wide["penalty"]
    assert model.chosen_ == wide
    assert model.pipeline_["map"].n_components == 100


@pytest.mark.parametrize("part", [False, True])
def test_a_part_of_the_rows_understates_it(part, rows, monkeypatch):
    """There it must not be clearly worse; elsewhere it must be clearly better."""
    X, y, *_ = rows
    monkeypatch.setattr(limits, "MANY_ROWS", 100)
    if part:
        monkeypatch.setattr(limits, "SEARCH_ROWS", 300)
    never = lambda *a, **k: False  # noqa: E731
    monkeypatch.setattr("bochner.models.tuner.clearly_worse", never)
    chosen = KernelClassifier(100, **GIVEN).fit(X, y).chosen_["loss"]
    assert chosen == ("squared_hinge" if part else "squared_error")
