"""Landmarks with frequencies of their own, D and beta chosen on validation rows as in the paper.

A landmark has a set of frequencies, of which the first D are used; they are as random as D drawn
anew. The similarities for every D and beta therefore come from the same waves, in one pass over
the rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import FunctionTransformer

from bochner import engine
from bochner.engine.places import (
    cast,
    dense,
    float_dtype,
    is_numpy_device,
    on_device,
    wide_dtype,
    zeros,
)
from bochner.engine.rowwise import concat_rows
from bochner.fourier.bandwidth import resolve_kernel
from bochner.fourier.candidates import Candidates
from bochner.fourier.own_sets import OwnSets
from bochner.fourier.placement import place_landmarks
from bochner.fourier.posterior import gibbs_posterior
from bochner.papers.letarte import common
from bochner.records.cells import Cell, Result
from bochner.targets import Target

Setting = tuple[int, float]  # D and beta
FREQUENCIES: tuple[int, ...] = (8, 16, 32, 64, 128)
BETAS = tuple(float(f"1e{k}") for k in range(-3, 4))
WAVES = np.float32  # twice as fast, with errors of 1e-6 where 64 frequencies have errors of 1e-1

PB, PB_D_TUNED, PB_BETA_TUNED, OWN = "PB", "PB beta=1", "PB D=64", "own"
# The columns, and the settings each chooses from; `OWN` is our default, without a choice.
COLUMNS: dict[str, Callable[[int, float], bool]] = {
    PB: lambda D, beta: True,
    PB_D_TUNED: lambda D, beta: beta == common.LANDMARK_BETA,
    PB_BETA_TUNED: lambda D, beta: D == common.LANDMARK_FREQUENCIES,
    OWN: lambda D, beta: (D, beta) == (common.LANDMARK_FREQUENCIES, common.LANDMARK_BETA),
}


@dataclass(frozen=True)
class LandmarkFamily:
    """Landmarks as :class:`~bochner.LandmarkSimilarities` places them, for every D and beta."""

    sets: OwnSets

    @classmethod
    def fit(
        cls,
        X: Any,
        y: NDArray[Any],
        share: float,
        gamma: float,
        seed: int,
        most: int = 128,
        dtype: Any = np.float64,
        placement: str = "kmeans",
        device: str = "cpu",
    ) -> LandmarkFamily:
        """Place the landmarks and compute the losses of their frequencies, `most` for each.

        `dtype` is that of the waves, which are computed on the device; landmarks are placed with
        the rows as they are.
        """
        random_state, target = RandomState(seed), Target.of(y)
        kernel = resolve_kernel("gaussian", gamma, X, random_state)
        count = int(np.ceil(share * len(y)))
        with warnings.catch_warnings():
            # Many rows of Internet Ads are the same: fewer distinct centroids than asked for.
            warnings.simplefilter("ignore", ConvergenceWarning)
            landmarks = place_landmarks(placement, X, y, target, count, random_state)
        n_candidates, d = most * landmarks.points.shape[0], X.shape[1]
        draw = int(random_state.randint(2**31 - 1))
        candidates = Candidates(kernel, n_candidates, d, draw, multiple=most)
        rows = _moved(X, device, dtype)
        return cls(OwnSets.of_rows(candidates, rows, y, target, landmarks))

    def similarities(self, parts: Sequence[Any], settings: Sequence[Setting]) -> list[Any]:
        """Return similarities for parts of the rows, each of shape (settings, rows, landmarks).

        They are on the device of the rows. The frequencies, which take long to draw in many
        dimensions, are drawn once for all parts.
        """
        sets, size = self.sets, self.sets.candidates.multiple
        coefficients = np.zeros((*sets.losses.shape, len(settings)), np.complex128)
        for k, (D, beta) in enumerate(settings):
            posterior = gibbs_posterior(sets.losses[:, :D], beta, sets.n_rows)
            coefficients[:, :D, k] = posterior * sets.waves[:, :D]
        dtype = float_dtype(parts[0])
        shapes = [(len(settings), X.shape[0], len(coefficients)) for X in parts]
        found = [zeros(shape, X, X.dtype) for shape, X in zip(shapes, parts, strict=True)]
        for block, W in sets.candidates.blocks(dtype):
            for first in range(0, W.shape[1], size):
                landmark = (block.start + first) // size
                own = W[:, first : first + size]
                for X, into in zip(parts, found, strict=True):
                    into[:, :, landmark] = engine.mixed_waves(X, own, coefficients[landmark]).T
        return found


def tried(coarse: bool) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return D and beta to choose from; in a quick version every second one."""
    some = slice(1, None, 2) if coarse else slice(None)
    return FREQUENCIES[some], BETAS[some]


