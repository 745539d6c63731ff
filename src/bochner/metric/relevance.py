"""RelevanceMetric: weights of the columns with which a kernel predicts unseen rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from bochner.base import SupervisedFeatureMap
from bochner.engine.pairs.forms import form_of
from bochner.engine.places import as_float, is_dask
from bochner.engine.rowwise import map_rows, with_known_lengths
from bochner.engine.summaries import constant_columns, sample_rows, take_part
from bochner.fourier.bandwidth import SHARED_CONSTRAINTS, median_distance
from bochner.kernels import StandardKernel, kernel_object
from bochner.metric.descent import Descent
from bochner.metric.matrices import MOST_COLUMNS, as_matrix, scale_keeping_variance, transformed
from bochner.metric.predictor import standard_columns
from bochner.targets import TargetKind

Float = NDArray[np.float64]

RELEVANCE = "relevance"  # its name in a choice among metrics
_MOST_ROWS = 12_500  # rows that the steps draw theirs from
_MOST_NUMBERS = 2**26  # entries in the rows of a step, which are dense
_FEWEST_ROWS = 10
_MEDIAN_ROWS = 500  # enough rows to know the median distance to one per cent


class RelevanceMetric(SupervisedFeatureMap):
    r"""Weights of the columns, found by descent on the held-out error of a kernel.

    A kernel of weighted columns, :math:`k(w \circ x, w \circ z)`, ignores a column whose weight is
    zero and resolves fine detail along one whose weight is large. The weights descend the squared
    error that kernel ridge regression makes on rows it was not fitted to; each step fits and
    judges different rows, and the gradient with respect to all weights costs about as much as the
    error itself. (This is known as automatic relevance determination.)

    :class:`GradientMetric` asks along which columns *and directions* a function changes, which
    takes a few regressions. This class asks which weights predict best, column by column, for the
    very kernel that is used afterwards. On tables whose columns are quantities in their own right
    the difference is large: see :doc:`/metric`.

    Parameters
    ----------
    kernel : str or kernel object, default="exponential"
        Kernel that the weights are for: a function of the Euclidean distance, or ``"laplacian"``,
        a function of the sum of absolute differences. Its own `gamma` is ignored, since the size
        of the weights is learned.
    n_steps : int, default=30
        Number of steps of the descent.
    n_rows : int, default=1000
        Number of rows that a step is fitted on; as many others judge it. At most half of all rows,
        and half as many in the first half of the steps.
    step : float, default=0.25
        Size of a step in the logarithms of the weights.
    start : array-like of shape (n_features,), default=None
        Initial weights, up to a common factor; None is one for every column.
    target : {"auto", "classification", "regression"}, default="auto"
        Kind of target in `y`; ``"auto"`` treats floating-point numbers as regression.
    n_jobs : int, default=None
        Number of CPU threads. None uses as many as BLAS may use, -1 all.
    random_state : int, RandomState instance or None, default=None
        Controls which rows a step sees.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features_in_,)
        Weights that the columns are multiplied by; 0 for constant columns. They are scaled so that
        the rows keep their variance (over all entries): a `gamma` that suits the rows before the
        transformation is of the right size after it.
    gamma_ : float
        `gamma` of the kernel that did best, for transformed rows.
    penalty_ : float
        Penalty of that regression per row it was fitted to.
    importances_ : ndarray of shape (n_features_in_,)
        Squared weights, normalised to sum to 1. They depend on the units of the columns:
        standardise them first to compare.
    history_ : list of float
        Squared error of each step, on its own held-out rows, relative to that of the mean.
    n_features_in_ : int
        Number of columns seen in `fit`.

    See Also
    --------
    GradientMetric : Directions as well as columns, and whether any of it helps.

    Notes
    -----
    The weights are used whether or not they help; :class:`KernelClassifier` and
    :class:`KernelRegressor` compare them with other metrics on held-out rows. Columns should be of
    comparable size: standardise them first. Steps draw their rows from at most 12500 rows.

    No bound that assumes a fixed kernel holds for a kernel whose weights were learned on the same
    rows.

    References
    ----------
    R. M. Neal, Bayesian Learning for Neural Networks, Springer 1996 (relevance of columns).
    H. Owhadi and G. R. Yoo, Kernel flows, Journal of Computational Physics 2019 (random splits).

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RelevanceMetric
    >>> X = np.random.RandomState(0).uniform(-2, 2, size=(600, 10))
    >>> y = np.sin(2 * X[:, 0]) + np.abs(X[:, 1])               # 2 of 10 columns matter
    >>> metric = RelevanceMetric(random_state=0).fit(X, y)
    >>> np.sort(np.argsort(metric.importances_)[-2:])
    array([0, 1])
    >>> bool(metric.importances_[:2].sum() > 0.98)
    True
    """

    _learned: ClassVar[str] = "history_"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [str, HasMethods(["__call__"])],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "n_rows": [Interval(Integral, 1, None, closed="left")],
        "step": [Interval(Real, 0, None, closed="neither")],
        "start": ["array-like", None],
        "target": [StrOptions({"auto", "classification", "regression"})],
        **{name: SHARED_CONSTRAINTS[name] for name in ("n_jobs", "random_state")},
    }

    def __init__(
        self,
        kernel: Any = "exponential",
        *,
        n_steps: int = 30,
        n_rows: int = 1000,
        step: float = 0.25,
        start: Any = None,
        target: TargetKind = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_steps = n_steps
        self.n_rows = n_rows
        self.step = step
        self.start = start
        self.target = target
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the weights.

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
        kernel = self._kernel_of_unit_length()
        X, y, target = self._validate_labelled(X, y, sample_weight)
        if len(y) < _FEWEST_ROWS:
            raise ValueError(
                "weights are learned from some rows and judged by others: at least "
                f"{_FEWEST_ROWS} rows are needed, got n_samples = {len(y)}."
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        state = RandomState(seed)
        X, y = take_part(with_known_lengths(X), y, state, most_rows=_MOST_ROWS)
        n_rows = min(self.n_rows, len(y) // 2)
        if 2 * n_rows * X.shape[1] > _MOST_NUMBERS:
            raise ValueError(
                f"n_rows={self.n_rows} of {X.shape[1]} columns are too many for a step: take "
                f"fewer rows, at most {_MOST_NUMBERS // (2 * X.shape[1])}, or fewer columns."
            )
        start = self._start(X, kernel, state)
        varies = start > 0
        descent = Descent(X, standard_columns(target, y), kernel, n_rows, seed, self._n_threads())
        found = descent.run(np.where(varies, start, 1.0), self.n_steps, self.step)
        weights = np.where(varies, np.exp(found.weights), 0.0)
        scale = scale_keeping_variance(X, weights)
        self.weights_ = scale * weights
        self.gamma_ = kernel.gamma_for_distance(scale)
        self.penalty_ = float(np.exp(found.penalty))
        squares = weights**2 if varies.any() else np.ones_like(weights)
        self.importances_ = squares / squares.sum()
        self.history_ = descent.errors
        return self

    def _kernel_of_unit_length(self) -> StandardKernel:
        kernel = kernel_object(self.kernel)
        if isinstance(kernel, StandardKernel):
            unit = kernel.with_gamma(kernel.gamma_for_distance(1.0))
            form = form_of(unit)
            if form is not None and form.is_of_one_distance:
                return unit
        raise ValueError(
            f"kernel={self.kernel!r} must be a function of one distance between rows: "
            "'gaussian', 'exponential', 'laplacian', or a Matern kernel."
        )

    def _start(self, X: Any, kernel: Any, state: RandomState) -> Float:
        """Return initial weights of a size that suits the kernel, 0 for constant columns."""
        d = X.shape[1]
        start = np.ones(d) if self.start is None else np.asarray(self.start, np.float64)
        if start.shape != (d,) or not (np.isfinite(start).all() and (start > 0).all()):
            raise ValueError(
                f"start must hold a positive number for each of {d} columns, got {self.start!r}."
            )
        start = np.where(constant_columns(X), 0.0, start / start.max())
        rows = transformed(sample_rows(X, _MEDIAN_ROWS, state), start)
        name = getattr(kernel, "metric", "euclidean")
        return start / (median_distance(rows, name, state) or 1.0)

    @property
    def mode_(self) -> str:
        """Name of this metric in a choice among metrics."""
        return RELEVANCE

    @property
    def directions_(self) -> None:
        """None: columns are weighed, not turned."""
        return

    @property
    def matrix_(self) -> Any:
        """Matrix that rows are multiplied by, see :class:`GradientMetric`."""
        return as_matrix(self.weights_, MOST_COLUMNS)

    def _features(self, X: Any) -> Any:
        meta = as_float(X._meta) if is_dask(X) else None
        return map_rows(transformed, X, X.shape[1], shared={"L": self.weights_}, meta=meta)

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)
