"""Kernel ridge regression with the Gaussian kernel at all rows, as an estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.engine import kernel_rows
from bochner.engine.places import cast, single_dtype, to_numpy, wide_dtype
from bochner.kernels import Gaussian
from bochner.linear.kernel_ridge import KernelEquations

_ACCEPTED: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class GaussianKernelRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Kernel ridge regression with the Gaussian kernel and an intercept.

    .. math:: f(x) = b + \sum_i a_i \exp(-\gamma |x - x_i|^2), \qquad
        \min_{a, b} \; \sum_i |y_i - f(x_i)|^2 + \alpha \|f - b\|_k^2 .

    This is scikit-learn's ``KernelRidge(kernel="rbf")`` for centred kernel and targets. Its
    Cholesky factor is computed in float32 where that is precise enough, see
    :mod:`bochner.linear.kernel_ridge`, in a third of the time.

    Parameters
    ----------
    alpha : float, default=1.0
        The penalty.
    gamma : float, default=1.0
        Parameter of the kernel.

    Attributes
    ----------
    X_fit_ : array or sparse matrix of shape (n, n_features_in_)
        Rows seen in `fit`.
    dual_coef_ : array of shape (n,) or (n, k)
        Coefficients :math:`a`, which sum to zero.
    intercept_ : float or array of shape (k,)
        Intercepts :math:`b`.
    n_features_in_ : int
        Number of columns seen in `fit`.

    See Also
    --------
    bochner.KernelRegressor : Chooses kernel, metric and penalty as well.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear.exact import GaussianKernelRidge
    >>> x = np.linspace(0, 3, 50)[:, None]
    >>> model = GaussianKernelRidge(alpha=1e-3).fit(x, np.sin(x[:, 0]))
    >>> model.predict([[0.5]]).round(2)
    array([0.48])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, alpha: float = 1.0, *, gamma: float = 1.0) -> None:
        self.alpha = alpha
        self.gamma = gamma

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Compute the coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows.
        y : array-like of shape (n,) or (n, k)
            Numbers.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, **_ACCEPTED)
        columns = np.asarray(y, np.float64).reshape(len(y), -1)

        def kernel(single: bool) -> Any:
            rows = cast(X, single_dtype(X) if single else wide_dtype(X))
            return kernel_rows(rows, rows, self._kernel)

        settled = KernelEquations(kernel, columns).settled(float(self.alpha), last=True)
        coefficients, intercepts = map(to_numpy, settled.solve())
        one = y.ndim == 1
        self.X_fit_ = X
        self.dual_coef_ = coefficients[:, 0] if one else coefficients
        self.intercept_ = float(intercepts[0]) if one else intercepts
        return self

    def predict(self, X: Any) -> Any:
        """Predict numbers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            Rows.

        Returns
        -------
        array of shape (m,) or (m, k)
            Predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **_ACCEPTED)
        columns = self.dual_coef_.reshape(self.X_fit_.shape[0], -1)
        values = kernel_rows(X, self.X_fit_, self._kernel, normalization=columns)
        return (values[:, 0] if self.dual_coef_.ndim == 1 else values) + self.intercept_

    @property
    def _kernel(self) -> Gaussian:
        return Gaussian(gamma=float(self.gamma))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __bochner_check__(self) -> bool:
        """Whether there is a coefficient for every row."""
        return bool(len(self.dual_coef_) == self.X_fit_.shape[0])
