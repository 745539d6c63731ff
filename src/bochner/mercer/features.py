"""MercerFeatures: the eigenfunctions of the gaussian kernel under the density of the rows."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from bochner.base import FeatureMap
from bochner.engine.summaries import sample_rows
from bochner.mercer.evaluate import GaussianPlan, gaussian_features, residuals
from bochner.mercer.gaussian import gaussian_plan, principal_axes, rerank, second_moments, shell
from bochner.mercer.hermite import ratio
from bochner.mercer.moments import Moments, moments
from bochner.spectral.bandwidth import resolve_kernel
from bochner.spectral.kernels import Gaussian
from bochner.spectral.parameters import SHARED_CONSTRAINTS

_POOL = 4  # candidates for each feature, of which rerank takes the best
_RERANK_ROWS = 4096
_MASS_ROWS = 1000


class MercerWarning(UserWarning):
    """The features fit the rows badly, in a way that other parameters would mend."""


class MercerFeatures(FeatureMap):
    r"""Eigenfunctions of the gaussian kernel under the density of the rows.

    With a gaussian density :math:`p` of the mean and covariance of the rows, the eigenfunctions
    :math:`\psi_i` of :math:`f \mapsto \int k(\cdot, y) f(y)\, p(y)\, dy` are products of Hermite
    functions along the principal axes, their eigenvalues :math:`\lambda_i` products of powers,
    and the features are those of the `n_components` largest (the empirical orthogonal
    decomposition of Mukuta and Harada),

    .. math::

        \varphi(x) = \bigl[\sqrt{\lambda_1}\, \psi_1(x), \sqrt{\lambda_2}\, \psi_2(x),
            \dots\bigr], \qquad \varphi(x) \cdot \varphi(y) \approx e^{-\gamma |x - y|^2}.

    Nothing is random, and nothing is paid for by the square of `n_components`. Whatever the true
    density is, :math:`k(x, y) - \varphi(x) \cdot \varphi(y)` is a positive semi-definite kernel,
    so that :meth:`residual` bounds the error at every pair of points.

    Parameters
    ----------
    n_components : int, default=100
        Number of output columns.
    gamma : float, "scale" or "median", default="scale"
        As in ``exp(-gamma |x - y|^2)``. ``"scale"`` is ``1 / (n_features * X.var())``,
        ``"median"`` makes the median distance between rows the length scale.
    density : {"gaussian"}, default="gaussian"
        The density of which the eigenfunctions are taken.
    rerank : bool, default=False
        Take, of the ``4 * n_components`` products of largest eigenvalue, those with the largest
        mean square on the rows (a sample of at most 4096 of them).
    normalize : bool, default=False
        Scale each row of features to length one. For narrow kernels, whose features nearly
        vanish; the certificates of :meth:`residual` are lost.
    shrinkage : float in [0, 1], "auto" or None, default="auto"
        Moves the covariance towards a multiple of the identity: by a number, by the rule of
        Ledoit and Wolf where there are fewer rows than columns (``"auto"``), or not at all.
    n_jobs : int, default=None
        CPU threads of `transform`. None: as many as BLAS may use; -1: all.
    memory_budget : int, default=None
        Bytes of scratch memory for arrays on a device; None is 256 MiB.
    random_state : int, RandomState instance or None, default=None
        Draws the rows that ``gamma="median"``, `rerank` and `captured_mass_` look at. With few
        rows, or none of these, nothing depends on it.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues under the fitted density, largest first. ``1 - eigenvalues_.sum()`` predicts
        the mean of :meth:`residual`; it is no bound.
    orders_ : list of n_components tuples
        Every feature as its pairs ``(axis, order)``, order at least 1; the empty tuple is the
        feature of order 0 on all axes.
    mean_ : ndarray of shape (n_features_in_,)
        The mean of the rows.
    variances_ : ndarray of shape (n_features_in_,)
        Variances along the axes, after shrinkage, largest first.
    rotation_ : ndarray of shape (n_features_in_, n_features_in_)
        The axes, one a column.
    captured_mass_ : float
        The mean of :math:`|\varphi(x)|^2` without `normalize`, measured on the rows given to
        `fit` (a sample of at most 1000) or last given to `partial_fit`. One is all of the kernel.
    kernel_ : Gaussian
        The kernel with its `gamma` as a number; call it for the exact kernel.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when they have names that are strings.

    See Also
    --------
    FourierFeatures : Random features; need more columns for the same accuracy.
    sklearn.kernel_approximation.Nystroem : Features from landmarks of the data; adapts to any
        density, at a cost that grows with the square of the number of columns.

    Notes
    -----
    `fit` needs the covariance, of the square of the number of columns of X, and its
    eigenvectors. `transform` costs one multiplication a feature, after a product with the axes
    that are used. Axes of little variance that only order 0 is taken of share one ratio of
    eigenvalues where this costs less than 1e-5 of the captured mass.

    `transform` returns what it is given: NumPy and sparse rows give a dense NumPy array, a
    PyTorch or CuPy array one on the same device, a dask array a lazy dask array.

    A :class:`MercerWarning` says when `n_components` cuts a shell of equal or nearly equal
    eigenvalues, which isotropic rows have, and when less than half of the kernel is captured.

    Where all rows are equal the density has no spread, there is one feature only, and a larger
    `n_components` is an error.

    References
    ----------
    Y. Mukuta and T. Harada, Kernel approximation via empirical orthogonal decomposition for
    unsupervised feature learning, CVPR 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import MercerFeatures
    >>> X = np.random.default_rng(0).normal(size=(500, 3)) * [3.0, 1.0, 0.3]
    >>> mercer = MercerFeatures(n_components=60, gamma=0.1).fit(X)
    >>> phi = mercer.transform(X)
    >>> bool(np.abs(phi @ phi.T - mercer.kernel_(X)).max() <= mercer.residual(X).max())
    True
    >>> mercer.orders_[:4]
    [(), ((0, 1),), ((0, 2),), ((1, 1),)]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "gamma": SHARED_CONSTRAINTS["gamma"],
        "density": [StrOptions({"gaussian"})],
        "rerank": ["boolean"],
        "normalize": ["boolean"],
        "shrinkage": [None, StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "n_jobs": SHARED_CONSTRAINTS["n_jobs"],
        "memory_budget": SHARED_CONSTRAINTS["memory_budget"],
        "random_state": SHARED_CONSTRAINTS["random_state"],
    }

    _moments: Moments
    _plan: GaussianPlan

    def __init__(
        self,
        *,
        n_components: int = 100,
        gamma: float | str = "scale",
        density: Literal["gaussian"] = "gaussian",
        rerank: bool = False,
        normalize: bool = False,
        shrinkage: float | Literal["auto"] | None = "auto",
        n_jobs: int | None = None,
        memory_budget: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.density = density
        self.rerank = rerank
        self.normalize = normalize
        self.shrinkage = shrinkage
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate the density of the rows and choose the features.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows. A dask array is read block by block on its workers.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        X = self._validate_rows(X, reset=True)
        random_state = check_random_state(self.random_state)
        self._moments = moments(X)
        self.kernel_ = self._resolve_kernel(X, random_state)
        return self._choose_features(X, random_state)

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Take more rows into account; what `fit` on all rows gives, up to rounding.

        Not with `rerank`, which has to see all rows at once. ``gamma="median"`` looks at the
        rows of the first call only. A call costs an eigendecomposition: prefer large batches.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Further rows.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        if self.rerank:
            raise ValueError(
                "rerank=True needs the features of all rows at once: use fit, or rerank=False "
                "with partial_fit."
            )
        first = not hasattr(self, "_moments")
        X = self._validate_rows(X, reset=first)
        random_state = check_random_state(self.random_state)
        self._moments = moments(X) if first else self._moments.merge(moments(X))
        if first or self.gamma != "median":
            self.kernel_ = self._resolve_kernel(X, random_state)
        return self._choose_features(X, random_state)

    def transform(self, X: Any) -> Any:
        """Map rows to features.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n, n_components)
            Of the same kind and floating dtype as `X`.
        """
        check_is_fitted(self, "eigenvalues_")
        X = self._validate_rows(X, reset=False)
        return gaussian_features(
            X,
            self._plan,
            normalize=self.normalize,
            n_threads=self._n_threads(),
            memory_budget=self.memory_budget,
        )

    def residual(self, X: Any) -> Any:
        r"""What the features miss of every row: :math:`r(x) = 1 - |\varphi(x)|^2 \ge 0`.

        Exact, for any rows and whatever their density:
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
            In float64 where there is float64; of the same kind as `X`.
        """
        if self.normalize:
            raise ValueError(
                "normalize=True gives rows of length one, which say nothing of the error: fit "
                "with normalize=False for residuals."
            )
        check_is_fitted(self, "eigenvalues_")
        X = self._validate_rows(X, reset=False)
        return residuals(
            X, self._plan, n_threads=self._n_threads(), memory_budget=self.memory_budget
        )

    def _resolve_kernel(self, X: Any, random_state: RandomState) -> Gaussian:
        gamma = self.gamma
        if gamma == "scale":
            spread = self._moments.variance()
            d = len(self._moments.mean)
            gamma = Gaussian.gamma_for_variance(d, spread) if spread > 0 else 1.0
        kernel = resolve_kernel("gaussian", gamma, X, random_state)
        assert isinstance(kernel, Gaussian)
        return kernel

    def _choose_features(self, X: Any, random_state: RandomState) -> Self:
        covariance = self._moments.covariance(self.shrinkage)
        variances, rotation = principal_axes(covariance)
        gamma, count = self.kernel_.width, self.n_components
        self.mean_, self.variances_, self.rotation_ = self._moments.mean, variances, rotation
        wanted = _POOL * count if self.rerank else count
        plan = gaussian_plan(gamma, self.mean_, variances, rotation, wanted + 1)
        if len(plan.products) < count:
            raise ValueError(
                f"n_components={count}, but the rows do not vary, so that there is one feature "
                "only: use n_components=1, or give rows that differ."
            )
        cut = None if self.rerank else shell(ratio(gamma, variances), plan.products, count)
        plan = plan.first(wanted)
        n_rows = _RERANK_ROWS if self.rerank else _MASS_ROWS
        rows = sample_rows(X, n_rows, random_state)
        if self.rerank:
            plan = rerank(plan, rows, count, self._n_threads())
        self._plan = plan
        self.eigenvalues_: NDArray[np.float64] = np.exp(plan.log_values)
        self.orders_ = plan.orders()
        rows = rows[:: -(-rows.shape[0] // _MASS_ROWS)]
        mass = second_moments(plan, rows, self._n_threads())
        self.captured_mass_ = float(mass.sum())
        self._warn(cut)
        return self

    def _warn(self, cut: tuple[int, int] | None) -> None:
        if cut is not None:
            warnings.warn(
                f"n_components={self.n_components} takes a part of {cut[1] - cut[0]} features "
                f"of nearly equal eigenvalues, as the rows vary alike in several directions; "
                f"{cut[0]} or {cut[1]} would take none or all of them.",
                MercerWarning,
                stacklevel=5,
            )
        if self.captured_mass_ < 0.5 and not self.normalize:
            warnings.warn(
                f"the features capture {self.captured_mass_:.2g} of the kernel: it is narrow for "
                f"rows so spread out. A smaller gamma (now {self.kernel_.width:.3g}) or more than "
                f"{self.n_components} components would capture more; normalize=True makes the "
                "most of these.",
                MercerWarning,
                stacklevel=5,
            )

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)
