"""FourierFeatures: the kernel's own frequencies, drawn at random."""

from __future__ import annotations

from copy import deepcopy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bochner import engine
from bochner.base import FeatureMap, n_pairs
from bochner.engine.places import float_dtype
from bochner.engine.summaries import entry_moments, merge_moments
from bochner.fourier.bandwidth import (
    DEFAULT_GAMMA,
    MOST,
    SHARED_CONSTRAINTS,
    resolve_kernel,
    scale_gamma,
)
from bochner.fourier.sampling import SAMPLINGS, Sampling, draw_frequencies
from bochner.kernels import SpectralKernel, kernel_object


class FourierFeatures(FeatureMap):
    r"""Random Fourier features of a translation-invariant kernel.

    With ``N = n_components / 2`` frequencies :math:`w_m` drawn from the Fourier transform of the
    kernel (Bochner; Rahimi and Recht's RFF),

    .. math::

        \varphi(x) = N^{-1/2} \bigl[\cos \langle w_1, x \rangle, \dots,
            \sin \langle w_1, x \rangle, \dots\bigr], \qquad
        \varphi(x) \cdot \varphi(y) \approx k(x, y),

    and :math:`\|\varphi(x)\| = 1` exactly. A linear model on these columns approximates the
    kernel method, at a cost linear in the number of rows.

    Parameters
    ----------
    n_components : int, default=100
        Number of output columns. Must be even if `paired`: a cosine without its sine would make
        the length of a row of features, and the kernel of a row with itself, depend on the row.
    kernel : {"gaussian", "laplacian", "cauchy", "matern", "exponential"} or kernel object, \
            default="gaussian"
        The kernel; ``"rbf"`` is another name for the Gaussian. Objects are those of
        :mod:`bochner.kernels`, or your own with ``sample(n, d, random_state)`` and ``__call__``.
    gamma : float, "scale" or "median", default="median"
        Kernel coefficient, as in ``exp(-gamma |x - y|^2)``. ``"scale"`` is
        ``1 / (n_features * X.var())``, ``"median"`` makes the median distance between rows the
        length scale. See :func:`bochner.fourier.bandwidth.resolve_kernel`. Ignored for a kernel
        object that carries its own.
    sampling : {"auto", "iid", "orthogonal", "sobol", "halton"}, default="auto"
        How the frequencies are drawn: see :mod:`bochner.fourier.sampling`. ``"auto"`` is
        orthogonal for the Gaussian and Matern kernels, iid for the others.
    paired : bool, default=True
        Whether to return both the cosine and the sine of each frequency. If False, there is one
        cosine with a random offset for each of `n_components` frequencies,
        ``sqrt(2 / n_components) cos(<w, x> + b)``, as in scikit-learn's ``RBFSampler``; with
        the same number of columns its error is larger for the Gaussian kernel.
    n_jobs : int, default=None
        Number of CPU threads used by `transform`. None means as many as BLAS may use, -1 all.
    memory_budget : int, default=None
        Bytes of scratch memory for arrays on a device. None means 256 MiB.
    random_state : int, RandomState instance or None, default=None
        Controls the random frequencies, which do not depend on the number of threads.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features_in_, n_frequencies)
        The frequencies, one per column, in the dtype of the rows given to `fit`.
    offsets_ : ndarray of shape (n_components,) or None
        The random offsets of the cosines; None if `paired`.
    kernel_ : kernel object
        The kernel, with a number for its `gamma`; call it to evaluate the exact kernel.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen during `fit`. Defined only if they are all strings.

    See Also
    --------
    sklearn.kernel_approximation.RBFSampler : Slower, unpaired, Gaussian only.
    NystroemFeatures : Features from landmarks of the data.

    Notes
    -----
    The output of `transform` follows its input: NumPy and sparse rows give a dense NumPy array,
    a PyTorch or CuPy array gives an array on the same device, and a dask array gives a lazy dask
    array. Large arrays can be memory-mapped.

    float32 rows are computed in float32. A phase ``<w, x>`` of thousands means a kernel so
    narrow that float32 cannot resolve it; beyond 6400 the phases of that row are computed in
    float64, more slowly, so that the result stays accurate.

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS 2007.

    F. X. Yu et al., Orthogonal random features, NIPS 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from bochner import FourierFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(FourierFeatures(n_components=600, random_state=0),
    ...                       RidgeClassifier(alpha=0.01))
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    _learned: ClassVar[str] = "frequencies_"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "n_components": [Interval(Integral, 1, MOST, closed="both")],
        "sampling": [StrOptions(set(SAMPLINGS))],
        "paired": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_components: int = 100,
        kernel: str | SpectralKernel = "gaussian",
        gamma: float | str = DEFAULT_GAMMA,
        sampling: Sampling = "auto",
        paired: bool = True,
        n_jobs: int | None = None,
        memory_budget: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.sampling = sampling
        self.paired = paired
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the frequencies for rows like `X`.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Training rows. Only the number of columns matters and, if `gamma` is a rule, the
            spread of the rows.
        y : ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self
        """
        self.__dict__.pop("_parts", None)
        X = self._validate_rows(X, reset=True)
        return self._draw(X, self.gamma, check_random_state(self.random_state))

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Draw the frequencies for the rows of this call and of earlier calls together.

        Calling `fit` discards the earlier rows. If `gamma` is a number, or ``"scale"`` (the
        variance of all entries is a sum over rows), the parts together give the same result as
        `fit` on all rows. ``"median"`` uses the first call with more than one row; later calls
        change nothing.

        Parameters
        ----------
        X, y : see :meth:`fit`

        Returns
        -------
        self
        """
        parts = self.__dict__.get("_parts")
        X = self._validate_rows(X, reset=parts is None)
        if parts is not None and self.gamma == "median" and parts[0][0] > X.shape[1]:
            return self  # the entries so far are of more than one row
        moments = entry_moments(X)
        if parts is None:  # the same random numbers are drawn after every part
            parts = moments, deepcopy(check_random_state(self.random_state))
        else:
            parts = merge_moments(parts[0], moments), parts[1]
        gamma, (count, _, squares) = self.gamma, parts[0]
        if gamma == "scale":
            gamma = scale_gamma(kernel_object(self.kernel), X.shape[1], squares / count)
        self._draw(X, gamma, deepcopy(parts[1]))
        self._parts = parts
        return self

    def _draw(self, X: Any, gamma: float | str, random_state: RandomState) -> Self:
        n_frequencies = self.n_components
        if self.paired:
            n_frequencies = n_pairs(n_frequencies, " Use an even number, or paired=False.")
        kernel = resolve_kernel(self.kernel, gamma, X, random_state)
        shape = n_frequencies, self.n_features_in_
        frequencies = draw_frequencies(
            kernel, *shape, sampling=self.sampling, random_state=random_state
        )
        self.kernel_, self.offsets_ = kernel, None
        if not self.paired:
            offsets = random_state.uniform(0, 2 * np.pi, n_frequencies)
            self.offsets_ = offsets.astype(float_dtype(X))
        self.frequencies_ = frequencies.astype(float_dtype(X), copy=False)
        return self

    def _features(self, X: Any) -> Any:
        return engine.features(
            X,
            self.frequencies_,
            scale=(self.squared_norm_limit / self.frequencies_.shape[1]) ** 0.5,
            offset=self.offsets_,
            **self._engine_options(),
        )

    @property
    def squared_norm_limit(self) -> float:
        """Upper limit of the squared norm of a row of features."""
        return 1.0 if self.offsets_ is None else 2.0

    @property
    def _n_features_out(self) -> int:
        return int(self.frequencies_.shape[1] * (2 if self.offsets_ is None else 1))
