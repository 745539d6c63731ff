r"""Linear models on features, as scikit-learn estimators: the head of every model of this package.

All heads weigh the loss with `C`,

.. math:: \min_{w, b} \; \tfrac12 |w|^2 + C \sum_i s_i \, \ell(y_i, \varphi(x_i) \cdot w + b) ,

with the squared hinge or with squares, whose ``alpha`` in scikit-learn is :math:`1 / (2 C)`. The
intercept is not penalised. Each head solves a whole path of `C` for little more than one of them
(:meth:`LinearHead.path`), and with ``C="auto"`` chooses from it on held-out rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin

from bochner.engine.places import to_numpy
from bochner.linear.base import Columns, LinearClassifierHead, LinearHead
from bochner.linear.blocks import Blocks, TargetColumns, as_blocks, unchanged
from bochner.linear.hinge_passes import HingePasses
from bochner.linear.kernel_ridge import RidgeEquations, ridge_equations
from bochner.linear.normal_equations import NormalEquations
from bochner.linear.splits import HELD_OUT
from bochner.linear.squared_hinge import squared_hinge_path

_HINGE_CS = tuple(float(10.0**k) for k in range(-4, 5))
_RIDGES = tuple(float(10.0**k) for k in range(0, -9, -1))  # alpha for each row
_FLOAT32_TOLERANCE = 1e-5  # from here float32 is precise enough, and three times as fast
_SHARED = 5  # penalties solved together: the larger ones cost most, and may not be asked for
_MAX_ROTATED = 2000


class SquaredHingeClassifier(LinearClassifierHead):
    r"""Linear support vector machine with the squared hinge loss, solved by Newton's method.

    One model for each class against the others; one in all for two classes.

    Parameters
    ----------
    C : float or "auto", default=1.0
        Weight of the loss; ``"auto"`` chooses it on held-out rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    tol : float, default=1e-4
        Largest norm of the gradient relative to its norm at zero. From 1e-5 on the products with
        the features are done in float32.
    max_steps : int, default=50
        Most Newton steps.
    validation_fraction : float, default=0.25
        Share of the rows that ``C="auto"`` holds out.
    random_state : int or None, default=None
        Decides which rows these are.

    Attributes
    ----------
    coef_ : array of shape (k, D)
        Coefficients; `k` is 1 for two classes.
    intercept_ : array of shape (k,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    C_ : float
        The penalty that was used.
    choice_ : PenaltyChoice
        What the held-out rows said, with ``C="auto"``.

    See Also
    --------
    bochner.linear.squared_hinge_path : The solver.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner.linear import SquaredHingeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(SquaredHingeClassifier(C=10.0).fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        C: float | Literal["auto"] = 1.0,
        *,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_steps: int = 50,
        validation_fraction: float = HELD_OUT,
        random_state: int | None = None,
    ) -> None:
        self.C, self.class_weight = C, class_weight
        self.tol, self.max_steps = tol, max_steps
        self.validation_fraction, self.random_state = validation_fraction, random_state

    @staticmethod
    def default_Cs(n_rows: int) -> tuple[float, ...]:
        """Powers of ten, whatever the number of rows."""
        return _HINGE_CS

    def _solutions(
        self, features: Any, columns: Columns, weights: Any, Cs: Sequence[float]
    ) -> Iterator[tuple[Any, Any]]:
        basis = None
        if isinstance(features, np.ndarray):
            n, width = features.shape
            if 3 * width > n and min(n, width) <= _MAX_ROTATED:
                # The columns of few rows are almost combinations of fewer.
                basis = row_space(features)
                features = features @ basis
            if self.tol >= _FLOAT32_TOLERANCE:
                features = features.astype(np.float32, copy=False)
        last = None
        for group in (Cs[:_SHARED], *([C] for C in Cs[_SHARED:])):
            solutions = squared_hinge_path(
                features,
                columns,
                group,
                start=last,
                sample_weight=weights,
                tol=self.tol,
                max_steps=self.max_steps,
            )
            last = solutions[-1]
            for solution in solutions:
                W = solution.coefficients
                yield W if basis is None else basis @ W, solution.intercepts

    def _solve_blocks(
        self, blocks: Blocks, function: Callable[[Any], Any], targets: TargetColumns
    ) -> tuple[Any, Any]:
        if self.tol >= _FLOAT32_TOLERANCE:
            function = partial(_single, function=function)
        return HingePasses(blocks, function, targets, self.C_).run(self.tol, self.max_steps)


def _single(X: Any, function: Callable[[Any], Any]) -> NDArray[np.float32]:
    return to_numpy(function(X)).astype(np.float32, copy=False)


def row_space(features: NDArray[Any], smallest: float = 1e-9) -> NDArray[np.float64]:
    """Orthonormal columns V for which ``features @ V @ V.T`` is (almost) the features.

    Directions in which the squares of the rows sum to less than `smallest` times the largest are
    left out. As V is orthonormal, a penalty on the coefficients of ``features @ V`` is one on
    those of the features.
    """
    features = features.astype(np.float64, copy=False)
    n, width = features.shape
    gram = features @ features.T if n < width else features.T @ features
    values, vectors = np.linalg.eigh(gram)
    if not values[-1] > 0:  # all zero: one direction is as good as another
        return np.eye(width, 1)
    large = values > smallest * values[-1]
    values, vectors = values[large], vectors[:, large]
    return features.T @ (vectors / np.sqrt(values)) if n < width else vectors


def _ridge_sums(
    X: Any,
    y: Any,
    weights: Any = None,
    *,
    function: Callable[[Any], Any],
    targets: TargetColumns,
) -> NormalEquations:
    columns, weights = targets(y, weights)
    return NormalEquations.from_map(function, X, columns, weights)


def _add_up(
    blocks: Blocks, function: Callable[[Any], Any], targets: TargetColumns
) -> NormalEquations:
    shared = {"function": function, "targets": targets}
    equations: NormalEquations = blocks.reduce(_ridge_sums, shared)
    if not equations.weight > 0:
        raise ValueError("sample_weight must be positive for at least one row.")
    if not all(np.isfinite(to_numpy(A)).all() for A in (equations.gram, equations.moments)):
        raise ValueError("the features or the targets of the ridge regression are not finite.")
    return equations


class _Ridge(LinearHead):
    squares = True

    @staticmethod
    def default_Cs(n_rows: int) -> tuple[float, ...]:
        """Penalties in proportion to the number of rows: alpha from `n` to a billionth of it."""
        return tuple(1 / (2 * alpha * n_rows) for alpha in _RIDGES)

    def _solutions(
        self, features: Any, columns: Columns, weights: Any, Cs: Sequence[float]
    ) -> Iterator[tuple[Any, Any]]:
        equations = NormalEquations.from_rows(features, columns, weights)
        return equations.path([1 / (2 * C) for C in Cs])

    def _solve_blocks(
        self, blocks: Blocks, function: Callable[[Any], Any], targets: TargetColumns
    ) -> tuple[Any, Any]:
        equations = _add_up(blocks, function, targets)
        self._one_target = len(equations.target_means) == 1
        return equations.solve(1 / (2 * self.C_))

    def sums(
        self, blocks: Any, function: Callable[[Any], Any] | None = None, *, classes: Any = None
    ) -> NormalEquations:
        """The sums over blocks of rows that this head is fitted from, in one pass.

        Parameters
        ----------
        blocks, function, classes
            As in :meth:`fit_blocks`.

        Returns
        -------
        NormalEquations
            For :meth:`fit_sums`, whatever the penalty.
        """
        blocks = as_blocks(blocks)
        return _add_up(blocks, function or unchanged, self._target_columns(blocks, classes))

    def _fit_map(self, feature_map: Any, X: Any, y: Any, sample_weight: Any) -> Self:
        y, weights = self._check_targets(y, sample_weight)
        columns = self._columns(y)
        alpha = 1 / (2 * float(self.C))
        equations = ridge_equations(feature_map, X, columns, weights, alpha)
        return self.fit_sums(equations.settled(alpha), y)

    def fit_sums(self, equations: RidgeEquations, y: Any) -> Self:
        """Fit from the sums over rows of their features and targets.

        Parameters
        ----------
        equations : NormalEquations or FactorisedKernel
            Of the features and of the columns that this head fits: numbers as they are, classes
            as -1 and 1.
        y : array of shape (n,)
            Targets, looked at for the classes.

        Returns
        -------
        self
            With coefficients on the host; `C` must be a number.
        """
        self._columns(y)
        self.C_, self.n_features_in_ = float(self.C), equations.n_features
        coefficients, intercepts = equations.solve(1 / (2 * self.C_))
        return self._keep(to_numpy(coefficients), to_numpy(intercepts), np.float64)


class RidgeClassifier(_Ridge, LinearClassifierHead):
    r"""Least squares on one column of -1 and +1 for each class.

    Parameters
    ----------
    C : float or "auto", default=1.0
        Weight of the loss; scikit-learn's ``alpha`` is :math:`1 / (2 C)`. ``"auto"`` chooses it
        on held-out rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    validation_fraction : float, default=0.25
        Share of the rows that ``C="auto"`` holds out.
    random_state : int or None, default=None
        Decides which rows these are.

    Attributes
    ----------
    coef_ : array of shape (k, D)
        Coefficients; `k` is 1 for two classes.
    intercept_ : array of shape (k,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    C_ : float
        The penalty that was used.
    choice_ : PenaltyChoice
        What the held-out rows said, with ``C="auto"``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner.linear import RidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(RidgeClassifier().fit(X, y).score(X, y) > 0.8)
    True
    """

    def __init__(
        self,
        C: float | Literal["auto"] = 1.0,
        *,
        class_weight: Any = None,
        validation_fraction: float = HELD_OUT,
        random_state: int | None = None,
    ) -> None:
        self.C, self.class_weight = C, class_weight
        self.validation_fraction, self.random_state = validation_fraction, random_state


class RidgeRegressor(RegressorMixin, MultiOutputMixin, _Ridge):
    r"""Least squares with a penalty on the squares of the coefficients.

    Parameters
    ----------
    C : float or "auto", default=1.0
        Weight of the loss; scikit-learn's ``alpha`` is :math:`1 / (2 C)`. ``"auto"`` chooses it
        on held-out rows.
    validation_fraction : float, default=0.25
        Share of the rows that ``C="auto"`` holds out.
    random_state : int or None, default=None
        Decides which rows these are.

    Attributes
    ----------
    coef_ : array of shape (D,), or (k, D) for several targets
        Coefficients.
    intercept_ : float or array of shape (k,)
        Intercepts.
    C_ : float
        The penalty that was used.
    choice_ : PenaltyChoice
        What the held-out rows said, with ``C="auto"``.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import RidgeRegressor
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> RidgeRegressor(C=1e6).fit(x, 2 * x[:, 0] + 1).predict([[3.0]]).round(3)
    array([7.])
    """

    def __init__(
        self,
        C: float | Literal["auto"] = 1.0,
        *,
        validation_fraction: float = HELD_OUT,
        random_state: int | None = None,
    ) -> None:
        self.C = C
        self.validation_fraction, self.random_state = validation_fraction, random_state

    def _columns(self, y: Any) -> Columns:
        y = np.asarray(y, dtype=np.float64)
        self._one_target = y.ndim == 1
        return y[:, None] if y.ndim == 1 else y

    def _keep(self, coefficients: Any, intercepts: Any, dtype: Any) -> Self:
        super()._keep(coefficients, intercepts, dtype)
        if self._one_target:
            self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]
        return self

    def predict(self, X: Any) -> Any:
        """Predicted numbers, where `X` is.

        Parameters
        ----------
        X : array of shape (n, D)
            Features.

        Returns
        -------
        array of shape (n,), or (n, k) for several targets
        """
        return self._decisions(X)
