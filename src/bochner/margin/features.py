"""MarginFourierFeatures: frequencies found as peaks, in a game against an SVM's dual weights."""

from __future__ import annotations

import warnings
from functools import partial
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
from sklearn.utils.validation import check_is_fitted

from bochner import engine
from bochner.base import FeatureMap
from bochner.engine.places import convert, float_dtype, is_dask, is_host, namespace, to_numpy
from bochner.engine.summaries import take_rows
from bochner.fourier.bandwidth import SHARED_CONSTRAINTS, resolve_kernel
from bochner.kernels import Gaussian
from bochner.linear.hinge import hinge_optimum
from bochner.margin.game import Record, Search, beside, play
from bochner.margin.players import DataPlayer, GradientMargin
from bochner.margin.subspace import principal_directions
from bochner.margin.trials import (
    Setting,
    choose,
    columns_of,
    grid,
    held_out_losses,
    make_player,
)
from bochner.targets import Target, TargetKind, check_labels

_TRIAL_ROWS = 6000  # rows that settings are tried on, a quarter of them held out
_TRIAL_CHAINS = 60
_FEWEST_TRIAL_ROWS = 80
_DIRECTION_ROWS = 8192  # rows that the principal directions are taken from
_TRIAL_FREQUENCIES = 50
_TRIAL_ROUNDS = 10
_FEWEST_ROUNDS = 20  # what the number of peaks a round leaves, by default
_MOST_PEAKS = 10
_ROWS_OF_A_ROUND = 16_000


