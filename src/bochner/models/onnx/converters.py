"""The registry of estimators that can be written as ONNX, and the functions that write them.

To add an estimator, write its function and one entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from bochner import linear
from bochner.fourier.features import FourierFeatures
from bochner.fourier.landmarks import LandmarkSimilarities
from bochner.fourier.posterior_features import PosteriorFourierFeatures
from bochner.linear.exact import GaussianKernelRidge
from bochner.margin.features import MarginFourierFeatures
from bochner.margin.sphere.features import MarginHarmonicFeatures
from bochner.mercer.features import MercerFeatures
from bochner.metric.gradient_metric import GradientMetric
from bochner.metric.relevance import RelevanceMetric
from bochner.models.averaging import JoinedMaps
from bochner.models.onnx import fourier, heads, kernels, mercer, preparation, sphere
from bochner.models.onnx.graph import Graph, Write, not_convertible
from bochner.models.preparation import CategoryNames, DaysSinceEpoch, PixelScaler
from bochner.models.scaling import ColumnScaler
from bochner.nystroem.features import NystroemFeatures


def feature_types(operator: Any) -> None:
    """Declare one output of numbers, with as many columns as there are feature names."""
    _declare_numbers(operator, 0, len(operator.raw_operator.get_feature_names_out()))


def _text_types(operator: Any) -> None:
    from skl2onnx.common.data_types import StringTensorType

    width = operator.raw_operator.n_features_in_
    operator.outputs[0].type = StringTensorType([_n_rows(operator), width])


def _one_number(operator: Any) -> None:
    _declare_numbers(operator, 0, 1)


def _number_types(operator: Any) -> None:
    _declare_numbers(operator, 0, len(np.atleast_2d(operator.raw_operator.coef_)))


def _classifier_types(operator: Any) -> None:
    classes = operator.raw_operator.classes_
    operator.outputs[0].type = _label_type(classes)([_n_rows(operator)])
    _declare_numbers(operator, 1, 1 if len(classes) == 2 else len(classes))


def _declare_numbers(operator: Any, output: int, width: int) -> None:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    narrow = isinstance(operator.inputs[0].type, FloatTensorType)
    kind = FloatTensorType if narrow else DoubleTensorType
    operator.outputs[output].type = kind([_n_rows(operator), width])


def _n_rows(operator: Any) -> Any:
    return operator.inputs[0].get_first_dimension()


def _label_type(classes: Any) -> Any:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    return Int64TensorType if heads.are_integers(classes) else StringTensorType


def _parse_linear(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare scores instead of what skl2onnx calls probabilities."""
    operator = scope.declare_local_operator(f"Bochner{type(model).__name__}", model)
    operator.inputs = inputs
    label, scores = _label_type(model.classes_)(), inputs[0].type.__class__()
    operator.outputs.append(scope.declare_local_variable("label", label))
    operator.outputs.append(scope.declare_local_variable("scores", scores))
    return operator.outputs


@dataclass(frozen=True)
class Converter:
    """The functions that convert an estimator to nodes.

    `write` adds the nodes of a fitted estimator, and `types` declares the types and shapes of the
    outputs to skl2onnx. `check` raises NotImplementedError for an estimator, fitted or not, that
    cannot be written. `parse` declares outputs other than those that skl2onnx expects of such an
    estimator.
    """

    write: Write
    types: Callable[[Any], None] = feature_types
    check: Callable[[Any], Any] = id
    parse: Callable[..., Any] | None = None

    def __call__(self, scope: Any, operator: Any, container: Any) -> None:
        """Add the nodes, with the signature that skl2onnx expects."""
        variable = operator.inputs[0]
        kind = variable.type.__class__.__name__
        graph = Graph(scope, container, np.float32 if kind == "FloatTensorType" else np.float64)
        x = variable.full_name
        if kind not in ("FloatTensorType", "DoubleTensorType", "StringTensorType"):
            x = graph.cast(x, graph.dtype)
        results = self.write(graph, x, operator.raw_operator)
        results = [results] if isinstance(results, str) else results
        for result, output in zip(results, operator.outputs, strict=True):
            name = scope.get_unique_operator_name("Identity")
            container.add_node("Identity", [result], [output.full_name], name=name)


def _write_joined(graph: Graph, x: str, model: Any) -> str:
    def write(name: str, step: Any) -> Any:
        return CONVERTERS[type(step)].write(graph, name, step)

    def columns(pipeline: Any) -> Any:
        return reduce(write, (step for _, step in pipeline.steps), x)

    return graph("Concat", *map(columns, model.pipelines_), axis=1)


def _check_joined(model: Any) -> None:
    for pipeline in model.pipelines:
        for _, step in pipeline.steps:
            check_estimator(step)


MAPS: dict[type, Converter] = {
    FourierFeatures: Converter(fourier.write_unweighted),
    PosteriorFourierFeatures: Converter(fourier.write_weighted),
    MarginFourierFeatures: Converter(fourier.write_unweighted),
    LandmarkSimilarities: Converter(fourier.write_landmarks),
    MarginHarmonicFeatures: Converter(sphere.write_harmonic),
    MercerFeatures: Converter(mercer.write_mercer),
    NystroemFeatures: Converter(kernels.write_nystroem_features),
    GradientMetric: Converter(preparation.write_metric),
    RelevanceMetric: Converter(preparation.write_weights),
    RBFSampler: Converter(fourier.write_rbf_sampler),
    Nystroem: Converter(kernels.write_nystroem, check=kernels.kernel_of),
}
_linear = Converter(heads.write_linear_classifier, _classifier_types, parse=_parse_linear)
CONVERTERS: dict[type, Converter] = MAPS | {
    JoinedMaps: Converter(_write_joined, check=_check_joined),
    SimpleImputer: Converter(preparation.write_imputer, check=preparation.check_imputer),
    StandardScaler: Converter(preparation.write_scaler),
    MaxAbsScaler: Converter(preparation.write_scaler),
    ColumnScaler: Converter(
        preparation.write_column_scaler, check=preparation.check_column_scaler
    ),
    PixelScaler: Converter(preparation.write_pixel_scaler),
    CategoryNames: Converter(preparation.write_category_names, _text_types),
    OneHotEncoder: Converter(preparation.write_one_hot, check=preparation.check_one_hot),
    LinearSVC: _linear,
    RidgeClassifier: _linear,
    linear.RidgeClassifier: _linear,
    linear.SquaredHingeClassifier: _linear,
    linear.RidgeRegressor: Converter(heads.write_linear_regressor, _number_types),
    KernelRidge: Converter(heads.write_kernel_ridge, _one_number, kernels.kernel_of),
    GaussianKernelRidge: Converter(heads.write_gaussian_ridge, _one_number),
    DaysSinceEpoch: Converter(preparation.write_dates, check=preparation.write_dates),
    TransformedTargetRegressor: Converter(
        heads.write_kernel_ridge, _one_number, heads.check_scaled_target
    ),
}


def check_estimator(estimator: Any) -> None:
    """Raise an error if an estimator of this package has no entry, or its entry refuses it."""
    kind = type(estimator)
    if kind in CONVERTERS:
        CONVERTERS[kind].check(estimator)
    elif kind.__module__.startswith("bochner."):
        raise unknown(kind.__name__)


def unknown(what: str) -> NotImplementedError:
    """Return the error for an estimator that has no converter."""
    maps = ", ".join(sorted(kind.__name__ for kind in MAPS))
    return not_convertible(what, f". These maps can: {maps}")
