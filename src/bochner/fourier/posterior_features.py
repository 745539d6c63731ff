"""PosteriorFourierFeatures: the kernel's frequencies, chosen by the labels."""

from __future__ import annotations

import warnings
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from bochner import engine
from bochner.base import subtask_done
from bochner.engine.places import float_dtype
from bochner.engine.rowwise import with_known_lengths
from bochner.engine.summaries import take_part
from bochner.fourier.alignment import AlignmentSums, label_sums
from bochner.fourier.bandwidth import DEFAULT_GAMMA, MOST, SHARED_CONSTRAINTS, resolve_kernel
from bochner.fourier.candidates import Candidates
from bochner.fourier.drawn_posterior import SETS, DrawnPosterior, looks_once
from bochner.fourier.langevin import sample_frequencies
from bochner.fourier.sampling import draw_frequencies
from bochner.fourier.selection import PASSES, few_columns, select_frequencies
from bochner.fourier.validation import MAX_ROWS, MOST_CHOSEN, count_that_helps
from bochner.kernels import SpectralKernel
from bochner.linear.splits import hold_out
from bochner.targets import Target, TargetKind, check_labels
from bochner.weights import rows_with_weight

Draw = Literal["auto", "orthogonal", "without_replacement", "with_replacement", "heaviest"]

_CHAINS = 100
_STEPS = 200


