"""What comes before a map: gaps filled in, columns scaled, categories as columns, a metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.models.onnx.graph import Graph, not_convertible


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
    """Numbers filled in, then one indicator per column that had gaps in `fit`."""
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


def write_pixel_scaler(graph: Graph, x: str, model: Any) -> str:
    z = graph.over(graph.plus(x, [-model.mean_]), [model.scale_])
    return graph("Where", graph("IsNaN", x), graph.constant([0.0]), z)


def write_metric(graph: Graph, x: str, model: Any) -> str:
    L = model._matrix  # or the diagonal of it
    return graph.product(x, L) if L.ndim == 2 else graph.times(x, L)


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
