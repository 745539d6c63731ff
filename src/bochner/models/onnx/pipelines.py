"""Export of models from Python: pipelines and maps as ONNX graphs.

skl2onnx writes the parts of scikit-learn; the feature maps of this package, and the parts that
skl2onnx lacks or writes in float32 only, are written here.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from bochner.models.onnx.converters import (
    CONVERTERS,
    MAPS,
    check_estimator,
    feature_types,
    unknown,
)

_NOTHING = (None, "passthrough")
LEAST_OPSET = 13  # the first one where the axes of sums are an input


def to_onnx(model: Any, X_sample: Any, *, target_opset: int | dict[str, int] | None = None) -> Any:
    """Convert a fitted pipeline or map to an ONNX model.

    Parameters
    ----------
    model : fitted Pipeline or feature map
        The model to convert. It may consist of estimators that skl2onnx knows, the maps of this
        package except :class:`~bochner.ConvolutionalKernelNetwork`, ``RBFSampler``, ``Nystroem``
        with the Gaussian kernel, and anything that :func:`~bochner.models.pipelines.make_model`
        makes unless a column holds dates.
    X_sample : array, sparse matrix or DataFrame
        Some rows, of which only the names and types of the columns matter. An array gives one
        input ``X``, of float32 for float32 and otherwise of float64 (rows are dense in ONNX). A
        DataFrame gives one input per column, of shape (n, 1): float64 for numbers and strings for
        the rest, where an empty string is a missing value.
    target_opset : int, dict of str to int, or None, default=None
        Version of the ONNX operators, at least 13, or one version per domain. None means the
        newest version that skl2onnx knows.

    Returns
    -------
    onnx.ModelProto
        The ONNX model. A map or a regressor has the output ``variable``. ``LinearSVC`` and
        ``RidgeClassifier`` have the outputs ``label`` and ``scores``, the values of
        ``decision_function`` (one column for two classes); other classifiers have ``label`` and
        what skl2onnx calls ``probabilities``.

    Raises
    ------
    NotImplementedError
        If a part of the model has no ONNX form here.

    Notes
    -----
    The ONNX model agrees with the original up to rounding, with one exception: rows so far out
    that the largest eigenfunction of :class:`~bochner.MercerFeatures` is below 1e-260 have zero
    features, where the map itself computes what is left of the other eigenfunctions. Phases of
    float32 rows are computed in float64, so that large phases are as precise as in the map.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import FourierFeatures
    >>> from bochner.models.onnx.pipelines import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = to_onnx(FourierFeatures(n_components=10, random_state=0).fit(X), X).graph
    >>> sorted({node.op_type for node in graph.node})
    ['Concat', 'Cos', 'Identity', 'MatMul', 'Mul', 'Sin']
    """
    check_is_fitted(model)
    skl2onnx = _skl2onnx()
    from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator

    check_convertible(model)
    _check_opset(target_opset, skl2onnx.__max_supported_opset__)
    model = _without_passthrough(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of attributes that skl2onnx looks at
        try:
            return skl2onnx.convert_sklearn(
                model,
                initial_types=_inputs(model, X_sample),
                options=_options(model),
                target_opset=target_opset,
                custom_conversion_functions=dict(CONVERTERS),
                custom_shape_calculators={k: c.types for k, c in CONVERTERS.items()},
                custom_parsers={k: c.parse for k, c in CONVERTERS.items() if c.parse},
            )
        except (MissingConverter, MissingShapeCalculator) as error:
            raise unknown(_missing_class(error)) from error


def register() -> None:
    """Make the maps of this package known to skl2onnx, for its own ``to_onnx``.

    Examples
    --------
    >>> import skl2onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bochner import FourierFeatures
    >>> from bochner.models.onnx.pipelines import register
    >>> X, y = load_iris(return_X_y=True)
    >>> features = FourierFeatures(n_components=10, random_state=0)
    >>> model = make_pipeline(StandardScaler(), features, LogisticRegression()).fit(X, y)
    >>> register()
    >>> graph = skl2onnx.to_onnx(model, X, target_opset=17).graph
    >>> [output.name for output in graph.output]
    ['output_label', 'output_probability']
    """
    skl2onnx = _skl2onnx()
    for kind, converter in MAPS.items():
        name = f"Bochner{kind.__name__}"
        skl2onnx.update_registered_converter(kind, name, feature_types, converter, overwrite=True)


def _check_opset(target_opset: int | dict[str, int] | None, most: int) -> None:
    version = target_opset.get("") if isinstance(target_opset, dict) else target_opset
    if version is not None and not LEAST_OPSET <= version <= most:
        raise ValueError(f"target_opset must be from {LEAST_OPSET} to {most}, got {target_opset}.")


def _skl2onnx() -> Any:
    try:
        import skl2onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "ONNX models need skl2onnx: pip install 'bochner[onnx]'", name=error.name
        ) from error
    return skl2onnx


def check_convertible(model: Any) -> None:
    """Raise a NotImplementedError if a part from this package has no ONNX form.

    The model need not be fitted. :func:`to_onnx` may still find something in it that skl2onnx does
    not know.
    """
    for part in _estimators(model):
        check_estimator(part)


def _estimators(model: Any) -> list[Any]:
    if isinstance(model, Pipeline):
        return [part for _, step in model.steps for part in _estimators(step)]
    if isinstance(model, ColumnTransformer):
        steps = getattr(model, "transformers_", model.transformers)
        return [part for _, step, _ in steps for part in _estimators(step)]
    return [] if isinstance(model, str) else [model]


def _without_passthrough(model: Any) -> Any:
    """Remove steps that do nothing, which skl2onnx does not expect."""
    if not isinstance(model, Pipeline):
        return model
    return Pipeline([(name, step) for name, step in model.steps if step not in _NOTHING])


def _options(model: Any) -> dict[Any, Any]:
    """Return options that make scores an array, not a list of dictionaries."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if type(last) in CONVERTERS or not is_classifier(last):
        return {id(last): {}}  # present, so that skl2onnx adds no options of its own
    return {id(last): {"zipmap": False}}


def _inputs(model: Any, X: Any) -> list[tuple[str, Any]]:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

    if hasattr(X, "columns"):
        used = _used_columns(model)
        names = [name for name in X.columns if used is None or name in used]
        return [
            (str(name), (DoubleTensorType if _is_number(X[name]) else StringTensorType)([None, 1]))
            for name in names
        ]
    X = X if sparse.issparse(X) else np.asarray(X)
    kind = FloatTensorType if X.dtype == np.float32 else DoubleTensorType
    return [("X", kind([None, X.shape[1]]))]


def _used_columns(model: Any) -> set[Any] | None:
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if not isinstance(first, ColumnTransformer):
        return None
    used = [columns for _, step, columns in first.transformers_ if step not in ("drop",)]
    return {name for columns in used for name in columns}


def _is_number(column: Any) -> bool:
    return getattr(column.dtype, "kind", "O") in "fiub"


def _missing_class(error: Exception) -> str:
    """Return the class that skl2onnx lacks, from its long explanation."""
    text = str(error)
    start = text.find("<class '")
    return text[start + 8 : text.find("'>", start)] if start >= 0 else text.splitlines()[0]
