"""Preparation, metric, feature map and head as one scikit-learn pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from bochner.engine.places import dense
from bochner.fourier.bandwidth import DEFAULT_GAMMA, GAMMA_RULES, resolve_kernel
from bochner.kernels import StandardKernel
from bochner.linear.base import LinearHead
from bochner.linear.exact import GaussianKernelRidge
from bochner.linear.heads import (
    RidgeClassifier,
    RidgeRegressor,
    SquaredHingeClassifier,
)
from bochner.metric.gradient_metric import GradientMetric
from bochner.metric.matrices import MODES
from bochner.metric.relevance import RELEVANCE, RelevanceMetric
from bochner.models.methods import Method, find_method
from bochner.models.preparation import make_preparation

DEFAULT_C = 10.0
_SVC_STEPS = 10**7  # of two rows each; with a very large C it would not end otherwise


def make_head(
    task: str,
    n_classes: int | None,
    *,
    C: float | Literal["auto"] | None = None,
    balanced: bool = False,
    squares: bool = False,
) -> LinearHead:
    """Return the unfitted linear model: squared hinge for two classes, otherwise ridge.

    Parameters
    ----------
    task : {"classification", "regression"}
        The kind of task.
    n_classes : int or None
        Number of classes.
    C : float, "auto" or None, default=None
        Weight of the loss. None means 10; ``"auto"`` chooses it on held-out rows.
    balanced : bool, default=False
        Whether every class has the same weight, however many rows it has.
    squares : bool, default=False
        Whether to use least squares for two classes too: many penalties cost as little as one.
    """
    C = DEFAULT_C if C is None else C
    if task == "regression":
        return RidgeRegressor(C)
    kind = SquaredHingeClassifier if n_classes == 2 and not squares else RidgeClassifier
    return kind(C, class_weight="balanced" if balanced else None)


def make_exact(task: str, *, gamma: float, C: float | None = None, balanced: bool = False) -> Any:
    """Return the unfitted exact method: SVC, or kernel ridge regression.

    Parameters
    ----------
    task, C, balanced
        The same as for :func:`make_head`.
    gamma : float
        Parameter of the Gaussian kernel.
    """
    from sklearn.svm import SVC

    C = DEFAULT_C if C is None else C
    if task == "regression":
        return GaussianKernelRidge(1 / (2 * C), gamma=gamma)
    weights = "balanced" if balanced else None
    return SVC(C=C, gamma=gamma, class_weight=weights, max_iter=_SVC_STEPS)


METRICS = (*MODES, RELEVANCE)  # from the simplest to the most flexible


def make_metric(name: str, task: str, random_state: int = 0) -> Any:
    """Return the unfitted metric of a name in :data:`METRICS`, or ``"auto"``.

    Column weights are learned for the Gaussian kernel, which most maps have.
    """
    given: dict[str, Any] = {"target": task, "random_state": random_state}
    if name == RELEVANCE:
        return RelevanceMetric("gaussian", **given)
    return GradientMetric(name, **given)  # type: ignore[arg-type]


def unfitted_metric(fitted: Any) -> Any:
    """Return an unfitted metric for other rows, in the mode that was chosen."""
    fresh = clone(fitted)
    return fresh.set_params(mode=fitted.mode_) if "mode" in fresh.get_params() else fresh


def check_metric(method: Method, metric: str | None) -> None:
    """Raise a ValueError if a method cannot have a metric."""
    if metric is None:
        return
    if method.images:
        raise ValueError(
            f"{method.name} looks at images as they are: a metric would mix their pixels."
        )
    if method.whole is not None:
        raise ValueError(f"{method.name} is a whole model: no metric comes before it.")


def count_classes(y: Any, task: str) -> int | None:
    """Return the number of classes; None for regression."""
    return len(np.unique(np.asarray(y))) if task == "classification" else None


def make_model(
    method: str,
    X: Any,
    y: Any,
    task: str,
    *,
    width: int | None = 256,
    gamma: float | str = DEFAULT_GAMMA,
    C: float | None = None,
    balanced: bool = False,
    random_state: int = 0,
    image_shape: tuple[int, int, int] | None = None,
    metric: str | None = None,
    **settings: Any,
) -> Pipeline:
    """Return an unfitted pipeline with the steps ``prepare``, ``map`` and ``head``.

    With a `metric`, there is a step ``metric`` before the map.

    Parameters
    ----------
    method : str
        A key of :data:`bochner.models.methods.METHODS`.
    X : DataFrame, array or sparse matrix of shape (n, d)
        Rows, used to choose the preparation, and the scale of the prepared rows if `gamma` is a
        rule.
    y : array of shape (n,)
        Labels, of which only the number of classes is used.
    task : {"classification", "regression"}
        The kind of task.
    width : int or None, default=256
        Number of columns of the map; ignored by the exact kernel method.
    gamma : float, "scale" or "median", default="median"
        Parameter of the kernel ``exp(-gamma |x - y|^2)`` of prepared rows; for the rules, see
        :class:`~bochner.FourierFeatures`.
    C : float or None, default=None
        Weight of the loss. None means 10.
    balanced : bool, default=False
        Whether every class has the same weight, however many rows it has.
    random_state : int, default=0
        Seed of the map and of the metric.
    image_shape : tuple of int or None, default=None
        Height, width and channels, if rows are images.
    metric : {"auto", "diagonal", "root", "full", "relevance"} or None, default=None
        Name of the metric, see :func:`make_metric`; None means no metric.
    **settings
        Other parameters of the map, such as `beta`.

    Returns
    -------
    Pipeline
        The unfitted pipeline.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner.models.pipelines import make_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_model("PosteriorFourierFeatures", X, y, "classification", width=20)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """
    found = find_method(method)
    if task not in found.tasks:
        raise ValueError(f"task must be one of {', '.join(found.tasks)}, got {task!r}.")
    if isinstance(gamma, str) and gamma not in GAMMA_RULES:
        raise ValueError(f"gamma must be a number or one of {GAMMA_RULES}, got {gamma!r}.")
    check_metric(found, metric)
    if found.whole is not None:
        return make_whole(
            found, X, task, balanced=balanced, random_state=random_state, image_shape=image_shape
        )
    prepare = make_preparation(X, image_shape)
    if isinstance(gamma, str) and not found.images:
        # by the rows before the metric, which preserves their variance
        gamma = gamma_by_rule(clone(prepare).fit_transform(X), gamma)
    first: list[tuple[str, Any]] = [("prepare", prepare)]
    if metric is not None:
        first.append(("metric", make_metric(metric, task, random_state)))
    if found.exact:
        head = make_exact(task, gamma=float(gamma), C=C, balanced=balanced)
        return Pipeline([*first, ("map", "passthrough"), ("head", head)])
    feature_map = found.make_map(
        width=width,
        task=task,
        gamma=gamma,
        image_shape=image_shape,
        random_state=random_state,
        **settings,
    )
    head = make_head(task, count_classes(y, task), C=C, balanced=balanced)
    return Pipeline([*first, ("map", feature_map), ("head", head)])


def fit_model(
    model: Pipeline, X: Any, y: Any, refit: Callable[[Any, Any], Any] | None = None
) -> Pipeline:
    """Fit a pipeline; if `refit` is given, it makes the fitted map from prepared rows."""
    if refit is None:
        return model.fit(X, y)
    *first, (name, _), (last, head) = model.steps
    rows = Pipeline(first).fit_transform(X, y) if first else X
    feature_map = refit(rows, y)
    head.fit(feature_map.transform(rows), y)
    return Pipeline([*first, (name, feature_map), (last, head)])


def make_whole(
    method: Method,
    X: Any,
    task: str,
    *,
    balanced: bool = False,
    random_state: int = 0,
    image_shape: tuple[int, int, int] | None = None,
) -> Pipeline:
    """Return the unfitted pipeline of a whole model, for rows as they are in a file."""
    assert method.whole is not None
    model = method.whole(
        task=task, n_rows=X.shape[0], balanced=balanced, random_state=random_state
    )
    rows: Any = "passthrough" if method.sparse else FunctionTransformer(dense)
    return Pipeline([("prepare", method.prepare(X, image_shape)), ("map", rows), ("head", model)])


def gamma_by_rule(X: Any, rule: str = DEFAULT_GAMMA) -> float:
    """Return the `gamma` that a rule gives for prepared rows; 1 for constant rows."""
    kernel = resolve_kernel("gaussian", rule, X, np.random.RandomState(0))
    assert isinstance(kernel, StandardKernel)
    return float(kernel.width)
