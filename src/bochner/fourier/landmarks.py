"""LandmarkSimilarities: one learned similarity for each of a set of landmarks."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from bochner import engine
from bochner.base import SupervisedFeatureMap
from bochner.engine.places import (
    check_entries,
    convert,
    dense,
    float_dtype,
    is_host,
    largest_squared,
    result_dtype,
    to_numpy,
    zeros,
)
from bochner.engine.rowwise import concat_columns, map_rows
from bochner.engine.summaries import are_rows, take_rows
from bochner.fourier.alignment import landmark_losses
from bochner.fourier.bandwidth import MOST, SHARED_CONSTRAINTS, check_honest, resolve_kernel
from bochner.fourier.candidates import Candidates
from bochner.fourier.posterior import gibbs_posterior
from bochner.guarantees.alignment import tightest_landmark_bounds
from bochner.guarantees.guarantee import ConditionsNotMet, Guarantee
from bochner.guarantees.samples import landmark_pairs
from bochner.kernels import SpectralKernel
from bochner.targets import Target, TargetKind, check_labels

_MANY_ROWS = 20_000  # of one class, from which k-means goes by mini-batches


class LandmarkSimilarities(SupervisedFeatureMap):
    r"""Similarities to landmarks, each with a kernel learned for it.

    Landmark :math:`x_l` with label :math:`y_l` gets `n_frequencies` frequencies of its own from
    the kernel's Fourier transform, and a posterior over them,

    .. math::

        Q^l_m \propto e^{-\beta \sqrt n L_l(w_m)}, \qquad
        \psi_l(x) = \sum_m Q^l_m \cos \langle w_m, x_l - x \rangle,

    where :math:`L_l` is the alignment loss of the pairs that contain the landmark (Letarte et
    al., PB-Landmarks). With ``posterior=None`` the features are the plain kernel
    :math:`k(x_l, x)` (RBF-Landmarks).

    Parameters
    ----------
    n_components : int or float, default=0.1
        Number of landmarks, which is the number of output columns: a number, or a share of the
        rows between 0 and 1 (rounded up).
    landmarks : {"kmeans", "random"} or array or (array, labels), default="kmeans"
        Centroids of k-means within each class, rows at random, or your own points; these need
        labels when the posterior is learned, and their number replaces `n_components`. Points
        that are rows with their label count as such: they are not paired with themselves.
    posterior : {"kl"} or None, default="kl"
        The learned posterior, or the plain kernel.
    beta : float, default=1.0
        Strength of the posterior.
    n_frequencies : int, default=64
        Frequencies of each landmark, the paper's D. They are drawn when they are used, not
        stored.
    target : {"auto", "classification", "regression"}, default="auto"
        What `y` is.
    kernel, gamma, n_jobs, memory_budget : see :class:`FourierFeatures`
    random_state : int, RandomState instance or None, default=None
        Decides landmarks and frequencies.

    Attributes
    ----------
    landmarks_ : ndarray or sparse matrix of shape (n_landmarks, n_features_in_)
        The landmarks.
    landmark_labels_ : ndarray of shape (n_landmarks,)
        Their labels. (Learned posterior only.)
    losses_, posterior_ : ndarray of shape (n_landmarks, n_frequencies)
        Alignment losses and posterior weights. (Learned posterior only.)
    in_sample_ : ndarray of shape (n_landmarks,)
        Whether the landmark is one of the rows; for k-means centroids there is no guarantee.
    kernel_ : kernel object
        The prior kernel.
    classes_ : ndarray or None
        The classes, None for regression.

    See Also
    --------
    PosteriorFourierFeatures : One posterior for all pairs.
    NystroemFeatures : Landmarks and one fixed kernel, made orthogonal.

    Notes
    -----
    This is not a kernel map: every landmark has a similarity of its own. Duplicate landmarks are
    kept, and differ by their frequencies.

    References
    ----------
    G. Letarte, E. Morvant, P. Germain, Pseudo-Bayesian learning with kernel Fourier transform as
    prior, AISTATS 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bochner import LandmarkSimilarities
    >>> X, y = load_digits(return_X_y=True)
    >>> LandmarkSimilarities(n_components=20, random_state=0).fit_transform(X, y).shape
    (1797, 20)
    """

    _learned: ClassVar[str] = "_coefficients"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "landmarks": [StrOptions({"kmeans", "random"}), "array-like", "sparse matrix", tuple],
        "posterior": [StrOptions({"kl"}), None],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "n_frequencies": [Interval(Integral, 1, MOST, closed="both")],
        "target": [StrOptions({"auto", "classification", "regression"})],
    }

    _candidates: Candidates
    _coefficients: NDArray[np.complex128] | None  # None for the plain kernel

    def __init__(
        self,
        *,
        n_components: float = 0.1,
        landmarks: Any = "kmeans",
        posterior: Literal["kl"] | None = "kl",
        beta: float = 1.0,
        n_frequencies: int = 64,
        target: TargetKind = "auto",
        kernel: str | SpectralKernel = "gaussian",
        gamma: float | str = "scale",
        n_jobs: int | None = None,
        memory_budget: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.posterior = posterior
        self.beta = beta
        self.n_frequencies = n_frequencies
        self.target = target
        self.kernel = kernel
        self.gamma = gamma
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Choose the landmarks and learn a posterior for each.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Classes or numbers.

        Returns
        -------
        self
        """
        X, y, target = self._validate_labelled(X, y)
        self._n_rows = len(y)
        random_state = check_random_state(self.random_state)
        self.kernel_ = resolve_kernel(self.kernel, self.gamma, X, random_state)
        self.classes_ = target.classes
        self._place_landmarks(X, y, target, random_state)
        if self.posterior is None:
            self._coefficients = None
            return self
        self._candidates = Candidates(
            self.kernel_,
            self.landmarks_.shape[0] * self.n_frequencies,
            self.n_features_in_,
            int(random_state.randint(2**31 - 1)),
            multiple=self.n_frequencies,
        )
        self._learn(X, y, target)
        return self

    def with_posterior(self, *, beta: float) -> Self:
        """The map with posteriors of another strength, from the same losses, without the data.

        Parameters
        ----------
        beta : float
            The new strength.

        Returns
        -------
        LandmarkSimilarities
            A fitted copy; this one is unchanged.
        """
        check_is_fitted(self)
        if self.posterior is None:
            raise ValueError("posterior=None learns nothing; there is no posterior to change.")
        other = copy(self).set_params(beta=beta)
        other._validate_params()
        return other._weigh()

    def _largest_entry(self, dtype: np.dtype[Any], *, reset: bool) -> float:
        """Distances of float32 rows are float32, and so are their squares."""
        return largest_squared(dtype)

    def _features(self, X: Any) -> Any:
        c, options = self._coefficients, self._engine_options()
        if c is None:
            return map_rows(self._kernel_values, X, self._n_features_out)
        size = self._candidates.multiple
        return concat_columns(
            [
                engine.grouped_waves(X, W, c[block], size, **options)
                for block, W in self._candidates.blocks(float_dtype(X))
            ]
        )

    def bound(self, delta: float = 0.05, *, n_settings: int = 1) -> list[Guarantee]:
        """Guarantees on the alignment losses of all landmarks' learned similarities together.

        With probability ``1 - delta`` over the rows, every one of them holds (PAC-Bayes-kl,
        and a union over the landmarks). It holds for all `beta` at once.

        Parameters
        ----------
        delta : float, default=0.05
            Probability of failure.
        n_settings : int, default=1
            Number of settings (of `gamma`, say) among which these rows have chosen.

        Returns
        -------
        list of Guarantee
            One for each landmark. A similarity without relation to the labels may have a loss of
            ``min(share, 1 - share)`` for the share of the landmark's class: only less says
            anything.
        """
        check_is_fitted(self)
        if self._coefficients is None:
            raise ConditionsNotMet("posterior=None learns nothing; there is no bound.")
        if isinstance(self.landmarks, str) and self.landmarks == "kmeans":
            raise ConditionsNotMet(
                "centroids of k-means depend on all rows, so that no bound holds for them; use "
                "landmarks='random' or points of your own."
            )
        check_honest(self.gamma, self.kernel_, self.kernel, self.classes_)
        m = landmark_pairs(self._n_rows, in_sample=bool(self.in_sample_.any()))
        return tightest_landmark_bounds(
            self.posterior_,
            np.clip(self.losses_, 0, 1),
            m,
            delta,
            n_settings=n_settings,
            shares=self._shares,
        )

    @property
    def _n_features_out(self) -> int:
        return int(self.landmarks_.shape[0])

    def _count(self, n_rows: int) -> int:
        n: Any = self.n_components
        count = int(n) if isinstance(n, Integral) else int(np.ceil(n * n_rows))
        if count > n_rows:
            raise ValueError(
                f"n_components={n} asks for {count} landmarks, but there are only {n_rows} rows."
            )
        return count

    def _place_landmarks(self, X: Any, y: Any, target: Target, random_state: RandomState) -> None:
        if isinstance(self.landmarks, str) and self.landmarks == "random":
            index = random_state.choice(len(y), self._count(len(y)), replace=False)
            index = index[np.argsort(y[index], kind="stable")]
            points, labels = take_rows(X, index), y[index]
            inside = np.ones(len(index), bool)
        elif isinstance(self.landmarks, str):
            points, labels = _centroids(X, y, target, self._count(len(y)), random_state)
            inside = np.zeros(len(labels), bool)
        else:
            points, labels = self._given(target)
            inside = np.zeros(points.shape[0], bool)
            if labels is not None:
                inside = are_rows(X, y, points, labels)
        self.landmarks_, self.landmark_labels_, self.in_sample_ = points, labels, inside

    def _given(self, target: Target) -> tuple[Any, Any]:
        given = self.landmarks
        points, labels = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        points = check_array(points, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_entries(points, self._largest_entry(points.dtype, reset=True))
        if points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"landmarks have {points.shape[1]} columns, but X has {self.n_features_in_}."
            )
        if labels is None and self.posterior is not None:
            raise ValueError(
                "landmarks must be given as (points, labels) when the posterior is learned; "
                "or use posterior=None."
            )
        if labels is None:
            return points, None
        labels = check_labels(labels, points.shape[0])
        if target.classes is None:
            Target.of(labels, "regression")  # raises for text
            return points, labels
        target.indices(labels)  # raises for a class that y does not hold
        order = np.argsort(labels, kind="stable")
        return points[order], labels[order]

    def _learn(self, X: Any, y: Any, target: Target) -> None:
        D, n_landmarks = self.n_frequencies, self.landmarks_.shape[0]
        sums = np.empty(n_landmarks * D, np.complex128)
        at_landmark = np.empty((n_landmarks, D), np.complex128)
        groups = target.similarities(self.landmark_labels_, y)
        # one factor per landmark: its own scaled target (regression) or +-1
        own = np.concatenate([factors for _, factors, _ in groups]) ** 2
        options = self._engine_options()
        for block, W in self._candidates.blocks(float_dtype(X)):
            first, stop = block.start // D, block.stop // D
            points = self.landmarks_[first:stop]
            at_landmark[first:stop] = _own_waves(dense(points), W.reshape(len(W), stop - first, D))
            for positions, factors, column in groups:
                # Labels are sorted, so the landmarks of a group are neighbours.
                here = positions[(positions >= first) & (positions < stop)]
                if here.size:
                    span = slice(here[0] * D, (here[-1] + 1) * D)
                    own_W = W[:, span.start - block.start : span.stop - block.start]
                    factor = np.repeat(factors[np.isin(positions, here)], D)
                    sums[span] = factor * to_numpy(
                        engine.fourier_sums(X, own_W, column, **options)
                    )
        self.losses_ = landmark_losses(
            sums.reshape(n_landmarks, D), at_landmark, own, self.in_sample_, len(y)
        )
        self._at_landmark = at_landmark
        if target.classes is not None:
            counts = np.bincount(target.indices(y), minlength=len(target.classes))
            self._shares = counts[target.indices(self.landmark_labels_)] / len(y)
        self._weigh()

    def _weigh(self) -> Self:
        """The posteriors, from the losses."""
        self.posterior_ = gibbs_posterior(self.losses_, self.beta, self._n_rows)
        coefficients = np.asarray(self.posterior_ * self._at_landmark, np.complex128)
        self._coefficients = coefficients.ravel()  # the last: it is fitted
        return self

    def _kernel_values(self, X: Any) -> Any:
        """The kernel itself, computed on the host."""
        if X.shape[0] == 0:  # a block of a dask array, which scikit-learn's kernels refuse
            return zeros((0, self._n_features_out), X, result_dtype(X))
        dtype = float_dtype(X)
        rows = X if is_host(X) else to_numpy(X)
        return convert(self.kernel_(rows, self.landmarks_.astype(dtype)), X, result_dtype(X))


