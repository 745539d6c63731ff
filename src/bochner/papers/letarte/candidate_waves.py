"""Candidates of one split, whose phases at all of its rows are computed once.

A study draws from dozens of posteriors over the same candidates. They share the phases
``<w, x>``: given these, the features of a draw are cosines and sines of some columns, and
frequencies in very many dimensions are drawn from the kernel once, not for each posterior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import (
    convert,
    float_dtype,
    is_host,
    namespace,
    single_dtype,
    to_numpy,
    zeros,
)
from bochner.engine.rowwise import concat_columns
from bochner.fourier.alignment import AlignmentSums
from bochner.fourier.candidates import Candidates
from bochner.fourier.posterior import draw_with_replacement, gibbs_posterior, power_posterior
from bochner.kernels import Gaussian
from bochner.papers.letarte.common import Split
from bochner.targets import Target

Float = NDArray[np.float64]


@dataclass(frozen=True)
class DrawnWaves:
    """A map from phases to the features of the candidates that were drawn."""

    index: NDArray[np.intp]
    weights: Float

    def transform(self, phases: Any) -> Any:
        """Return ``sqrt(weight) cos`` of the drawn columns, then their sines, in float64."""
        xp = namespace(phases)
        index = convert(self.index, phases, self.index.dtype if is_host(phases) else xp.int64)
        own = xp.take(phases, index, axis=1)
        own = convert(own, own, xp.float64)
        features = concat_columns([xp.cos(own), xp.sin(own)])
        features *= convert(np.sqrt(np.tile(self.weights, 2)), features)
        return features


@dataclass(frozen=True)
class CandidateWaves:
    """Candidates of a Gaussian kernel: their phases, and their alignment losses.

    Attributes
    ----------
    phases : Split
        The split with phases in place of its rows, one column per candidate. They are kept in
        float32: with phases in the hundreds, as from the large columns of adult, cosines are
        then precise to 1e-5.
    losses : array of shape (n_candidates,)
        Alignment losses on the training rows.
    """

    phases: Split
    losses: Float

    @classmethod
    def of_split(cls, split: Split, gamma: float, n_candidates: int, seed: int) -> CandidateWaves:
        """Draw the candidates, and compute their phases at all rows."""
        parts = (split.X_train, split.X_valid, split.X_test)
        candidates = Candidates(Gaussian(gamma=gamma), n_candidates, parts[0].shape[1], seed)
        found = [zeros((X.shape[0], n_candidates), X, single_dtype(X)) for X in parts]
        target, y = Target.of(split.y_train), split.y_train
        known = AlignmentSums.empty(target, n_candidates, y)
        columns, sums = known.columns(y), []
        for block, W in candidates.blocks(float_dtype(parts[0])):
            for X, phases in zip(parts, found, strict=True):
                phases[:, block] = convert(X @ (W if is_host(X) else convert(W, X)), phases)
            sums.append(_wave_sums(found[0][:, block], columns))
        train, valid, test = found
        losses = known.add(np.concatenate(sums), y, None).losses()
        return cls(replace(split, X_train=train, X_valid=valid, X_test=test), losses)

    def draw(self, divergence: str, strength: float, count: int, seed: int) -> DrawnWaves:
        """Draw from the posterior with replacement, as the paper does.

        `strength` is beta for ``"kl"``; for ``"chi2"`` it is rho, as a multiple of the candidates.
        """
        if divergence == "kl":
            posterior = gibbs_posterior(self.losses, strength, len(self.phases.y_train))
        else:
            posterior = power_posterior(self.losses, strength * len(self.losses))
        return DrawnWaves(*draw_with_replacement(posterior, count, RandomState(seed)))


def _wave_sums(phases: Any, columns: Float) -> NDArray[np.complex128]:
    """Return ``sum_i columns_ik exp(i phase_i)`` for every candidate."""
    xp = namespace(phases)
    phases = convert(phases, phases, xp.float64)
    weights = convert(columns, phases)
    real, imaginary = (to_numpy(wave.T @ weights) for wave in (xp.cos(phases), xp.sin(phases)))
    return real + 1j * imaginary
