"""GradientMetric: the columns and directions in which a learned function changes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from bochner.base import SupervisedFeatureMap
from bochner.engine.places import as_float, is_dask
from bochner.engine.rowwise import map_rows, with_known_lengths
from bochner.engine.summaries import constant_columns, rows_at, sample_rows
from bochner.fourier.bandwidth import SHARED_CONSTRAINTS
from bochner.fourier.sampling import draw_frequencies
from bochner.kernels import Gaussian
from bochner.linear.splits import hold_out
from bochner.metric.matrices import (
    DIAGONAL,
    MODES,
    MOST_COLUMNS,
    as_matrix,
    scale_keeping_variance,
    transformed,
)
from bochner.metric.predictor import Predictor, Rows, standard_columns
from bochner.metric.rounds import Rounds, Step, best_rounds, choose_round, gamma_of
from bochner.targets import Target, TargetKind

Float = NDArray[np.float64]
Mode = Literal["auto", "diagonal", "root", "full"] | tuple[str, ...]

_CHOOSING_ROWS = 12_500  # rows that rounds are played with; the others join once all is chosen
_FEWEST_ROWS = 10
_MEDIAN_ROWS = 500  # enough rows to know the median distance to one per cent


class GradientMetric(SupervisedFeatureMap):
    r"""A matrix that suppresses what is irrelevant to the target, learned before any map.

    A kernel is a measure over frequencies. Multiplying the rows by a matrix ``L`` moves the whole
    measure, :math:`w \mapsto L w`, and the kernel becomes :math:`k(L^\top (x - y))`. The matrix is
    found in rounds: each fits a ridge regression on Fourier features of the rows as transformed so
    far, and the average outer product of its gradients,

    .. math:: M = \frac1n \sum_i \sum_k \nabla f_k(x_i) \nabla f_k(x_i)^\top ,

    shows along which columns and directions it changes; ``L`` is the square root of ``M``, of its
    diagonal, or of its square root. The rounds, including one without a metric, are judged on
    held-out rows: where nothing helps, ``L`` is the identity. (The method is known as recursive
    feature machines; with Fourier features, everything is a sum over rows.)

    Parameters
    ----------
    mode : {"auto", "diagonal", "root", "full"}, tuple of these or None, default="auto"
        How the matrix is made. ``"diagonal"`` weights the columns, ``"full"`` rotates and weights
        directions, and ``"root"`` does so mildly. ``"auto"`` takes the simplest of none, diagonal,
        root and full that is within half a standard error of the best on held-out rows; a tuple
        restricts this choice to its modes and none. A mode given by name is used whether or not
        it helps. None learns the importances but no matrix.
    n_frequencies : int, default=512
        Number of frequencies in the regressions.
    n_rounds : int, default=4
        Maximum number of rounds per mode; as many again where the error still falls by a tenth in
        each.
    validation_fraction : float, default=0.2
        Fraction of the rows that is held out to judge the rounds.
    target : {"auto", "classification", "regression"}, default="auto"
        Kind of target in `y`; ``"auto"`` treats floating-point numbers as regression.
    n_jobs : int, default=None
        Number of CPU threads. None uses as many as BLAS may use, -1 all.
    memory_budget : int, default=None
        Bytes of scratch memory for arrays on a device; None is 256 MiB.
    random_state : int, RandomState instance or None, default=None
        Controls the frequencies and which rows are held out.

    Attributes
    ----------
    matrix_ : array of shape (n_features_in_, n_features_in_)
        The matrix ``L``; a SciPy sparse array where more than 4096 columns are weighted. It is
        scaled so that the rows keep their variance (over all entries): a `gamma` that suits the
        rows before the transformation is of the right size after it.
    mode_ : str or None
        Mode that was chosen.
    modes_ : tuple
        Modes that were tried, see :meth:`with_mode`.
    gamma_ : float
        `gamma` of the Gaussian kernel that did best on held-out rows, for transformed rows.
    importances_ : ndarray of shape (n_features_in_,)
        How much the last function changes along each column: the diagonal of its ``M``, normalised
        to sum to 1. Depends on the units of the columns: standardise them first to compare.
    directions_ : ndarray of shape (n_directions, n_features_in_)
        Eigenvectors of its ``M``, the most important one first. None for sparse rows and for more
        than 4096 columns.
    history_ : list of dict
        All rounds: mode, number, bandwidth, penalty, error and score on held-out rows.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Notes
    -----
    Columns should be of comparable size, since the first round takes them as they are: standardise
    them first. Constant columns have weight 0. Sparse rows and rows of more than 4096 columns get
    a diagonal matrix; to rotate directions of so many columns, take their principal components
    first.

    Choices are made on at most 12500 rows. If there are more, all of them take part in the rounds
    that were chosen, in two passes over the rows per round, of which only sums are kept.

    No bound that assumes a fixed kernel holds for a kernel whose metric was learned on the same
    rows. Learn the metric on one part and certify on another.

    References
    ----------
    A. Radhakrishnan et al., Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models, Science 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from bochner import FourierFeatures, GradientMetric
    >>> from bochner.linear import RidgeRegressor
    >>> X = np.random.RandomState(0).uniform(-2, 2, size=(2000, 20))
    >>> y = np.sin(X[:, 0] * X[:, 1]) + X[:, 2] / 2             # 3 of 20 columns matter
    >>> features = FourierFeatures(n_components=200, gamma="median", random_state=0)
    >>> head = RidgeRegressor(C="auto", random_state=0)
    >>> plain = make_pipeline(features, head).fit(X[:1500], y[:1500])
    >>> bool(plain.score(X[1500:], y[1500:]) < 0.6)
    True
    >>> metric = GradientMetric(n_frequencies=256, random_state=0)
    >>> learned = make_pipeline(metric, features, head).fit(X[:1500], y[:1500])
    >>> bool(learned.score(X[1500:], y[1500:]) > 0.95)
    True
    >>> bool(metric.importances_[:3].sum() > 0.99)
    True
    """

    _learned: ClassVar[str] = "history_"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "mode": [StrOptions({"auto", *MODES}), tuple, None],
        "n_frequencies": [Interval(Integral, 1, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "target": [StrOptions({"auto", "classification", "regression"})],
        **{name: SHARED_CONSTRAINTS[name] for name in ("n_jobs", "memory_budget", "random_state")},
    }

    def __init__(
        self,
        mode: Mode | None = "auto",
        *,
        n_frequencies: int = 512,
        n_rounds: int = 4,
        validation_fraction: float = 0.2,
        target: TargetKind = "auto",
        n_jobs: int | None = None,
        memory_budget: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.mode = mode
        self.n_frequencies = n_frequencies
        self.n_rounds = n_rounds
        self.validation_fraction = validation_fraction
        self.target = target
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the matrix.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.
        y : array-like of shape (n,) or (n, k)
            Classes or numbers; several columns of numbers are used together.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, see :mod:`bochner.weights`: a weight of 2 is the row twice,
            0 is no row; a fractional part is the probability of one more copy.

        Returns
        -------
        self
        """
        X, y, target = self._validate_labelled(X, y, sample_weight)
        if len(y) < _FEWEST_ROWS:
            raise ValueError(
                "a metric is learned from some rows and judged by others: it needs at least "
                f"{_FEWEST_ROWS} rows, got n_samples = {len(y)}."
            )
        X, columns = with_known_lengths(X), standard_columns(target, y)
        rounds = self._rounds(X, columns, target, y)
        turns = not sparse.issparse(rounds.rows.X) and X.shape[1] <= MOST_COLUMNS
        chains = rounds.play(self._modes(turns), self.n_rounds)
        played = [rounds.first, *(one for chain in chains.values() for one in chain[1:])]
        named = isinstance(self.mode, str) and self.mode != "auto"
        chosen = choose_round(played[1:] if named else played, rounds.held)
        matrix = chosen.matrix
        if chosen.mode is not None and len(y) > _CHOOSING_ROWS:
            chain = chains[chosen.mode][: chosen.number + 1]
            steps = [(one.bandwidth, one.predictor.penalty) for one in chain[:-1]]
            matrix = rounds.replay(chosen.mode, steps, X, columns)
        self._describe(rounds, chosen.predictor, turns)
        # None is stored as "": keys of a model file are strings
        self._by_mode = {
            mode or "": self._kept(rounds, one.matrix, one.gamma)
            for mode, one in best_rounds(played).items()
        }
        self._by_mode[chosen.mode or ""] = self._kept(rounds, matrix, chosen.gamma)
        self._use(chosen.mode)
        self.history_ = [one.record for one in played]
        return self

    def refit(self, X: Any, y: Any) -> Self:
        """Repeat the rounds of every mode on other rows, without a search.

        Meant for more rows of the same kind, or for other parts of them. Bandwidths, penalties and
        the number of rounds are those found by `fit`; this takes a fraction of the time.

        Parameters
        ----------
        X, y : see :meth:`fit`
            Rows with the same columns, and the same kind of targets, as in `fit`.

        Returns
        -------
        GradientMetric
            A fitted copy; this one is unchanged.

        Examples
        --------
        >>> import numpy as np
        >>> from bochner import GradientMetric
        >>> X = np.random.RandomState(0).uniform(-2, 2, size=(1000, 5))
        >>> y = np.sin(2 * X[:, 0])
        >>> half = GradientMetric(n_frequencies=64, random_state=0).fit(X[::2], y[::2])
        >>> other = half.refit(X[1::2], y[1::2])
        >>> bool(other.importances_[0] > 0.95), other.mode_ == half.mode_
        (True, True)
        """
        check_is_fitted(self)
        other = copy(self)
        X, y, target = other._validate_labelled(X, y, reset=False)
        X, columns = with_known_lengths(X), standard_columns(target, y)
        rounds = other._rounds(X, columns, target, None)
        plain, by_mode = np.ones(self.n_features_in_), {}
        first = rounds.predictor(plain, _step(self.history_[0]), X, columns)
        for mode in self.modes_:
            *before, last = self._steps(mode)
            matrix = plain
            if mode is not None:
                matrix = rounds.replay(mode, before, X, columns, first)
            if mode == self.mode_:
                predictor = first if mode is None else rounds.predictor(matrix, last, X, columns)
            gamma = gamma_of(rounds.distance(matrix) * last[0])
            by_mode[mode or ""] = other._kept(rounds, matrix, gamma)
        other._describe(rounds, predictor, self.directions_ is not None)
        other._by_mode = by_mode
        return other._use(self.mode_)

    def _steps(self, mode: str | None) -> list[Step]:
        """Return the settings of the rounds up to the best one of a mode."""
        records = [one for one in self.history_ if one["mode"] in (None, mode)]
        own = [one for one in records if one["mode"] == mode]
        last = min(own, key=lambda one: float(one["error"]))["round"]
        return [_step(one) for one in records if one["round"] <= last]

    def with_mode(self, mode: str | None) -> Self:
        """Return the metric of another mode that was tried, without needing the data.

        Parameters
        ----------
        mode : str or None
            One of :attr:`modes_`.

        Returns
        -------
        GradientMetric
            A fitted copy with the matrix of the mode's best round, and without other modes; this
            one is unchanged.
        """
        check_is_fitted(self)
        if mode not in self.modes_:
            raise ValueError(f"mode={mode!r} was not looked at, only {list(self.modes_)}.")
        other = copy(self)._use(mode)
        other._by_mode = {mode or "": self._by_mode[mode or ""]}
        return other

    @property
    def modes_(self) -> tuple[str | None, ...]:
        """Modes that were tried, including None."""
        return tuple(mode or None for mode in self._by_mode)

    def _kept(self, rounds: Rounds, matrix: Float, gamma: float) -> tuple[Float, float]:
        """Return the matrix of a round, scaled so that rows keep their variance, and its gamma."""
        scale = scale_keeping_variance(rounds.rows.X, matrix)
        return scale * matrix, gamma / scale**2

    def _use(self, mode: str | None) -> Self:
        self._matrix, self.gamma_ = self._by_mode[mode or ""]
        self.mode_ = mode
        return self

    def _modes(self, turns: bool) -> tuple[str, ...]:
        """Return the modes to play; directions are rotated only where that is possible."""
        if self.mode is None:
            return ()
        if self.mode == "auto" or isinstance(self.mode, tuple):
            asked = tuple(MODES) if self.mode == "auto" else self.mode
            unknown = [mode for mode in asked if mode not in MODES]
            if unknown:
                raise ValueError(f"mode={self.mode!r} must hold some of {list(MODES)}.")
            return tuple(mode for mode in MODES if mode in asked and (turns or mode == DIAGONAL))
        if self.mode != DIAGONAL and not turns:
            raise ValueError(
                f"mode={self.mode!r} turns directions, which is for dense rows of at most "
                f"{MOST_COLUMNS} columns; use mode={DIAGONAL!r}, or principal components first."
            )
        return (self.mode,)

    def _rounds(self, X: Any, columns: Float, target: Target, y: NDArray[Any] | None) -> Rounds:
        """Return rounds on some rows, judged by the others; on all rows if `y` is None."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        classes, state = target.classes is not None, RandomState(seed)
        rows = judges = Rows(X, columns, classes)
        if y is not None:
            kept, held = hold_out(
                y,
                seed,
                classes=classes,
                fraction=self.validation_fraction,
                max_rows=_CHOOSING_ROWS,
            )
            rows, judges = (
                Rows(rows_at(X, index), columns[index], classes) for index in (kept, held)
            )
        directions = draw_frequencies(
            Gaussian(gamma=0.5), self.n_frequencies, self.n_features_in_, random_state=state
        )
        directions[constant_columns(rows.X)] = 0.0  # nothing is known of a change along them
        sample = sample_rows(rows.X, _MEDIAN_ROWS, state)
        return Rounds(rows, judges, directions, sample, seed, **self._engine_options())

    def _describe(self, rounds: Rounds, predictor: Predictor, turns: bool) -> None:
        """Set importances and directions from the gradients of the chosen round's function."""
        M = rounds.outer_product(predictor, rounds.rows.X, None if turns else DIAGONAL)
        weights = np.diagonal(M) if turns else M
        total = weights.sum()
        self.importances_ = (
            weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
        )
        self.directions_ = np.linalg.eigh(M)[1].T[::-1].copy() if turns else None

    @property
    def matrix_(self) -> Any:
        """Matrix that rows are multiplied by."""
        return as_matrix(self._matrix, MOST_COLUMNS)

    def _features(self, X: Any) -> Any:
        meta = as_float(X._meta) if is_dask(X) and self._matrix.ndim == 1 else None
        return map_rows(transformed, X, X.shape[1], shared={"L": self._matrix}, meta=meta)

    @property
    def _n_features_out(self) -> int:
        return len(self._matrix)


def _step(record: Mapping[str, Any]) -> Step:
    return record["bandwidth"], record["penalty"]