def _own_waves(points: NDArray[Any], W: NDArray[Any]) -> NDArray[np.complex128]:
    """``exp(i <w, x_l>)`` for each landmark and its own frequencies, W of shape (d, l, D)."""
    return np.exp(1j * np.einsum("ld,dlm->lm", points, W, dtype=np.float64))


def _shares(sizes: list[int], count: int) -> list[int]:
    """Divide `count` equally; what does not fit into a small group goes to the others."""
    shares = [0] * len(sizes)
    while sum(shares) < count:
        open_groups = [i for i, size in enumerate(sizes) if shares[i] < size]
        each, rest = divmod(count - sum(shares), len(open_groups))
        for rank, i in enumerate(open_groups):
            shares[i] = min(sizes[i], shares[i] + each + (rank < rest))
    return shares


def _centroids(
    X: Any, y: NDArray[Any], target: Target, count: int, random_state: RandomState
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Centroids of k-means within each class (of all rows for regression), with their labels."""
    from sklearn.cluster import KMeans, MiniBatchKMeans

    groups = [np.arange(len(y))]
    if target.classes is not None:
        groups = [np.flatnonzero(y == c) for c in target.classes]
    points, labels = [], []
    for rows, share in zip(groups, _shares([len(g) for g in groups], count), strict=True):
        if not share:
            continue
        own = take_rows(X, rows)
        kind = MiniBatchKMeans if len(rows) > _MANY_ROWS else KMeans
        clusters = kind(share, n_init=1, random_state=random_state.randint(2**31 - 1)).fit(own)
        points.append(clusters.cluster_centers_)
        if target.classes is None:
            members = clusters.labels_
            total = np.bincount(members, weights=y[rows], minlength=share)
            labels.append(total / np.maximum(np.bincount(members, minlength=share), 1))
        else:
            labels.append(y[rows[:share]])
    return np.vstack(points), np.concatenate(labels)
