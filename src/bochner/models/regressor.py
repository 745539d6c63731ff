"""KernelRegressor: the best kernel model for regression, in one line."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, _fit_context
from sklearn.exceptions import DataConversionWarning

from bochner.engine.places import is_dask, to_numpy
from bochner.engine.rowwise import with_known_lengths
from bochner.guarantees.guarantee import Guarantee
from bochner.linear.heads import RidgeRegressor
from bochner.linear.kernel_ridge import RidgeEquations
from bochner.linear.scoring import ScoredOnHost
from bochner.models.certificates import certify_large_errors
from bochner.models.judge import Judge
from bochner.models.kernel_model import Float, KernelModel
from bochner.models.methods import Task
from bochner.models.settings import Tried
from bochner.weights import rows_with_weight


class KernelRegressor(ScoredOnHost, MultiOutputMixin, KernelModel):
    r"""The best kernel model for a regression task, with every choice made on held-out rows.

    It works like :class:`KernelClassifier`, with choices made by the squared error on held-out
    rows. Its certificate bounds the share of new rows whose error is larger than that of nine in
    ten held-out rows.

    Parameters
    ----------
    n_components, features, kernel, metric, scaling, penalty, validation_fraction, time_budget, \
            n_jobs, random_state, verbose
        The same as for :class:`KernelClassifier`.

    Attributes
    ----------
    pipeline_, preparation_, search_results_, chosen_, importances_, columns_, n_features_in_
        The same as for :class:`KernelClassifier`.
    certificate_ : Guarantee
        A bound on the share of new rows whose error exceeds ``details["error"]``, for the same
        setting trained without the held-out rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> X = np.random.RandomState(0).uniform(-2, 2, size=(400, 3))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1]
    >>> model = KernelRegressor(n_components=200, random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.95)
    True
    """

    _task: ClassVar[Task] = "regression"

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose a model on held-out rows and train it on all rows.

        Parameters
        ----------
        X : array-like, table, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.
        y : array-like of shape (n,) or (n, k)
            Targets, one number per row, or one per row and output.
        sample_weight : array of shape (n,) or None, default=None
            Weights of the rows; rows of weight 0 are left out altogether. The metric does not
            use the weights.

        Returns
        -------
        self
        """
        X = with_known_lengths(self._numbers_of(X, reset=True))
        X, y, sample_weight = rows_with_weight(X, _numbers(y, X.shape[0]), sample_weight)
        return self._fit(X, y, self._weights(y, sample_weight))

    def predict(self, X: Any) -> Any:
        """Predict the target of every row, on the device of `X`.

        Parameters
        ----------
        X : array-like, table, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n,), or (n, k) for several outputs
        """
        return self._values(X, "predict")

    def _columns(self, y: NDArray[Any]) -> Float:
        columns = y[:, None] if y.ndim == 1 else y
        self._shift, spread = columns.mean(axis=0), columns.std(axis=0)
        if not spread.any():
            raise ValueError("y is constant: there is nothing to learn from.")
        self._spread = np.where(spread > 0, spread, 1.0)
        return np.asarray((columns - self._shift) / self._spread)

    def _of_targets(self, equations: RidgeEquations) -> RidgeEquations:
        return equations.with_targets(self._spread, self._shift)

    def _head(self, C: float) -> RidgeRegressor:
        return RidgeRegressor(C)

    def _certify(self, best: Tried, judge: Judge, n_settings: int) -> Guarantee:
        spread = float(self._spread[0]) if judge.held.y.ndim == 1 else 1.0
        return certify_large_errors(best, judge.parts, n_settings, spread)


def _numbers(y: Any, n_rows: float) -> NDArray[np.float64]:
    """Return the targets as float64 on the host, with one entry per row."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    if is_dask(y):
        y = y.compute()
    y = to_numpy(y)
    try:
        y = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers, got {y.dtype}.") from error
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected.",
            DataConversionWarning,
            stacklevel=3,
        )
        y = y[:, 0]
    if y.ndim not in (1, 2):
        raise ValueError(f"y must have shape (n,) or (n, k), got {y.shape}.")
    if not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity.")
    if n_rows == n_rows and len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {len(y)}]"
        )
    return y
