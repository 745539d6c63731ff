"""MercerFeatures: the eigenfunctions of a kernel under the density of the rows."""

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
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bochner.base import FeatureMap
from bochner.engine.places import dense, largest_squared
from bochner.engine.summaries import sample_rows
from bochner.fourier.bandwidth import DEFAULT_GAMMA, MOST, SHARED_CONSTRAINTS, resolve_kernel
from bochner.kernels import SpectralKernel, StandardKernel
from bochner.mercer.densities import DENSITIES, Density, fit_density, kernel_for
from bochner.mercer.evaluate import plan_features, plan_residuals
from bochner.mercer.gaussian import gaussian_plan, principal_axes, rerank, second_moments, shell
from bochner.mercer.hermite import ratio
from bochner.mercer.moments import Moments, moments
from bochner.mercer.plan import Plan

_POOL = 4  # candidates per feature, from which rerank takes the best
_RERANK_ROWS = 4096
_MASS_ROWS = 1000
_MOST_COLUMNS = 2**15  # their covariance takes eight gigabytes
_DENSITY_ROWS = 20_000  # rows that mixtures and quantiles are fitted to


class MercerWarning(UserWarning):
    """Warning that the features fit the rows badly, in a way that other parameters would fix."""


def _sees_parts(mercer: MercerFeatures) -> bool:
    if mercer.rerank:
        raise AttributeError("rerank=True needs all rows at once: use fit, or rerank=False.")
    if mercer.density != "gaussian":
        raise AttributeError(
            f"density={mercer.density!r} needs all rows at once: use fit, or density='gaussian'."
        )
    return True


