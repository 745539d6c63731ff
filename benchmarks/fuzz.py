"""``python -m benchmarks fuzz [N]``: try random configurations and list those that fail.

A configuration is a map with parameters, rows of some shape, dtype and kind of array, a target
and, sometimes, sample weights. It may end with features, or with an error that is meant for a
user: a ValueError or TypeError raised on purpose by our code or by scikit-learn's checks.
Everything else is a failure: other types of errors, errors raised inside NumPy, SciPy, dask or
PyTorch, features that are not finite, internal warnings, and more than a minute of CPU time. A
configuration is determined by its number: ``python -m benchmarks fuzz --only 1234`` replays one
and shows the traceback.
"""

from __future__ import annotations

import argparse
import linecache
import os
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from types import FrameType
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions, make_constraint
from sklearn.utils.validation import has_fit_parameter

import bochner
from bochner.engine.places import to_numpy
from bochner.images.layers import PatchLayer
from bochner.kernels import KERNELS

_SECONDS = 60
_ILLEGAL: tuple[Any, ...] = (-1, 0, 1.5, np.nan, np.inf, "no such", None, [], 10**30, True)
_WARNINGS = (RuntimeWarning, DeprecationWarning, FutureWarning)
_OURS = (f"{os.sep}bochner{os.sep}", f"{os.sep}sklearn{os.sep}")
_MOST = 40  # largest integer drawn for a parameter
_SKIPPED = ("random_state", "verbose", "n_jobs", "image_shape", "layers", "approximation")


@dataclass(frozen=True)
class Outcome:
    """Outcome of a configuration; `failure` is None if nothing went wrong."""

    description: str
    error: str | None = None
    failure: str | None = None


_MAPS = [name for name in bochner.__all__ if hasattr(getattr(bochner, name), "transform")]


def fuzz(arguments: list[str]) -> int:
    """Try configurations, print those that fail, and return their number."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz")
    parser.add_argument("n", type=int, nargs="?", default=1000, help="configurations to try")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--only", type=int, help="replay this one, with its traceback")
    given = parser.parse_args(arguments)
    if given.only is not None:
        outcome = run(given.only, show=True)
        print(outcome.description, outcome.error or "features", outcome.failure or "as it should")
        return int(outcome.failure is not None)
    failures: Counter[str] = Counter()
    n_done = n_refused = 0
    for number in range(given.first, given.first + given.n):
        try:
            outcome = run(number)
        except KeyboardInterrupt:
            break
        n_done += 1
        n_refused += outcome.error is not None and outcome.failure is None
        if outcome.failure is not None:
            failures[outcome.failure.partition(":")[0]] += 1
            print(f"{number}: {outcome.description}\n    {outcome.failure}", flush=True)
    kinds = ", ".join(f"{count} {kind}" for kind, count in failures.items()) or "no failure"
    print(f"{n_done} configurations, {n_refused} refused with an error of ours; {kinds}")
    return failures.total()


def run(number: int, show: bool = False) -> Outcome:
    """Draw configuration `number`, fit and transform, and return the outcome."""
    rng = np.random.default_rng([number, 2024])
    X, has_nan = _rows(rng)
    estimator, what = _estimator(rng, X)
    y, kind = _target(rng, X)
    place = str(rng.choice(list(PLACES)))
    weights, how = _weights(rng, estimator, len(X))
    description = f"{what}, X {X.dtype}{X.shape} {place}, y {kind}{how}"
    with warnings.catch_warnings(record=True) as caught, _alarm():
        warnings.simplefilter("always")
        try:
            there, labels = PLACES[place](X, y, rng)
            caught.clear()
            estimator.fit(there, labels, **weights)
            result = estimator.transform(there)
            result = result.compute(scheduler="sync") if hasattr(result, "compute") else result
            features = to_numpy(result.toarray() if sparse.issparse(result) else result)
        except TimeoutError:
            return Outcome(description, failure=f"slow: no end within {_SECONDS} s of CPU time")
        except Exception as error:
            if show:
                traceback.print_exc()
            line = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            return Outcome(description, line, _foreign(error, line))
    failure = _inside(caught)
    if has_nan:
        failure = "NaN: taken without an error"
    elif features.shape != (len(X), len(estimator.get_feature_names_out())):
        failure = f"shape: {features.shape}"
    elif not np.isfinite(features).all():
        failure = f"NaN: {int((~np.isfinite(features)).sum())} features of {features.size}"
    return Outcome(description, failure=failure)


def _foreign(error: Exception, line: str) -> str | None:
    """Return why an error should not reach a user; None if it was raised on purpose."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    if not isinstance(error, (ValueError, TypeError)) or isinstance(
        error, (np.linalg.LinAlgError, UnicodeError)
    ):
        return f"foreign type: {line} ({frame.filename}:{frame.lineno})"
    source = linecache.getline(frame.filename, frame.lineno or 0).strip()
    if source.startswith("raise") and any(part in frame.filename for part in _OURS):
        return None
    return f"foreign message: {line} ({frame.filename}:{frame.lineno})"


