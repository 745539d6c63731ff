r"""A pool of frequencies that all landmarks share, and a posterior over it for each of them.

The Fourier sums of the pool are computed once, one column per class. Everything that landmark
:math:`x_l` learns follows from them and from its own waves :math:`e^{i \langle w_m, x_l \rangle}`
in O(N): its score for a frequency is its mean similarity to the rows of its class, minus that to
the other rows,

.. math::

    S_{lm} = \mathrm{Re} \Bigl( \overline{e^{i \langle w_m, x_l \rangle}} \Bigl(
        \frac{F_c(w_m)}{n_c} - \frac{F_{\mathrm{all}}(w_m) - F_c(w_m)}{n - n_c}
        \Bigr) \Bigr),

or, for numbers,
:math:`2 z_l \, \mathrm{Re}(\overline{e^{i \langle w_m, x_l \rangle}} F_z(w_m)) / n`
with standardised numbers `z`, the landmark's own clipped to [-1, 1]. For two classes of equal size
both are the same. If a landmark is one of the rows, this adds the same to the scores of all
frequencies.

These sums are the first step of conjugate gradients towards the coefficients with which all waves
of the pool together predict the labels (:mod:`bochner.linear.conjugate`). After a few more steps,
the coefficients :math:`c` take the place of the sums, each column scaled to their size: a
frequency then counts for what it adds to the others. The part that the landmarks' similarities
have in common is then the prediction itself, since
:math:`2 \,\mathrm{Re}(\overline{e^{i \langle w, x_l \rangle}} c) \cos \langle w, x_l - x \rangle
= \mathrm{Re}(\overline{e^{i \langle w, x \rangle}} c) + \dots`
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import float_dtype, namespace, to_numpy
from bochner.engine.rowwise import map_rows, row_slices
from bochner.fourier.alignment import landmark_losses
from bochner.fourier.candidates import Candidates
from bochner.fourier.placement import Landmarks
from bochner.fourier.posterior import gibbs_posterior
from bochner.targets import Target

Float = NDArray[np.float64]
Complex = NDArray[np.complex128]

_LANDMARKS = 1024  # processed at a time
_ROWS, _VALUES = 2**12, 2**24  # rows processed at a time, at least, and similarities


@dataclass(frozen=True)
class Pool:
    """A pool of frequencies, its sums over the rows, and the landmarks that share it.

    Attributes
    ----------
    candidates : Candidates
        The N frequencies.
    points : array or sparse matrix of shape (n_landmarks, d)
        The landmarks.
    in_sample : array of shape (n_landmarks,)
        Whether each landmark is one of the rows.
    sums : complex array of shape (N, K)
        Fourier sums, one column per class, or one of scaled numbers.
    similarity, contrast : arrays of shape (K, n_landmarks)
        Weights with which a landmark combines these columns: into the sum over rows of the
        similarity of labels, or into the mean over its class minus that over the others.
    n_rows : int
        Number of rows in the sums.
    fitted : complex array of shape (N, K)
        Values that the scores are computed from: the sums of centred columns, or the coefficients
        of a fit.
    """

    candidates: Candidates
    points: Any
    in_sample: NDArray[np.bool_]
    sums: Complex
    similarity: Float
    contrast: Float
    n_rows: int
    fitted: Complex

    @classmethod
    def of_rows(
        cls,
        candidates: Candidates,
        X: Any,
        y: Any,
        target: Target,
        landmarks: Landmarks,
        **options: Any,
    ) -> Pool:
        """Compute the sums of rows `X` with labels `y`."""
        columns, similarity, contrast = _columns(target, landmarks.labels, y)
        sums = np.empty((candidates.n, columns.shape[1]), np.complex128)
        for block, W in candidates.blocks(float_dtype(X)):
            sums[block] = to_numpy(engine.fourier_sums(X, W, columns, **options))
        points, _, in_sample = landmarks
        centred = sums - sums.sum(axis=1, keepdims=True) * columns.mean(axis=0)
        return cls(candidates, points, in_sample, sums, similarity, contrast, len(y), centred)

    def following(self, coefficients: Any) -> Pool:
        """Return the pool whose scores are computed from the coefficients of its waves in a fit.

        The `coefficients` are those of the cosines, then of the sines, of shape (2 N, K), in any
        scale: each column is rescaled to the size of the sums of its centred labels, so that
        `beta` has the same meaning.
        """
        real, imaginary = np.split(to_numpy(coefficients), 2)
        fitted = real + 1j * imaginary
        sizes = [np.linalg.norm(each, axis=0) for each in (self.fitted, fitted)]
        return replace(self, fitted=fitted * (sizes[0] / np.where(sizes[1] > 0, sizes[1], 1.0)))

    def features(self, X: Any, **options: Any) -> Any:
        """``[cos <w_m, x>, sin <w_m, x>]`` for rows, of shape (n, 2 N), on their device."""
        cosines, sines = [], []
        for block, W in self.candidates.blocks(float_dtype(X)):
            waves, n = engine.features(X, W, scale=1.0, **options), block.stop - block.start
            cosines.append(waves[:, :n])
            sines.append(waves[:, n:])
        xp = namespace(cosines[0])
        return waves if len(cosines) == 1 else xp.concat([*cosines, *sines], axis=1)

    def waves(self, some: slice = slice(None)) -> Complex:
        """``exp(i <w_m, x_l>)``, of shape (n_landmarks, N), for all or some landmarks."""
        points = self.points[some].astype(np.float64)
        waves = np.empty((points.shape[0], len(self.sums)), np.complex128)
        for block, W in self.candidates.blocks():
            features = engine.features(points, W, scale=1.0)
            waves[:, block] = features[:, : W.shape[1]] + 1j * features[:, W.shape[1] :]
        return waves

    @property
    def losses(self) -> Float:
        """Alignment loss of each landmark and frequency, of shape (n_landmarks, N)."""
        own = np.mean(self.similarity**2, axis=0)  # 1 for classes
        sums = (self.sums @ self.similarity).T
        return landmark_losses(sums, self.waves(), own, self.in_sample, self.n_rows)

    def posterior(self, beta: float) -> Float:
        """Return the posterior of each landmark, of shape (n_landmarks, N); the prior for 0."""
        if not beta:
            return np.full((self.points.shape[0], len(self.sums)), 1 / len(self.sums))
        return self._posterior(slice(None), self.waves(), beta)

    def distance(self, delta: float) -> float:
        r"""Bound how far the map's own losses are from the posterior's, for all landmarks at once.

        They differ by the loss of the kernel minus its mean over the pool, at most half the norm
        of :math:`\frac1N \sum_m \cos \langle w_m, x_l - x \rangle - k(x_l, x)` over new rows `x`.
        This is a mean of `N` independent functions of mean 0 and variance at most 1: its norm is
        at most :math:`N^{-1/2}` on average, and each function changes it by at most `2 / N`
        (McDiarmid). The bound holds with probability ``1 - delta`` over the pool.
        """
        log = float(np.log(self.points.shape[0] / delta))
        return (1 + np.sqrt(2 * log)) / (2 * np.sqrt(len(self.sums)))

    def coefficients(self, beta: float, waves: Complex | None = None) -> Complex:
        """``(Q_lm - 1/N) exp(i <w_m, x_l>)``, of shape (N, n_landmarks).

        This is what the labels add to the kernel, which is the mean over the prior. The `waves`
        can be passed if they are already known.
        """
        result = np.empty((len(self.sums), self.points.shape[0]), np.complex128)
        for some in row_slices(self.points.shape[0], _LANDMARKS):
            own = self.waves(some) if waves is None else waves[some]
            surplus = self._posterior(some, own, beta) - 1 / len(self.sums)
            result[:, some] = (surplus * own).T
        return result

    def similarities(self, X: Any, coefficients: Complex, **options: Any) -> Any:
        """``k(x_l, x) + sum_m (Q_lm - 1/N) cos <w_m, x_l - x>``, one column per landmark."""
        shared = {"pool": self, "coefficients": coefficients}
        return map_rows(_add_waves, X, self.points.shape[0], shared=shared, **options)

    def kernel_values(self, X: Any, **options: Any) -> Any:
        """``k(x_l, x)``, one column per landmark."""
        return engine.kernel_rows(X, self.points, self.candidates.kernel, **options)

    def mixed_waves(self, X: Any, coefficients: Complex, **options: Any) -> Any:
        """Evaluate the waves of the pool, mixed by `coefficients`, on rows."""
        parts = (
            engine.mixed_waves(X, W, coefficients[block], **options)
            for block, W in self.candidates.blocks(float_dtype(X))
        )
        return reduce(operator.add, parts)

    def _posterior(self, some: slice, waves: Complex, beta: float) -> Float:
        fitted = (self.fitted @ self.contrast[:, some]).T
        scores = waves.real * fitted.real + waves.imag * fitted.imag
        return gibbs_posterior(-scores / 2, beta, self.n_rows)


def _add_waves(X: Any, pool: Pool, coefficients: Complex, **options: Any) -> Any:
    """Compute the similarities of rows without a second array of their size."""
    result = pool.kernel_values(X, **options)
    for rows in row_slices(X.shape[0], max(_ROWS, _VALUES // max(1, result.shape[1]))):
        result[rows, :] += pool.mixed_waves(X[rows, ...], coefficients, **options)
    return result


def _columns(target: Target, labels: Any, y: Any) -> tuple[Float, Float, Float]:
    """Return the columns to sum over rows, and the weights with which landmarks combine them."""
    if target.classes is None:
        products = target.similarities(labels, y)
        numbers: Float = np.stack([factors for _, factors, _ in products])
        parts: Float = np.stack([column for _, _, column in products])
        spread = len(parts) * parts.std(axis=1)[:, None]
        spread[spread == 0] = 1.0  # landmarks' numbers may differ even if those of rows do not
        contrast = 2 * np.clip(numbers / spread, -1, 1) / (spread * parts.shape[1])
        return parts.T, numbers, contrast
    columns, own = target.sum_columns(y), target.sum_columns(labels).T
    inside = columns.sum(axis=0) @ own  # rows of the landmark's class
    contrast = own / np.maximum(inside, 1) - (1 - own) / np.maximum(len(columns) - inside, 1)
    return columns, 2 * own - 1, contrast
