"""KernelClassifier: the best kernel model for classification, in one line."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from bochner.engine.places import to_numpy
from bochner.engine.rowwise import with_known_lengths
from bochner.guarantees.guarantee import Guarantee
from bochner.linear.heads import RidgeClassifier, SquaredHingeClassifier
from bochner.models.calibration import fit_slope, sloped_probabilities
from bochner.models.certificates import certify_error_rate
from bochner.models.hinge import fit_hinge
from bochner.models.judge import Judge
from bochner.models.kernel_model import Float, KernelModel
from bochner.models.methods import Task
from bochner.models.settings import HINGE, SQUARES, Loss, Tried
from bochner.targets import check_labels
from bochner.weights import rows_with_weight


class KernelClassifier(ClassifierMixin, KernelModel):
    r"""The best kernel model for a classification task, with every choice made on held-out rows.

    The model is a pipeline of four steps: columns are scaled
    (:class:`~bochner.models.scaling.ColumnScaler`), rotated or weighted by a learned metric
    (:class:`~bochner.GradientMetric`, :class:`~bochner.RelevanceMetric`), mapped to features of a
    kernel, and separated by least squares on one column of -1 and 1 per class. A fifth of the
    rows, at most 4000, is held out; with at most 1000 rows each fifth is held out in turn, with up
    to 2500 rows some of the fifths. Everything left open is chosen on these rows, from coarse to
    fine: first the scaling, then whether the metric helps, then the kernel and its bandwidth, each
    with its best penalty, and the best kernels also with column weights learned for them. The best
    few candidates are then compared on increasing numbers of rows. Choices are made by the
    logistic loss of the margins: the simplest setting within half a standard error of the best is
    taken, unless in the end another one is right more often by one and a half standard errors.
    Where all rows are landmarks, the model may be the mean of two models with different kernels or
    metrics, if that is better. Finally, the model is trained on all rows.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of features. With ``"auto"``, all rows are landmarks of the kernel if there are at
        most 40000 (100000 on a CUDA device with PyTorch, 20000 with a `time_budget` or in a dask
        or CuPy array) and 24 bytes of memory for each pair of them (48 on a device), so that the
        model is the exact kernel method; with more rows, 2048 features are used.
    features : str or estimator, default="auto"
        The feature map: ``"auto"``, the name of a map (``"FourierFeatures"``,
        ``"NystroemFeatures"``, ``"MercerFeatures"``, ...), or an unfitted map of your own.
    kernel : str or kernel object, default="auto"
        The kernel. ``"auto"`` chooses among the Gaussian kernel, the Matern kernel of smoothness
        3/2, the exponential kernel and the Laplacian kernel. Alternatively, one of these by its
        name in `chosen_`, or a name or kernel of :mod:`bochner.kernels`.
    metric : {"auto", "diagonal", "root", "full", "relevance"} or None, default="auto"
        The metric: a mode of :class:`~bochner.GradientMetric`, or ``"relevance"`` for a
        :class:`~bochner.RelevanceMetric` learned for the kernel itself. ``"auto"`` leaves the
        metric out where it does not help.
    scaling : {"auto", "standard", "none", "robust", "quantile"}, default="auto"
        How the columns are scaled.
    penalty : float or "auto", default="auto"
        Penalty of the linear model per row, ``alpha / n``.
    loss : {"auto", "squared_error", "squared_hinge"}, default="auto"
        Loss of the linear model. The squared hinge loss takes several times as long and is meant
        for features of many rows: ``"auto"`` tries it with more than 12500 rows, unless all of
        them are landmarks, or margins are short for so many that it would take far longer. It is
        then chosen if it misclassifies fewer held-out rows; where only a part of the rows is
        searched, unless it misclassifies clearly more.
    validation_fraction : float, default=0.2
        Fraction of the rows held out to make choices; with few rows, the fraction held out in
        each split.
    time_budget : float or None, default=None
        Number of seconds that the fit should take. The search ends early to meet it; steps that
        have begun are finished.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    n_jobs : int, default=None
        Number of CPU threads used in `fit` and in predictions. None means as many as BLAS may
        use; -1 means all.
    random_state : int, RandomState instance or None, default=None
        Controls which rows are held out, and the randomness of the maps.
    verbose : int, default=0
        Whether to print every setting that is tried.

    Attributes
    ----------
    pipeline_ : Pipeline
        The fitted model, with the steps ``prepare`` (where the rows need it), ``scaling``,
        ``metric`` (where it helps), ``map`` and ``head``. For the mean of two models, ``map``
        holds the scaling, metric and map of both.
    preparation_ : transformer or None
        The transformer that converts the rows to numbers; None if they are numbers without
        missing values.
    search_results_ : list of dict
        Every setting that was tried, with its score on the held-out rows and the time in seconds.
    chosen_ : dict
        The entry of `search_results_` that was chosen; its key ``"averaged_with"`` holds the
        setting of the second model, or None.
    importances_ : ndarray of shape (n_columns,) or None
        How much the function learned with the metric changes along each scaled column, or the
        squared column weights if those were chosen; they sum to 1. None if no metric was looked
        for.
    columns_ : list of str or None
        Names of these columns if the rows were prepared; None if they are the columns of the rows.
    certificate_ : Guarantee
        A bound on the error rate of the same setting trained without the held-out rows; with few
        rows, a bound on the mean error rate of several such models.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Notes
    -----
    With more than 20000 rows, settings are chosen on a sample of that size and the model is
    trained on all rows; features are computed a block at a time, so that memory does not grow with
    the number of rows. Rows may be NumPy arrays, tables, memory maps, sparse matrices, arrays on a
    device, or dask arrays.

    Tables may hold categories, text with few distinct values, dates and missing values, and NumPy
    arrays may hold NaN. Categories become columns of zeros and ones, dates become days, and
    missing values are replaced by the median, with an added column that says where they were.
    Columns that do not vary, and text in which most rows have a value of their own, are left out.
    A model fitted to rows without missing values does not accept them in predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier(n_components=64, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> list(model.pipeline_.named_steps)[-1]
    'head'
    """

    _task: ClassVar[Task] = "classification"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "loss": [StrOptions({"auto", SQUARES, HINGE})],
        "class_weight": [dict, list, str, None],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        features: Any = "auto",
        kernel: Any = "auto",
        metric: Any = "auto",
        scaling: Any = "auto",
        penalty: Any = "auto",
        loss: Literal["auto"] | Loss = "auto",
        validation_fraction: float = 0.2,
        time_budget: float | None = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_components,
            features=features,
            kernel=kernel,
            metric=metric,
            scaling=scaling,
            penalty=penalty,
            validation_fraction=validation_fraction,
            time_budget=time_budget,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.loss = loss
        self.class_weight = class_weight

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose a model on held-out rows and train it on all rows.

        Parameters
        ----------
        X : array-like, table, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array of shape (n,) or None, default=None
            Weights of the rows; rows of weight 0 are left out altogether. The metric does not
            use the weights.

        Returns
        -------
        self
        """
        X = with_known_lengths(self._numbers_of(X, reset=True))
        y = check_labels(y, X.shape[0])
        if y.ndim > 1:
            raise ValueError(f"y must hold one class per row, got {y.shape[1]} columns.")
        check_classification_targets(y)
        X, y, sample_weight = rows_with_weight(X, y, sample_weight)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only, {self.classes_[0]}: there is nothing to tell apart."
            )
        return self._fit(X, y, self._weights(y, sample_weight))

    def decision_function(self, X: Any) -> Any:
        """Compute the values of the linear model, on the device of `X`.

        Parameters
        ----------
        X : array-like, table, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n,) for two classes, otherwise (n, n_classes)
        """
        return self._values(X, "decision_function")

    def predict(self, X: Any) -> Any:
        """Predict the class of every row.

        Parameters
        ----------
        X : array-like, table, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n,)
        """
        return self._values(X, "predict")

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict probabilities of the classes, calibrated on the held-out rows.

        Parameters
        ----------
        X : array-like, table, sparse matrix or device array of shape (n, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return sloped_probabilities(to_numpy(self.decision_function(X)), self._slope)

    def _weights(self, y: NDArray[Any], sample_weight: Any) -> Float | None:
        weights = super()._weights(y, sample_weight)
        if self.class_weight is None:
            return weights
        by_class: Float = compute_sample_weight(self.class_weight, y)
        return by_class if weights is None else weights * by_class

    def _columns(self, y: NDArray[Any]) -> Float:
        columns = np.where(y[:, None] == self.classes_, 1.0, -1.0)
        return columns[:, 1:] if len(self.classes_) == 2 else columns

    def _head(self, C: float) -> RidgeClassifier:
        return RidgeClassifier(C)

    def _fit_head(
        self, feature_map: Any, X: Any, y: NDArray[Any], weights: Float | None, C: float
    ) -> Any:
        if self.chosen_["loss"] == SQUARES:
            return super()._fit_head(feature_map, X, y, weights, C)
        return fit_hinge(SquaredHingeClassifier(C), feature_map, X, y, weights)

    def _certify(self, best: Tried, judge: Judge, n_settings: int) -> Guarantee:
        self._slope = fit_slope(best.decisions, np.searchsorted(self.classes_, judge.held.y))
        return certify_error_rate(best, judge.parts, n_settings)
