"""Steps before a map: imputation, scaling of columns, categories as columns, and a metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.models.onnx.graph import Graph, not_convertible
from bochner.models.scaling import FARTHEST

_MOST_CURVES = 1000  # with up to as many knots each


def check_imputer(model: Any) -> None:
    filled_in = getattr(model, "statistics_", None)
    if filled_in is not None and filled_in.dtype.kind != "f":
        raise not_convertible("SimpleImputer of strings")


def check_one_hot(model: Any) -> None:
    if model.drop is not None:
        raise not_convertible(f"OneHotEncoder with drop={model.drop!r}")


def write_dates(*_: Any) -> str:
    hint = ": leave them out of the data, or make numbers of them"
    raise not_convertible("columns of dates (DaysSinceEpoch)", hint)


def write_imputer(graph: Graph, x: str, model: Any) -> str:
    """Write imputed numbers, then one indicator per column with missing values in `fit`."""
    gaps = graph("IsNaN", x)
    filled = graph("Where", gaps, graph.constant(np.nan_to_num(model.statistics_)), x)
    kept = np.flatnonzero(~np.isnan(model.statistics_))
    if len(kept) < len(model.statistics_) and not model.keep_empty_features:
        filled = graph.take(filled, kept)
    indicator = model.indicator_
    if indicator is None or not len(indicator.features_):
        return filled
    indicators = graph.cast(graph.take(gaps, indicator.features_), graph.dtype)
    return graph.concatenate([filled, indicators])


def write_scaler(graph: Graph, x: str, model: Any) -> str:
    if getattr(model, "with_mean", False):
        x = graph.plus(x, -model.mean_)
    return x if model.scale_ is None else graph.over(x, model.scale_)


def check_column_scaler(model: Any) -> None:
    n_curves = 0 if getattr(model, "knots_", None) is None else int(np.sum(model._binary == 0))
    if n_curves > _MOST_CURVES:
        raise not_convertible(
            f"ColumnScaler of the quantiles of {n_curves} columns",
            f": a search each, for at most {_MOST_CURVES}; use another scaling",
        )


def write_column_scaler(graph: Graph, x: str, model: Any) -> str:
    if model._kind == "none":
        return x
    scaled = graph.over(graph.plus(x, -model.center_), model.scale_)
    if model._kind == "standard":
        return scaled
    if model._kind == "robust":
        root = graph("Sqrt", graph.plus(graph.square(graph.over(scaled, FARTHEST)), [1.0]))
        bent = graph("Div", scaled, root)
        return graph("Where", graph.constant(model._binary == 1, bool), scaled, bent)
    return graph.concatenate(
        [
            graph.take(scaled, [j]) if binary else _interpolate(graph, x, j, *model.curve(j))
            for j, binary in enumerate(model._binary)
        ]
    )


def _interpolate(graph: Graph, x: str, j: int, knots: Any, scores: Any) -> str:
    """Write a piecewise linear function of a column, constant beyond its knots."""
    knots, scores = np.asarray(knots, graph.dtype), np.asarray(scores, graph.dtype)
    column = graph.take(x, [j])
    below = graph.cast(graph("Less", graph.constant(knots), column), np.int64)
    right = graph("Clip", graph.sum(below), graph.integers(1), graph.integers(len(knots) - 1))
    left = graph("Sub", right, graph.integers([1]))
    gaps = np.diff(knots)
    gaps[gaps == 0] = 1
    distance = graph("Sub", column, graph("Gather", graph.constant(knots), left))
    share = graph("Div", distance, graph("Gather", graph.constant(gaps), left))
    share = graph("Clip", share, graph.constant(0.0), graph.constant(1.0))
    rise = graph("Mul", share, graph("Gather", graph.constant(np.diff(scores)), left))
    return graph("Add", graph("Gather", graph.constant(scores), left), rise)


def write_pixel_scaler(graph: Graph, x: str, model: Any) -> str:
    z = graph.over(graph.plus(x, [-model.mean_]), [model.scale_])
    return graph("Where", graph("IsNaN", x), graph.constant([0.0]), z)


def write_metric(graph: Graph, x: str, model: Any) -> str:
    L = model._matrix  # or the diagonal of it
    return graph.product(x, L) if L.ndim == 2 else graph.times(x, L)


def write_weights(graph: Graph, x: str, model: Any) -> str:
    return graph.times(x, model.weights_)


def write_category_names(graph: Graph, x: str, model: Any) -> str:
    missing = graph("Equal", x, graph.strings([""]))
    return graph("Where", missing, graph.strings(["(missing)"]), x)


def write_one_hot(graph: Graph, x: str, model: Any) -> str:
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
            domain="ai.onnx.ml",
            op_version=2,
            keys_strings=[str(value) for value in place],
            values_int64s=list(place.values()),
            default_int64=len(alone) if shares else -1,
        )
        columns = graph.integers(np.arange(len(alone) + bool(some)))
        parts.append(graph.cast(graph("Equal", index, columns), graph.dtype))
    return graph.concatenate(parts)