def _inside(caught: list[warnings.WarningMessage]) -> str | None:
    """Return the first internal warning."""
    for warning in caught:
        if issubclass(warning.category, _WARNINGS):
            return (
                f"warning: {warning.category.__name__} {warning.message} "
                f"({warning.filename}:{warning.lineno})"
            )
    return None


@contextmanager
def _alarm() -> Iterator[None]:
    """Raise a TimeoutError when the time is up."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    timers = {  # CPU time, which does not depend on what else runs, or none at all
        signal.SIGPROF: (signal.ITIMER_PROF, _SECONDS),
        signal.SIGALRM: (signal.ITIMER_REAL, 10 * _SECONDS),
    }
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def _rows(rng: Generator) -> tuple[Any, bool]:
    """Draw rows of some shape, dtype and distribution; also return whether they have NaN."""
    n, d = int(np.exp(rng.uniform(0, np.log(300)))), int(np.exp(rng.uniform(0, np.log(40))))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3)
    look = rng.choice(["plain", "plain", "zeros", "same", "column", "offset", "tiny", "repeated"])
    if look == "zeros":
        X[rng.random(X.shape) < 0.9] = 0
    elif look == "same":
        X[:] = X[0]
    elif look == "column":
        X[:, 0] = 3
    elif look == "offset":
        X += 1e4
    elif look == "tiny":
        X *= 1e-30
    elif look == "repeated":
        X = X[rng.integers(0, max(1, n // 5), size=n)]
    dtype = rng.choice(["float64", "float64", "float32", "float16", "int64", "int8", "bool"])
    if dtype == "float16":
        X = np.clip(X, -6e4, 6e4)
    elif dtype == "int8":
        X = np.clip(X, -128, 127)
    X = X.astype(dtype)
    has_nan = X.dtype.kind == "f" and rng.random() < 0.03
    if has_nan:
        X[rng.integers(n), rng.integers(d)] = np.nan
    return X, bool(has_nan)


def _estimator(rng: Generator, X: Any) -> tuple[Any, str]:
    """Draw a map with some of its parameters, sometimes an invalid one."""
    kind = getattr(bochner, str(rng.choice(_MAPS)))
    names = kind().get_params()
    given: dict[str, Any] = {"random_state": int(rng.integers(1000))}
    if "layers" in names:
        given["layers"] = [PatchLayer(patch=2, maps=4, stride=1)]
        given["image_shape"] = _sides(X.shape[1], rng)
    elif "n_components" in names and rng.random() < 0.9:
        given["n_components"] = 2 * int(rng.integers(1, 20))
    for name, options in kind._parameter_constraints.items():
        if name in names and name not in (*_SKIPPED, *given) and rng.random() < 0.3:
            drawn = _legal(options[int(rng.integers(len(options)))], rng)
            given.update({} if drawn is _Nothing else {name: drawn})
    given.update(_kept_small(names, given))
    if rng.random() < 0.1:
        name = str(rng.choice([name for name in names if name not in _SKIPPED]))
        given[name] = _ILLEGAL[int(rng.integers(len(_ILLEGAL)))]
    text = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return kind(**given), f"{kind.__name__}({text})"


class _Nothing:
    """Raised if no value could be drawn."""


def _legal(constraint: Any, rng: Generator) -> Any:
    """Draw a value that a scikit-learn constraint allows."""
    if constraint is None:
        return None
    if constraint is str:  # the only parameter that takes any text
        return str(rng.choice(list(KERNELS)))
    constraint = make_constraint(constraint)
    if isinstance(constraint, Interval):
        low = -_MOST if constraint.left is None else constraint.left
        high = _MOST if constraint.right is None else min(_MOST, constraint.right)
        if constraint.type is Integral:
            return int(rng.integers(low, high + 1))
        return float(low + (high - low) * rng.random() ** 4)
    if isinstance(constraint, StrOptions):
        return str(rng.choice(sorted(constraint.options)))
    return bool(rng.integers(2)) if "bool" in str(constraint) else _Nothing


def _kept_small(names: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return small values of parameters whose defaults would take long."""
    small = {"n_candidates": 200, "n_chains": 10, "n_steps": 3, "budget": 64, "n_patches": 500}
    return {name: value for name, value in small.items() if name in names and name not in given}


