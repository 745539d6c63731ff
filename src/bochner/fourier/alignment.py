r"""How well each frequency aligns with the labels, for all candidates in one pass.

The alignment loss of the cosine :math:`h_w(\delta) = \cos \langle w, \delta \rangle` (Letarte et
al. 2019, equation 9) is the average of :math:`(1 - \lambda_{ij} h_w(x_i - x_j)) / 2` over all
pairs of different rows. Written with Fourier sums (their Propositions 7 and 8) it costs O(n):

.. math::

    L(w) = \frac12 - \frac{\sum_k s_k |F_k(w)|^2 - \sum_i \lambda_{ii}}{2 n (n - 1)}.

What the posteriors weigh by is the fraction without the 2, the *agreement*, of the centred
similarity of :mod:`bochner.targets`:
:math:`\sum_k s_k |F_k|^2 \propto \sum_c |F_c - \pi_c F_{\mathrm{all}}|^2`.

With sample weights, :math:`\lambda_{ij}` is multiplied by :math:`\omega_i \omega_j` and
:math:`n (n - 1)` becomes :math:`(\sum \omega)^2 - \sum \omega^2`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from bochner import engine
from bochner.engine.places import to_numpy
from bochner.engine.summaries import keep_rows
from bochner.targets import Target, spread_of, unit_of

Float = NDArray[np.float64]


@dataclass(frozen=True)
class AlignmentSums:
    """All that the losses need to know of the rows: additive, so that rows may come in parts.

    Numbers are divided by `unit` and less the `offset` before anything is summed.

    Attributes
    ----------
    target : Target
        What the labels are.
    sums : complex array of shape (N, target.n_sums)
        Fourier sums of the target's ``sum_columns``.
    n_rows : int
        Rows seen.
    moments : array of shape (5,)
        Sums over rows of ``w, w^2, w y, w^2 y, w^2 y^2`` with sample weights ``w`` (the last
        three for regression only).
    by_class : array of shape (2, n_classes)
        Sums of ``w`` and ``w^2`` over the rows of each class (none for regression).
    extremes : (float, float)
        Smallest and largest ``y`` (regression only).
    offset, unit : float
        Sums of numbers far from zero would lose the digits in which these differ, squares of
        large ones overflow. Any values near them and of their size will do.
    """

    target: Target
    sums: NDArray[np.complex128]
    n_rows: int
    moments: Float
    by_class: Float
    extremes: tuple[float, float] = (np.inf, -np.inf)
    offset: float = 0.0
    unit: float = 1.0

    @classmethod
    def empty(cls, target: Target, n_frequencies: int, y: Any) -> AlignmentSums:
        """No sums yet, with the offset and the unit that suit the first labels `y`."""
        zeros = np.zeros((n_frequencies, target.n_sums), np.complex128)
        if target.classes is not None:
            return cls(target, zeros, 0, np.zeros(5), np.zeros((2, target.n_sums)))
        numbers = np.asarray(y, np.float64)
        unit = unit_of(numbers)
        offset = float(np.mean(numbers / unit))
        return cls(target, zeros, 0, np.zeros(5), np.zeros((2, 0)), offset=offset, unit=unit)

    def columns(self, y: Any) -> Float:
        """The columns to sum, numbers in units and less the offset."""
        columns = self.target.sum_columns(y)
        if self.target.classes is None:
            columns[:, 0] = columns[:, 0] / self.unit - self.offset
        return columns

    def add(self, sums: NDArray[np.complex128], y: Any, weights: Float | None) -> AlignmentSums:
        """With the sums of more rows, whose labels are `y`; those of weight 0 do not count."""
        w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
        columns, numbers = self.columns(y), self.target.classes is None
        values = columns[:, 0] if numbers else np.zeros(len(y))
        with np.errstate(over="ignore", invalid="ignore"):  # of what `agreement` refuses
            moments = [w.sum(), w @ w, w @ values, w @ (w * values), w @ (w * values**2)]
            by_class = np.zeros((2, 0)) if numbers else np.stack([w, w**2]) @ columns
        low, high = self.extremes
        present = values[w > 0]
        return replace(
            self,
            sums=self.sums + sums,
            n_rows=self.n_rows + len(present),
            moments=self.moments + moments,
            by_class=self.by_class + by_class,
            extremes=(present.min(initial=low), present.max(initial=high)),
        )

    @property
    def shares(self) -> Float:
        """The share of each class in the rows, by their weights."""
        return np.asarray(self.by_class[0] / self.by_class[0].sum())

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
            return (np.abs(F[:, 0] - mean * F[:, 1]) / largest) ** 2
        return 2 * (np.abs(F) ** 2).sum(axis=1) - np.abs(F.sum(axis=1)) ** 2

    def self_similarity(self) -> float:
        """``sum_i lambda_ii``."""
        _, w2, _, w2y, w2yy = self.moments
        if self.target.classes is None:
            mean, largest = self._regression_scale()
            return float(w2yy - 2 * mean * w2y + mean**2 * w2) / largest**2
        return float(w2)

    def _centred(self) -> Float:
        """``sum_c |F_c - pi_c F_all|^2`` less what it would be for labels in random order."""
        if np.count_nonzero(self.by_class[0]) == 1:
            return np.zeros(len(self.sums))  # one class so far
        pi, total = self.shares, self.sums.sum(axis=1)
        own = self.by_class[1] @ (1 - 2 * pi + pi @ pi)
        chance = own * (1 - np.abs(total / self.moments[0]) ** 2)
        squares = (np.abs(self.sums - np.outer(total, pi)) ** 2).sum(axis=1)
        return np.asarray((squares - chance) / spread_of(pi))

    def losses(self) -> Float:
        """The alignment loss of every frequency, in [0, 1].

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
        """The mean over pairs of ``lambda_ij cos<w, x_i - x_j>`` for every frequency.

        The centred one is 0 on average for labels in random order.
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


def rows_with_weight(X: Any, y: Any, sample_weight: Any, least: int) -> tuple[Any, Any, Any]:
    """Rows, labels and weights without the rows of weight 0; `least` must be left."""
    if sample_weight is None:
        return X, y, None
    weights = _check_sample_weight(
        sample_weight, y, ensure_non_negative=True, allow_all_zero_weights=True
    )
    kept = np.flatnonzero(weights)
    if len(kept) < least:
        raise ValueError(
            "the alignment loss needs at least two rows whose sample_weight is above zero, got "
            f"{len(kept)} of {len(y)}."
        )
    if len(kept) == len(y):
        return X, y, weights
    return keep_rows(X, kept), y[kept], weights[kept]


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
