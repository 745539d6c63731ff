r"""Linear models on features, as scikit-learn estimators: the heads of this package's models.

All heads weigh the loss by `C`,

.. math:: \min_{w, b} \; \tfrac12 |w|^2 + C \sum_i s_i \, \ell(y_i, \varphi(x_i) \cdot w + b) ,

where the loss is the squared hinge or the squared error; for the latter, scikit-learn's ``alpha``
is :math:`1 / (2 C)`. The intercept is not penalised. Each head solves a whole path of values of
`C` for little more than the cost of one (:meth:`LinearHead.path`), and with ``C="auto"`` chooses
from that path on held-out rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.metaestimators import available_if

from bochner.engine.places import cast, is_device, namespace, to_numpy
from bochner.linear.base import Columns, LinearClassifierHead
from bochner.linear.blocks import Blocks, TargetColumns
from bochner.linear.hinge_passes import HingePasses
from bochner.linear.ridge_head import RidgeHead, penalty_is_given
from bochner.linear.row_space import RowSpace
from bochner.linear.scoring import ScoredOnHost
from bochner.linear.splits import HELD_OUT
from bochner.linear.squared_hinge import squared_hinge_path

_HINGE_CS = tuple(float(10.0**k) for k in range(-4, 7))
_FLOAT32_TOLERANCE = 1e-5  # from here on float32 may be precise enough; it is 3 times as fast
_MOST_ROUNDING = 10.0  # largest rounding of the Gram matrix in float32, relative to the penalty
_SHARED = 5  # penalties solved together: the larger ones cost most, and may not be needed
_MAX_ROTATED = 2000


class SquaredHingeClassifier(LinearClassifierHead):
    r"""Linear support vector machine with the squared hinge loss, solved by Newton's method.

    One model per class against the others; a single model for two classes.

    Parameters
    ----------
    C : float or "auto", default=1.0
        Weight of the loss; ``"auto"`` chooses it on held-out rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    tol : float, default=1e-4
        Tolerance for both the norm of the gradient relative to its norm at zero, and the predicted
        decrease of the objective relative to the objective. From 1e-5 on, products with the
        features are computed in float32 where that is precise enough.
    max_steps : int, default=50
        Maximum number of Newton steps.
    validation_fraction : float, default=0.25
        Fraction of the rows that ``C="auto"`` holds out.
    random_state : int or None, default=None
        Controls which rows are held out.

    Attributes
    ----------
    coef_ : array of shape (k, D)
        Coefficients, where `k` is 1 for two classes and the number of classes otherwise.
    intercept_ : array of shape (k,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    C_ : float
        Value of `C` that was used.
    choice_ : PenaltyChoice
        Result of the choice on held-out rows. Only with ``C="auto"``.

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
        """Return powers of ten, whatever the number of rows."""
        return _HINGE_CS

    def _solutions(
        self, features: Any, columns: Columns, weights: Any, Cs: Sequence[float]
    ) -> Iterator[tuple[Any, Any]]:
        space = None
        if isinstance(features, np.ndarray):
            n, width = features.shape
            if 3 * width > n and min(n, width) <= _MAX_ROTATED:
                # With few rows, the columns are nearly combinations of fewer columns.
                space = RowSpace.of(features)
                features = space.features
        last, rounded = None, self._rounded(features)
        for group in (Cs[:_SHARED], *([C] for C in Cs[_SHARED:])):
            solutions = squared_hinge_path(
                rounded(max(group, default=0.0)),
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
                yield W if space is None else space.coefficients(W), solution.intercepts

    def _rounded(self, features: Any) -> Callable[[float], Any]:
        """Return the features as a function of `C`: in float32 where that is precise enough."""
        if not isinstance(features, np.ndarray) or self.tol < _FLOAT32_TOLERANCE:
            return lambda C: features
        single = features.astype(np.float32, copy=False)
        energy = float(np.vdot(single, single))
        return lambda C: single if _rounds_little(C, energy) else features

    def _solve_blocks(
        self, blocks: Blocks, function: Callable[[Any], Any], targets: TargetColumns
    ) -> tuple[Any, Any]:
        passes = HingePasses(blocks, function, targets, self.C_)
        if self.tol >= _FLOAT32_TOLERANCE:
            single = HingePasses(blocks, partial(_single, function=function), targets, self.C_)
            passes = single if _rounds_little(self.C_, single.energy()) else passes
        return passes.run(self.tol, self.max_steps)


def _rounds_little(C: float, energy: float) -> bool:
    """Whether a Gram matrix in float32, rounded in proportion to its trace, will do for `C`."""
    return bool(2 * C * np.finfo(np.float32).eps * energy <= _MOST_ROUNDING)


def _single(X: Any, function: Callable[[Any], Any]) -> Any:
    features = function(X)
    features = features if is_device(features) else to_numpy(features)
    return cast(features, namespace(features).float32)


class RidgeClassifier(RidgeHead, LinearClassifierHead):
    r"""Ridge regression on one column of -1 and +1 per class.

    Parameters
    ----------
    C : float or "auto", default=1.0
        Weight of the loss; scikit-learn's ``alpha`` is :math:`1 / (2 C)`. ``"auto"`` chooses it
        on held-out rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    validation_fraction : float, default=0.25
        Fraction of the rows that ``C="auto"`` holds out.
    random_state : int or None, default=None
        Controls which rows are held out.

    Attributes
    ----------
    coef_ : array of shape (k, D)
        Coefficients, where `k` is 1 for two classes and the number of classes otherwise.
    intercept_ : array of shape (k,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    C_ : float
        Value of `C` that was used.
    choice_ : PenaltyChoice
        Result of the choice on held-out rows. Only with ``C="auto"``.

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

    @available_if(penalty_is_given)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Fit to these rows together with those of earlier calls, of which sums are kept.

        Parameters
        ----------
        X : array or dask array of shape (n, D)
            Features.
        y : array of shape (n,)
            Classes.
        classes : array or None, default=None
            All classes; by default, those in the rows of the first call.
        sample_weight : array of shape (n,) or None, default=None
            Weights of the rows.

        Returns
        -------
        self
            The same as after `fit` on all rows; rows of an earlier `fit` are forgotten. Each call
            solves a system of `D` equations, so a few thousand rows at a time add little cost.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bochner.linear import RidgeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> whole = RidgeClassifier().fit(X, y)
        >>> head = RidgeClassifier().partial_fit(X[:60], y[:60], classes=[0, 1, 2])
        >>> bool(np.allclose(head.partial_fit(X[60:], y[60:]).coef_, whole.coef_))
        True
        """
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once: give a dict."
            )
        known = self.classes_ if hasattr(self, "_sums") else None
        if (
            known is not None
            and classes is not None
            and not np.array_equal(np.sort(classes), known)
        ):
            raise ValueError(f"classes are {known.tolist()} since the first call, got {classes}.")
        if classes is None:
            classes = np.unique(to_numpy(y)) if known is None else known
        return self._add_rows(X, y, sample_weight, classes)


class RidgeRegressor(ScoredOnHost, MultiOutputMixin, RidgeHead):
    r"""Least squares with a penalty on the squared coefficients.

    Parameters
    ----------
    C : float or "auto", default=1.0
        Weight of the loss; scikit-learn's ``alpha`` is :math:`1 / (2 C)`. ``"auto"`` chooses it
        on held-out rows.
    validation_fraction : float, default=0.25
        Fraction of the rows that ``C="auto"`` holds out.
    random_state : int or None, default=None
        Controls which rows are held out.

    Attributes
    ----------
    coef_ : array of shape (D,), or (k, D) for several targets
        Coefficients.
    intercept_ : float or array of shape (k,)
        Intercepts.
    C_ : float
        Value of `C` that was used.
    choice_ : PenaltyChoice
        Result of the choice on held-out rows. Only with ``C="auto"``.

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
        """Predict the targets of rows, where `X` is.

        Parameters
        ----------
        X : array of shape (n, D)
            Features.

        Returns
        -------
        array of shape (n,), or (n, k) for several targets
            Predicted targets.
        """
        return self._decisions(X)

    @available_if(penalty_is_given)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to these rows together with those of earlier calls, of which sums are kept.

        Parameters
        ----------
        X : array or dask array of shape (n, D)
            Features.
        y : array of shape (n,) or (n, k)
            Targets.
        sample_weight : array of shape (n,) or None, default=None
            Weights of the rows.

        Returns
        -------
        self
            The same as after `fit` on all rows; rows of an earlier `fit` are forgotten.

        Examples
        --------
        >>> import numpy as np
        >>> from bochner.linear import RidgeRegressor
        >>> x = np.linspace(0, 1, 20)[:, None]
        >>> head = RidgeRegressor(C=1e6)
        >>> for rows in (x[:5], x[5:]):
        ...     head = head.partial_fit(rows, 2 * rows[:, 0] + 1)
        >>> head.predict([[3.0]]).round(3)
        array([7.])
        """
        return self._add_rows(X, y, sample_weight)