def _sides(d: int, rng: Generator) -> tuple[int, ...]:
    height = int(rng.choice([side for side in range(1, d + 1) if d % side == 0]))
    return height, d // height


def _weights(rng: Generator, estimator: Any, n: int) -> tuple[dict[str, Any], str]:
    """Draw sample weights for `fit`, if it takes any, in one of four cases."""
    if not has_fit_parameter(estimator, "sample_weight") or rng.random() < 0.75:
        return {}, ""
    how = str(rng.choice(list(WEIGHTS)))
    return {"sample_weight": WEIGHTS[how](n, rng)}, f", weights {how}"


WEIGHTS: dict[str, Callable[[int, Generator], Any]] = {
    "whole": lambda n, rng: rng.integers(0, 3, size=n),
    "uniform": lambda n, rng: rng.uniform(0, 2, size=n),
    "small": lambda n, rng: np.full(n, 1 / n),
    "large": lambda n, rng: rng.uniform(0, 1e6, size=n),
    "zero": lambda n, rng: np.zeros(n),
    "one": lambda n, rng: np.eye(n)[0],
    "negative": lambda n, rng: -np.ones(n),
    "NaN": lambda n, rng: np.full(n, np.nan),
    "huge": lambda n, rng: np.full(n, 1e300),
}


def _target(rng: Generator, X: Any) -> tuple[Any, str]:
    n = len(X)
    kind = str(rng.choice(list(TARGETS)))
    return TARGETS[kind](n, rng), kind


TARGETS: dict[str, Callable[[int, Generator], Any]] = {
    "two": lambda n, rng: rng.integers(0, 2, size=n),
    "two, balanced": lambda n, rng: np.arange(n) % 2,
    "signs": lambda n, rng: rng.choice([-1.0, 1.0], size=n),
    "many": lambda n, rng: rng.integers(0, 5, size=n),
    "every row its own": lambda n, rng: np.arange(n),
    "numbers": lambda n, rng: rng.normal(size=n),
    "far numbers": lambda n, rng: 1e8 + rng.normal(size=n),
    "strings": lambda n, rng: rng.choice(["a", "b", "c"], size=n),
    "objects": lambda n, rng: rng.choice(np.array(["a", "b"], dtype=object), size=n),
    "constant": lambda n, rng: np.full(n, 0.5),
    "one class": lambda n, rng: np.ones(n, int),
    "NaN": lambda n, rng: np.where(np.arange(n) == n // 2, np.nan, rng.normal(size=n)),
    "huge": lambda n, rng: rng.normal(size=n) * 1e300,
    "too few": lambda n, rng: rng.integers(0, 2, size=max(0, n - 1)),
    "columns": lambda n, rng: rng.normal(size=(n, 3)) * [1.0, 1e8, 0.0],
    "columns of classes": lambda n, rng: rng.integers(0, 3, size=(n, 2)),
}


def _dask(X: Any, y: Any, rng: Generator) -> tuple[Any, Any]:
    import dask.array as da

    return da.from_array(X, chunks=(max(1, len(X) // 3), -1)), y


def _dask_unknown(X: Any, y: Any, rng: Generator) -> tuple[Any, Any]:
    """Return a dask array whose block lengths are unknown, as after a filter."""
    import dask.array as da

    chunks = max(1, len(X) // 3)
    rows = da.from_array(X, chunks=(chunks, -1))
    kept = da.ones(len(X), chunks=chunks, dtype=bool)
    labels = da.from_array(y, chunks=chunks)
    return rows[kept], labels[kept] if len(y) == len(X) else labels


def _torch(X: Any, y: Any, rng: Generator) -> tuple[Any, Any]:
    import torch

    rows = torch.from_numpy(X.copy())
    return rows, torch.from_numpy(y) if y.dtype.kind in "if" and rng.random() < 0.5 else y


def _as_float(X: Any) -> Any:
    """Convert to float; SciPy has no sparse float16."""
    return X.astype(np.float32) if X.dtype == np.float16 else X


PLACES: dict[str, Callable[[Any, Any, Generator], tuple[Any, Any]]] = {
    "numpy": lambda X, y, rng: (X, y),
    "Fortran order": lambda X, y, rng: (np.asfortranarray(X), y),
    "csr": lambda X, y, rng: (sparse.csr_matrix(_as_float(X)), y),
    "csc array": lambda X, y, rng: (sparse.csc_array(_as_float(X)), y),
    "torch": _torch,
    "dask": _dask,
    "dask of unknown lengths": _dask_unknown,
}
