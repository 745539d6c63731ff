"""Pipelines on a device: rows are prepared on the host, and all other steps run on the device.

Fitted attributes are on the host, whatever the device was: models can be saved, and used anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from bochner.base import CheckedRows
from bochner.engine.places import is_numpy_device, on_device, to_numpy
from bochner.engine.rowwise import row_slices
from bochner.engine.transfer import staged
from bochner.linear.base import LinearHead
from bochner.linear.blocks import DEVICE_HEIGHT, HEIGHT
from bochner.models.folding import FoldedMap, fold_pipeline
from bochner.models.pipelines import fit_model


def check_device_steps(pipeline: Pipeline, device: Any) -> None:
    """Raise a ValueError if a step after the preparation does not accept rows on a device."""
    if is_numpy_device(device):
        return
    able = CheckedRows, LinearHead, FoldedMap, FunctionTransformer
    for _, step in pipeline.steps[1:]:
        if not (step is None or isinstance(step, (str, *able))):
            raise ValueError(
                f"{type(step).__name__} runs on the CPU only: leave out --device, or use another "
                "method."
            )


def fit_pipeline(
    pipeline: Pipeline,
    X: Any,
    y: Any,
    device: Any = "cpu",
    refit: Callable[[Any, Any], Any] | None = None,
) -> Pipeline:
    """Fit a pipeline on a device, except for its first step, the preparation.

    For `refit`, see :func:`bochner.models.pipelines.fit_model`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner.models.devices import fit_pipeline
    >>> from bochner.models.pipelines import make_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_model("FourierFeatures", X, y, "classification", width=20)
    >>> bool(fit_pipeline(model, X, y, "cpu").score(X, y) > 0.9)
    True
    """
    if is_numpy_device(device):
        return fit_model(pipeline, X, y, refit)
    (name, prepare), *steps = pipeline.steps
    rows = on_device(prepare.fit_transform(X, y), device)
    rest = fit_model(Pipeline(steps), rows, y, refit)
    if isinstance(rest[-1], LinearHead):
        rest[-1].to_host()
    return Pipeline([(name, prepare), *rest.steps])


class BatchPredictor:
    """A fitted pipeline that predicts a few thousand rows at a time, on the given device.

    Otherwise all of the features would be in memory at once.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner.models.devices import BatchPredictor
    >>> from bochner.models.pipelines import make_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_model("FourierFeatures", X, y, "classification", width=20).fit(X, y)
    >>> BatchPredictor(model).predict(X[:2])
    array([0, 0])
    """

    def __init__(self, pipeline: Pipeline, device: Any = "cpu") -> None:
        check_device_steps(pipeline, device)
        self._device, self._prepare = device, None
        folded = fold_pipeline(pipeline)
        if not is_numpy_device(device):
            self._prepare, folded = folded[0], folded[1:]
        self._folded = folded

    def predict(self, X: Any) -> NDArray[Any]:
        """Return predictions, on the host."""
        return self._apply("predict", X)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the decision values of a classifier, on the host."""
        return self._apply("decision_function", X)

    def _apply(self, method: str, X: Any) -> NDArray[Any]:
        function = getattr(self._folded, method)
        blocks = staged(self._prepared(X), self._device)
        return np.concatenate([to_numpy(function(rows)) for (rows,) in blocks])

    def _prepared(self, X: Any) -> Iterator[tuple[Any]]:
        height = HEIGHT if self._prepare is None else DEVICE_HEIGHT
        for part in row_slices(X.shape[0], height) or [slice(0, 0)]:
            rows = X.iloc[part] if hasattr(X, "iloc") else X[part]
            yield (rows if self._prepare is None else self._prepare.transform(rows),)
