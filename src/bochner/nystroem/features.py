"""NystroemFeatures: the kernel's own values at landmarks, orthogonalised."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bochner import engine
from bochner.base import FeatureMap
from bochner.engine.places import (
    cast,
    convert,
    float_dtype,
    is_host,
    namespace,
    result_dtype,
    to_numpy,
    wide_dtype,
)
from bochner.engine.rowwise import map_batches, map_rows
from bochner.fourier.bandwidth import DEFAULT_GAMMA, MOST, SHARED_CONSTRAINTS, resolve_kernel
from bochner.kernels import SpectralKernel
from bochner.nystroem.landmarks import LANDMARKS, choose_landmarks, diagonal
from bochner.nystroem.normalization import floor, normalize

_BATCH = 2**22  # features held in float64 at once, where they are not the result


class NystroemWarning(UserWarning):
    """Warning that fewer directions than columns could be told apart."""


def _is_orthogonal(features: NystroemFeatures) -> bool:
    if not features.orthogonal:
        raise AttributeError("orthogonal=False: kernel values are not features of the kernel.")
    return True


class NystroemFeatures(FeatureMap):
    r"""Features of a kernel from landmarks (Nystroem).

    With landmarks `Z` and their kernel matrix :math:`K_{ZZ} = U\, \mathrm{diag}(e)\, U^\top`,

    .. math::

        \varphi(x) = k(x, Z)\, R, \qquad R R^\top = U\, \mathrm{diag}(1 / e)\, U^\top, \qquad
        \varphi(x) \cdot \varphi(y) \approx k(x, y),

    which is the projection of the kernel's own features onto those of the landmarks. It is exact
    between landmarks, never too long, and needs only values of the kernel: kernels whose random
    frequencies are far too long, above all the exponential kernel, are no harder than others.

    Parameters
    ----------
    n_components : int, default=100
        Number of output columns and of landmarks.
    kernel : {"gaussian", "laplacian", "cauchy", "matern", "exponential"} or kernel object, \
            default="gaussian"
        Kernel to approximate; any positive semi-definite function of two sets of rows that returns
        the matrix of values will do. One without a profile in closed form is called on the host.
    gamma : float, "scale" or "median", default="median"
        See :class:`FourierFeatures`.
    landmarks : {"random", "kmeans", "leverage", "all"} or array of shape (m, n_features), \
            default="random"
        Random rows; centroids of k-means (large numbers of them after few steps); rows drawn by
        ridge leverage, which favours rows that few others represent; all rows; or points of your
        own. With the last two, their number replaces `n_components`.
    orthogonal : bool, default=True
        Whether kernel values are multiplied by `R`. False leaves them as they are: the columns
        :math:`k(x, Z)` that the coefficients of a kernel expansion belong to. With
        ``landmarks="all"``, the ridge heads of this package turn them into a kernel ridge
        regression.
    n_jobs : int, default=None
        Number of CPU threads. None uses as many as BLAS may use, -1 all.
    memory_budget : int, default=None
        Bytes of scratch memory for arrays on a device; None is 1 GiB.
    random_state : int, RandomState instance or None, default=None
        Controls the choice of landmarks, which does not depend on the number of threads.

    Attributes
    ----------
    landmarks_ : ndarray or sparse matrix of shape (m, n_features_in_)
        The landmarks; fewer than `n_components` where there are fewer rows.
    eigenvalues_ : ndarray of shape (m,)
        Eigenvalues of the kernel matrix of the landmarks, the largest first.
    normalization_ : ndarray of shape (m, n_components)
        The matrix `R`, upper triangular where all directions are kept. None with
        ``orthogonal=False``.
    n_directions_ : int
        Number of columns that are not zero: of eigenvalues above `m` times the largest times the
        precision of float64. The others cannot be told from rounding.
    kernel_ : kernel object
        Kernel with its `gamma` as a number.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if all of them are strings.

    See Also
    --------
    FourierFeatures : Random frequencies; no landmarks, and cheaper for smooth kernels.
    MercerFeatures : Better where a density of the rows is known.
    sklearn.kernel_approximation.Nystroem : The same kernel, up to a rotation of the columns.

    Notes
    -----
    With all rows as landmarks, :math:`\Phi \Phi^\top = K`. `transform` costs `n m (d + m / 2)`
    multiplications; predictions of a linear model on top cost `n m (d + 1)` with :meth:`linear`.

    Features of float32 rows are computed in float64 where eigenvalues are too small for float32:
    a few features may do without the small ones, many cannot.

    References
    ----------
    C. K. I. Williams and M. Seeger, Using the Nystrom method to speed up kernel machines,
    NIPS 2000.

    C. Musco and C. Musco, Recursive sampling for the Nystrom method, NIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from bochner import NystroemFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(NystroemFeatures(300, kernel="exponential", random_state=0),
    ...                       RidgeClassifier(alpha=0.01))
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    _learned: ClassVar[str] = "normalization_"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "n_components": [Interval(Integral, 1, MOST, closed="both")],
        "kernel": [str, callable],
        "landmarks": [StrOptions(set(LANDMARKS)), "array-like", "sparse matrix"],
        "orthogonal": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: str | SpectralKernel = "gaussian",
        gamma: float | str = DEFAULT_GAMMA,
        landmarks: Any = "random",
        orthogonal: bool = True,
        n_jobs: int | None = None,
        memory_budget: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.landmarks = landmarks
        self.orthogonal = orthogonal
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks and orthogonalise their kernel rows.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        X = self._validate_rows(X, reset=True)
        random_state = check_random_state(self.random_state)
        self.kernel_ = self._resolve_kernel(X, random_state)
        self.landmarks_ = self._place_landmarks(X, random_state)
        self.normalization_ = self._normalization() if self.orthogonal else None
        return self

    def _normalization(self) -> NDArray[np.float64]:
        points = self.landmarks_.astype(np.float64)
        K = engine.kernel_rows(points, points, self.kernel_, **self._engine_options())
        found = normalize(K, float(np.finfo(np.float64).eps), self.kernel_)
        self.n_directions_, self._range = found.matrix.shape[1], (found.least, found.largest)
        counted = isinstance(self.landmarks, str) and self.landmarks != "all"
        width = int(self.n_components) if counted else points.shape[0]
        matrix = np.zeros((points.shape[0], width))
        matrix[:, : self.n_directions_] = found.matrix
        if self.n_directions_ < width:
            warnings.warn(
                f"only {self.n_directions_} directions of {points.shape[0]} landmarks differ by "
                f"more than rounding, fewer than n_components={width}: the other columns are "
                "zero. Use fewer components, or landmarks that differ more.",
                NystroemWarning,
                stacklevel=4,  # scikit-learn calls `fit` through a wrapper
            )
        return matrix

    def _resolve_kernel(self, X: Any, random_state: RandomState) -> Any:
        """Return the kernel; nothing is drawn from it here, so that any callable will do."""
        if callable(self.kernel) and not hasattr(self.kernel, "sample"):
            return self.kernel
        return resolve_kernel(self.kernel, self.gamma, X, random_state)

    def _place_landmarks(self, X: Any, random_state: RandomState) -> Any:
        dtype = float_dtype(X)
        if isinstance(self.landmarks, str):
            rule, count = self.landmarks, self.n_components
            chosen = choose_landmarks(rule, X, count, self.kernel_, random_state)
            return chosen.astype(dtype, copy=False)
        points = check_array(
            self.landmarks, accept_sparse="csr", dtype=dtype, input_name="landmarks"
        )
        if points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"landmarks have {points.shape[1]} columns, but X has {self.n_features_in_}."
            )
        return points

    def _features(self, X: Any) -> Any:
        return self._times(X, self.normalization_)

    def linear(self, X: Any, coefficients: Any) -> Any:
        """Compute ``transform(X) @ coefficients`` without the features themselves.

        The coefficients are multiplied by the normalization first: this takes `n m (d + k)`
        instead of `n m (d + m / 2)` multiplications and holds nothing as wide as the features.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.
        coefficients : array of shape (n_components, k)
            Coefficients of a linear model, one column per output.

        Returns
        -------
        array of shape (n, k)
            The products, of the kind and dtype that `transform` returns.
        """
        check_is_fitted(self)
        X = self._validate_rows(X, reset=False)
        coefficients = to_numpy(coefficients).astype(np.float64)
        if self.normalization_ is not None:
            coefficients = self.normalization_.astype(np.float64) @ coefficients
        return self._times(X, coefficients)

    @property
    def expands_rows(self) -> bool:
        """Whether the columns are plain values of the kernel at the rows of `fit`."""
        return not self.orthogonal and isinstance(self.landmarks, str) and self.landmarks == "all"

    def _times(self, X: Any, matrix: NDArray[Any] | None) -> Any:
        """Return ``k(X, Z) matrix``, in float64 where float32 rounding would drown directions."""
        options = {"kernel": self.kernel_, **self._engine_options()}
        shared = {"Z": self.landmarks_, "normalization": matrix}
        if matrix is not None and float_dtype(X) == np.float32 and not self._single_will_do():
            height = _BATCH // matrix.shape[1]
            return map_rows(
                _in_float64, X, matrix.shape[1], shared=shared, height=height, **options
            )
        return engine.kernel_rows(X, **shared, **options)

    def _single_will_do(self) -> bool:
        if self.normalization_ is None:  # coefficients of weak penalties cancel
            return False
        least, largest = self._range
        epsilon = float(np.finfo(np.float32).eps)
        return self.n_directions_ == 0 or least > floor(len(self.normalization_), largest, epsilon)

    @property
    def eigenvalues_(self) -> NDArray[np.float64]:
        """Eigenvalues of the kernel matrix of the landmarks, the largest first."""
        check_is_fitted(self)
        points = self.landmarks_.astype(np.float64)
        K = engine.kernel_rows(points, points, self.kernel_)
        return np.asarray(np.linalg.eigvalsh(0.5 * (K + K.T))[::-1])

    @available_if(_is_orthogonal)  # type: ignore[untyped-decorator]
    def residual(self, X: Any) -> Any:
        r"""Compute the residual of every row, :math:`r(x) = k(x, x) - |\varphi(x)|^2 \ge 0`.

        The residual is what the features miss of a row. It is exact up to rounding, for any rows:
        :math:`|k(x, y) - \varphi(x) \cdot \varphi(y)| \le \sqrt{r(x)\, r(y)}` for every pair, and
        the spectral norm of the error of a kernel matrix is at most the sum of the residuals of
        its rows.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n,)
            Residuals, of the same kind as `X`, in float64 where the device has it.
        """
        check_is_fitted(self)
        X = self._validate_rows(X, reset=False)
        return map_rows(_residuals, X, None, shared={"nystroem": self}, dtype=np.float64)

    @property
    def _n_features_out(self) -> int:
        if self.normalization_ is None:
            return int(self.landmarks_.shape[0])
        return int(self.normalization_.shape[1])


def _residuals(X: Any, nystroem: NystroemFeatures) -> Any:
    def of_batch(rows: Any) -> Any:
        xp = namespace(rows)
        features = cast(nystroem.transform(rows), wide_dtype(rows))
        own = diagonal(nystroem.kernel_, rows if is_host(rows) else to_numpy(rows))
        left = convert(own, features) - xp.sum(features * features, axis=1)
        return xp.where(left > 0, left, xp.zeros_like(left))

    return map_batches(of_batch, X, _BATCH // nystroem._n_features_out)


def _in_float64(X: Any, height: int, **arguments: Any) -> Any:
    """Compute the kernel rows of float32 rows in float64, one batch at a time."""

    def of_batch(rows: Any) -> Any:
        wide = engine.kernel_rows(cast(rows, wide_dtype(rows)), **arguments)
        return cast(wide, result_dtype(rows))

    return map_batches(of_batch, X, height)
