"""A set of frequencies for each landmark, and a posterior over each set (PB-Landmarks)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import dense, float_dtype, to_numpy
from bochner.engine.rowwise import concat_columns
from bochner.fourier.alignment import landmark_losses
from bochner.fourier.candidates import Candidates
from bochner.fourier.placement import Landmarks
from bochner.fourier.posterior import gibbs_posterior
from bochner.targets import Target

Float = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class OwnSets:
    """Sets of frequencies, one per landmark, and their alignment losses.

    Attributes
    ----------
    candidates : Candidates
        The D frequencies of the first landmark, then those of the next.
    losses : array of shape (n_landmarks, D)
        Alignment losses.
    waves : complex array of shape (n_landmarks, D)
        ``exp(i <w, x_l>)``.
    n_rows : int
        Number of rows in the losses.
    """

    candidates: Candidates
    losses: Float
    waves: Complex
    n_rows: int

    @classmethod
    def of_rows(
        cls,
        candidates: Candidates,
        X: Any,
        y: Any,
        target: Target,
        landmarks: Landmarks,
        **options: Any,
    ) -> OwnSets:
        """Compute the losses on rows `X` with labels `y`."""
        points, labels, in_sample = landmarks
        D, n_landmarks = candidates.multiple, points.shape[0]
        sums = np.zeros(n_landmarks * D, np.complex128)
        waves = np.empty((n_landmarks, D), np.complex128)
        groups = target.similarities(labels, y)
        # factors of a landmark: its own scaled numbers (regression) or +-1
        where, factors = (np.concatenate([group[k] for group in groups]) for k in (0, 1))
        own = np.bincount(where, factors**2, n_landmarks) / np.bincount(where)
        for block, W in candidates.blocks(float_dtype(X)):
            first, stop = block.start // D, block.stop // D
            waves[first:stop] = _own_waves(dense(points[first:stop]), W.reshape(len(W), -1, D))
            for positions, factors, column in groups:
                here = positions[(positions >= first) & (positions < stop)]
                if here.size:  # contiguous: landmarks are sorted by their classes
                    span = slice(here[0] * D, (here[-1] + 1) * D)
                    own_W = W[:, span.start - block.start : span.stop - block.start]
                    factor = np.repeat(factors[np.isin(positions, here)], D)
                    of_group = engine.fourier_sums(X, own_W, column, **options)
                    sums[span] += factor * to_numpy(of_group)
        losses = landmark_losses(sums.reshape(n_landmarks, D), waves, own, in_sample, len(y))
        return cls(candidates, losses, waves, len(y))

    def posterior(self, beta: float) -> Float:
        """Return the posterior of each landmark, of shape (n_landmarks, D)."""
        return gibbs_posterior(self.losses, beta, self.n_rows)

    def distance(self, delta: float) -> float:
        """Bound how far the map's own losses are from the posterior's: they are the same."""
        return 0.0

    def coefficients(self, beta: float) -> Complex:
        """``Q_lm exp(i <w_lm, x_l>)``, one landmark after the other."""
        return (self.posterior(beta) * self.waves).ravel()

    def similarities(self, X: Any, coefficients: Complex, **options: Any) -> Any:
        """``sum_m Q_lm cos <w_lm, x_l - x>``, one column per landmark."""
        size = self.candidates.multiple
        return concat_columns(
            [
                engine.grouped_waves(X, W, coefficients[block], size, **options)
                for block, W in self.candidates.blocks(float_dtype(X))
            ]
        )


def _own_waves(points: NDArray[Any], W: NDArray[Any]) -> Complex:
    """``exp(i <w, x_l>)`` for each landmark and its own frequencies, W of shape (d, l, D)."""
    return np.exp(1j * np.einsum("ld,dlm->lm", points, W, dtype=np.float64))
