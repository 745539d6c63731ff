import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from bochner import FourierFeatures, NystroemFeatures
from bochner.models.folding import FoldedMap, fold_pipeline
from bochner.models.pipelines import make_model


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_and_scores_stay_the_same(classes, monkeypatch):
    X, y = load_wine(return_X_y=True)
    y = np.array(["a", "b", "c"])[np.minimum(y, classes - 1)]
    model = make_model("NystroemFeatures, exponential", X, y, "classification", width=40).fit(X, y)
    expected, scores = model.predict(X), model.decision_function(X)
    monkeypatch.delattr(NystroemFeatures, "_features")  # nothing is as wide as the features
    folded = fold_pipeline(model)
    np.testing.assert_array_equal(folded.predict(X), expected)
    np.testing.assert_allclose(folded.decision_function(X), scores, atol=1e-9)
    assert list(folded.classes_) == list(model.classes_)


@pytest.mark.parametrize("targets", [1, 2])
def test_numbers_stay_the_same(targets):
    X, y = load_diabetes(return_X_y=True)
    y = y if targets == 1 else np.stack([y, -y], axis=1)
    model = make_model("NystroemFeatures, exponential", X, y, "regression", width=40).fit(X, y)
    folded = fold_pipeline(model)
    assert isinstance(folded.named_steps["map"], FoldedMap)
    assert folded.predict(X).shape == y.shape
    np.testing.assert_allclose(folded.predict(X), model.predict(X), rtol=1e-9)
    assert model.named_steps["head"].n_features_in_ == 40  # the model itself is left alone


def test_what_cannot_be_folded_is_as_it_was(rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    for steps in (
        [FourierFeatures(n_components=4), Ridge()],
        [NystroemFeatures(4), Ridge()],
        [Ridge()],
    ):
        model = make_pipeline(*map(clone, steps)).fit(X, y)
        assert fold_pipeline(model) is model
