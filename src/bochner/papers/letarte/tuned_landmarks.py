"""Landmarks with frequencies of their own, D and beta chosen on validation rows as in the paper.

Every D is a cell of its own. The similarities for all beta come from the same waves, in one pass
over the rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bochner import engine
from bochner.engine.places import float_dtype
from bochner.fourier.bandwidth import resolve_kernel
from bochner.fourier.candidates import Candidates
from bochner.fourier.own_sets import OwnSets
from bochner.fourier.placement import place_landmarks
from bochner.fourier.posterior import gibbs_posterior
from bochner.papers.letarte import common
from bochner.records.cells import Cell, Result
from bochner.targets import Target

FREQUENCIES: tuple[int, ...] = (8, 16, 32, 64, 128)
BETAS = tuple(float(f"1e{k}") for k in range(-3, 4))

PB, PB_D_TUNED, PB_BETA_TUNED, OWN = "PB", "PB beta=1", "PB D=64", "own"
# The columns, and which settings each chooses from; `OWN` is what we do without a choice.
COLUMNS: dict[str, Callable[[int, float], bool]] = {
    PB: lambda D, beta: True,
    PB_D_TUNED: lambda D, beta: beta == common.LANDMARK_BETA,
    PB_BETA_TUNED: lambda D, beta: D == common.LANDMARK_FREQUENCIES,
    OWN: lambda D, beta: (D, beta) == (common.LANDMARK_FREQUENCIES, common.LANDMARK_BETA),
}


@dataclass(frozen=True)
class LandmarkFamily:
    """Landmarks as :class:`~bochner.LandmarkSimilarities` places them, for every beta."""

    sets: OwnSets

    @classmethod
    def fit(
        cls, X: Any, y: NDArray[Any], share: float, gamma: float, seed: int, n_frequencies: int
    ) -> LandmarkFamily:
        """Place the landmarks and compute the losses of their frequencies."""
        random_state, target = RandomState(seed), Target.of(y)
        kernel = resolve_kernel("gaussian", gamma, X, random_state)
        count = int(np.ceil(share * len(y)))
        with warnings.catch_warnings():
            # Of Internet Ads many rows are the same: fewer distinct centroids than asked for.
            warnings.simplefilter("ignore", ConvergenceWarning)
            landmarks = place_landmarks("kmeans", X, y, target, count, random_state)
        n_candidates, d = n_frequencies * landmarks.points.shape[0], X.shape[1]
        draw = int(random_state.randint(2**31 - 1))
        candidates = Candidates(kernel, n_candidates, d, draw, multiple=n_frequencies)
        return cls(OwnSets.of_rows(candidates, X, y, target, landmarks))

    def similarities(self, parts: Sequence[Any], betas: Sequence[float]) -> list[NDArray[Any]]:
        """For parts of the rows, each of shape (betas, rows, landmarks).

        The frequencies, which take long to draw in many dimensions, are drawn once for all parts.
        """
        sets, size = self.sets, self.sets.candidates.multiple
        posteriors = [gibbs_posterior(sets.losses, beta, sets.n_rows) for beta in betas]
        coefficients = np.stack([Q * sets.waves for Q in posteriors], axis=-1)
        dtype = float_dtype(parts[0])
        found = [np.empty((len(betas), X.shape[0], len(coefficients)), dtype) for X in parts]
        for block, W in sets.candidates.blocks(dtype):
            for first in range(0, W.shape[1], size):
                landmark = (block.start + first) // size
                own = W[:, first : first + size]
                for X, into in zip(parts, found, strict=True):
                    into[:, :, landmark] = engine.mixed_waves(X, own, coefficients[landmark]).T
        return found


def tried(coarse: bool) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """D and beta to choose from; in a quick version every second one."""
    some = slice(1, None, 2) if coarse else slice(None)
    return FREQUENCIES[some], BETAS[some]


def measure_tuned(cell: Cell, split: common.Split, share: float) -> Result:
    """The error of every column that may choose the D of the cell; the score is that of `PB`."""
    start, gamma, D = time.perf_counter(), cell.setting("gamma"), cell.setting("D")
    _, betas = tried(cell.setting("coarse", False))
    family = LandmarkFamily.fit(split.X_train, split.y_train, share, gamma, cell.seed, D)
    fit = time.perf_counter() - start
    best = _best(family, split, D, betas, common.path_of(cell))
    (test,) = family.similarities([split.X_test], [choice.beta for choice in best.values()])
    details: dict[str, float] = {}
    for (column, choice), features in zip(best.items(), test, strict=True):
        wrong = common.wrong(choice.model.predict(features), split.y_test)
        details |= {f"{column} error": wrong, f"{column} beta": choice.beta}
        details |= {f"{column} valid error": choice.valid_error}
    choice, wrong = best[PB], details[f"{PB} error"]
    tuned = common.Tuned(gamma, choice.model.C, choice.valid_error, wrong, choice.train_error)
    return common.as_result(cell, split, tuned, start, fit, details)


@dataclass(frozen=True)
class _Choice:
    valid_error: float
    train_error: float
    beta: float
    model: Any


def _best(
    family: LandmarkFamily, split: common.Split, D: int, betas: Sequence[float], path: Any
) -> dict[str, _Choice]:
    """For each column the first of the models that err least on the validation rows."""
    best: dict[str, _Choice] = {}
    training, validation = family.similarities([split.X_train, split.X_valid], betas)
    for beta, features, valid in zip(betas, training, validation, strict=True):
        columns = [name for name, is_open in COLUMNS.items() if is_open(D, beta)]
        for model in path(features, split.y_train):
            error = common.wrong(model.predict(valid), split.y_valid)
            better = [
                name for name in columns if name not in best or error < best[name].valid_error
            ]
            if better:
                train_error = common.wrong(model.predict(features), split.y_train)
                best |= dict.fromkeys(better, _Choice(error, train_error, beta, model))
    return best


def by_column(results: Sequence[Result]) -> Iterator[Result]:
    """Results of one method each: those of a split's D become one for each column.

    A column that has not all of its D yet is left out; of equally good D it has the smallest.
    """
    families: dict[Cell, dict[int, Result]] = {}
    for result in results:
        cell = result.cell
        if cell.method != PB:
            yield result
            continue
        settings = tuple(setting for setting in cell.settings if setting[0] != "D")
        families.setdefault(replace(cell, settings=settings), {})[cell.setting("D")] = result
    for cell, family in families.items():
        frequencies, betas = tried(cell.setting("coarse", False))
        for column, is_open in COLUMNS.items():
            wanted = [D for D in frequencies if any(is_open(D, beta) for beta in betas)]
            if all(D in family for D in wanted):
                name = f"{column} valid error"
                best = min((family[D] for D in wanted), key=lambda r: r.details[name])
                error = best.details[f"{column} error"]
                yield replace(best, cell=replace(cell, method=column), score=1 - error)