class MercerFeatures(FeatureMap):
    r"""Eigenfunctions of a kernel under the density of the rows.

    With a Gaussian density :math:`p` of the mean and covariance of the rows, the eigenfunctions
    :math:`\psi_i` of :math:`f \mapsto \int k(\cdot, y) f(y)\, p(y)\, dy` are products of Hermite
    functions along the principal axes, their eigenvalues :math:`\lambda_i` products of powers,
    and the features are those of the `n_components` largest (the empirical orthogonal
    decomposition of Mukuta and Harada),

    .. math::

        \varphi(x) = \bigl[\sqrt{\lambda_1}\, \psi_1(x), \sqrt{\lambda_2}\, \psi_2(x),
            \dots\bigr], \qquad \varphi(x) \cdot \varphi(y) \approx e^{-\gamma |x - y|^2}.

    Nothing is random, and no cost grows with the square of `n_components`. Other densities and
    kernels are for rows that one Gaussian describes badly: see `density`. Whatever the true
    density is, :math:`k(x, y) - \varphi(x) \cdot \varphi(y)` is a positive semi-definite kernel,
    so that :meth:`residual` bounds the error at every pair of points.

    Parameters
    ----------
    n_components : int, default=100
        Number of output columns.
    kernel : {"gaussian", "laplacian", "cauchy", "matern", "exponential"} or kernel object, \
            default="gaussian"
        Kernel to approximate. Kernels other than the Gaussian require ``density="marginals"``,
        where a Matern kernel is the product of one-dimensional ones.
    gamma : float, "scale" or "median", default="median"
        Kernel parameter, as in ``exp(-gamma |x - y|^2)``. ``"scale"`` is
        ``1 / (n_features * X.var())``, ``"median"`` makes the median distance between rows the
        length scale.
    density : {"gaussian", "mixture", "weighted-mixture", "marginals"}, default="gaussian"
        Density under which the eigenfunctions are taken.

        - ``"gaussian"``: a Gaussian with the mean and covariance of the rows. The best first
          choice.
        - ``"mixture"``: the features of `n_mixture` Gaussians, made orthogonal. For rows in
          clusters; the cost grows with the square of `n_components` per row, and with its cube
          in `fit`.
        - ``"weighted-mixture"``: the features of the Gaussians times the square roots of their
          weights, as proposed by Mukuta and Harada. Its error was larger than that of one
          Gaussian wherever it was measured; it is here to reproduce their results.
        - ``"marginals"``: the columns are taken as independent, each with its own quantiles, for
          kernels that are products over the columns. Good where the columns are nearly
          independent; where they are correlated, Nystroem is better.
    n_mixture : int, default=8
        Number of components of a mixture, at most the number of rows.
    rerank : bool, default=False
        Whether to choose, among the ``4 * n_components`` products of largest eigenvalue, those
        with the largest mean square on the rows (a sample of at most 4096 of them). Only with
        ``density="gaussian"``.
    normalize : bool, default=False
        Whether to scale each row of features to length one. For narrow kernels, whose features
        nearly vanish; the certificates of :meth:`residual` are lost.
    shrinkage : float in [0, 1], "auto" or None, default="auto"
        Shrinkage of the covariance towards a multiple of the identity: a number, the rule of
        Ledoit and Wolf where there are fewer rows than columns (``"auto"``), or no shrinkage
        (None). Used with ``density="gaussian"`` only.
    n_jobs : int, default=None
        Number of CPU threads used by `transform`. None means as many as BLAS may use, -1 means
        all.
    memory_budget : int, default=None
        Scratch memory in bytes for arrays on a device. None means 256 MiB.
    random_state : int, RandomState instance or None, default=None
        Controls which rows are drawn for ``gamma="median"``, `rerank`, `captured_mass_` and
        densities other than the Gaussian, and where a mixture starts. With another density than a
        mixture, the result does not depend on it where all rows are used, as they are if few.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues under the fitted density, largest first. ``1 - eigenvalues_.sum()`` predicts
        the mean of :meth:`residual`; it is not a bound. For a mixture, the eigenvalues of each
        component's features times its weight, one component after another, of which there may be
        more than columns; their sum is not a prediction.
    orders_ : list of n_components tuples
        The pairs ``(axis, order)`` of every feature, with orders of at least 1; the empty tuple
        is the feature of order 0 on all axes. For a mixture, tuples ``(component, pairs)`` of the
        features that are made orthogonal.
    mean_ : ndarray of shape (n_features_in_,)
        Mean of the rows.
    variances_ : ndarray of shape (n_features_in_,)
        Variances along the axes, after shrinkage, largest first. For a mixture, the variances of
        every component, of shape (n_mixture, n_features_in_).
    rotation_ : ndarray of shape (n_features_in_, n_features_in_)
        Axes, one per column. There are no `mean_`, `variances_` and `rotation_` with
        ``density="marginals"``.
    mixture_ : Mixture
        Weights, means and variances of the components. Only with a mixture.
    marginals_ : list of n_features_in_ Marginal
        Eigenfunctions along every column. Only with ``density="marginals"``.
    captured_mass_ : float
        Mean of :math:`|\varphi(x)|^2` without `normalize`, measured on the rows given to `fit` (a
        sample of at most 1000) or last given to `partial_fit`. A value of 1 means that all of the
        kernel is captured.
    kernel_ : kernel object
        Kernel with `gamma` resolved to a number; call it for exact kernel values.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when they have names that are strings.

    See Also
    --------
    FourierFeatures : Random features, which need more columns for the same accuracy.
    NystroemFeatures : Features from landmarks of the data, which adapt to any
        density, at a cost that grows with the square of the number of columns.

    Notes
    -----
    `fit` needs the covariance matrix, whose size is the square of the number of columns of X (at
    most 32768, except with ``density="marginals"``), and its eigenvectors. `transform` costs one
    multiplication per feature, after a product with the axes that are used. Axes of little
    variance of which only order 0 is used share one ratio of eigenvalues where this costs less
    than 1e-5 of the captured mass.

    `transform` returns the kind of array it is given: NumPy and sparse rows give a dense NumPy
    array, a PyTorch or CuPy array one on the same device, and a dask array a lazy dask array.

    A :class:`MercerWarning` is issued when `n_components` cuts a shell of equal or nearly equal
    eigenvalues, which isotropic rows have, and when less than half of the kernel is captured.

    Where all rows are equal, the density has no spread, there is only one feature, and a larger
    `n_components` is an error. The other densities give as many columns as there are features
    that differ by more than rounding. In one or two dimensions these may be fewer than
    `n_components`, in which case a warning is issued.

    Mixtures and quantiles are fitted to a sample of at most 20000 rows on the host. The features
    of ``density="marginals"`` are computed on the host wherever the rows are.

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

    _learned: ClassVar[str] = "eigenvalues_"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "n_components": [Interval(Integral, 1, MOST, closed="both")],
        "density": [StrOptions(set(DENSITIES))],
        "n_mixture": [Interval(Integral, 1, None, closed="left")],
        "rerank": ["boolean"],
        "normalize": ["boolean"],
        "shrinkage": [None, StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
    }

    _moments: Moments
    _plan: Plan
    _normalize: bool
    kernel_: Any
    eigenvalues_: NDArray[np.float64]
    orders_: list[Any]

    def __init__(
        self,
        *,
        n_components: int = 100,
        kernel: str | SpectralKernel = "gaussian",
        gamma: float | str = DEFAULT_GAMMA,
        density: Density = "gaussian",
        n_mixture: int = 8,
        rerank: bool = False,
        normalize: bool = False,
        shrinkage: float | Literal["auto"] | None = "auto",
        n_jobs: int | None = None,
        memory_budget: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.density = density
        self.n_mixture = n_mixture
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
        self._check_columns()
        random_state = check_random_state(self.random_state)
        if self.density != "gaussian":
            return self._fit_rows(X, random_state)
        self._moments = moments(X)
        self.kernel_ = self._resolve_kernel(X, random_state)
        return self._choose_features(X, random_state)

    @available_if(_sees_parts)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Update the fit with more rows; the same as `fit` on all rows, up to rounding.

        Only with ``density="gaussian"``, and not with `rerank`, which needs all rows at once.
        ``gamma="median"`` uses the rows of the first call only, or of the first call in which they
        vary. Each call costs an eigendecomposition, so large batches are preferable.

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
        first = not hasattr(self, "_moments")
        X = self._validate_rows(X, reset=first)
        self._check_columns()
        random_state = check_random_state(self.random_state)
        self._moments = moments(X) if first else self._moments.merge(moments(X))
        if first or self.gamma != "median" or not hasattr(self, "_plan"):
            self.kernel_ = self._resolve_kernel(X, random_state)
        return self._choose_features(X, random_state)

    def _check_columns(self) -> None:
        """Raise an error for rows whose covariance would not fit in memory."""
        d = self.n_features_in_
        if d > _MOST_COLUMNS and self.density != "marginals":
            raise ValueError(
                f"density={self.density!r} needs the covariance of the columns: X has {d} of "
                f"them, at most {_MOST_COLUMNS} are accepted. Reduce them first, for example with "
                "TruncatedSVD, or use FourierFeatures."
            )

    def _largest_entry(self, dtype: np.dtype[Any], *, reset: bool) -> float:
        """Largest entry allowed: any after fitting, as the features of rows far out vanish."""
        if reset:
            return largest_squared(np.float64) ** 0.5  # the moments have fourth powers
        return np.inf

    def _features(self, X: Any) -> Any:
        return plan_features(X, self._plan, normalize=self._normalize, **self._engine_options())

    def residual(self, X: Any) -> Any:
        r"""Return what the features miss of every row, :math:`r(x) = 1 - |\varphi(x)|^2 \ge 0`.

        It gives exact bounds for any rows, whatever their density:
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
            Residuals, of the same kind as `X`, in float64 where it is available.
        """
        check_is_fitted(self)
        if self._normalize:
            raise ValueError(
                "normalize=True gives rows of length one, which say nothing of the error: fit "
                "with normalize=False for residuals."
            )
        X = self._validate_rows(X, reset=False)
        return plan_residuals(X, self._plan, **self._engine_options())

    def _fit_rows(self, X: Any, random_state: RandomState) -> Self:
        """Fit a density that needs rows, not moments, to a sample of the rows on the host."""
        if self.rerank:
            raise ValueError(
                f"rerank=True is for density='gaussian', got density={self.density!r}: use "
                "rerank=False."
            )
        kernel = kernel_for(self.density, self.kernel)
        self.kernel_ = resolve_kernel(kernel, self.gamma, X, random_state)
        rows = dense(sample_rows(X, _DENSITY_ROWS, random_state))
        plan, attributes = fit_density(
            self.density, rows, self.kernel_, self.n_components, self.n_mixture, random_state
        )
        for name, value in attributes.items():
            setattr(self, name, value)
        self._store_plan(plan)
        rows = rows[:: -(-rows.shape[0] // _MASS_ROWS)]
        missed = plan_residuals(rows, self._plan, n_threads=self._n_threads())
        self.captured_mass_ = 1.0 - float(missed.mean())
        self._warn(None)
        return self

    def _resolve_kernel(self, X: Any, random_state: RandomState) -> Any:
        gamma, kernel = self.gamma, kernel_for(self.density, self.kernel)
        if gamma == "scale" and isinstance(kernel, StandardKernel):  # known without another pass
            spread = self._moments.variance()
            d = len(self._moments.mean)
            gamma = kernel.gamma_for_variance(d, spread) if spread > 0 else 1.0
        return resolve_kernel(kernel, gamma, X, random_state)

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
        self._store_plan(plan)
        rows = rows[:: -(-rows.shape[0] // _MASS_ROWS)]
        mass = second_moments(plan, rows, self._n_threads())
        self.captured_mass_ = float(mass.sum())
        self._warn(cut)
        return self

    def _store_plan(self, plan: Plan) -> None:
        self._plan, self._normalize = plan, self.normalize
        self.orders_ = plan.orders()
        self.eigenvalues_ = np.exp(plan.log_values)

    def _warn(self, cut: tuple[int, int | None] | None) -> None:
        if self._plan.width < self.n_components:
            warnings.warn(
                f"n_components={self.n_components}, but only {self._plan.width} features differ "
                "by more than rounding: there are only this many columns.",
                MercerWarning,
                stacklevel=5,
            )
        if cut is not None:
            low, high = cut
            warnings.warn(
                f"n_components={self.n_components} takes only a part of the features of one "
                "(nearly) equal eigenvalue, as the density varies alike in several directions: "
                + (f"{low} would take none of them" if low else "too few are taken")
                + (f", {high} all." if high else ", all are too many."),
                MercerWarning,
                stacklevel=5,
            )
        if self.captured_mass_ < 0.5 and not self.normalize:
            warnings.warn(
                f"the features capture {self.captured_mass_:.2g} of the kernel, which is narrow "
                f"for these rows. A smaller gamma (now {self.kernel_.width:.3g}) or more than "
                f"{self.n_components} components would capture more; normalize=True makes the "
                "most of these.",
                MercerWarning,
                stacklevel=5,
            )

    @property
    def _n_features_out(self) -> int:
        return self._plan.width

    def __bochner_check__(self) -> bool:
        """Whether the plan, if there is one, is a plan with room for the constant product.

        The loops write that product first.
        """
        plan = vars(self).get("_plan")
        if plan is None:  # not fitted
            return True
        capable = all(hasattr(type(plan), name) for name in ("features", "__bochner_check__"))
        return capable and bool(plan.width >= 1)
