r"""The alignment of each frequency with the labels, for all candidates in one pass.

The alignment loss of the cosine :math:`h_w(\delta) = \cos \langle w, \delta \rangle` (Letarte et
al. 2019, equation 9) is the average of :math:`(1 - \lambda_{ij} h_w(x_i - x_j)) / 2` over all
pairs of different rows. Written with Fourier sums (their Propositions 7 and 8) it costs O(n):

.. math::

    L(w) = \frac12 - \frac{\sum_k s_k |F_k(w)|^2 - \sum_i \lambda_{ii}}{2 n (n - 1)}.

The posteriors are computed from the fraction without the 2, the *agreement*, for the centred
similarity of :mod:`bochner.targets`:
:math:`\sum_k s_k |F_k|^2 \propto \sum_c |F_c - \pi_c F_{\mathrm{all}}|^2`.

Sample weights are counts: a row of weight 2 is that row twice, and pairs with its copy. So
:math:`F_k` and :math:`\sum_i \lambda_{ii}` are weighted sums, and `n` is the sum of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import to_numpy
from bochner.targets import Target, as_columns, spread_of, unit_of

Float = NDArray[np.float64]


@dataclass(frozen=True)
class AlignmentSums:
    """Sums over the rows from which the losses follow; additive, so that rows may come in parts.

    Numbers are divided by `unit`, and the `offset` is subtracted, before anything is summed.

    Attributes
    ----------
    target : Target
        Kind of the labels.
    sums : complex array of shape (N, target.n_sums)
        Fourier sums of the target's ``sum_columns``.
    n_rows : int
        Number of rows seen.
    count : float
        Sum of their weights: the number of rows that they stand for.
    moments : array of shape (2, n_columns)
        Weighted sums of ``y`` and ``y^2`` (regression only).
    by_class : array of shape (n_classes,)
        Sums of the weights of each class (none for regression).
    extremes : array of shape (2, n_columns)
        Smallest and largest ``y`` (regression only).
    offset, unit : arrays of shape (n_columns,)
        Location and size of the numbers, approximately. Sums of numbers far from zero would lose
        the digits in which these differ, and squares of large ones would overflow.
    """

    target: Target
    sums: NDArray[np.complex128]
    n_rows: int
    count: float
    moments: Float
    by_class: Float
    extremes: Float
    offset: Float
    unit: Float

    @classmethod
    def empty(cls, target: Target, n_frequencies: int, y: Any) -> AlignmentSums:
        """Return empty sums, with the offset and the unit that suit the first labels `y`."""
        zeros = np.zeros((n_frequencies, target.n_sums), np.complex128)
        numbers = np.zeros((1, 0)) if target.classes is not None else as_columns(y)
        K, n_classes = numbers.shape[1], 0 if target.classes is None else target.n_sums
        unit = unit_of(numbers)
        return cls(
            target,
            zeros,
            n_rows=0,
            count=0.0,
            moments=np.zeros((2, K)),
            by_class=np.zeros(n_classes),
            extremes=np.array([np.full(K, np.inf), np.full(K, -np.inf)]),
            offset=np.mean(numbers / unit, axis=0),
            unit=unit,
        )

    def columns(self, y: Any) -> Float:
        """Return the columns to sum, numbers divided by the unit minus the offset."""
        columns = self.target.sum_columns(y)
        if self.target.classes is None:
            columns[:, :-1] = columns[:, :-1] / self.unit - self.offset
        return columns

    def add(self, sums: NDArray[np.complex128], y: Any, weights: Float | None) -> AlignmentSums:
        """Add the sums of more rows with labels `y`; rows of weight 0 do not count."""
        w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
        columns = self.columns(y)
        values = columns[:, : self.moments.shape[1]]
        with np.errstate(over="ignore", invalid="ignore"):  # `agreement` raises an error for these
            moments = np.stack([w @ values, w @ values**2])
        present = values[w > 0]
        low, high = self.extremes
        if len(present):
            low, high = np.minimum(low, present.min(axis=0)), np.maximum(high, present.max(axis=0))
        return replace(
            self,
            sums=self.sums + sums,
            n_rows=self.n_rows + len(present),
            count=self.count + float(w.sum()),
            moments=self.moments + moments,
            by_class=self.by_class + (w @ columns if len(self.by_class) else 0.0),
            extremes=np.stack([low, high]),
        )

    @property
    def shares(self) -> Float:
        """Weighted share of each class in the rows."""
        return np.asarray(self.by_class / self.by_class.sum())

    def _regression_scale(self) -> tuple[Float, Float]:
        """Mean and largest deviation of each column, the latter infinite if it is constant."""
        mean = self.moments[0] / self.count
        largest = np.maximum(self.extremes[1] - mean, mean - self.extremes[0])
        rounding = 4 * np.finfo(np.float64).eps * np.abs(self.offset)  # of the mean
        if not (largest > rounding).any():
            raise ValueError("y is constant: there is nothing to align with.")
        return mean, np.where(largest > rounding, largest, np.inf)

    def similarity_sums(self) -> Float:
        """``sum_k s_k |F_k(w)|^2`` for every frequency."""
        F = self.sums
        if self.target.classes is None:
            mean, largest = self._regression_scale()
            squares = np.abs((F[:, :-1] - F[:, -1:] * mean) / largest) ** 2
            return np.asarray(squares.mean(axis=1))
        return 2 * (np.abs(F) ** 2).sum(axis=1) - np.abs(F.sum(axis=1)) ** 2

    def self_similarity(self) -> float:
        """``sum_i lambda_ii``."""
        if self.target.classes is None:
            mean, largest = self._regression_scale()
            first, second = self.moments
            squares = second - 2 * mean * first + mean**2 * self.count
            return float(np.mean(squares / largest**2))
        return self.count

    def _centred(self) -> Float:
        """``sum_c |F_c - pi_c F_all|^2`` minus its mean for labels in random order, scaled."""
        if np.count_nonzero(self.by_class) == 1:
            return np.zeros(len(self.sums))  # one class so far
        pi, total = self.shares, self.sums.sum(axis=1)
        own = self.by_class @ (1 - 2 * pi + pi @ pi)
        chance = own * (1 - np.abs(total / self.count) ** 2)
        squares = (np.abs(self.sums - np.outer(total, pi)) ** 2).sum(axis=1)
        return np.asarray((squares - chance) / spread_of(pi))

    def losses(self) -> Float:
        """Return the alignment loss of each frequency, in [0, 1].

        Examples
        --------
        >>> import numpy as np
        >>> from bochner.fourier.alignment import alignment_sums
        >>> X, y = np.array([[0.0], [np.pi]]), [0, 1]        # cos(w (x - x')) = -1 at w = 1
        >>> alignment_sums(X, y, np.array([[0.0, 1.0]])).losses()
        array([1., 0.])
        """
        return 0.5 - self.agreement() / 2

    def agreement(self, *, centred: bool = False) -> Float:
        """Return the mean over pairs of ``lambda_ij cos<w, x_i - x_j>`` for each frequency.

        The centred agreement is 0 on average for labels in random order.
        """
        pairs = self.count * (self.count - 1)
        if self.n_rows < 2:
            raise ValueError(f"the alignment loss needs at least two rows, got {self.n_rows}.")
        if not 0 < pairs < np.inf:
            raise ValueError(
                "sample_weight counts rows: the alignment loss needs more than one of them, and a "
                f"number that can be squared, but the weights of {self.n_rows} rows sum to "
                f"{self.count:g}."
            )
        if not np.isfinite(self.moments).all():
            raise ValueError("y holds numbers whose squares do not fit in float64; scale them.")
        if centred and self.target.classes is not None:
            return self._centred() / pairs
        return (self.similarity_sums() - self.self_similarity()) / pairs


def alignment_sums(
    X: Any,
    y: Any,
    W: Any,
    *,
    target: Target | None = None,
    weights: Float | None = None,
    **options: Any,
) -> AlignmentSums:
    """Return the sums of rows `X` with labels `y` at the frequencies `W`, one per column."""
    empty = AlignmentSums.empty(Target.of(y) if target is None else target, W.shape[1], y)
    return empty.add(label_sums(empty, X, y, W, weights, **options), y, weights)


def label_sums(
    known: AlignmentSums, X: Any, y: Any, W: Any, weights: Float | None, **options: Any
) -> NDArray[np.complex128]:
    """Return the Fourier sums of further rows, as :meth:`AlignmentSums.add` takes them."""
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
    r"""Return the alignment losses of the frequencies of each landmark.

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
