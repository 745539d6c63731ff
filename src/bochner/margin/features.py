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
_FEW, _FEW_ROWS = 100, 4000  # frequencies, and rows, below which a search is cheap


class MarginFourierFeatures(LearnedFrequencies):
    r"""Fourier features learned for a large margin of a support vector machine.

    A kernel player looks for the frequencies at which the Fourier potential of the labels,

    .. math:: v(w) = \Bigl| \sum_i \alpha_i y_i e^{i \langle w, x_i \rangle} \Bigr|^2 ,

    has its peaks; a data player answers by moving the dual weights :math:`\alpha` to the rows
    that the features so far do not tell apart; and so on, until there are ``n_components / 2``
    frequencies, or until held-out rows show that random ones would do as well. In that case random
    frequencies fill the rest. At the equilibrium of this game the kernel has the largest margin of
    all translation-invariant kernels (Not-So-Random Features, Algorithm 2).

    The map helps most where random frequencies rarely hit anything: in many dimensions, with few
    features. On MNIST 4 against 9, 100 learned features do as well as 5000 random ones.

    Parameters
    ----------
    n_components : int, default=100
        Number of output columns; must be even.
    dual_update : {"auto", "corrective", "gradient"}, default="auto"
        Move of the data player: towards the dual weights of a squared-hinge model on the features
        so far (``"corrective"``), or the paper's step of projected gradient ascent
        (``"gradient"``). For more than two classes and for regression, the residual of a ridge
        regression takes the place of the dual weights (with ``"gradient"``: one against the rest,
        and matching pursuit).
    band : float, None or "auto", default="auto"
        Width of the band of frequencies searched: the peaks sought are those of
        :math:`v(w) e^{-|w|^2 / (2 s^2)}` with ``s = band * sqrt(2 gamma)``. At high frequencies
        the potential of a finite sample is noise, which a narrow band avoids. None means no
        limit.
    damping : float or "auto", default="auto"
        Fraction of the way that the data player moves, up to 1.
    strength : float or "auto", default="auto"
        Weight of the mean loss against :math:`|w|^2 / 2` in the linear model that the corrective
        update solves; ``"auto"`` is 100 for two classes and 5000 otherwise.
    n_peaks : int or "auto", default="auto"
        Number of frequencies found in one round. ``"auto"`` is as many as leave 20 rounds, at
        most 10; twice as many after 200 frequencies and three times as many after 400 (not with
        ``stop=None``).
    n_chains : int, default=100
        Number of chains that search in parallel. Half of them continue from the previous round.
    n_steps : int, default=12
        Number of steps of each chain in a round.
    temperature : float, default=0.0
        Noise of the chains relative to their gradient step; the paper uses 1 and many more
        steps.
    n_directions : int or None, default=100
        Number of principal directions of the rows within which the search stays, found from a
        sample of at most 8192 rows. None means all.
    rows_per_round : int or None, default=16000
        Number of rows that a search looks at, drawn anew each round if there are more. None
        means all.
    max_rows : int or None, default=200000
        Largest number of rows that take part at all; a random sample is drawn if there are more.
        The data player keeps ``max_rows * n_components`` numbers during `fit`. The rows of a dask
        array that take part are brought to the host, as many as fit in `memory_budget` (None
        means one gigabyte).
    target : {"auto", "classification", "regression"}, default="auto"
        Type of the target `y`. As in scikit-learn, ``"auto"`` takes whole numbers for classes.
    gamma : float, "scale" or "median", default="median"
        Scale of the frequencies: chains start from those of the Gaussian kernel with this
        `gamma`, widened by 1.5. See :class:`FourierFeatures`.
    stop : "auto", int or None, default="auto"
        When the game stops. With ``"auto"``, some rows (a fifth, or 500, or a tenth, up to 2000)
        are held out of the game, and decide when it ends and how many of its frequencies are
        kept; random ones follow them. With fewer than 80 rows none are held out and the game is
        played to its end. An int is the number of frequencies to learn; None learns all of them,
        as in the game of the paper, on all rows.
    polish_steps : int, default=0
        Largest number of steps, after the game, in which all learned frequencies are moved
        together along the gradient of the objective of the linear model on them. Held-out rows
        decide how many steps are kept, if any: at most a few dozen help, and with noisy labels
        often none. With ``stop=None`` the held-out rows have taken part in the game, so that
        fewer are kept.
    warm_start : bool, default=False
        Whether `fit` continues from the frequencies it has if `n_components` was increased (if it
        was decreased, the first ones are kept). The rows must be the same; only their number is
        checked.
    n_jobs, memory_budget : see :class:`FourierFeatures`
    random_state : int, RandomState instance or None, default=None
        Controls the random chains and samples.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features_in_, n_components / 2)
        The frequencies, one per column: those learned, in the order they were found, then the
        random ones. The first columns alone are a smaller map.
    n_learned_ : int
        Number of frequencies that were learned.
    setting_ : Setting
        Setting with which the game was played: `dual_update`, `band`, `damping`.
    trials_ : list of (Setting, float)
        The settings tried, with their mean loss on held-out rows. Empty if there was nothing to
        choose, or with fewer than 80 rows.
    history_ : dict of ndarrays, one number per round
        Record of the game. ``"potential"``: the peak found, relative to the largest possible.
        ``"objective"``: the optimum of the linear model on the features so far (an upper limit;
        with ``"gradient"``, NaN before the last round, and in every round for regression).
        ``"margin"``: the corresponding margin, ``(2 * objective) ** -0.5``. ``"value"``: what the
        dual weights of the round are worth against that peak. ``"gap"``: the objective minus the
        largest value so far.
    duality_gap_ : float
        The last gap. It is an estimate, not a proof: the true peak may be higher than the one
        found. A negative gap shows that peaks were missed.
    dual_weights_ : ndarray of shape (n, k)
        The coefficients :math:`\alpha_i y_i` (or residuals) at the end of the game, for the rows
        that took part in it.
    kernel_ : Gaussian
        The kernel from whose frequencies the chains start and the random ones are drawn.
    n_iter_ : int
        Number of rounds played.
    classes_ : ndarray or None
        The classes, None for regression.

    See Also
    --------
    PosteriorFourierFeatures : Random frequencies reweighted once; faster, with a guarantee.
    bochner.margin.sphere.features.MarginHarmonicFeatures : The same game on the sphere.

    Notes
    -----
    Those of `dual_update`, `band` and `damping` that are ``"auto"`` are chosen by playing short
    games on at most 4500 rows and judging them on others. Set all three to save that time, about
    half of the total with 100 features. With 400 or more, the game continues from the best short
    one.

    Learned features separate the rows they were learned from better than new ones. Tune the
    parameters of a model that follows the map with both in one pipeline, not on features of the
    same rows.

    Ctrl-C during the game keeps the frequencies found so far, with a warning; while settings are
    being tried it aborts the fit. Callbacks of scikit-learn, such as
    :class:`sklearn.callback.ProgressBar`, are notified after every round.

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
        """Learn the frequencies.

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
        """Play the same game on other rows, starting from the learned frequencies.

        Useful with more rows of the same kind, or with all rows after a part of them has decided
        how the game is played and when it ends: these choices are not made again. Frequencies
        move on from where they are, without a search. They are searched again if there are fewer
        than 100, since each matters more then, or fewer than 4000 rows, since they move further.

        Parameters
        ----------
        X, y : see :meth:`fit`
            Rows with the same columns and the same classes as in `fit`.

        Returns
        -------
        MarginFourierFeatures
            A fitted copy, whose parameters are set to what was found; this one is unchanged.

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
        """Return the rows that take part: all, or a sample."""
        if len(y) < 2:
            raise ValueError(f"a game needs at least 2 rows, got n_samples = {len(y)}.")
        limits = {"most_rows": self.max_rows, "memory_budget": self.memory_budget}
        return take_part(X, y, random_state, **limits)
