"""LandmarkSimilarities: one learned similarity for each of a set of landmarks."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from bochner import engine
from bochner.base import SupervisedFeatureMap
from bochner.engine.places import largest_squared
from bochner.engine.summaries import rows_at
from bochner.fourier.bandwidth import (
    DEFAULT_GAMMA,
    MOST,
    SHARED_CONSTRAINTS,
    check_honest,
    resolve_kernel,
)
from bochner.fourier.candidates import Candidates
from bochner.fourier.own_sets import OwnSets
from bochner.fourier.placement import Landmarks, given_landmarks, place_landmarks
from bochner.fourier.pool import Pool
from bochner.fourier.strength import (
    Trial,
    best_steps,
    best_strength,
    fit_together,
    make_trials,
    most_rows,
)
from bochner.guarantees.alignment import tightest_landmark_bounds
from bochner.guarantees.checks import check_delta
from bochner.guarantees.guarantee import ConditionsNotMet, Guarantee
from bochner.guarantees.samples import landmark_pairs
from bochner.kernels import SpectralKernel
from bochner.targets import Target, TargetKind

_OWN_FREQUENCIES = 64  # the paper's D
# Sizes of a pool. With many landmarks each has less to learn, and the cost of `transform` is the
# product of both; with many columns, the cost of drawing the pool matters.
_LARGEST_POOL, SMALLEST_POOL = 2000, 512
_POOL_TIMES_LANDMARKS, _POOL_TIMES_COLUMNS = 1_300_000, 16_000_000
_MOST_TRIED = 256  # landmarks with which strengths are tried, at most


class LandmarkSimilarities(SupervisedFeatureMap):
    r"""Similarities to landmarks, with a kernel learned for each landmark.

    All landmarks share a pool of frequencies :math:`w_m` from the kernel's Fourier transform. The
    waves of the pool are fitted to the labels together, with coefficients :math:`c_m` for the
    class of the landmark. Landmark :math:`x_l` has a score :math:`S_{lm}` for each frequency, the
    evidence that its wave gives for this class at the landmark, and a posterior over the pool,

    .. math::

        S_{lm} = \mathrm{Re} \bigl( \overline{e^{i \langle w_m, x_l \rangle}} \, c_m \bigr), \quad
        Q^l_m \propto e^{\beta \sqrt n S_{lm} / 2}, \quad
        \psi_l(x) = k(x_l, x) + \sum_m \Bigl(Q^l_m - \frac1N\Bigr)
            \cos \langle w_m, x_l - x \rangle.

    As :math:`\beta` goes to 0 this becomes the plain kernel, and held-out rows decide how far to
    depart from it: where learning does not help, nothing is learned. With ``frequencies="own"``
    each landmark has frequencies of its own and
    :math:`\psi_l(x) = \sum_m Q^l_m \cos \langle w_m, x_l - x \rangle`, where :math:`Q^l` is
    learned from the alignment loss of the pairs that contain the landmark (Letarte et al.,
    PB-Landmarks). With ``posterior=None`` the features are the plain kernel :math:`k(x_l, x)`
    (RBF-Landmarks).

    Parameters
    ----------
    n_components : int or float, default=0.1
        Number of landmarks, and so of output columns. A float between 0 and 1 is a share of the
        rows (rounded up).
    landmarks : {"kmeans", "random"} or array or (array, labels), default="kmeans"
        How the landmarks are chosen: centroids of k-means within each class, random rows, or your
        own points. These need labels if the posterior is learned, and their number replaces
        `n_components`. A point that is one of the rows, with its label, is treated as that row:
        it is not paired with itself.
    posterior : {"kl"} or None, default="kl"
        Whether to learn a posterior (``"kl"``) or to use the plain kernel (None).
    frequencies : {"shared", "own"}, default="shared"
        Whether all landmarks share one pool of frequencies or each has a set of its own, as in
        the paper. Own sets are slower, and worse than the plain kernel if they are small.
    beta : "auto" or float, default="auto"
        Strength of the posterior. ``"auto"`` searches along 0.003, 0.01, 0.03, 0.1, 0.3, 1 and 3
        as long as a ridge regression improves on held-out rows, and takes the best value, or the
        plain kernel unless that is worse by a standard error. A quarter of at most 4000 rows is
        held out, or each quarter in turn with up to 2000 rows. With ``frequencies="own"``,
        ``"auto"`` is the paper's value, 1.
    n_fit_steps : "auto" or int, default="auto"
        Number of conjugate gradient steps by which the waves of the pool are fitted to the
        labels, on as many rows as make up 32 million feature values. 1 scores each frequency on
        its own, by how much more similar it finds the landmark to rows of its own class than to
        the others. ``"auto"`` is the smallest of 1, 2, 4, ..., 64 whose fit predicts the same
        held-out rows as well as any, within a hundredth of the error; or, with ``beta="auto"``,
        the number with half its logarithm, or 1, if these do better. With ``frequencies="own"``
        each frequency is scored on its own.
    n_frequencies : "auto" or int, default="auto"
        Number of frequencies in the pool, by default 2000 and down to 512 with more than 650
        landmarks or more than 8000 columns; or, with ``frequencies="own"``, of each landmark, by
        default 64 (the paper's D). They are drawn when they are used, not stored.
    target : {"auto", "classification", "regression"}, default="auto"
        Type of the target `y`; ``"auto"`` infers it from `y`.
    kernel, gamma, n_jobs, memory_budget : see :class:`FourierFeatures`
    random_state : int, RandomState instance or None, default=None
        Controls the choice of the landmarks and the random frequencies.

    Attributes
    ----------
    landmarks_ : ndarray or sparse matrix of shape (n_landmarks, n_features_in_)
        The landmarks.
    landmark_labels_ : ndarray of shape (n_landmarks,)
        Labels of the landmarks. Only if a posterior is learned.
    beta_ : float
        Strength used; 0 is the plain kernel. Only if a posterior is learned.
    n_fit_steps_ : int
        Number of steps used. Only if a posterior is learned.
    losses_, posterior_ : ndarray of shape (n_landmarks, n_frequencies)
        Alignment losses, which the guarantees bound, and posterior weights. Only if a posterior
        is learned; computed on access if the frequencies are shared.
    in_sample_ : ndarray of shape (n_landmarks,)
        Whether each landmark is one of the rows. There is no guarantee for k-means centroids.
    kernel_ : kernel object
        The prior kernel.
    classes_ : ndarray or None
        The classes, None for regression.

    See Also
    --------
    PosteriorFourierFeatures : One posterior for all pairs.
    NystroemFeatures : Landmarks and one fixed kernel, orthogonalised.

    Notes
    -----
    This is not a kernel map: every landmark has a similarity of its own. Duplicate landmarks are
    kept; their similarities differ if each has frequencies of its own.

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
        "frequencies": [StrOptions({"shared", "own"})],
        "beta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "n_fit_steps": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_frequencies": [StrOptions({"auto"}), Interval(Integral, 1, MOST, closed="both")],
        "target": [StrOptions({"auto", "classification", "regression"})],
    }

    _posteriors: Pool | OwnSets | None  # None where nothing is learned
    # None for the plain kernel; one per frequency, or one row per frequency of the pool
    _coefficients: NDArray[np.complex128] | None

    def __init__(
        self,
        *,
        n_components: float = 0.1,
        landmarks: Any = "kmeans",
        posterior: Literal["kl"] | None = "kl",
        frequencies: Literal["shared", "own"] = "shared",
        beta: float | Literal["auto"] = "auto",
        n_fit_steps: int | Literal["auto"] = "auto",
        n_frequencies: int | Literal["auto"] = "auto",
        target: TargetKind = "auto",
        kernel: str | SpectralKernel = "gaussian",
        gamma: float | str = DEFAULT_GAMMA,
        n_jobs: int | None = None,
        memory_budget: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.posterior = posterior
        self.frequencies = frequencies
        self.beta = beta
        self.n_fit_steps = n_fit_steps
        self.n_frequencies = n_frequencies
        self.target = target
        self.kernel = kernel
        self.gamma = gamma
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the landmarks and learn a posterior for each.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Training rows.
        y : array-like of shape (n,) or (n, k)
            Classes or numbers; several columns of numbers are learned from together.
        sample_weight : array-like of shape (n,), optional
            How many times each row counts, see :mod:`bochner.weights`: a weight of 2 repeats the
            row, a weight of 0 leaves it out, and the fractional part of a weight is the
            probability of one more copy.

        Returns
        -------
        self
        """
        X, y, target = self._validate_labelled(X, y, sample_weight)
        self._n_rows = len(y)
        random_state = check_random_state(self.random_state)
        self.kernel_ = resolve_kernel(self.kernel, self.gamma, X, random_state)
        self.classes_ = target.classes
        landmarks = self._place_landmarks(X, y, target, random_state)
        self.landmarks_, self.landmark_labels_, self.in_sample_ = landmarks
        self._posteriors = None
        if self.posterior is None:
            self._coefficients = None
            return self
        if target.classes is not None:
            counts = np.bincount(target.indices(y), minlength=len(target.classes))
            self._shares = counts[target.indices(landmarks.labels)] / len(y)
        candidates, options = self._draw(random_state), self._engine_options()
        if self.frequencies == "own":
            self._posteriors = OwnSets.of_rows(candidates, X, y, target, landmarks, **options)
            self.n_fit_steps_ = 1
            return self._weigh(1.0 if self.beta == "auto" else float(self.beta))
        beta = self._choose_strength(candidates, X, y, target, random_state)
        pool = Pool.of_rows(candidates, X, y, target, landmarks, **options)
        if self.n_fit_steps_ > 1:
            some = np.sort(random_state.permutation(len(y))[: most_rows(candidates.n)])
            columns = target.columns_and_signs(y, centred=True)[0][some]
            features = pool.features(rows_at(X, some), **options)
            pool = fit_together(pool, features, columns, self.n_fit_steps_)
        self._posteriors = pool
        return self._weigh(beta)

    def _choose_strength(
        self,
        candidates: Candidates,
        X: Any,
        y: NDArray[Any],
        target: Target,
        random_state: RandomState,
    ) -> float:
        """Return how strongly to follow the labels, and set `n_fit_steps_`."""
        trials: list[Trial] = []
        if "auto" in (self.beta, self.n_fit_steps):
            place, options = partial(self._trial_landmarks, random_state), self._engine_options()
            trials = make_trials(candidates, X, y, target, place, random_state, **options)
        n_steps, beta = self.n_fit_steps, self.beta
        steps = [n_steps] if isinstance(n_steps, Integral) else best_steps(trials)
        if isinstance(beta, str):
            self.n_fit_steps_, beta = best_strength(trials, steps)
        else:
            self.n_fit_steps_ = steps[0]
        return float(beta)

    def with_posterior(self, *, beta: float) -> Self:
        """Return the map with posteriors of another strength, without looking at the data again.

        The new posteriors are computed from the same losses.

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
        if self._posteriors is None:
            raise ValueError("posterior=None learns nothing; there is no posterior to change.")
        other = copy(self).set_params(beta=beta)
        other._validate_params()
        if other.beta == "auto":
            raise ValueError("beta='auto' needs the data: fit again, or give a number.")
        return other._weigh(float(beta))

    @property
    def losses_(self) -> NDArray[np.float64]:
        """Alignment loss of each landmark and frequency."""
        return self._learned_posteriors().losses

    @property
    def posterior_(self) -> NDArray[np.float64]:
        """Posterior weight of each landmark and frequency."""
        return self._learned_posteriors().posterior(self.beta_)

    def _learned_posteriors(self) -> Pool | OwnSets:
        if self._posteriors is None:
            raise AttributeError("posterior=None learns nothing.")
        return self._posteriors

    def _largest_entry(self, dtype: np.dtype[Any], *, reset: bool) -> float:
        """Return the limit: distances of float32 rows are float32, and so are their squares."""
        return largest_squared(dtype)

    def _features(self, X: Any) -> Any:
        options = self._engine_options()
        if self._coefficients is None:
            return engine.kernel_rows(X, self.landmarks_, self.kernel_, **options)
        return self._learned_posteriors().similarities(X, self._coefficients, **options)

    def bound(self, delta: float = 0.05, *, n_settings: int = 1) -> list[Guarantee]:
        """Return guarantees on the alignment losses of all landmarks' learned similarities.

        With probability ``1 - delta`` over the rows, all of them hold together (PAC-Bayes-kl, and
        a union over the landmarks), for all posteriors at once, even if the strength and the fit
        were chosen on these rows. They concern the similarities that :meth:`transform` computes.
        With a shared pool these differ from the posterior's by the distance of the kernel from
        its mean over the pool: `delta` then covers the draw of the pool too, one half for each,
        and the detail ``pool`` is what that distance adds.

        Parameters
        ----------
        delta : float, default=0.05
            Probability of failure.
        n_settings : int, default=1
            Number of settings (of `gamma`, say) among which one was chosen on these rows.

        Returns
        -------
        list of Guarantee
            One guarantee per landmark. A similarity unrelated to the labels may have a loss of
            ``min(share, 1 - share)`` for the share of the landmark's class, so that only a
            smaller value is informative.
        """
        check_is_fitted(self)
        if self._posteriors is None:
            raise ConditionsNotMet("posterior=None learns nothing; there is no bound.")
        if isinstance(self.landmarks, str) and self.landmarks == "kmeans":
            raise ConditionsNotMet(
                "centroids of k-means depend on all rows, so that no bound holds for them; use "
                "landmarks='random' or points of your own."
            )
        check_honest(self.gamma, self.kernel_, self.kernel, self.classes_)
        m = landmark_pairs(self._n_rows, in_sample=bool(self.in_sample_.any()))
        shared = isinstance(self._posteriors, Pool)
        part = check_delta(delta) / 2 if shared else delta
        bounds = tightest_landmark_bounds(
            self.posterior_,
            np.clip(self.losses_, 0, 1),
            m,
            part,
            n_settings=n_settings,
            shares=self._shares,
        )
        distance = self._posteriors.distance(part)
        return [
            replace(
                bound,
                value=min(1.0, bound.value + distance),
                delta=float(delta),
                details={**bound.details, **({"pool": distance} if shared else {})},
                scope="of the map's own similarity to its landmark, at a new row",
            )
            for bound in bounds
        ]

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

    def _place_landmarks(
        self, X: Any, y: NDArray[Any], target: Target, random_state: RandomState
    ) -> Landmarks:
        given = self.landmarks
        if isinstance(given, str):
            return place_landmarks(given, X, y, target, self._count(len(y)), random_state)
        points, labels = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        if labels is None and self.posterior is not None:
            raise ValueError(
                "landmarks must be given as (points, labels) when the posterior is learned; "
                "or use posterior=None."
            )
        return given_landmarks(points, labels, X, y, target)

    def _trial_landmarks(
        self, random_state: RandomState, X: Any, y: NDArray[Any], target: Target
    ) -> Landmarks:
        """Landmarks for the rows on which strengths are tried."""
        wanted = min(self.landmarks_.shape[0], _MOST_TRIED)
        if isinstance(self.landmarks, str):
            wanted = min(wanted, len(y))
            return place_landmarks(self.landmarks, X, y, target, wanted, random_state)
        known = np.ones(self.landmarks_.shape[0], bool)
        if target.classes is not None:
            known = np.isin(self.landmark_labels_, target.classes)
        chosen = np.sort(random_state.permutation(np.flatnonzero(known))[:wanted])
        return Landmarks(self.landmarks_, self.landmark_labels_, self.in_sample_).take(chosen)

    def _draw(self, random_state: RandomState) -> Candidates:
        """Return the candidates: the pool, or the sets of all landmarks."""
        n_landmarks, shared = self.landmarks_.shape[0], self.frequencies == "shared"
        count, d = self.n_frequencies, self.n_features_in_
        if isinstance(count, str):
            limits = _POOL_TIMES_LANDMARKS // n_landmarks, _POOL_TIMES_COLUMNS // d
            pool = int(np.clip(min(limits), SMALLEST_POOL, _LARGEST_POOL))
            count = pool if shared else _OWN_FREQUENCIES
        return Candidates(
            self.kernel_,
            count if shared else count * n_landmarks,
            d,
            int(random_state.randint(2**31 - 1)),
            multiple=1 if shared else count,
        )

    def _weigh(self, beta: float) -> Self:
        """Set the posteriors of this strength, and return the map."""
        self.beta_ = beta
        coefficients = self._learned_posteriors().coefficients(beta) if beta else None
        self._coefficients = coefficients  # the last: it is fitted
        return self
