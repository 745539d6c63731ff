"""The average of two kernel models: their maps side by side, and one linear model on both.

Where different kernels err on different rows, their average errs less. The average is a linear
model on the columns of both maps with half of each model's coefficients, and so it is a plain
pipeline as well.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from bochner.base import FeatureMap
from bochner.engine.places import convert, namespace, to_numpy
from bochner.engine.rowwise import map_rows


class JoinedMaps(FeatureMap):
    """Concatenate the columns of several pipelines that end in a map.

    Parameters
    ----------
    pipelines : sequence of Pipeline
        The pipelines, each of its own steps followed by a map.
    n_jobs : int, default=None
        Number of threads of the checks alone: the maps have their own parameter.

    Attributes
    ----------
    pipelines_ : list of Pipeline
        Fitted copies of the pipelines.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from bochner import FourierFeatures, NystroemFeatures
    >>> from bochner.models.averaging import JoinedMaps
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> fourier = make_pipeline(FourierFeatures(n_components=6, random_state=0))
    >>> landmarks = make_pipeline(NystroemFeatures(4, random_state=0))
    >>> JoinedMaps([fourier, landmarks]).fit_transform(X).shape
    (20, 10)
    """

    _learned: ClassVar[str] = "pipelines_"

    def __init__(self, pipelines: Sequence[Pipeline] = (), *, n_jobs: int | None = None) -> None:
        self.pipelines = pipelines
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit copies of all pipelines.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.
        y : array-like of shape (n,), optional
            Targets that the steps learn from.

        Returns
        -------
        self
        """
        X = self._validate_rows(X, reset=True)
        self.pipelines_ = [clone(one).fit(X, y) for one in self.pipelines]
        return self

    @classmethod
    def of_fitted(cls, pipelines: Sequence[Pipeline]) -> Self:
        """Join pipelines that are fitted already."""
        joined = cls([clone(one) for one in pipelines])
        joined.n_features_in_ = pipelines[0].n_features_in_
        joined.pipelines_ = list(pipelines)
        return joined

    def _features(self, X: Any) -> Any:
        shared = {"pipelines": self.pipelines_}
        return map_rows(_joined, X, self._n_features_out, shared=shared)

    def linear(self, X: Any, coefficients: Any) -> Any:
        """Return ``transform(X) @ coefficients``, without computing the columns where possible.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.
        coefficients : array of shape (n_features_out, k)
            Coefficients, with one row per column of the maps and one column per output.

        Returns
        -------
        array of shape (n, k)
        """
        check_is_fitted(self)
        X = self._validate_rows(X, reset=False)
        ends = np.cumsum([_width(one) for one in self.pipelines_])
        coefficients = to_numpy(coefficients)
        members = list(zip(self.pipelines_, np.split(coefficients, ends[:-1]), strict=True))
        return map_rows(_added_up, X, coefficients.shape[1], shared={"members": members})

    @property
    def _n_features_out(self) -> int:
        return sum(map(_width, self.pipelines_))


def _width(pipeline: Pipeline) -> int:
    return len(pipeline[-1].get_feature_names_out())


def _joined(X: Any, pipelines: Sequence[Pipeline]) -> Any:
    parts = [one.transform(X) for one in pipelines]
    return namespace(parts[0]).concat(parts, axis=1)


def _added_up(X: Any, members: Sequence[tuple[Pipeline, Any]]) -> Any:
    """Return the sum over pipelines of their columns times their coefficients."""
    return sum(_linear(pipeline, X, coefficients) for pipeline, coefficients in members)


def _linear(pipeline: Pipeline, X: Any, coefficients: Any) -> Any:
    feature_map = pipeline[-1]
    rows = pipeline[:-1].transform(X) if len(pipeline) > 1 else X
    if hasattr(feature_map, "linear"):
        return feature_map.linear(rows, coefficients)
    features = feature_map.transform(rows)
    return features @ convert(coefficients, features)


def average(models: Sequence[Pipeline]) -> Pipeline:
    """Return a pipeline whose decisions are the mean over fitted pipelines with linear heads.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from bochner import NystroemFeatures
    >>> from bochner.linear import RidgeRegressor
    >>> from bochner.models.averaging import average
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> first, second = (
    ...     make_pipeline(NystroemFeatures(9, kernel=kernel, random_state=0), RidgeRegressor())
    ...     .fit(X, np.sin(X[:, 0])) for kernel in ("gaussian", "exponential"))
    >>> both = average([first, second])
    >>> expected = (first.predict(X) + second.predict(X)) / 2
    >>> bool(np.allclose(both.predict(X), expected))
    True
    """
    if len(models) == 1:
        return models[0]
    heads = [model[-1] for model in models]
    head = copy.copy(heads[0])
    head.coef_ = np.concatenate([each.coef_ for each in heads], axis=-1) / len(heads)
    head.intercept_ = np.mean([each.intercept_ for each in heads], axis=0)
    head.n_features_in_ = sum(each.n_features_in_ for each in heads)
    joined = JoinedMaps.of_fitted([Pipeline(model.steps[:-1]) for model in models])
    return Pipeline([("map", joined), ("head", head)])


def averaged(model: Pipeline) -> list[list[tuple[str, Any]]]:
    """Return the steps, without the head, of each of the models that a model averages."""
    steps = model.steps[:-1]
    feature_map = steps[-1][1]
    if not isinstance(feature_map, JoinedMaps):
        return [steps]
    return [[*steps[:-1], *one.steps] for one in feature_map.pipelines_]
