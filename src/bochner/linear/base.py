"""What the heads share: checks, the path of penalties, and linear decisions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bochner.engine.places import cast, convert, is_device, to_numpy
from bochner.engine.summaries import rows_at
from bochner.linear.penalty import choose_penalty
from bochner.linear.scoring import MEASURES
from bochner.linear.splits import hold_out

Columns = NDArray[np.float64]


class LinearHead(BaseEstimator):
    """What the heads share.

    Features are dense, float32 or float64, in NumPy or on a device, where they stay.
    """

    squares: ClassVar[bool] = False  # whether decisions are of least squares
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

        `Cs` goes from the smallest to the largest; None is :meth:`default_Cs`.
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
        return X, *self._check_targets(y, sample_weight)

    def _check_targets(self, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Targets, and the weights of the rows with those of their classes."""
        y = np.asarray(y)
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
        return y, weights

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


class LinearClassifierHead(ClassifierMixin, LinearHead):
    """What the heads for classes share."""

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
