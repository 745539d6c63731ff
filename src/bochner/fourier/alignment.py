r"""How well each frequency aligns with the labels, for all candidates in one pass.

The alignment loss of the cosine :math:`h_w(\delta) = \cos \langle w, \delta \rangle` (Letarte et
al. 2019, equation 9) is the average of :math:`(1 - \lambda_{ij} h_w(x_i - x_j)) / 2` over all
pairs of different rows. Written with Fourier sums (their Propositions 7 and 8) it costs O(n):

.. math::

    L(w) = \frac12 - \frac{\sum_k s_k |F_k(w)|^2 - \sum_i \lambda_{ii}}{2 n (n - 1)}.

With sample weights, :math:`\lambda_{ij}` is multiplied by :math:`\omega_i \omega_j` and
:math:`n (n - 1)` becomes :math:`(\sum \omega)^2 - \sum \omega^2`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import to_numpy
from bochner.targets import Target

Float = NDArray[np.float64]


@dataclass(frozen=True)
class AlignmentSums:
    """All that the losses need to know of the rows: additive, so that rows may come in parts.

    Attributes
    ----------
    target : Target
        What the labels are.
    sums : complex array of shape (N, target.n_sums)
        Fourier sums of the raw label columns, numbers less the `offset`.
    n_rows : int
        Rows seen.
    moments : array of shape (5,)
        Sums over rows of ``w, w^2, w y, w^2 y, w^2 y^2`` with sample weights ``w`` (the last
        three for regression only).
    extremes : (float, float)
        Smallest and largest ``y`` (regression only).
    offset : float
        What is subtracted from numbers before anything is summed: sums of numbers far from zero
        would lose the digits in which these differ. Any value near them will do.
    """

    target: Target
    sums: NDArray[np.complex128]
    n_rows: int
    moments: Float
    extremes: tuple[float, float] = (np.inf, -np.inf)
    offset: float = 0.0

    @classmethod
    def empty(cls, target: Target, n_frequencies: int, y: Any) -> AlignmentSums:
        """No sums yet, with the offset that suits the first labels `y`."""
        zeros = np.zeros((n_frequencies, target.n_sums), np.complex128)
        offset = float(np.mean(np.asarray(y, np.float64))) if target.classes is None else 0.0
        return cls(target, zeros, 0, np.zeros(5), offset=offset)

    def columns(self, y: Any) -> Float:
        """The raw columns of labels, with numbers less the offset."""
        columns = self.target.raw_columns(y)
        if self.target.classes is None:
            columns[:, 0] -= self.offset
        return columns

    def add(self, sums: NDArray[np.complex128], y: Any, weights: Float | None) -> AlignmentSums:
        """With the sums of more rows, whose labels are `y`."""
        n = len(y)
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        values = np.zeros(n) if self.target.classes is not None else self.columns(y)[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):  # of weights that `losses` refuses
            moments = [w.sum(), w @ w, w @ values, w @ (w * values), w @ (w * values**2)]
        low, high = self.extremes
        return replace(
            self,
            sums=self.sums + sums,
            n_rows=self.n_rows + n,
            moments=self.moments + moments,
            extremes=(values.min(initial=low), values.max(initial=high)),
        )

    def _regression_scale(self) -> tuple[float, float]:
        w, _, wy, _, _ = self.moments
        mean = wy / w
        largest = max(self.extremes[1] - mean, mean - self.extremes[0])
        if not largest > 4 * np.finfo(np.float64).eps * abs(self.offset):  # the mean's rounding
            raise ValueError("y is constant: there is nothing to align with.")
        return mean, largest

    def similarity_sums(self) -> Float:
        """``sum_k s_k |F_k(w)|^2`` for every frequency."""
        F = self.sums
        if self.target.classes is None:
            mean, largest = self._regression_scale()
            return np.abs(F[:, 0] - mean * F[:, 1]) ** 2 / largest**2
        if F.shape[1] == 1:
            return np.abs(F[:, 0]) ** 2
        return 2 * (np.abs(F) ** 2).sum(axis=1) - np.abs(F.sum(axis=1)) ** 2

    def self_similarity(self) -> float:
        """``sum_i lambda_ii``."""
        _, w2, _, w2y, w2yy = self.moments
        if self.target.classes is not None:
            return float(w2)
        mean, largest = self._regression_scale()
        return float(w2yy - 2 * mean * w2y + mean**2 * w2) / largest**2

    def losses(self) -> Float:
        """The alignment loss of every frequency, in [0, 1]; 1/2 is what a useless one has.

        Examples
        --------
        >>> import numpy as np
        >>> from bochner.fourier.alignment import alignment_sums
        >>> X, y = np.array([[0.0], [np.pi]]), [0, 1]        # cos(w (x - x')) = -1 at w = 1
        >>> alignment_sums(X, y, np.array([[0.0, 1.0]])).losses()
        array([1., 0.])
        """
        w, w2 = map(float, self.moments[:2])
        pairs = w * w - w2
        if self.n_rows < 2:
            raise ValueError(f"the alignment loss needs at least two rows, got {self.n_rows}.")
        if not 0 < pairs < np.inf:
            raise ValueError(
                "the alignment loss needs at least two rows whose sample_weight is above zero, of "
                f"a size that can be squared; the weights of {self.n_rows} rows sum to {w:g}."
            )
        return 0.5 - (self.similarity_sums() - self.self_similarity()) / (2 * pairs)


def alignment_sums(
    X: Any,
    y: Any,
    W: Any,
    *,
    target: Target | None = None,
    weights: Float | None = None,
    **options: Any,
) -> AlignmentSums:
    """The sums of rows `X` with labels `y` at the frequencies `W`, one per column."""
    empty = AlignmentSums.empty(Target.of(y) if target is None else target, W.shape[1], y)
    return empty.add(label_sums(empty, X, y, W, weights, **options), y, weights)


def label_sums(
    known: AlignmentSums, X: Any, y: Any, W: Any, weights: Float | None, **options: Any
) -> NDArray[np.complex128]:
    """The Fourier sums of further rows, as :meth:`AlignmentSums.add` takes them."""
    columns = known.columns(y)
    if weights is not None:
        columns = columns * np.asarray(weights)[:, None]
    return to_numpy(engine.fourier_sums(X, W, columns, **options))


def landmark_losses(
    sums: NDArray[np.complex128],
    at_landmark: NDArray[np.complex128],
    own: Float,
    in_sample: NDArray[np.bool_],
    n_rows: int,
) -> Float:
    r"""The alignment losses of each landmark's own frequencies.

    .. math::

        L_l(w) = \frac12 - \frac{\mathrm{Re}\bigl(\overline{e^{i \langle w, x_l \rangle}}
            G(w)\bigr) - [l \text{ in sample}] \lambda_{ll}}{2 m},
        \qquad G(w) = \sum_j \lambda(y_l, y_j) e^{i \langle w, x_j \rangle},

    with :math:`m = n - 1` for a landmark that is one of the rows (its own term is left out) and
    :math:`m = n` for one that is not. `sums` and `at_landmark`, of shape (n_landmarks, D), are
    ``G`` and ``exp(i <w, x_l>)`` at each landmark's frequencies; `own` is the similarity of its
    label to itself, which is 1 for classes.
    """
    inside = in_sample.astype(np.float64)[:, None]
    agreement = (np.conj(at_landmark) * sums).real - inside * own[:, None]
    return 0.5 - agreement / (2 * (n_rows - inside))
