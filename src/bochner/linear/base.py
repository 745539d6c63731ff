"""Base classes of the heads: checks, the path of penalties, and linear decisions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bochner.engine.places import cast, convert, is_dask, is_device, to_numpy
from bochner.engine.rowwise import map_rows, with_known_lengths
from bochner.engine.summaries import choose_rows, rows_at
from bochner.linear.blocks import (
    ArrayBlocks,
    Blocks,
    TargetColumns,
    as_blocks,
    balanced,
    class_columns,
    label_counts,
    unchanged,
)
from bochner.linear.penalty import choose_penalty
from bochner.linear.scoring import MEASURES
from bochner.linear.splits import hold_out

Columns = NDArray[np.float64]

_CHOICE_ROWS = 20_000  # rows of a dask array on which C="auto" is chosen


class LinearHead(BaseEstimator):
    """Base class of the heads.

    Features are dense, in float32 or float64: NumPy arrays, arrays on a device, where they stay,
    or dask arrays, of which one block is held at a time.
    """

    squares: ClassVar[bool] = False  # whether decisions come from least squares
    C: float | Literal["auto"]
    validation_fraction: float
    random_state: int | None

    @staticmethod
    def default_Cs(n_rows: int) -> tuple[float, ...]:
        """Return the penalties to choose from for `n_rows` rows, strongest first.

        A choice among them is a position in this list: the penalty that is used is the one at that
        position for the number of rows that are fitted.
        """
        raise NotImplementedError

    def _columns(self, y: Any) -> Columns:
        """Return the targets as columns to be fitted; sets `classes_` of classifiers."""
        raise NotImplementedError

    def _solutions(
        self, features: Any, columns: Columns, weights: Any, Cs: Sequence[float]
    ) -> Iterator[tuple[Any, Any]]:
        """Yield coefficients of shape (D, k) and intercepts of shape (k,) for each penalty."""
        raise NotImplementedError

    def _solve_blocks(
        self, blocks: Blocks, function: Callable[[Any], Any], targets: TargetColumns
    ) -> tuple[Any, Any]:
        """Return the same for the penalty ``C_`` alone, in passes over blocks."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit with the penalty `C`; ``"auto"`` first chooses it on held-out rows.

        Parameters
        ----------
        X : array or dask array of shape (n, D)
            Features. With a dask array, the penalty is chosen on at most 20000 rows, and all rows
            are fitted.
        y : array of shape (n,)
            Targets.
        sample_weight : array of shape (n,) or None, default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        if is_dask(X):
            return self._fit_dask(ArrayBlocks.of(X, y, sample_weight))
        X, y, weights = self._check(X, y, sample_weight)
        columns = self._columns(y)
        self.C_ = self._choose(X, y, weights) if self.C == "auto" else float(self.C)
        ((coefficients, intercepts),) = self._solutions(X, columns, weights, [self.C_])
        return self._keep(coefficients, intercepts, X.dtype)

    def fit_blocks(
        self,
        blocks: Any,
        function: Callable[[Any], Any] | None = None,
        *,
        classes: Any = None,
    ) -> Self:
        """Fit on rows that come in blocks, of which one is held at a time.

        Parameters
        ----------
        blocks : iterable of tuples, or object with a method ``reduce``
            Blocks ``(X, y)`` or ``(X, y, sample_weight)``. Least squares need one pass, the
            squared hinge loss one pass per Newton step: a generator may not be enough.
        function : callable, optional
            Function from rows `X` to their features, such as the `transform` of a fitted map. It
            is called with a few thousand rows at a time. By default the rows are the features.
        classes : array, optional
            Classes of a classifier. By default they are found in an extra pass.

        Returns
        -------
        self
            Head with float64 coefficients on the host; `C` must be a number.

        Examples
        --------
        >>> import numpy as np
        >>> from bochner.linear import SquaredHingeClassifier
        >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
        >>> head = SquaredHingeClassifier(C=100.0).fit_blocks([(X[:3], y[:3]), (X[3:], y[3:])])
        >>> head.coef_.round(3)
        array([[0.998]])
        """
        self._check_C(number=True)
        return self._fit_blocks(as_blocks(blocks), function or unchanged, classes, float(self.C))

    def _fit_blocks(
        self, blocks: Blocks, function: Callable[[Any], Any], classes: Any, C: float
    ) -> Self:
        self.C_ = float(C)
        targets = self._target_columns(blocks, classes)
        coefficients, intercepts = self._solve_blocks(blocks, function, targets)
        self.n_features_in_ = int(coefficients.shape[0])
        return self._keep(to_numpy(coefficients), to_numpy(intercepts), np.float64)

    def fit_map(self, feature_map: Any, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on the features of rows, which are computed block by block and never kept.

        Parameters
        ----------
        feature_map : object with a method ``transform``
            Fitted map.
        X : array, sparse matrix, device array or dask array of shape (n, d)
            Rows, as the map takes them.
        y : array or dask array of shape (n,)
            Targets.
        sample_weight : array of shape (n,) or None, default=None
            Weights of the rows.

        Returns
        -------
        self
            Head with coefficients on the host; `C` must be a number.
        """
        self._check_C(number=True)
        return self._fit_map(feature_map, X, y, sample_weight)

    def _fit_map(self, feature_map: Any, X: Any, y: Any, sample_weight: Any) -> Self:
        return self.fit_blocks(ArrayBlocks.of(X, y, sample_weight), feature_map.transform)

    def _fit_dask(self, blocks: ArrayBlocks) -> Self:
        """Fit on all rows, with the given penalty or with one chosen on a sample."""
        self._check_C()
        if self.C != "auto":
            return self._fit_blocks(blocks, unchanged, None, self.C)
        n = with_known_lengths(blocks.X).shape[0]
        rows = choose_rows(n, _CHOICE_ROWS, np.random.RandomState(self.random_state))
        self.choice_ = clone(self).fit(*blocks.rows(rows)).choice_
        return self._fit_blocks(blocks, unchanged, None, self.default_Cs(n)[self.choice_.position])

    def _target_columns(self, blocks: Blocks, classes: Any) -> TargetColumns:
        """Return how the targets of a block become columns; sets `classes_` of classifiers."""
        return TargetColumns()

    def _choose(self, X: Any, y: Any, weights: Any) -> float:
        """Return the penalty for all rows at the position in the path that held-out rows chose."""
        is_class = isinstance(self, ClassifierMixin)
        kept, held = hold_out(
            y, self.random_state, classes=is_class, fraction=self.validation_fraction
        )
        # the weights include those of the classes already
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
        """Yield fitted heads for several penalties, each computed when it is asked for.

        `Cs` goes from the smallest to the largest; None stands for :meth:`default_Cs`.
        """
        X, y, weights = self._check(X, y, sample_weight)
        columns = self._columns(y)
        Cs = self.default_Cs(len(columns)) if Cs is None else Cs
        with warnings.catch_warnings():
            # The weakest penalties may stop short of the optimum and are judged all the same.
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

    def to_host(self) -> Self:
        """Move coefficients that a fit has left on a device to the host."""
        self.coef_, self.intercept_ = to_numpy(self.coef_), to_numpy(self.intercept_)
        return self

    def _check_C(self, *, number: bool = False) -> None:
        C: Any = self.C
        if number and C == "auto":
            raise ValueError("C must be a number for rows that come in blocks, got 'auto'.")
        if C != "auto" and not (isinstance(C, Real) and 0 < float(C) < np.inf):
            raise ValueError(
                f"C must be a finite number greater than 0 or 'auto', got {self.C!r}."
            )

    def _check(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[Any, Any, Any]:
        self._check_C()
        if is_device(X):
            y = to_numpy(y)
            validate_data(self, X, reset=reset, skip_check_array=True)
        else:
            X, y = validate_data(
                self,
                X,
                y,
                reset=reset,
                dtype=[np.float64, np.float32],
                multi_output=isinstance(self, MultiOutputMixin),
                y_numeric=isinstance(self, RegressorMixin),
            )
        return X, *self._check_targets(y, sample_weight)

    def _check_targets(self, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Return the targets, and the weights of the rows times those of their classes."""
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
        if is_dask(X):
            width = None if self.coef_.ndim == 1 else len(self.coef_)
            return map_rows(self._decisions, X, width)
        if is_device(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        coefficients = convert(self.coef_, X)
        if coefficients.ndim == 2:
            coefficients = coefficients.T
        return X @ coefficients + convert(self.intercept_, X)


class LinearClassifierHead(ClassifierMixin, LinearHead):
    """Base class of the heads for classes."""

    classes_: NDArray[Any]

    class_weight: Any

    def _columns(self, y: Any) -> Columns:
        """Return one column of -1 and +1 per class; a single column for two classes."""
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least 2 classes, got one class only: {self.classes_[0]!r}."
            )
        return class_columns(index, np.arange(len(self.classes_)))

    def _target_columns(self, blocks: Blocks, classes: Any) -> TargetColumns:
        is_balanced = isinstance(self.class_weight, str) and self.class_weight == "balanced"
        counts = label_counts(blocks) if classes is None or is_balanced else None
        self.classes_ = np.sort(np.asarray(list(counts or ()) if classes is None else classes))
        check_classification_targets(self.classes_)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least 2 classes, got {self.classes_.tolist()}.")
        weights = None
        if counts is not None and is_balanced:
            weights = balanced(counts, self.classes_)
        elif self.class_weight is not None:
            weights = compute_class_weight(
                self.class_weight, classes=self.classes_, y=self.classes_
            )
        return TargetColumns(self.classes_, weights)

    def decision_function(self, X: Any) -> Any:
        """Compute the decision values of the linear model, where `X` is.

        Parameters
        ----------
        X : array of shape (n, D)
            Features.

        Returns
        -------
        array of shape (n,) for two classes, otherwise (n, n_classes)
            Decision values.
        """
        decisions = self._decisions(X)
        return decisions[:, 0] if len(self.classes_) == 2 else decisions

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : array of shape (n, D)
            Features.

        Returns
        -------
        ndarray of shape (n,)
            Predicted classes.
        """
        if is_dask(X):
            return map_rows(
                self.predict, X, None, dtype=self.classes_.dtype, meta=self.classes_[:0]
            )
        decisions = to_numpy(self.decision_function(X))
        if decisions.ndim == 1:
            return self.classes_[(decisions > 0).astype(np.intp)]
        return self.classes_[decisions.argmax(axis=1)]
