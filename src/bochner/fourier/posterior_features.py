"""PosteriorFourierFeatures: the kernel's frequencies, reweighted by how they align with labels."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bochner import engine
from bochner.base import SupervisedFeatureMap, n_pairs, subtask_done
from bochner.engine.places import float_dtype
from bochner.engine.rowwise import with_known_lengths
from bochner.engine.summaries import take_part
from bochner.fourier.alignment import AlignmentSums, label_sums, rows_with_weight
from bochner.fourier.bandwidth import MOST, SHARED_CONSTRAINTS, check_honest, resolve_kernel
from bochner.fourier.candidates import Candidates
from bochner.fourier.langevin import sample_frequencies
from bochner.fourier.posterior import (
    draw_with_replacement,
    draw_without_replacement,
    gibbs_log_weights,
    gibbs_posterior,
    heaviest,
    power_log_weights,
    power_posterior,
)
from bochner.guarantees.alignment import tightest_global_bound
from bochner.guarantees.guarantee import ConditionsNotMet, Guarantee
from bochner.kernels import SpectralKernel
from bochner.targets import Target, TargetKind, check_labels

_CHAINS = 100
_STEPS = 200


def _has_candidates(posterior: PosteriorFourierFeatures) -> bool:
    if posterior.support != "candidates":
        raise AttributeError(f"support={posterior.support!r}: it needs support='candidates'.")
    return True


class PosteriorFourierFeatures(CallbackSupportMixin, SupervisedFeatureMap):
    r"""Fourier features drawn from a posterior learned from the labels.

    The kernel's Fourier transform is a prior over cosines. From it come `n_candidates`
    frequencies; each has a score :math:`S_m`, how well its cosine agrees with the similarity of
    labels over all pairs of rows, computed for all of them in one pass. The posterior is
    :math:`Q_m \propto e^{\beta \sqrt n S_m / 2}` (``divergence="kl"``; the paper's PBRFF) or the
    weights of largest score within a chi-square distance `rho` of the prior
    (``divergence="chi2"``; Sinha and Duchi's OKRFF, also known as LKRF). ``n_components / 2`` of
    the candidates are drawn from it, and become cosines and sines.

    On MNIST 4 against 9 ten learned frequencies do what fifty random ones do. That is two classes
    along few directions; elsewhere expect less, and with thousands of features little.

    Parameters
    ----------
    n_components : int, default=100
        Number of output columns, even. With ``draw="with_replacement"`` repeats are merged and
        there may be fewer.
    divergence : {"kl", "chi2"}, default="kl"
        Which posterior.
    beta : float, default=10.0
        Strength of the ``kl`` posterior. 1 is the value at which the paper's bound converges;
        on most data that barely moves the prior.
    rho : float, default=0.01
        Divergence allowed to the ``chi2`` posterior, as a multiple of `n_candidates`.
    mu : float, default=2.0
        Order of the divergence of ``chi2``; 2 is chi-square itself.
    n_candidates : int, default=20000
        Candidates. They are never stored all at once.
    draw : {"without_replacement", "with_replacement", "heaviest"}, default="without_replacement"
        How the features are taken from the posterior. With replacement is the paper's way,
        which wastes features when the posterior is concentrated; ``"heaviest"`` keeps the
        candidates of largest weight, scaled by it.
    support : {"candidates", "continuous"}, default="candidates"
        ``"continuous"`` draws from :math:`p(w) e^{-\beta \sqrt n L(w)}` itself (the paper's
        equation 11) with Langevin chains, without candidates. Gaussian kernel and ``kl`` only.
        Much better with ten features or fewer; it carries no guarantee. The rows of a dask array
        come to the host, as many as fit in `memory_budget` (None: one gigabyte), a random sample
        if there are more.
    criterion : {"centred", "alignment"}, default="centred"
        What the posterior is learned from. ``"alignment"`` is the paper's: labels are similar by
        +1 or -1. With many or unequal classes its mean over pairs is not 0, and the sum over all
        rows decides. ``"centred"`` takes the shares of the classes off:
        :math:`\sum_c |F_c - \pi_c F_{\mathrm{all}}|^2`, less what labels in random order have,
        and scaled so that these spread alike for any number of classes. For two equal classes
        both differ by less than that; for numbers they are the same.
    target : {"auto", "classification", "regression"}, default="auto"
        What `y` is.
    kernel, gamma, n_jobs, memory_budget : see :class:`FourierFeatures`
    random_state : int, RandomState instance or None, default=None
        Decides the candidates and the draw.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features_in_, n_frequencies)
        The frequencies drawn, one per column.
    weights_ : ndarray of shape (n_frequencies,)
        Their weights in the kernel, summing to one.
    losses_ : ndarray of shape (n_candidates,)
        Alignment loss of every candidate, which the guarantees are about. (Candidates only.)
    scores_ : ndarray of shape (n_candidates,)
        What the posterior is learned from, by `criterion`; ``1 - 2 losses_`` for ``"alignment"``.
        (Candidates only.)
    posterior_ : ndarray of shape (n_candidates,)
        Posterior weight of every candidate. (Candidates only.)
    drawn_ : ndarray of shape (n_frequencies,)
        Which candidates were drawn. (Candidates only.)
    kernel_ : kernel object
        The prior kernel.
    classes_ : ndarray or None
        The classes, None for regression.

    See Also
    --------
    FourierFeatures : The prior, without labels.
    LandmarkSimilarities : One posterior for each of many landmarks.

    Notes
    -----
    The guarantee of :meth:`bound` is about the alignment loss of the kernel of :meth:`transform`,
    not about the error of a classifier that uses it.

    Callbacks of scikit-learn, such as :class:`sklearn.callback.ProgressBar`, are notified of every
    block of candidates (64 MB of frequencies), or of every step of the chains, which they may end.

    References
    ----------
    G. Letarte, E. Morvant, P. Germain, Pseudo-Bayesian learning with kernel Fourier transform as
    prior, AISTATS 2019.

    A. Sinha and J. Duchi, Learning kernels with random features, NIPS 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bochner import PosteriorFourierFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> learned = PosteriorFourierFeatures(n_components=20, n_candidates=2000, random_state=0)
    >>> learned.fit_transform(X, y).shape
    (1797, 20)
    >>> stronger = learned.with_posterior(beta=100.0)        # does not touch the data again
    """

    _learned: ClassVar[str] = "weights_"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "divergence": [StrOptions({"kl", "chi2"})],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "rho": [Interval(Real, 0, None, closed="left")],
        "mu": [Interval(Real, 1, None, closed="neither")],
        "n_candidates": [Interval(Integral, 1, MOST, closed="both")],
        "draw": [StrOptions({"without_replacement", "with_replacement", "heaviest"})],
        "support": [StrOptions({"candidates", "continuous"})],
        "criterion": [StrOptions({"centred", "alignment"})],
        "target": [StrOptions({"auto", "classification", "regression"})],
    }

    kernel_: Any

    def __init__(
        self,
        *,
        n_components: int = 100,
        divergence: Literal["kl", "chi2"] = "kl",
        beta: float = 10.0,
        rho: float = 0.01,
        mu: float = 2.0,
        n_candidates: int = 20_000,
        draw: Literal["without_replacement", "with_replacement", "heaviest"] = (
            "without_replacement"
        ),
        support: Literal["candidates", "continuous"] = "candidates",
        criterion: Literal["centred", "alignment"] = "centred",
        target: TargetKind = "auto",
        kernel: str | SpectralKernel = "gaussian",
        gamma: float | str = "scale",
        n_jobs: int | None = None,
        memory_budget: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.divergence = divergence
        self.beta = beta
        self.rho = rho
        self.mu = mu
        self.n_candidates = n_candidates
        self.draw = draw
        self.support = support
        self.criterion = criterion
        self.target = target
        self.kernel = kernel
        self.gamma = gamma
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the posterior and draw from it.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Classes or numbers.
        sample_weight : array-like of shape (n,), optional
            Weight of each row in losses and scores. Rows of weight 0 are left out altogether.

        Returns
        -------
        self
        """
        X, y, target = self._validate_labelled(X, y)
        if self.support == "continuous":
            if sample_weight is not None:
                raise ValueError("sample_weight needs support='candidates'.")
            self._begin(X, y, target)
            self._sample_continuous(X, y)
            return self
        X, y, weights = rows_with_weight(X, y, sample_weight, least=2)
        self._begin(X, y, Target.of(y, self.target))
        self._add_rows(X, y, weights)
        return self._choose()

    @available_if(_has_candidates)  # type: ignore[untyped-decorator]
    @with_callbacks  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows. The sums are additive: parts give what `fit` on all rows gives.

        Parameters
        ----------
        X, y, sample_weight : see :meth:`fit`
        classes : array-like, optional
            All classes that will be seen. Without it, those of the first part.

        Returns
        -------
        self

        Notes
        -----
        `gamma` must be a number for that to be exact: a rule looks at the first part only.
        """
        first = not hasattr(self, "_sums")
        X = with_known_lengths(self._validate_rows(X, reset=first))
        y = check_labels(y, X.shape[0])
        X, y, weights = rows_with_weight(X, y, sample_weight, least=2 * first)
        if first:
            labels = y if classes is None else np.unique(np.asarray(classes))
            self._begin(X, y, Target.of(labels, self.target))
        if len(y):
            self._add_rows(X, y, weights)
        return self._choose()

    @available_if(_has_candidates)  # type: ignore[untyped-decorator]
    def with_posterior(self, **changes: Any) -> Self:
        """The map with another posterior, from the same losses: the data is not needed.

        Parameters
        ----------
        **changes
            New values for `n_components`, `divergence`, `beta`, `rho`, `mu`, `draw` or
            `criterion`.

        Returns
        -------
        PosteriorFourierFeatures
            A fitted copy; this one is unchanged. Costs O(n_candidates).
        """
        check_is_fitted(self, "losses_")
        allowed = {"n_components", "divergence", "beta", "rho", "mu", "draw", "criterion"}
        if not set(changes) <= allowed:
            wrong = sorted(set(changes) - allowed)[0]
            raise ValueError(
                f"{wrong} cannot be changed without the data; only {sorted(allowed)}."
            )
        other = copy(self).set_params(**changes)
        other._validate_params()
        return other._choose()

    def _features(self, X: Any) -> Any:
        scale = np.sqrt(self.weights_)
        return engine.features(X, self.frequencies_, scale=scale, **self._engine_options())

    def bound(self, delta: float = 0.05, *, n_settings: int = 1) -> Guarantee:
        """A guarantee on the alignment loss of the map's own kernel, on new pairs of rows.

        The kernel of :meth:`transform`: the drawn frequencies with their weights. With
        probability ``1 - delta`` over the rows it holds for all draws and all posteriors at once,
        so that `beta` and `rho` may have been tuned on the same rows for free; it assumes that
        `gamma`, and any scaling of the columns, were fixed without them.

        Parameters
        ----------
        delta : float, default=0.05
            Probability of failure.
        n_settings : int, default=1
            Number of settings (of `gamma`, say) among which these rows have chosen.

        Returns
        -------
        Guarantee
            Of the alignment loss. The divergence is ``ln(n_candidates / D)`` for `D` frequencies
            of equal weight; a kernel without relation to the labels may have
            ``min(1/2, 1 - sum of squared class shares)``, so that only less says anything.
        """
        self._check_certifiable()
        own = np.zeros_like(self.losses_)
        own[self.drawn_] = self.weights_
        return self._certify(own, "of the map's own kernel", delta, n_settings)

    def posterior_bound(self, delta: float = 0.05, *, n_settings: int = 1) -> Guarantee:
        """A guarantee on the posterior's kernel, which is *not* the one of :meth:`transform`.

        All candidates with their posterior weights: the kernel that the paper's theorems are
        about. The drawn frequencies may have a larger loss; :meth:`bound` is about them.

        Parameters
        ----------
        delta, n_settings : see :meth:`bound`

        Returns
        -------
        Guarantee
            Of the alignment loss.
        """
        self._check_certifiable()
        scope = "of the posterior's kernel over all candidates"
        return self._certify(self.posterior_, scope, delta, n_settings)

    def _check_certifiable(self) -> None:
        check_is_fitted(self)
        if self.support == "continuous":
            raise ConditionsNotMet(
                "support='continuous' has no bound: its divergence from the prior is unknown."
            )
        if self._weighted:
            raise ConditionsNotMet("there is no bound for a fit with sample_weight.")
        check_honest(self.gamma, self.kernel_, self.kernel, self.classes_)

    def _certify(self, weights: Any, scope: str, delta: float, n_settings: int) -> Guarantee:
        found = tightest_global_bound(
            weights,
            np.clip(self.losses_, 0, 1),
            self._sums.n_rows,
            delta,
            n_settings=n_settings,
            shares=self._sums.shares,
        )
        return replace(found, scope=f"{scope} {found.scope}")

    @property
    def _n_features_out(self) -> int:
        return 2 * int(self.frequencies_.shape[1])

    def _n_frequencies(self) -> int:
        n = n_pairs(self.n_components)
        if self.support == "candidates" and n > self.n_candidates:
            raise ValueError(
                f"n_components={self.n_components} needs {n} frequencies, but there are only "
                f"n_candidates={self.n_candidates}."
            )
        return n

    def _begin(self, X: Any, y: Any, target: Target) -> None:
        self._n_frequencies()
        random_state = check_random_state(self.random_state)
        self.kernel_ = resolve_kernel(self.kernel, self.gamma, X, random_state)
        self.classes_ = target.classes
        seeds = random_state.randint(2**31 - 1, size=2)
        self._draw_seed = int(seeds[1])
        self._dtype = float_dtype(X)
        if self.support == "candidates":
            self._candidates = Candidates(
                self.kernel_, self.n_candidates, self.n_features_in_, int(seeds[0])
            )
            self._sums = AlignmentSums.empty(target, self.n_candidates, y)
            self._weighted = False

    def _add_rows(self, X: Any, y: Any, weights: Any) -> None:
        self._weighted |= weights is not None
        context = self._init_callback_context(max_subtasks=self._candidates.n_blocks)
        context.call_on_fit_task_begin(estimator=self)
        parts = []
        for _, W in self._candidates.blocks(self._dtype):
            parts.append(label_sums(self._sums, X, y, W, weights, **self._engine_options()))
            subtask_done(context, self, "block of candidates")
        context.call_on_fit_task_end(estimator=self)
        self._sums = self._sums.add(np.concatenate(parts), y, weights)
        self.losses_ = self._sums.losses()

    def _choose(self) -> Self:
        n, n_rows = self._n_frequencies(), self._sums.n_rows
        self.scores_ = self._sums.agreement(centred=self.criterion == "centred")
        losses = 0.5 - self.scores_ / 2
        if self.divergence == "kl":
            self.posterior_ = gibbs_posterior(losses, self.beta, n_rows)
            logarithms = gibbs_log_weights(losses, self.beta, n_rows)
        else:
            self.posterior_ = power_posterior(losses, self.rho * len(losses), self.mu)
            logarithms = power_log_weights(self.posterior_, losses)
        random_state = np.random.RandomState(self._draw_seed)
        if self.draw == "without_replacement":
            index = draw_without_replacement(logarithms, n, random_state)
            weights = np.full(n, 1 / n)
        elif self.draw == "with_replacement":
            index, weights = draw_with_replacement(self.posterior_, n, random_state)
        else:
            index, weights = heaviest(self.posterior_, n)
        self.drawn_ = index
        self.frequencies_ = self._candidates.take(index, self._dtype)
        self.weights_ = weights
        return self

    def _sample_continuous(self, X: Any, y: Any) -> None:
        if self.divergence != "kl" or not getattr(self.kernel_, "gaussian", False):
            raise ValueError(
                "support='continuous' needs divergence='kl' and the Gaussian kernel, got "
                f"divergence={self.divergence!r} and {self.kernel_!r}."
            )
        if self.beta >= 1000:
            warnings.warn(
                f"beta={self.beta:g}: the chains do not mix at this strength; the frequencies "
                "are peaks of the posterior rather than draws from it.",
                ConvergenceWarning,
                stacklevel=3,
            )
        random_state = np.random.RandomState(self._draw_seed)
        X, y = take_part(X, y, random_state, memory_budget=self.memory_budget)
        n = self._n_frequencies()
        A, signs = Target(self.classes_).columns_and_signs(y, centred=self.criterion == "centred")
        context = self._init_callback_context(max_subtasks=_STEPS)
        context.call_on_fit_task_begin(estimator=self)
        chains = sample_frequencies(
            X,
            A,
            signs,
            max(_CHAINS, n),
            beta=self.beta,
            spread=np.sqrt(2 * self.kernel_.width),
            dtype=self._dtype,
            n_steps=_STEPS,
            random_state=random_state,
            after_step=lambda: subtask_done(context, self, "step"),
            **self._engine_options(),
        )
        context.call_on_fit_task_end(estimator=self)
        self.frequencies_ = chains[:, :n]
        self.weights_ = np.full(n, 1 / n)
