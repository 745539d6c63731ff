r"""Linear models on features, as scikit-learn estimators: the head of every model of this package.

All heads weigh the loss with `C`,

.. math:: \min_{w, b} \; \tfrac12 |w|^2 + C \sum_i s_i \, \ell(y_i, \varphi(x_i) \cdot w + b) ,

with the squared hinge or with squares, whose ``alpha`` in scikit-learn is :math:`1 / (2 C)`. The
intercept is not penalised. Each head solves a whole path of `C` for little more than one of them
(:meth:`LinearHead.path`), and with ``C="auto"`` chooses from it on held-out rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bochner.engine.places import cast, convert, is_device, to_numpy
from bochner.engine.summaries import rows_at
from bochner.linear.normal_equations import NormalEquations
from bochner.linear.scoring import MEASURES, Measure
from bochner.linear.splits import HELD_OUT, hold_out
from bochner.linear.squared_hinge import squared_hinge_path

PATIENCE = 2  # penalties in a row that do worse than an earlier one: the path ends

_HINGE_CS = tuple(float(10.0**k) for k in range(-4, 5))
_RIDGES = tuple(float(10.0**k) for k in range(0, -9, -1))  # alpha for each row
_FLOAT32_TOLERANCE = 1e-5  # from here float32 is precise enough, and three times as fast
_SHARED = 5  # penalties solved together: the larger ones cost most, and may not be asked for
_MOST_ROTATED = 2000

Columns = NDArray[np.float64]


class LinearHead(BaseEstimator):
    """What the heads share: checks, the path of penalties, and linear decisions.

    Features are dense, float32 or float64, in NumPy or on a device, where they stay.
    """

    C: float | Literal["auto"]
    validation_fraction: float
    random_state: int | None

    @staticmethod
    def default_Cs(n_rows: int) -> tuple[float, ...]:
        """Penalties to choose from for this many rows, from the strongest to the weakest.

        A choice among them is a position: the penalty there for as many rows as are fitted.
        """
        raise NotImplementedError

    def _columns(self, y: Any) -> Columns:
        """Targets as columns to be fitted; sets `classes_` of classifiers."""
        raise NotImplementedError

    def _solutions(
        self, features: Any, columns: Columns, weights: Any, Cs: Sequence[float]
    ) -> Iterator[tuple[Any, Any]]:
        """Coefficients of shape (D, k) and intercepts of shape (k,), for each penalty."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit with the penalty `C`, which ``"auto"`` chooses on held-out rows first.

        Parameters
        ----------
        X : array of shape (n, D)
            Features.
        y : array of shape (n,)
            Targets.
        sample_weight : array of shape (n,) or None, default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        X, y, weights = self._check(X, y, sample_weight)
        columns = self._columns(y)
        self.C_ = self._choose(X, y, weights) if self.C == "auto" else float(self.C)
        ((coefficients, intercepts),) = self._solutions(X, columns, weights, [self.C_])
        return self._keep(coefficients, intercepts, X.dtype)

    def _choose(self, X: Any, y: Any, weights: Any) -> float:
        """The best penalty on held-out rows: the one at its position in the path of all rows."""
        is_class = isinstance(self, ClassifierMixin)
        kept, held = hold_out(
            y, self.random_state, classes=is_class, fraction=self.validation_fraction
        )
        # weights have those of the classes in them already
        head = clone(self).set_params(**({"class_weight": None} if is_class else {}))
        self.choice_ = choose_penalty(
            head,
            rows_at(X, kept),
            y[kept],
            rows_at(X, held),
            y[held],
            MEASURES["accuracy" if is_class else "R2"],
            sample_weight=None if weights is None else weights[kept],
        )
        return self.default_Cs(len(y))[self.choice_.position]

    def path(
        self, X: Any, y: Any, Cs: Sequence[float] | None = None, sample_weight: Any = None
    ) -> Iterator[Self]:
        """Fitted heads for several penalties, one after the other, as far as they are asked for.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        Cs : sequence of float or None, default=None
            From the smallest to the largest; None is :meth:`default_Cs`.

        Yields
        ------
        head
            Of the same class, with its `C`.
        """
        X, y, weights = self._check(X, y, sample_weight)
        columns = self._columns(y)
        Cs = self.default_Cs(len(columns)) if Cs is None else Cs
        with warnings.catch_warnings():
            # The weakest penalties may stop short of the optimum; they are judged like the others.
            warnings.simplefilter("ignore", ConvergenceWarning)
            for C, solution in zip(Cs, self._solutions(X, columns, weights, Cs), strict=True):
                head = clone(self).set_params(C=C)
                head.C_ = C
                for name in ("n_features_in_", "classes_", "_one_target"):
                    if hasattr(self, name):
                        setattr(head, name, getattr(self, name))
                yield head._keep(*solution, X.dtype)

    def _keep(self, coefficients: Any, intercepts: Any, dtype: Any) -> Self:
        self.coef_, self.intercept_ = cast(coefficients.T, dtype), cast(intercepts, dtype)
        return self

    def _check(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        C: Any = self.C
        if C != "auto" and not (isinstance(C, Real) and 0 < float(C) < np.inf):
            raise ValueError(
                f"C must be a finite number greater than 0 or 'auto', got {self.C!r}."
            )
        if is_device(X):
            y = to_numpy(y)
            validate_data(self, X, skip_check_array=True)
        else:
            X, y = validate_data(
                self,
                X,
                y,
                dtype=[np.float64, np.float32],
                multi_output=isinstance(self, MultiOutputMixin),
                y_numeric=isinstance(self, RegressorMixin),
            )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                to_numpy(sample_weight), y, dtype=np.float64, ensure_non_negative=True
            )
        class_weight = getattr(self, "class_weight", None)
        if class_weight is not None:
            by_class = compute_sample_weight(class_weight, y)
            weights = by_class if weights is None else weights * by_class
        if weights is not None and not weights.sum() > 0:
            raise ValueError("sample_weight must be positive for at least one row.")
        return X, y, weights

    def _decisions(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_device(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        coefficients = convert(self.coef_, X)
        if coefficients.ndim == 2:
            coefficients = coefficients.T
        return X @ coefficients + convert(self.intercept_, X)


class _ClassifierHead(ClassifierMixin, LinearHead):
    classes_: NDArray[Any]

    class_weight: Any

    def _columns(self, y: Any) -> Columns:
        """One column of -1 and +1 for each class; one column in all for two classes."""
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least 2 classes, got one class only: {self.classes_[0]!r}."
            )
        columns = np.where(index[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        return columns[:, 1:] if len(self.classes_) == 2 else columns

    def decision_function(self, X: Any) -> Any:
        """Values of the linear model, where `X` is.

        Parameters
        ----------
        X : array of shape (n, D)
            Features.

        Returns
        -------
        array of shape (n,) for two classes, otherwise (n, n_classes)
        """
        decisions = self._decisions(X)
        return decisions[:, 0] if len(self.classes_) == 2 else decisions

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row.

        Parameters
        ----------
        X : array of shape (n, D)
            Features.

        Returns
        -------
        ndarray of shape (n,)
        """
        decisions = to_numpy(self.decision_function(X))
        if decisions.ndim == 1:
            return self.classes_[(decisions > 0).astype(np.intp)]
        return self.classes_[decisions.argmax(axis=1)]


class SquaredHingeClassifier(_ClassifierHead):
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
            if 3 * width > n and min(n, width) <= _MOST_ROTATED:
                # So many columns of few rows are almost combinations of fewer.
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
                coefficients = solution.coefficients
                yield (
                    coefficients if basis is None else basis @ coefficients,
                    solution.intercepts,
                )


def row_space(features: NDArray[Any], smallest: float = 1e-9) -> NDArray[np.float64]:
    """Orthonormal columns V for which ``features @ V @ V.T`` is (almost) the features.

    Directions in which the squares of the rows sum to less than `smallest` times the largest are
    left out. As V is orthonormal, a penalty on the coefficients of ``features @ V`` is one on
    those of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear.heads import row_space
    >>> row_space(np.array([[3.0, 4.0]])).round(3)
    array([[0.6],
           [0.8]])
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


class _Ridge(LinearHead):
    @staticmethod
    def default_Cs(n_rows: int) -> tuple[float, ...]:
        """Penalties in proportion to the number of rows: alpha from `n` to a billionth of it."""
        return tuple(1 / (2 * alpha * n_rows) for alpha in _RIDGES)

    def _solutions(
        self, features: Any, columns: Columns, weights: Any, Cs: Sequence[float]
    ) -> Iterator[tuple[Any, Any]]:
        equations = NormalEquations.from_rows(features, columns, weights)
        return equations.path([1 / (2 * C) for C in Cs])


class RidgeClassifier(_Ridge, _ClassifierHead):
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


@dataclass(frozen=True)
class PenaltyChoice:
    """The penalty that did best on held-out rows.

    Attributes
    ----------
    position : int
        In the path.
    C : float
        With the rows that were fitted.
    judged : float
        What the choice was made by, see :meth:`bochner.linear.scoring.Measure.judge`.
    score : float
        The measure on the held-out rows.
    scores : tuple of float
        What all penalties that were tried were judged by.
    """

    position: int
    C: float
    judged: float
    score: float
    scores: tuple[float, ...]


def choose_penalty(
    head: LinearHead,
    features: Any,
    y: Any,
    held_features: Any,
    held_y: Any,
    measure: Measure,
    *,
    Cs: Sequence[float] | None = None,
    sample_weight: Any = None,
    patience: int | None = PATIENCE,
) -> PenaltyChoice:
    """The penalty of the path that is best on held-out rows; of equally good ones the strongest.

    Parameters
    ----------
    head : LinearHead
        Unfitted.
    features, y, sample_weight
        Rows to fit.
    held_features, held_y
        Rows to judge by.
    measure : Measure
        What is measured.
    Cs : sequence of float or None, default=None
        From the smallest to the largest; None is the head's own path.
    patience : int or None, default=2
        The path ends when so many in a row did worse than the best so far; None goes to the end.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner.linear.heads import RidgeClassifier, choose_penalty
    >>> from bochner.linear.scoring import MEASURES
    >>> X, y = load_iris(return_X_y=True)
    >>> choice = choose_penalty(
    ...     RidgeClassifier(), X[::2], y[::2], X[1::2], y[1::2], MEASURES["accuracy"])
    >>> bool(choice.score > 0.8)
    True
    """
    best: tuple[int, float, Any] | None = None
    scores: list[float] = []
    worse = 0
    for position, fitted in enumerate(head.path(features, y, Cs, sample_weight)):
        judged = measure.judge(
            held_y, _decided(fitted, held_features), getattr(fitted, "classes_", None)
        )
        scores.append(judged)
        if best is None or judged > best[1]:
            best, worse = (position, judged, fitted), 0
        else:
            worse += judged < best[1]
        if worse == patience:
            break
    assert best is not None, "the path has no penalty"
    position, judged, fitted = best
    score = measure.score(held_y, to_numpy(fitted.predict(held_features)))
    return PenaltyChoice(position, fitted.C_, judged, score, tuple(scores))


def _decided(head: Any, features: Any) -> NDArray[Any]:
    decide = getattr(head, "decision_function", head.predict)
    return to_numpy(decide(features))