class MarginFourierFeatures(CallbackSupportMixin, FeatureMap):
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
        The data player's move: towards the dual weights of a squared-hinge machine on the
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
        Weight of the mean loss in the machine that the corrective update solves, against
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
        Rows that a search looks at, drawn anew each round where there are more; None is all. A
        dask array is always looked at as a whole, by its workers.
    max_rows : int or None, default=200000
        Rows that take part at all; of more, a random sample. The data player keeps
        ``max_rows * n_components`` numbers during `fit`.
    target : {"auto", "classification", "regression"}, default="auto"
        What `y` is. As in scikit-learn, ``"auto"`` takes whole numbers for classes.
    gamma : float, "scale" or "median", default="median"
        Sets the scale: chains start from the frequencies of the gaussian kernel with this
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
    history_ : dict of ndarrays, a number a round
        ``"potential"``: the peak found, relative to the largest possible. ``"objective"``: the
        optimum of the machine on the features so far (an upper limit; with ``"gradient"`` only
        in the last round, NaN before, and in regression throughout), ``"margin"``: the margin
        it stands for, ``(2 * objective) ** -0.5``, ``"value"``: what the dual weights of the
        round are worth against that peak, ``"gap"``: the objective less the largest value so
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
    tried it ends the fit. Callbacks of
    scikit-learn, such as :class:`sklearn.callback.ProgressBar`, are told of every round.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: rule for name, rule in SHARED_CONSTRAINTS.items() if name != "kernel"},
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "dual_update": [StrOptions({"auto", "corrective", "gradient"})],
        "band": [None, StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "damping": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right")],
        "strength": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "n_peaks": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 2, None, closed="left")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

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
        X = self._validate_rows(X, reset=before is None)
        y = check_labels(y, X.shape[0])
        target = Target.of(y, self.target)
        n_frequencies = self._n_frequencies()
        if before is not None and before.shape[1] >= n_frequencies:
            self.frequencies_ = before[:, :n_frequencies]
            return self
        random_state = check_random_state(self.random_state)
        seeds = random_state.randint(2**31 - 1, size=4) if before is None else self._seeds
        X, y = self._take_part(X, y, RandomState(seeds[0]))
        columns = columns_of(target, y)
        dtype = float_dtype(X)
        if before is None:
            self._seeds, self.classes_ = seeds, target.classes
            self.kernel_ = cast(Gaussian, resolve_kernel("gaussian", self.gamma, X, random_state))
            basis = self._directions(X, RandomState(seeds[1]))
        else:
            if len(self.dual_weights_) != len(y):
                raise ValueError(
                    f"warm_start=True needs the rows of the fit before, {len(self.dual_weights_)} "
                    f"of them, got {len(y)}."
                )
            basis = self._basis
        rows = _project(X, basis, dtype, (2 * self.kernel_.width) ** 0.5)
        columns = columns.astype(dtype)
        columns = columns if _on_host(rows) else convert(columns, rows)
        if before is None:
            self.setting_, self.trials_ = self._choose(
                target, rows, columns, n_frequencies, RandomState(seeds[2])
            )
        player = make_player(target, columns, self.setting_, self.strength)
        self._basis = None if basis is None else to_numpy(basis)
        self._play(rows, player, before, n_frequencies)
        return self

    def transform(self, X: Any) -> Any:
        """Map rows to features; see :meth:`FourierFeatures.transform`."""
        check_is_fitted(self, "frequencies_")
        X = self._validate_rows(X, reset=False)
        return engine.features(
            X, self.frequencies_, n_threads=self._n_threads(), memory_budget=self.memory_budget
        )

    @property
    def _n_features_out(self) -> int:
        return 2 * int(self.frequencies_.shape[1])

    def _n_frequencies(self) -> int:
        if self.n_components % 2:
            raise ValueError(
                f"n_components must be even, got {self.n_components}: each frequency gives a "
                "cosine and a sine."
            )
        return self.n_components // 2

    def _take_part(self, X: Any, y: Any, random_state: RandomState) -> tuple[Any, Any]:
        """The rows that take part: all, or a sample."""
        if is_dask(X) and np.isnan(X.shape[0]):
            X = X.compute_chunk_sizes()
        n = len(y)
        if n < 2:
            raise ValueError(f"a game needs at least 2 rows, got n_samples = {n}.")
        if self.max_rows is None or n <= self.max_rows:
            return X, y
        index = np.sort(random_state.permutation(n)[: self.max_rows])
        return _rows_at(X, index), y[index]

    def _directions(self, X: Any, random_state: RandomState) -> Any:
        if self.n_directions is None or self.n_directions >= X.shape[1]:
            return None
        n = int(X.shape[0])
        if n > _DIRECTION_ROWS and not is_dask(X):
            X = _rows_at(X, np.sort(random_state.permutation(n)[:_DIRECTION_ROWS]))
        return principal_directions(X, self.n_directions, random_state)

    def _search(self, setting: Setting, n_peaks: int, n_chains: int, rows: Any) -> Search:
        return Search(
            length=1.0,  # the rows have been scaled to it
            band=setting.band,
            n_peaks=min(n_peaks, n_chains),
            n_chains=n_chains,
            n_steps=self.n_steps,
            temperature=self.temperature,
            n_rows=None if is_dask(rows) else self.rows_per_round,
        )

    def _choose(
        self, target: Target, rows: Any, columns: Any, n_frequencies: int, state: RandomState
    ) -> tuple[Setting, list[tuple[Setting, float]]]:
        """Short games on a part of the rows, judged by the others."""
        settings = grid(target, self.dual_update, self.band, self.damping)
        n = int(columns.shape[0])
        if len(settings) == 1 or n < _FEWEST_TRIAL_ROWS:
            return settings[0], []
        index = state.permutation(n)[:_TRIAL_ROWS]
        held, used = np.split(index, [len(index) // 4])
        if target.classes is not None and len(np.unique(to_numpy(columns)[used], axis=0)) < 2:
            return settings[0], []
        parts = [_rows_at(rows, np.sort(part)) for part in (used, held)]
        labels = [_rows_at(columns, np.sort(part)) for part in (used, held)]
        seed = int(state.randint(2**31 - 1))
        m, n_chains = min(n_frequencies, _TRIAL_FREQUENCIES), min(self.n_chains, _TRIAL_CHAINS)
        options = {"n_threads": self._n_threads(), "memory_budget": self.memory_budget}

        def losses_of(setting: Setting) -> Any:
            found, record = play(
                parts[0],
                make_player(target, labels[0], setting, self.strength),
                m,
                self._search(setting, -(-m // _TRIAL_ROUNDS), n_chains, parts[0]),
                random_state=RandomState(seed),
                n_threads=self._n_threads(),
                memory_budget=self.memory_budget,
            )
            if record.interrupted:
                raise KeyboardInterrupt  # there is no game yet that could be kept
            W = namespace(labels[0]).concat(found, axis=1)
            return held_out_losses(target, W, parts[0], labels[0], parts[1], labels[1], **options)

        return choose(settings, losses_of)

    def _play(self, rows: Any, player: DataPlayer, before: Any, n_frequencies: int) -> None:
        """The game itself, from the start or after the frequencies `before`."""
        m = n_frequencies - (0 if before is None else before.shape[1])
        peaks = -(-n_frequencies // _FEWEST_ROUNDS) if self.n_peaks == "auto" else self.n_peaks
        peaks = min(peaks, _MOST_PEAKS) if self.n_peaks == "auto" else peaks
        if before is not None:
            columns = engine.features(rows, self._inside(before), scale=1.0)
            player.resume(beside(columns, player.coefficients), self.dual_weights_)
        context = self._init_callback_context(max_subtasks=-(-m // peaks))
        context.call_on_fit_task_begin(estimator=self)

        def after_round(found: list[Any], record: Record) -> bool | None:
            task = context.subcontext(task_name="round").call_on_fit_task_begin(estimator=self)
            return task.call_on_fit_task_end(estimator=self)

        found, record = play(
            rows,
            player,
            m,
            self._search(self.setting_, peaks, self.n_chains, rows),
            random_state=RandomState(self._seeds[3] if before is None else before.shape[1]),
            n_threads=self._n_threads(),
            memory_budget=self.memory_budget,
            after_round=after_round if hasattr(self, "_skl_callbacks") else None,
        )
        context.call_on_fit_task_end(estimator=self)
        if record.interrupted:
            warnings.warn(
                f"interrupted after {len(found)} rounds: the frequencies found so far are kept.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._store(found, record, player, before)
        if isinstance(player, GradientMargin):
            self._close(rows, player)

    def _store(self, found: list[Any], record: Record, player: DataPlayer, before: Any) -> None:
        new = to_numpy(namespace(found[0]).concat(found, axis=1))
        inside = new if before is None else np.hstack([self._inside(before), new])
        outside = inside if self._basis is None else self._basis @ inside
        scale = (2 * self.kernel_.width) ** 0.5
        self.frequencies_ = np.ascontiguousarray(scale * outside, dtype=new.dtype)
        history = record.arrays()
        history["margin"] = (2 * history["objective"]) ** -0.5
        history["gap"] = history["objective"] - np.maximum.accumulate(history["value"])
        if before is not None:
            history = {name: np.r_[self.history_[name], history[name]] for name in history}
        self.history_ = history
        self.n_iter_ = len(history["potential"])
        self.dual_weights_ = to_numpy(player.coefficients)
        self.duality_gap_ = float(history["gap"][-1])

    def _close(self, rows: Any, player: GradientMargin) -> None:
        """What the gradient update does not know on its way: the optimum on all features."""
        features = engine.features(rows, self._inside(self.frequencies_))
        features = to_numpy(beside(features, player.coefficients))
        history, C = self.history_, player.C
        history["objective"][-1] = hinge_optimum(features, to_numpy(player.signs), C)
        history["margin"][-1] = (2 * history["objective"][-1]) ** -0.5
        history["gap"][-1] = history["objective"][-1] - history["value"].max()
        self.duality_gap_ = float(history["gap"][-1])

    def _inside(self, frequencies: Any) -> Any:
        """Frequencies as the game sees them: for scaled rows, in the principal directions."""
        frequencies = frequencies / frequencies.dtype.type((2 * self.kernel_.width) ** 0.5)
        return frequencies if self._basis is None else self._basis.T @ frequencies


def _on_host(rows: Any) -> bool:
    return is_host(rows) or is_dask(rows)


def _project(X: Any, basis: Any, dtype: Any, scale: float) -> Any:
    """The rows in the principal directions, scaled to a length of one, where they are."""
    if is_host(X):
        rows = X if basis is None else np.asarray(X @ basis.astype(X.dtype, copy=False))
        return (rows * scale).astype(dtype, copy=False)
    if is_dask(X):
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        width = X.shape[1] if basis is None else basis.shape[1]
        return X.map_blocks(
            partial(_project, basis=basis, dtype=dtype, scale=scale),
            dtype=dtype,
            chunks=(X.chunks[0], (width,)),
            meta=X._meta if basis is None else np.empty((0, 0), dtype),
        ).persist()
    X = convert(X, X, getattr(namespace(X), np.dtype(dtype).name))
    return (X if basis is None else X @ convert(basis, X)) * scale


def _rows_at(array: Any, index: Any) -> Any:
    """Some rows, where they are; those of a dask array come to the client."""
    if _on_host(array):
        return take_rows(array, index)
    xp = namespace(array)
    return xp.take(array, convert(index, array, xp.int64), axis=0)
