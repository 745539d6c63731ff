"""Models that leave Python: pipelines and maps as ONNX graphs.

skl2onnx writes the parts of scikit-learn; the feature maps of this package, and what skl2onnx
leaves out or writes in float32 only, are written here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from bochner.kernels import Gaussian
from bochner.models.onnx.maps import MAPS, Graph, cannot, write_kernel, write_map
from bochner.models.preparation import CategoryNames, DaysSinceEpoch, PixelScaler

_ML = "ai.onnx.ml"
_LINEAR = (LinearSVC, RidgeClassifier)
_NOTHING = (None, "passthrough")


def to_onnx(model: Any, X_sample: Any) -> Any:
    """A fitted pipeline or map as an ONNX model.

    Parameters
    ----------
    model : fitted Pipeline or feature map
        Of estimators that skl2onnx knows, the maps of this package but
        :class:`~bochner.ConvolutionalKernelNetwork`, ``RBFSampler``, ``Nystroem`` with the
        gaussian kernel, and what :func:`~bochner.models.methods.make_model` makes unless a
        column holds dates.
    X_sample : array, sparse matrix or DataFrame
        Some rows, of which only the names and types of the columns matter. An array gives one
        input ``X``, of float32 for float32 and otherwise of float64 (rows are dense in ONNX). A
        DataFrame gives one input for every column, of shape (n, 1): float64 for numbers, strings
        for the rest, where an empty string is a missing value.

    Returns
    -------
    onnx.ModelProto
        A map and a regressor have the output ``variable``. ``LinearSVC`` and ``RidgeClassifier``
        have ``label`` and ``scores``, the values of ``decision_function`` (one column for two
        classes); other classifiers ``label`` and what skl2onnx calls ``probabilities``.

    Raises
    ------
    NotImplementedError
        For what has no ONNX form here.

    Notes
    -----
    Agrees with the model to rounding, but for rows that it would refuse: a zero row before
    :class:`~bochner.MarginHarmonicFeatures` gives NaN. And rows so far out that the largest
    eigenfunction of :class:`~bochner.MercerFeatures` is below 1e-260 have features zero, where the
    map itself looks for what is left of the others. The Fourier maps of float32 rows are computed
    in float32 throughout: phases of thousands are as uncertain as they are in float32.

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
    model = _without_passthrough(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of attributes that skl2onnx looks at
        try:
            return skl2onnx.convert_sklearn(
                model,
                initial_types=_inputs(model, X_sample),
                options=_options(model),
                custom_conversion_functions={
                    kind: _converter(write) for kind, write in _ALL.items()
                },
                custom_shape_calculators=dict.fromkeys(MAPS, _map_shape) | _SHAPES,
                custom_parsers=dict.fromkeys(_LINEAR, _parse_linear),
            )
        except (MissingConverter, MissingShapeCalculator) as error:
            raise cannot(_first_words(error)) from error


def register() -> None:
    """Make the maps of this package known to skl2onnx, for its own ``to_onnx``.

    Examples
    --------
    >>> from bochner.models.onnx.pipelines import register
    >>> register()
    """
    skl2onnx = _skl2onnx()
    for kind in MAPS:
        name = f"Bochner{kind.__name__}"
        skl2onnx.update_registered_converter(
            kind, name, _map_shape, _converter(_write_any_map), overwrite=True
        )


def _skl2onnx() -> Any:
    try:
        import skl2onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "ONNX models need skl2onnx: pip install 'bochner[onnx]'", name=error.name
        ) from error
    return skl2onnx


def check_convertible(model: Any) -> None:
    """An error where a part of ours has no ONNX form; `model` need not be fitted.

    Parameters
    ----------
    model : Pipeline or feature map
        As for :func:`to_onnx`, which may still find something in it that skl2onnx does not know.

    Raises
    ------
    NotImplementedError
        It says what cannot be written.

    Examples
    --------
    >>> import pandas as pd
    >>> from bochner.models.onnx.pipelines import check_convertible
    >>> from bochner.models.preparation import make_preparation
    >>> dated = make_preparation(pd.DataFrame({"since": ["2020-01-02", "2021-03-04"]}))
    >>> try:
    ...     check_convertible(dated)
    ... except NotImplementedError as error:
    ...     print(str(error).partition(":")[0])
    columns of dates (DaysSinceEpoch) cannot be written as ONNX
    """
    for part in _estimators(model):
        kind = type(part)
        if kind is DaysSinceEpoch:
            raise NotImplementedError(
                "columns of dates (DaysSinceEpoch) cannot be written as ONNX: leave them out of "
                "the data, or make numbers of them."
            )
        if kind.__module__.startswith("bochner.") and kind not in _ALL:
            raise cannot(kind.__name__)
        filled_in = getattr(part, "statistics_", None) if kind is SimpleImputer else None
        if filled_in is not None and filled_in.dtype.kind != "f":
            raise cannot("SimpleImputer of strings")
        if kind is OneHotEncoder and part.drop is not None:
            raise cannot(f"OneHotEncoder with drop={part.drop!r}")