def measure_tuned(cell: Cell, split: common.Split, share: float, device: str = "cpu") -> Result:
    """Measure the error of every column, all from one family; the score is that of `PB`."""
    settings = list(product(*tried(cell.setting("coarse", False))))
    start, gamma = time.perf_counter(), cell.setting("gamma")
    rows, most = (split.X_train, split.y_train), max(D for D, _ in settings)
    family = LandmarkFamily.fit(*rows, share, gamma, cell.seed, most, WAVES, device=device)
    fit = time.perf_counter() - start
    best = _best(family, split, settings, common.path_of(cell), device)
    chosen = [choice.setting for choice in best.values()]
    (test,) = family.similarities([_moved(split.X_test, device, WAVES)], chosen)
    details: dict[str, float] = {}
    for k, (column, choice) in enumerate(best.items()):
        wrong = common.wrong(choice.model.predict(test[k, ...]), split.y_test)
        details |= {f"{column} error": wrong}
        details |= {f"{column} D": choice.setting[0], f"{column} beta": choice.setting[1]}
    choice, wrong = best[PB], details[f"{PB} error"]
    tuned = common.Tuned(gamma, choice.model.C, choice.valid_error, wrong, choice.train_error)
    return common.as_result(cell, split, tuned, start, fit, details)


def measure_own(cell: Cell, split: common.Split, share: float, device: str = "cpu") -> Result:
    """Measure the error without a choice, with landmarks placed as the cell's method does.

    Frequencies in very many dimensions take longest to draw, so that the similarities of all rows
    are computed with one draw.
    """
    placement = "random" if cell.method == common.PB_R else "kmeans"
    D, beta, gamma = common.LANDMARK_FREQUENCIES, common.LANDMARK_BETA, cell.setting("gamma")
    start, (X, y) = time.perf_counter(), (split.X_train, split.y_train)
    sets = LandmarkFamily.fit(X, y, share, gamma, cell.seed, D, WAVES, placement, device).sets
    fit = time.perf_counter() - start
    parts = [_moved(part, device, WAVES) for part in (X, split.X_valid, split.X_test)]
    similarities = sets.similarities(concat_rows(parts), sets.coefficients(beta))
    features = cast(similarities, wide_dtype(similarities))
    ends = np.cumsum([part.shape[0] for part in parts])
    names = ("X_train", "X_valid", "X_test")
    slices = map(slice, (0, *ends[:-1]), ends)
    learned = replace(split, **{n: features[s] for n, s in zip(names, slices, strict=True)})
    tuned = common.tune([(beta, FunctionTransformer())], learned, gamma, common.path_of(cell))
    return common.as_result(cell, split, tuned, start, fit)


def _moved(X: Any, device: str, dtype: Any) -> Any:
    """Move rows to a device in a dtype; on a device other than the CPU they are dense."""
    return X.astype(dtype) if is_numpy_device(device) else on_device(dense(X), device, dtype)


@dataclass(frozen=True)
class _Choice:
    valid_error: float
    train_error: float
    setting: Setting
    model: Any


def _best(
    family: LandmarkFamily, split: common.Split, settings: list[Setting], path: Any, device: str
) -> dict[str, _Choice]:
    """Return for each column the first of the models that err least on the validation rows."""
    best: dict[str, _Choice] = {}
    rows = [_moved(part, device, WAVES) for part in (split.X_train, split.X_valid)]
    training, validation = family.similarities(rows, settings)
    for k, setting in enumerate(settings):
        features, valid = training[k, ...], validation[k, ...]
        columns = [name for name, is_open in COLUMNS.items() if is_open(*setting)]
        for model in path(cast(features, wide_dtype(features)), split.y_train):
            error = common.wrong(model.predict(valid), split.y_valid)
            better = [
                name for name in columns if name not in best or error < best[name].valid_error
            ]
            if better:
                train_error = common.wrong(model.predict(features), split.y_train)
                best |= dict.fromkeys(better, _Choice(error, train_error, setting, model))
    return best


def by_column(results: Sequence[Result]) -> Iterator[Result]:
    """Yield results of one method each; the result of a family becomes one for each column."""
    for result in results:
        if result.cell.method != PB:
            yield result
            continue
        for column in COLUMNS:
            cell, error = replace(result.cell, method=column), result.details[f"{column} error"]
            yield replace(result, cell=cell, score=1 - error)