class PosteriorFourierFeatures(CallbackSupportMixin, DrawnPosterior):
    r"""Fourier features whose frequencies are learned from the labels.

    The kernel's Fourier transform is a prior over cosines, from which `n_candidates` frequencies
    are drawn. By default a set of them is chosen one by one, each for how much its cosine and
    sine add to a least-squares fit of the labels on those already chosen. As many are chosen as
    help on held-out rows; if none do, the map is :class:`FourierFeatures`. Apart from the luck of
    the held-out rows, the map is therefore not worse than a random one of the same width.

    The papers weigh each candidate on its own instead. Its score :math:`S_m` measures how well
    its cosine agrees with the similarity of the labels over all pairs of rows; the scores of all
    candidates are computed in one pass. The posterior is
    :math:`Q_m \propto e^{\beta \sqrt n S_m / 2}` (``divergence="kl"``; the paper's PBRFF) or the
    weights of largest score within a chi-square distance `rho` of the prior
    (``divergence="chi2"``; Sinha and Duchi's OKRFF, also known as LKRF). With the last three
    values of `draw`, ``n_components / 2`` candidates are drawn from it. The best candidates
    resemble each other: with many classes such a map may be worse than a random one.

    Parameters
    ----------
    n_components : int, default=100
        Number of output columns; must be even. With ``draw="with_replacement"`` repeated
        frequencies are merged, so that there may be fewer.
    divergence : {"kl", "chi2"}, default="kl"
        Which posterior to learn. It determines `posterior_` and, with the last three values of
        `draw`, the frequencies.
    beta : float, default=10.0
        Strength of the ``kl`` posterior. 1 is the value at which the paper's bound converges;
        on most data it barely moves the prior.
    rho : float, default=0.01
        Largest divergence of the ``chi2`` posterior from the prior, as a multiple of
        `n_candidates`.
    mu : float, default=2.0
        Order of the ``chi2`` divergence; 2 is chi-square itself.
    n_candidates : int, default=20000
        Number of candidates, which are never stored all at once. A set is chosen from the first
        2000 of them (fewer above 16 000 columns; four per frequency, if that is more), as more
        would gain little.
    draw : {"auto", "orthogonal", "without_replacement", "with_replacement", "heaviest"}, \
            default="auto"
        How the frequencies are taken from the candidates. ``"orthogonal"`` chooses a set that
        jointly fits the labels, see :mod:`bochner.fourier.selection`. ``"auto"`` keeps as large a
        part of that set as helps on held-out rows, at most 256, see
        :mod:`bochner.fourier.validation`; the remaining frequencies are those of
        :class:`FourierFeatures` with the same `random_state`. The other three take frequencies
        from the posterior: ``"with_replacement"`` is the paper's method, which wastes features
        when the posterior is concentrated; ``"heaviest"`` keeps the candidates of largest weight,
        scaled by it.
    n_chosen : "auto" or int, default="auto"
        Number of frequencies that ``draw="auto"`` chooses, at most half of `n_components`.
        ``"auto"`` chooses as many as help on held-out rows; a number saves that comparison.
    support : {"candidates", "continuous"}, default="candidates"
        Where the frequencies come from. ``"continuous"`` draws them from
        :math:`p(w) e^{-\beta \sqrt n L(w)}` itself (the paper's equation 11) with Langevin
        chains, without candidates. Gaussian kernel and ``kl`` only.
        Much better with ten features or fewer, but without a guarantee. The rows of a dask array
        are brought to the host: as many as fit in `memory_budget` (None means one gigabyte), a
        random sample if there are more.
    criterion : {"centred", "alignment"}, default="centred"
        The similarity of labels from which the posterior is learned. ``"alignment"`` is the
        paper's: +1 for equal labels, -1 for different ones. With many or unequal classes its mean
        over pairs is not 0, and the sum over all rows dominates. ``"centred"`` subtracts the
        shares of the classes, :math:`\sum_c |F_c - \pi_c F_{\mathrm{all}}|^2`, and the value
        expected for labels in random order, and scales the result so that its spread for such
        labels is the same for any number of classes. For two equal classes the two criteria
        differ by less than that; for numbers they are the same.
    target : {"auto", "classification", "regression"}, default="auto"
        Type of the target `y`; ``"auto"`` infers it from `y`.
    kernel, gamma, n_jobs, memory_budget : see :class:`FourierFeatures`
    random_state : int, RandomState instance or None, default=None
        Controls the random candidates and the draw from them.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features_in_, n_frequencies)
        The frequencies drawn or chosen, one per column.
    weights_ : ndarray of shape (n_frequencies,)
        Weights of the frequencies in the kernel, summing to one.
    losses_ : ndarray of shape (n_candidates,)
        Alignment loss of each candidate, which the guarantees bound. Only with
        ``support="candidates"``.
    scores_ : ndarray of shape (n_candidates,)
        Score of each candidate by `criterion`, from which the posterior is learned;
        ``1 - 2 losses_`` for ``"alignment"``. Only with ``support="candidates"``.
    posterior_ : ndarray of shape (n_candidates,)
        Posterior weight of each candidate. Only with ``support="candidates"``.
    drawn_ : ndarray of shape (n_frequencies,)
        Indices of the candidates drawn or chosen, a chosen set in the order of choice. Indices
        from `n_candidates` on are frequencies of the random map. Only with
        ``support="candidates"``.
    n_chosen_ : int
        Number of frequencies chosen as a set. Only with ``draw="auto"`` or ``"orthogonal"``.
    kernel_ : kernel object
        The prior kernel.
    classes_ : ndarray or None
        The classes, None for regression.

    See Also
    --------
    FourierFeatures : The prior, without labels.
    LandmarkSimilarities : A posterior of its own for each of many landmarks.

    Notes
    -----
    The guarantee of :meth:`bound` concerns the alignment loss of the kernel of :meth:`transform`,
    not the error of a classifier that uses it.

    Callbacks of scikit-learn, such as :class:`sklearn.callback.ProgressBar`, are notified after
    every block of candidates (64 MB of frequencies) and every pass over the rows that chooses
    among them, or after every step of the chains, which they may stop early.

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
    >>> learned.n_chosen_
    10
    >>> drawn = learned.with_posterior(beta=100.0)        # does not touch the data again
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
        "draw": [StrOptions(set(get_args(Draw)))],
        "n_chosen": [StrOptions({"auto"}), Interval(Integral, 0, MOST, closed="both")],
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
        draw: Draw = "auto",
        n_chosen: int | Literal["auto"] = "auto",
        support: Literal["candidates", "continuous"] = "candidates",
        criterion: Literal["centred", "alignment"] = "centred",
        target: TargetKind = "auto",
        kernel: str | SpectralKernel = "gaussian",
        gamma: float | str = DEFAULT_GAMMA,
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
        self.n_chosen = n_chosen
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
        """Learn the posterior, and choose or draw the frequencies.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Training rows.
        y : array-like of shape (n,) or (n, k)
            Classes or numbers; several columns of numbers are learned from together.
        sample_weight : array-like of shape (n,), optional
            How many times each row counts: a weight of 2 repeats the row, a weight of 0 leaves it
            out. Where rows are held out (``draw="auto"``), a row and its copies are on the same
            side of the split. With ``support="continuous"`` the fractional part of a weight is
            the probability of one more copy.

        Returns
        -------
        self
        """
        if self.support == "continuous":
            X, y, target = self._validate_labelled(X, y, sample_weight)
            self._begin(X, y, None, target)
            self._sample_continuous(X, y)
            return self
        X, y, _ = self._validate_labelled(X, y)
        X, y, weights = rows_with_weight(X, y, sample_weight, least=2)
        prior = self._begin(X, y, weights, Target.of(y, self.target))
        context = self._init_callback_context(
            max_subtasks=self._candidates.n_blocks + 2 * PASSES * (self.draw in SETS)
        )
        context.call_on_fit_task_begin(estimator=self)
        self._add_rows(X, y, weights, prior, context)
        self._learn_posterior()
        if self.draw in SETS:
            self._choose_set(X, y, weights, prior, context)
        else:
            self._draw()
        context.call_on_fit_task_end(estimator=self)
        return self

    @available_if(looks_once)  # type: ignore[untyped-decorator]
    @with_callbacks  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, with the same result as `fit` on all rows together.

        The sums over the rows are additive.

        Parameters
        ----------
        X, y, sample_weight : see :meth:`fit`
        classes : array-like, optional
            All classes that will be seen. If None, the classes of the first part are used.

        Returns
        -------
        self

        Notes
        -----
        The result is exact only if `gamma` is a number: a rule looks at the first part only. The
        method is not available where `draw` chooses a set (``"auto"``, ``"orthogonal"``), which
        needs several passes over all rows.
        """
        first = not hasattr(self, "_sums")
        X = with_known_lengths(self._validate_rows(X, reset=first))
        y = check_labels(y, X.shape[0])
        X, y, weights = rows_with_weight(X, y, sample_weight, least=2 * first)
        if first:
            labels = y if classes is None else np.unique(np.asarray(classes))
            self._begin(X, y, weights, Target.of(labels, self.target))
        context = self._init_callback_context(max_subtasks=self._candidates.n_blocks)
        context.call_on_fit_task_begin(estimator=self)
        if len(y):
            self._add_rows(X, y, weights, None, context)
        self._learn_posterior()
        self._draw()
        context.call_on_fit_task_end(estimator=self)
        return self

    def _features(self, X: Any) -> Any:
        scale = np.sqrt(self.weights_)
        return engine.features(X, self.frequencies_, scale=scale, **self._engine_options())

    @property
    def _n_features_out(self) -> int:
        return 2 * int(self.frequencies_.shape[1])

    def _begin(self, X: Any, y: Any, weights: Any, target: Target) -> Any:
        """Prepare everything but the rows; return the random map's frequencies if needed."""
        n = self._n_frequencies()
        random_state = check_random_state(self.random_state)
        self.kernel_ = resolve_kernel(self.kernel, self.gamma, X, random_state, weights)
        self.classes_ = target.classes
        prior = np.empty((self.n_features_in_, 0))
        if self.draw == "auto":  # as FourierFeatures draws them next
            prior = draw_frequencies(
                self.kernel_, n, self.n_features_in_, random_state=deepcopy(random_state)
            )
        seeds = random_state.randint(2**31 - 1, size=2)
        self._draw_seed = int(seeds[1])
        self._dtype = float_dtype(X)
        if self.support == "candidates":
            self._candidates = Candidates(
                self.kernel_, self.n_candidates, self.n_features_in_, int(seeds[0])
            )
            n_frequencies = self.n_candidates + prior.shape[1]
            self._sums = AlignmentSums.empty(target, n_frequencies, y)
            self._weighted = False
        return prior.astype(self._dtype, copy=False)

    def _add_rows(self, X: Any, y: Any, weights: Any, prior: Any, context: Any) -> None:
        self._weighted |= weights is not None
        parts = []

        def add(W: Any) -> None:
            parts.append(label_sums(self._sums, X, y, W, weights, **self._engine_options()))

        for _, W in self._candidates.blocks(self._dtype):
            add(W)
            subtask_done(context, self, "block of candidates")
        if prior is not None and prior.shape[1]:
            add(prior)
        self._sums = self._sums.add(np.concatenate(parts), y, weights)
        self.losses_ = self._sums.losses()[: self.n_candidates]

    def _choose_set(self, X: Any, y: Any, weights: Any, prior: Any, context: Any) -> None:
        """Choose frequencies that complement each other, followed by random ones if ``"auto"``."""
        n = count = self._n_frequencies()
        is_open = self.draw == self.n_chosen == "auto"
        if self.draw == "auto":
            count = min(n, MOST_CHOSEN if is_open else int(self.n_chosen))
        W = self._candidates.first(4 * count, self._dtype)
        columns = few_columns(Target(self.classes_).columns_to_predict(y), self._draw_seed)
        options: dict[str, Any] = {
            "weights": weights,
            "n_candidates": W.shape[1],
            "after_pass": lambda: subtask_done(context, self, "pass over the rows"),
            **self._engine_options(),
        }
        if is_open:
            classes = self.classes_ is not None
            split = hold_out(y, self._draw_seed, classes=classes, max_rows=MAX_ROWS)
            count = count_that_helps(X, columns, W, prior, split, **options)
        index = select_frequencies(X, columns, W, count, **options).index
        self.n_chosen_ = count
        self.drawn_ = np.concatenate([index, self.n_candidates + np.arange(n - count)])
        self.frequencies_ = np.hstack([W[:, index], prior[:, : n - count]])
        self.weights_ = np.full(n, 1 / n)

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