def _estimators(model: Any) -> list[Any]:
    if isinstance(model, Pipeline):
        return [part for _, step in model.steps for part in _estimators(step)]
    if isinstance(model, ColumnTransformer):
        steps = getattr(model, "transformers_", model.transformers)
        return [part for _, step, _ in steps for part in _estimators(step)]
    return [] if isinstance(model, str) else [model]


def _without_passthrough(model: Any) -> Any:
    """The same without steps that do nothing, which skl2onnx does not expect."""
    if not isinstance(model, Pipeline):
        return model
    return Pipeline([(name, step) for name, step in model.steps if step not in _NOTHING])


def _options(model: Any) -> dict[Any, Any]:
    """Scores as an array, not as a list of dictionaries."""
    machine = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if type(machine) in _LINEAR or not is_classifier(machine):
        return {id(machine): {}}  # there, so that skl2onnx adds none of its own
    return {id(machine): {"zipmap": False}}


def _parse_linear(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    from skl2onnx import get_model_alias
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs = inputs
    label = Int64TensorType if _are_integers(model.classes_) else StringTensorType
    operator.outputs.append(scope.declare_local_variable("label", label()))
    operator.outputs.append(scope.declare_local_variable("scores", inputs[0].type.__class__()))
    return operator.outputs


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
    parts = [columns for _, step, columns in first.transformers_ if not _is_dropped(step)]
    return {name for columns in parts for name in columns}


def _is_dropped(step: Any) -> bool:
    return isinstance(step, str) and step == "drop"


def _is_number(column: Any) -> bool:
    return getattr(column.dtype, "kind", "O") in "fiub"


Write = Callable[[Graph, str, Any], "str | list[str]"]


def _converter(write: Write) -> Callable[[Any, Any, Any], None]:
    """A function as skl2onnx calls it: `write` between the names of inputs and outputs."""

    def convert(scope: Any, operator: Any, container: Any) -> None:
        variable = operator.inputs[0]
        kind = variable.type.__class__.__name__
        graph = Graph(scope, container, np.float32 if kind == "FloatTensorType" else np.float64)
        x = variable.full_name
        if kind not in ("FloatTensorType", "DoubleTensorType", "StringTensorType"):
            x = graph.cast(x, graph.dtype)
        results = write(graph, x, operator.raw_operator)
        results = [results] if isinstance(results, str) else results
        for result, output in zip(results, operator.outputs, strict=True):
            container.add_node(
                "Identity",
                [result],
                [output.full_name],
                name=scope.get_unique_operator_name("Identity"),
            )

    return convert


def _number_type(operator: Any) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    narrow = isinstance(operator.inputs[0].type, FloatTensorType)
    return FloatTensorType if narrow else DoubleTensorType


def _rows(operator: Any) -> Any:
    return operator.inputs[0].get_first_dimension()


def _map_shape(operator: Any) -> None:
    width = len(operator.raw_operator.get_feature_names_out())
    operator.outputs[0].type = _number_type(operator)([_rows(operator), width])


def _one_column(operator: Any) -> None:
    operator.outputs[0].type = _number_type(operator)([_rows(operator), 1])


def _text_shape(operator: Any) -> None:
    from skl2onnx.common.data_types import StringTensorType

    width = operator.raw_operator.n_features_in_
    operator.outputs[0].type = StringTensorType([_rows(operator), width])


def _classifier_shape(operator: Any) -> None:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    classes = operator.raw_operator.classes_
    width = 1 if len(classes) == 2 else len(classes)
    label = Int64TensorType if _are_integers(classes) else StringTensorType
    operator.outputs[0].type = label([_rows(operator)])
    operator.outputs[1].type = _number_type(operator)([_rows(operator), width])


def _are_integers(classes: Any) -> bool:
    return np.asarray(classes).dtype.kind in "iub"


def _write_any_map(graph: Graph, x: str, model: Any) -> str:
    return write_map(model, graph, x)


def _write_imputer(graph: Graph, x: str, model: SimpleImputer) -> str:
    """Numbers filled in, then a column that tells where, for columns that had gaps in `fit`."""
    gaps = graph("IsNaN", x)
    filled = graph("Where", gaps, graph.constant(np.nan_to_num(model.statistics_)), x)
    kept = np.flatnonzero(~np.isnan(model.statistics_))
    if len(kept) < len(model.statistics_) and not model.keep_empty_features:
        filled = graph.take(filled, kept)
    indicator = model.indicator_
    if indicator is None or not len(indicator.features_):
        return filled
    told = graph.cast(graph.take(gaps, indicator.features_), graph.dtype)
    return graph.beside([filled, told])


def _write_scaler(graph: Graph, x: str, model: StandardScaler) -> str:
    if model.mean_ is not None and model.with_mean:
        x = graph.plus(x, -model.mean_)
    return x if model.scale_ is None else graph("Div", x, graph.constant(model.scale_))


def _write_largest(graph: Graph, x: str, model: MaxAbsScaler) -> str:
    return graph("Div", x, graph.constant(model.scale_))


def _write_pixels(graph: Graph, x: str, model: PixelScaler) -> str:
    z = graph("Div", graph.plus(x, [-model.mean_]), graph.constant([model.scale_]))
    return graph("Where", graph("IsNaN", x), graph.constant([0.0]), z)


def _write_names(graph: Graph, x: str, model: CategoryNames) -> str:
    missing = graph("Equal", x, graph.constant(np.array([""], object), object))
    return graph("Where", missing, graph.constant(np.array(["(missing)"], object), object), x)


def _write_one_hot(graph: Graph, x: str, model: OneHotEncoder) -> str:
    rare = getattr(model, "infrequent_categories_", [None] * len(model.categories_))
    parts = []
    for column, (known, together) in enumerate(zip(model.categories_, rare, strict=True)):
        some = [] if together is None else list(together)
        alone = [value for value in known if value not in set(some)]
        place = {value: index for index, value in enumerate(alone)}
        place.update(dict.fromkeys(some, len(alone)))
        shares = bool(some) and model.handle_unknown != "ignore"
        index = graph(
            "LabelEncoder",
            graph.take(x, [column]),
            domain=_ML,
            op_version=2,
            keys_strings=[str(value) for value in place],
            values_int64s=list(place.values()),
            default_int64=len(alone) if shares else -1,
        )
        columns = graph.integers(np.arange(len(alone) + bool(some)))
        parts.append(graph.cast(graph("Equal", index, columns), graph.dtype))
    return graph.beside(parts)


def _one_hot_shape(operator: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType

    width = len(operator.raw_operator.get_feature_names_out())
    operator.outputs[0].type = DoubleTensorType([_rows(operator), width])


def _write_linear(graph: Graph, x: str, model: Any) -> list[str]:
    """The label of the largest score, and the scores."""
    weights = np.atleast_2d(model.coef_)
    scores = graph.plus(graph("MatMul", x, graph.constant(weights.T)), model.intercept_)
    classes = model.classes_
    if len(classes) == 2:
        positive = graph("Greater", scores, graph.constant([0.0]))
        index = graph.cast(graph("Reshape", positive, graph.integers([-1])), np.int64)
    else:
        index = graph("ArgMax", scores, axis=1, keepdims=0)
    if _are_integers(classes):
        labels = graph.integers(classes)
    else:
        labels = graph.constant(np.asarray(classes, object), object)
    return [graph("Gather", labels, index, axis=0), scores]


def _write_kernel_ridge(graph: Graph, x: str, model: KernelRidge, scale: Any = 1.0) -> str:
    if model.kernel != "rbf":
        raise cannot(f"KernelRidge with kernel={model.kernel!r} (only 'rbf' is known)")
    points = model.X_fit_.toarray() if sparse.issparse(model.X_fit_) else model.X_fit_
    points = np.asarray(points, np.float64)
    gamma = 1 / points.shape[1] if model.gamma is None else float(model.gamma)
    wide = graph.wide()
    values = write_kernel(wide, wide.cast(x, np.float64), points, Gaussian(gamma=gamma))
    # The scale goes into the weights: onnxruntime would make it a float32 factor of the product.
    weights = np.reshape(model.dual_coef_, (len(points), -1)) * scale
    return graph.cast(wide("MatMul", values, wide.constant(weights)), graph.dtype)


def _write_scaled_back(graph: Graph, x: str, model: TransformedTargetRegressor) -> str:
    scaler, ridge = model.transformer_, model.regressor_
    if type(scaler) is not StandardScaler or type(ridge) is not KernelRidge:
        raise cannot("TransformedTargetRegressor but of a KernelRidge with a StandardScaler")
    return graph.plus(_write_kernel_ridge(graph, x, ridge, scaler.scale_), scaler.mean_)


_SHAPES: dict[type, Callable[[Any], None]] = {
    SimpleImputer: _map_shape,
    StandardScaler: _map_shape,
    MaxAbsScaler: _map_shape,
    PixelScaler: _map_shape,
    CategoryNames: _text_shape,
    OneHotEncoder: _one_hot_shape,
    LinearSVC: _classifier_shape,
    RidgeClassifier: _classifier_shape,
    KernelRidge: _one_column,
    TransformedTargetRegressor: _one_column,
}

_ALL: dict[type, Write] = {
    **dict.fromkeys(MAPS, _write_any_map),
    SimpleImputer: _write_imputer,
    StandardScaler: _write_scaler,
    MaxAbsScaler: _write_largest,
    PixelScaler: _write_pixels,
    CategoryNames: _write_names,
    OneHotEncoder: _write_one_hot,
    LinearSVC: _write_linear,
    RidgeClassifier: _write_linear,
    KernelRidge: _write_kernel_ridge,
    TransformedTargetRegressor: _write_scaled_back,
}


def _first_words(error: Exception) -> str:
    """What skl2onnx misses, out of its long explanation."""
    text = str(error)
    start = text.find("<class '")
    return text[start + 8 : text.find("'>", start)] if start >= 0 else text.splitlines()[0]
