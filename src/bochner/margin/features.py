"""MarginFourierFeatures: frequencies found as peaks, in a game against an SVM's dual weights."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.random import RandomState
from sklearn.base import _fit_context, clone
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from bochner import engine
from bochner.base import n_pairs
from bochner.engine.summaries import take_part
from bochner.fourier.bandwidth import DEFAULT_GAMMA, MOST, SHARED_CONSTRAINTS, resolve_kernel
from bochner.kernels import Gaussian
from bochner.margin.learning import LearnedFrequencies
from bochner.margin.subspace import directions_of_rows
from bochner.targets import TargetKind

_ROWS_OF_A_ROUND = 16_000
_FEW, _FEW_ROWS = 100, 4000  # frequencies, and rows, with which a search is cheap


class MarginFourierFeatures(LearnedFrequencies):
    r"""Fourier features that make the margin of a support vector machine large.

    A kernel player looks for the frequencies at which the Fourier potential of the labels,

    .. math:: v(w) = \Bigl| \sum_i \alpha_i y_i e^{i \langle w, x_i \rangle} \Bigr|^2 ,

    has its peaks; a data player answers by moving the dual weights :math:`\alpha` to the rows
    that the features so far do not tell apart; and so on, until there are ``n_components / 2``
    frequencies, or until held-out rows say that random ones would do as well: these follow, then.
    At the equilibrium of this game the kernel has the largest margin of all translation-invariant
    kernels (Not-So-Random Features, Algorithm 2).

    It helps most where random frequencies rarely hit anything: in many dimensions, with few
    features. On MNIST 4 against 9, 100 learned features do what 5000 random ones do.

    Parameters
    ----------
    n_components : int, default=100
        Number of output columns, even.
    dual_update : {"auto", "corrective", "gradient"}, default="auto"
        The data player's move: towards the dual weights of a squared-hinge model on the
        features so far, or the paper's step of projected gradient ascent. For more than two
        classes and for regression, the residual of a ridge regression takes the place of the
        dual weights (``"gradient"``: one against the rest, and matching pursuit).
    band : float, None or "auto", default="auto"
        The search is on :math:`v(w) e^{-|w|^2 / (2 s^2)}` with ``s = band * sqrt(2 gamma)``. At
        high frequencies the potential of a finite sample is noise; a narrow band keeps away
        from it. None is no limit.
    damping : float or "auto", default="auto"
        Share of the way that the data player goes, up to 1.
    strength : float or "auto", default="auto"
        Weight of the mean loss in the linear model that the corrective update solves, against
        :math:`|w|^2 / 2`; ``"auto"`` is 100 for two classes and 5000 otherwise.
    n_peaks : int or "auto", default="auto"
        Frequencies found in one round. ``"auto"``: as many as leave 20 rounds, 10 at most; twice
        as many after 200 frequencies, three times as many after 400 (not with ``stop=None``).
    n_chains : int, default=100
        Chains that search in parallel. Half of them go on from the round before.
    n_steps : int, default=12
        Steps of each chain in a round.
    temperature : float, default=0.0
        Noise of the chains relative to their gradient step; the paper uses 1 and many more
        steps.
    n_directions : int or None, default=100
        The search stays within this many principal directions of the rows, found from a
        sample of at most 8192. None: all.
    rows_per_round : int or None, default=16000
        Rows that a search looks at, drawn anew each round where there are more; None is all.
    max_rows : int or None, default=200000
        Rows that take part at all; of more, a random sample. The data player keeps
        ``max_rows * n_components`` numbers during `fit`. The rows of a dask array that take part
        come to the host, as many as fit in `memory_budget` (None: one gigabyte).
    target : {"auto", "classification", "regression"}, default="auto"
        What `y` is. As in scikit-learn, ``"auto"`` takes whole numbers for classes.
    gamma : float, "scale" or "median", default="median"
        Sets the scale: chains start from the frequencies of the Gaussian kernel with this
        `gamma`, widened by 1.5. See :class:`FourierFeatures`.
    stop : "auto", int or None, default="auto"
        ``"auto"``: a part of the rows (a fifth, or 500, or a tenth, up to 2000) takes no part in
        the game, and decides when it ends and how many of its frequencies are kept; random ones
        follow them. With fewer than 80 rows none is held out and the game goes on to its end. A
        number of frequencies to learn, or None, which is all: the game of the paper, on all rows.
    polish_steps : int, default=0
        Most steps in which all learned frequencies are moved together along the gradient of the
        objective of the linear model on them, after the game. Held-out rows decide how many are
        kept, and whether any: at most a few dozen help, and where labels are noisy often none.
        With ``stop=None`` the held-out rows have taken part in the game, so that fewer are kept.
    warm_start : bool, default=False
        Whether `fit` goes on from the frequencies it has, when `n_components` was increased (of
        fewer, the first are kept). The rows must be the same, which only their number shows.
    n_jobs, memory_budget : see :class:`FourierFeatures`
    random_state : int, RandomState instance or None, default=None
        Decides the chains and samples.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features_in_, n_components / 2)
        In the order they were found, then the random ones: the first ones alone are a smaller
        map.
    n_learned_ : int
        How many of them were learned.
    setting_ : Setting
        How the game was played: `dual_update`, `band`, `damping`.
    trials_ : list of (Setting, float)
        The settings tried on held-out rows, with their mean loss there. Empty when nothing was
        left to choose, or with fewer than 80 rows.
    history_ : dict of ndarrays, one number per round
        ``"potential"``: the peak found, relative to the largest possible. ``"objective"``: the
        optimum of the linear model on the features so far (an upper limit; with ``"gradient"``
        only in the last round, NaN before, and in regression throughout), ``"margin"``: the
        margin it stands for, ``(2 * objective) ** -0.5``, ``"value"``: what the dual weights of
        the round are worth against that peak, ``"gap"``: the objective less the largest value so
        far.
    duality_gap_ : float
        The last gap. An estimate, not a proof: the true peak may be higher than the one found.
        Below zero it says that peaks were missed.
    dual_weights_ : ndarray of shape (n, k)
        The coefficients :math:`\alpha_i y_i` (or residuals) at the end, for the rows that took
        part in the game.
    kernel_ : Gaussian
        The kernel that the chains started from, and that the random frequencies are of.
    n_iter_ : int
        Rounds played.
    classes_ : ndarray or None
        The classes, None for regression.

    See Also
    --------
    PosteriorFourierFeatures : Random frequencies reweighted once; faster, with a guarantee.
    bochner.margin.sphere.features.MarginHarmonicFeatures : The same game on the sphere.

    Notes
    -----
    What is ``"auto"`` among `dual_update`, `band` and `damping` is chosen by playing short games
    on at most 4500 rows and judging them by others. Give all three to save that time, about half
    of the whole with 100 features. With 400 and more, the game goes on from the best short one.

    Features learned from rows separate these rows better than new ones. Choose the parameters
    of whatever comes after the map with both in one pipeline, not on features of the same rows.

    Ctrl-C during the game keeps the frequencies found so far, with a warning; while settings are
    tried it ends the fit. Callbacks of scikit-learn, such as
    :class:`sklearn.callback.ProgressBar`, are notified of every round.

    References
    ----------
    B. Bullins, C. Zhang, Y. Zhang, Not-so-random features, ICLR 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from bochner import MarginFourierFeatures
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> model = make_pipeline(MarginFourierFeatures(n_components=40, random_state=0),
    ...                       RidgeClassifier(alpha=0.01))
    >>> bool(cross_val_score(model, X, y, cv=2).mean() > 0.9)
    True
    """

    _learned: ClassVar[str] = "frequencies_"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: rule for name, rule in SHARED_CONSTRAINTS.items() if name != "kernel"},
        "n_components": [Interval(Integral, 1, MOST, closed="both")],
        "dual_update": [StrOptions({"auto", "corrective", "gradient"})],
        "band": [None, StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "damping": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right")],
        "strength": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "n_peaks": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 2, MOST, closed="both")],
        "n_steps": [Interval(Integral, 1, MOST, closed="both")],
        "temperature": [Interval(Real, 0, None, closed="left")],
        "n_directions": [None, Interval(Integral, 1, None, closed="left")],
        "rows_per_round": [None, Interval(Integral, 2, None, closed="left")],
        "max_rows": [None, Interval(Integral, 2, None, closed="left")],
        "target": [StrOptions({"auto", "classification", "regression"})],
        "stop": [None, StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "polish_steps": [Interval(Integral, 0, None, closed="left")],
        "warm_start": ["boolean"],
    }

    _n_rows: int

    def __init__(
        self,
        *,
        n_components: int = 100,
        dual_update: Literal["auto", "corrective", "gradient"] = "auto",
        band: float | Literal["auto"] | None = "auto",
        damping: float | Literal["auto"] = "auto",
        strength: float | Literal["auto"] = "auto",
        n_peaks: int | Literal["auto"] = "auto",
        n_chains: int = 100,
        n_steps: int = 12,
        temperature: float = 0.0,
        n_directions: int | None = 100,
        rows_per_round: int | None = _ROWS_OF_A_ROUND,
        max_rows: int | None = 200_000,
        target: TargetKind = "auto",
        gamma: float | str = DEFAULT_GAMMA,
        stop: int | Literal["auto"] | None = "auto",
        polish_steps: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        memory_budget: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.dual_update = dual_update
        self.band = band
        self.damping = damping
        self.strength = strength
        self.n_peaks = n_peaks
        self.n_chains = n_chains
        self.n_steps = n_steps
        self.temperature = temperature
        self.n_directions = n_directions
        self.rows_per_round = rows_per_round
        self.max_rows = max_rows
        self.target = target
        self.gamma = gamma
        self.stop = stop
        self.polish_steps = polish_steps
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the frequencies.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows.
        y : array-like of shape (n,) or (n, k)
            Classes or numbers; several columns of numbers are learned from together.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, see :mod:`bochner.weights`: a weight of 2 is the row twice,
            0 is no row; part of a whole number is the chance of one more.

        Returns
        -------
        self
        """
        before = getattr(self, "frequencies_", None) if self.warm_start else None
        X, y, target = self._validate_labelled(X, y, sample_weight, reset=before is None)
        n_frequencies = n_pairs(self.n_components)
        if before is not None and before.shape[1] >= n_frequencies:
            self.frequencies_ = before[:, :n_frequencies]
            self.n_learned_ = min(self.n_learned_, n_frequencies)
            return self
        random_state = check_random_state(self.random_state)
        seeds = random_state.randint(2**31 - 1, size=4) if before is None else self._seeds
        X, y = self._take_part(X, y, RandomState(seeds[0]))
        if before is None:
            self._seeds, self.classes_, self._n_rows = seeds, target.classes, len(y)
            kernel = resolve_kernel("gaussian", self.gamma, X, random_state)
            self.kernel_ = cast(Gaussian, kernel)
            self._basis = directions_of_rows(X, self.n_directions, RandomState(seeds[1]))
        elif self._n_rows != len(y):
            raise ValueError(
                f"warm_start=True needs the rows of the fit before, {self._n_rows} "
                f"of them, got {len(y)}."
            )
        if before is not None and self.n_learned_ < before.shape[1]:  # the game is over
            more = self._random_frequencies(n_frequencies - self.n_learned_)
            self.frequencies_ = np.hstack(
                [before[:, : self.n_learned_], more.astype(before.dtype)]
            )
        else:
            self._learn(X, y, target, before)
        return self

    def refit(self, X: Any, y: Any) -> Self:
        """The same game with other rows: frequencies go on from where they are, without a search.

        For more rows of the same kind, or for all where a part has chosen how the game is played
        and when it ends: it is not looked for again. Fewer than 100 frequencies, of which each
        matters more, and those of fewer than 4000 rows, which move further, are searched again.

        Parameters
        ----------
        X, y : see :meth:`fit`
            Rows with the columns, and with the classes, of those before.

        Returns
        -------
        MarginFourierFeatures
            A fitted copy, whose parameters say what was found; this one is unchanged.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from bochner import MarginFourierFeatures
        >>> X, y = load_digits(n_class=4, return_X_y=True)
        >>> half = MarginFourierFeatures(n_components=40, random_state=0).fit(X[::2], y[::2])
        >>> half.refit(X, y).frequencies_.shape
        (64, 20)
        """
        check_is_fitted(self)
        setting = self.setting_
        settled = {
            **{name: getattr(setting, name) for name in ("dual_update", "band", "damping")},
            "gamma": self.kernel_.width,
            "stop": self.n_learned_,
        }
        if self.n_learned_ < _FEW or len(y) < _FEW_ROWS:
            return cast(Self, clone(self).set_params(**settled).fit(X, y))
        other = copy(self).set_params(**settled)
        X, y, target = other._validate_labelled(X, y, reset=False)
        known: Any = self.classes_
        if not np.array_equal(target.classes, known):
            raise ValueError("refit needs the classes of the fit before.")
        X, y = other._take_part(X, y, RandomState(self._seeds[0]))
        other._n_rows = len(y)
        other._follow(X, y, target)
        return other

    def _features(self, X: Any) -> Any:
        return engine.features(X, self.frequencies_, **self._engine_options())

    @property
    def _n_features_out(self) -> int:
        return 2 * int(self.frequencies_.shape[1])

    def _take_part(self, X: Any, y: Any, random_state: RandomState) -> tuple[Any, Any]:
        """The rows that take part: all, or a sample."""
        if len(y) < 2:
            raise ValueError(f"a game needs at least 2 rows, got n_samples = {len(y)}.")
        limits = {"most_rows": self.max_rows, "memory_budget": self.memory_budget}
        return take_part(X, y, random_state, **limits)
