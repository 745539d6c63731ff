"""Fitted pipelines that predict the same with less work, by folding coefficients into the map.

A map with a method ``linear(X, coefficients)`` computes ``transform(X) @ coefficients`` without
the features (:class:`~bochner.NystroemFeatures`). A linear head of this package then only adds its
intercepts.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from bochner.engine.places import to_numpy
from bochner.linear.base import LinearHead


class FoldedMap:
    """A fitted map whose columns are the values of a linear head without its intercepts."""

    def __init__(self, feature_map: Any, head: LinearHead) -> None:
        self.feature_map = feature_map
        self.coefficients = np.atleast_2d(to_numpy(head.coef_)).T

    def fit(self, X: Any, y: Any = None) -> FoldedMap:
        """Return self, as nothing is left to be fitted."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the values of the linear model, on the device of `X`."""
        return self.feature_map.linear(X, self.coefficients)


def fold(feature_map: Any, head: Any) -> tuple[Any, Any]:
    """Return a fitted map and head with the same decisions, or the given ones if none is faster.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import NystroemFeatures
    >>> from bochner.linear import RidgeRegressor
    >>> from bochner.models.folding import fold
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> phi = NystroemFeatures(9, kernel="exponential", random_state=0).fit(X)
    >>> head = RidgeRegressor().fit(phi.transform(X), np.sin(X[:, 0]))
    >>> folded, last = fold(phi, head)
    >>> folded.transform(X).shape
    (50, 1)
    >>> bool(np.allclose(last.predict(folded.transform(X)), head.predict(phi.transform(X))))
    True
    """
    if not (isinstance(head, LinearHead) and hasattr(feature_map, "linear")):
        return feature_map, head
    folded, last = FoldedMap(feature_map, head), copy.copy(head)
    count = folded.coefficients.shape[1]
    last.coef_ = np.eye(count) if np.ndim(head.coef_) == 2 else np.ones(1)
    last.n_features_in_ = count
    return folded, last


def fold_pipeline(pipeline: Any) -> Any:
    """Return a fitted pipeline for predictions, or the given one if none is faster.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner.models.folding import fold_pipeline
    >>> from bochner.models.pipelines import make_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_model("NystroemFeatures, exponential", X, y, "classification", width=30)
    >>> bool((fold_pipeline(model.fit(X, y)).predict(X) == model.predict(X)).all())
    True
    """
    if not isinstance(pipeline, Pipeline) or len(pipeline.steps) < 2:
        return pipeline
    *first, (map_name, feature_map), (head_name, head) = pipeline.steps
    folded, last = fold(feature_map, head)
    if folded is feature_map:
        return pipeline
    return Pipeline([*first, (map_name, folded), (head_name, last)])
