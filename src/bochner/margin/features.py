"""MarginFourierFeatures: frequencies found as peaks, in a game against an SVM's dual weights."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bochner import engine
from bochner.base import SupervisedFeatureMap, n_pairs, subtask_done
from bochner.engine.places import (
    as_float,
    by_rows,
    convert,
    float_dtype,
    is_device,
    namespace,
    to_numpy,
)
from bochner.engine.summaries import rows_at, take_part
from bochner.fourier.bandwidth import MOST, SHARED_CONSTRAINTS, resolve_kernel
from bochner.kernels import Gaussian
from bochner.linear.hinge import hinge_optimum
from bochner.margin.game import Record, play
from bochner.margin.players import DataPlayer, GradientMargin, columns_of, make_player
from bochner.margin.search import Search, WaveFamily, computed
from bochner.margin.subspace import principal_directions
from bochner.margin.trials import choose_setting, grid, usual_strength
from bochner.targets import TargetKind

_DIRECTION_ROWS = 8192  # rows that the principal directions are taken from
_FEWEST_ROUNDS = 20  # what the number of peaks per round leaves, by default
_MOST_PEAKS = 10
_ROWS_OF_A_ROUND = 16_000


class MarginFourierFeatures(CallbackSupportMixin, SupervisedFeatureMap):
    r"""Fourier features that make the margin of a support vector machine large.

    A kernel player looks for the frequencies at which the Fourier potential of the labels,

    .. math:: v(w) = \Bigl| \sum_i \alpha_i y_i e^{i \langle w, x_i \rangle} \Bigr|^2 ,

    has its peaks; a data player answers by moving the dual weights :math:`\alpha` to the rows
    that the features so far do not tell apart; and so on, until there are ``n_components / 2``
    frequencies. At the equilibrium of this game the kernel has the largest margin of all
    translation-invariant kernels (Not-So-Random Features, Algorithm 2).

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
        Frequencies found in one round. ``"auto"``: as many as leave 20 rounds, 10 at most.
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
    warm_start : bool, default=False
        Whether `fit` goes on from the frequencies it has, when `n_components` was increased (of
        fewer, the first are kept). The rows must be the same, which only their number shows.
    n_jobs, memory_budget : see :class:`FourierFeatures`
    random_state : int, RandomState instance or None, default=None
        Decides the chains and samples.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features_in_, n_components / 2)
        In the order they were found: the first ones alone are a smaller map.
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
        part.
    kernel_ : Gaussian
        The kernel that the chains started from.
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
    on three quarters of at most 6000 rows and judging them by the others. Give all three to save
    that time, about half of the whole with 100 features.

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
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(MarginFourierFeatures(n_components=60, random_state=0),
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
        "warm_start": ["boolean"],
    }

    frequencies_: NDArray[Any]
    dual_weights_: NDArray[Any]
    history_: dict[str, NDArray[np.float64]]
    kernel_: Gaussian
    _basis: NDArray[Any] | None
    _seeds: NDArray[np.int_]

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
        gamma: float | str = "median",
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
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Find the frequencies.

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
        before = getattr(self, "frequencies_", None) if self.warm_start else None
        X, y, target = self._validate_labelled(X, y, reset=before is None)
        n_frequencies = n_pairs(self.n_components)
        if before is not None and before.shape[1] >= n_frequencies:
            self.frequencies_ = before[:, :n_frequencies]
            return self
        random_state = check_random_state(self.random_state)
        seeds = random_state.randint(2**31 - 1, size=4) if before is None else self._seeds
        X, y = self._take_part(X, y, RandomState(seeds[0]))
        if before is None:
            self._seeds, self.classes_ = seeds, target.classes
            kernel = resolve_kernel("gaussian", self.gamma, X, random_state)
            self.kernel_ = cast(Gaussian, kernel)
            self._basis = self._directions(X, RandomState(seeds[1]))
        elif len(self.dual_weights_) != len(y):
            raise ValueError(
                f"warm_start=True needs the rows of the fit before, {len(self.dual_weights_)} "
                f"of them, got {len(y)}."
            )
        rows = self._projected(X)
        columns = columns_of(target, y).astype(float_dtype(X))
        columns = convert(columns, rows) if is_device(rows) else columns
        search = self._search(n_frequencies)
        strength = usual_strength(target) if self.strength == "auto" else float(self.strength)
        if before is None:
            self.setting_, self.trials_ = choose_setting(
                grid(target, self.dual_update, self.band, self.damping),
                target,
                rows,
                columns,
                search,
                n_frequencies,
                strength=strength,
                random_state=RandomState(seeds[2]),
                **self._engine_options(),
            )
        player = make_player(
            target,
            columns,
            self.setting_.dual_update,
            damping=self.setting_.damping,
            strength=strength,
            capacity=self.n_components,
        )
        self._play(rows, replace(search, band=self.setting_.band), player, before, n_frequencies)
        return self

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

    def _directions(self, X: Any, random_state: RandomState) -> NDArray[Any] | None:
        if self.n_directions is None or self.n_directions >= X.shape[1]:
            return None
        n = int(X.shape[0])
        if n > _DIRECTION_ROWS:
            X = rows_at(X, np.sort(random_state.permutation(n)[:_DIRECTION_ROWS]))
        return to_numpy(principal_directions(X, self.n_directions, random_state))

    @property
    def _scale(self) -> float:
        """Frequencies of the kernel per frequency of rows that are scaled to a length of one."""
        return (2 * self.kernel_.width) ** 0.5

    def _projected(self, X: Any) -> Any:
        """The rows as the game sees them: scaled, in the principal directions, where they are."""
        rows = as_float(X)
        rows = rows if self._basis is None else rows @ convert(self._basis, rows)
        # by row, so that a table, which is stored by column, gives the same products
        return by_rows(rows * self._scale)

    def _inside(self, frequencies: Any) -> Any:
        """Frequencies as the game sees them: for scaled rows, in the principal directions."""
        frequencies = frequencies / frequencies.dtype.type(self._scale)
        return frequencies if self._basis is None else self._basis.T @ frequencies

    def _search(self, n_frequencies: int) -> Search:
        usual = min(-(-n_frequencies // _FEWEST_ROUNDS), _MOST_PEAKS)
        return Search(
            length=1.0,  # the rows have been scaled to it
            n_peaks=min(usual if self.n_peaks == "auto" else self.n_peaks, self.n_chains),
            n_chains=self.n_chains,
            n_steps=self.n_steps,
            temperature=self.temperature,
            n_rows=self.rows_per_round,
        )

    def _play(
        self, rows: Any, search: Search, player: DataPlayer, before: Any, n_frequencies: int
    ) -> None:
        """The game itself, from the start or after the frequencies `before`."""
        m, state = n_frequencies, self._seeds[3]
        if before is not None:
            m, state = n_frequencies - before.shape[1], before.shape[1]
            columns = computed(engine.features(rows, self._inside(before), scale=1.0))
            player.resume(columns, self.dual_weights_)
        context = self._init_callback_context(max_subtasks=-(-m // search.n_peaks))
        context.call_on_fit_task_begin(estimator=self)

        def after_round(functions: list[Any], record: Record) -> bool | None:
            return subtask_done(context, self, "round")

        options = {"random_state": RandomState(state), **self._engine_options()}
        watched = after_round if hasattr(self, "_skl_callbacks") else None
        waves = WaveFamily(rows, search, m, **options)
        functions, record = play(waves, player, m, after_round=watched)
        context.call_on_fit_task_end(estimator=self)
        if record.interrupted:
            warnings.warn(
                f"interrupted after {len(functions)} rounds: the frequencies found so far are "
                "kept.",
                ConvergenceWarning,
                stacklevel=3,
            )
        new = to_numpy(namespace(functions[0]).concat(functions, axis=1))
        inside = new if before is None else np.hstack([self._inside(before), new])
        outside = inside if self._basis is None else self._basis @ inside
        self.frequencies_ = np.ascontiguousarray(self._scale * outside, dtype=new.dtype)
        self.dual_weights_ = to_numpy(player.coefficients)
        rounds = record.arrays()
        if isinstance(player, GradientMargin):
            # not known on the way: the optimum on all features
            features = to_numpy(computed(engine.features(rows, self._inside(self.frequencies_))))
            signs = to_numpy(player.signs)
            rounds["objective"][-1] = hinge_optimum(features, signs, player.C)
        self._store_history(rounds, None if before is None else self.history_)

    def _store_history(
        self, rounds: dict[str, NDArray[np.float64]], before: dict[str, Any] | None
    ) -> None:
        names = {"potential": "share", "objective": "objective", "value": "value"}
        history = {name: rounds[recorded] for name, recorded in names.items()}
        if before is not None:
            history = {name: np.r_[before[name], values] for name, values in history.items()}
        with np.errstate(divide="ignore"):  # an optimum of zero: nothing is lost at any margin
            history["margin"] = (2 * np.maximum(history["objective"], 0)) ** -0.5
        history["gap"] = history["objective"] - np.maximum.accumulate(history["value"])
        self.history_, self.n_iter_ = history, len(history["gap"])
        self.duality_gap_ = float(history["gap"][-1])
