"""A model applied to files: labels as files write them, and scores of what is known."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline

from bochner.data.errors import TableError
from bochner.models.files import Model
from bochner.models.methods import make_model
from bochner.models.prediction import predict_file
from bochner.models.schema import Schema


def always(label, classes, measure="accuracy"):
    """A model of one column that gives one answer."""
    X = pd.DataFrame({"a": np.arange(4.0), "b": np.arange(4.0) ** 2})
    y = np.array(classes * 4)[:4]
    pipeline = make_pipeline(DummyClassifier(strategy="constant", constant=label)).fit(X, y)
    details = {"task": "classification", "target": "y", "measure": measure}
    return Model(pipeline, Schema.of(X), details)


def write(path, y):
    pd.DataFrame({"a": np.arange(len(y)), "b": 1, "y": y}).to_csv(path, index=False)
    return path


def test_whole_numbers_with_gaps_are_still_classes(tmp_path):
    path = write(tmp_path / "new.csv", [1, None, 2, 1])
    summary = predict_file(always(1, [1, 2]), path, io.BytesIO())
    assert (summary.n_rows, summary.n_scored) == (4, 3)
    assert summary.score == pytest.approx(2 / 3)


def test_balanced_accuracy(tmp_path):
    path = write(tmp_path / "new.csv", ["a", "a", "a", "b"])
    summary = predict_file(always("a", ["a", "b"], "balanced-accuracy"), path, io.BytesIO())
    assert summary.score == pytest.approx(0.5)


def test_classes_that_were_never_seen(tmp_path):
    path = write(tmp_path / "new.csv", ["a", "z", "a", "b"])
    summary = predict_file(always("a", ["a", "b"]), path, io.BytesIO())
    assert summary.notes == ["1 row is of classes that the model never saw"]
    assert summary.score == pytest.approx(0.5)


def test_a_target_of_gaps_is_no_score(tmp_path):
    path = write(tmp_path / "new.csv", [None, None])
    summary = predict_file(always("a", ["a", "b"]), path, io.BytesIO())
    assert summary.score is None


def test_numbers_without_numbers_to_compare(tmp_path):
    X = pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) ** 2})
    pipeline = make_model("FourierFeatures", X, X["a"], "regression", width=4).fit(X, X["a"])
    model = Model(pipeline, Schema.of(X), {"task": "regression", "target": "y", "measure": "R2"})
    summary = predict_file(model, write(tmp_path / "new.csv", ["x", "y"]), io.BytesIO())
    assert summary.score is None
    assert "does not hold numbers" in summary.notes[0]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"rows": np.ones((3, 2))}, "must hold an array 'X'; it holds rows"),
        ({"X": np.ones(3)}, r"numbers of shape \(rows, columns\)"),
        ({"X": np.array([["a", "b"]])}, "must be numbers"),
    ],
)
def test_arrays_that_are_no_rows(tmp_path, arrays, message):
    np.savez(tmp_path / "new.npz", **arrays)
    with pytest.raises(TableError, match=message):
        predict_file(always("a", ["a", "b"]), tmp_path / "new.npz", io.BytesIO())
