"""MarginHarmonicFeatures: functions on the sphere, chosen in a game against an SVM's dual."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bochner.base import SupervisedFeatureMap, subtask_done
from bochner.engine.places import (
    cast,
    convert,
    is_dask,
    is_host,
    namespace,
    result_dtype,
    to_numpy,
    wide_dtype,
)
from bochner.engine.rowwise import map_rows, row_slices
from bochner.engine.summaries import rows_at, take_part
from bochner.fourier.bandwidth import MOST, SHARED_CONSTRAINTS
from bochner.linear.hinge import hinge_optimum
from bochner.margin.game import Record, play
from bochner.margin.players import DataPlayer, DualUpdate, GradientMargin, columns_of, make_player
from bochner.margin.sphere.families import HarmonicFamily, ZonalFamily, degree_to_search
from bochner.margin.sphere.harmonics import harmonic_orders, harmonics_at
from bochner.margin.sphere.stopping import RoundStop, count_picks
from bochner.margin.sphere.unit_rows import nonzero_rows, unit_rows
from bochner.margin.sphere.zonal import zonal_functions
from bochner.margin.stopping import FEWEST_ROWS, Rows, split_rows
from bochner.targets import Target, TargetKind

Float = NDArray[np.float64]

EXACT_DIMENSIONS = 10  # up to here "auto" lists harmonics
_MOST_ROWS = 100_000  # of a dask array, brought to the host by fit
_BLOCK_ROWS = 2**14
_SPLIT_SEED = 0  # of the rows held out: the same for any `random_state`
_NOTHING = 1e-20  # a potential below this share of (sum |A|)^2 is rounding


class MarginHarmonicFeatures(CallbackSupportMixin, SupervisedFeatureMap):
    r"""Functions on the unit sphere, learned for a large margin of a support vector machine.

    In each round a kernel player picks the function :math:`\phi` of largest potential
    :math:`v(\phi) = (\sum_i \alpha_i y_i \phi(x_i))^2`; a data player answers by moving the dual
    weights :math:`\alpha` in :math:`K = \{0 \le \alpha_i \le C, \; y \cdot \alpha = 0\}`. The
    share of rounds in which a function was picked is its weight in the learned kernel
    (Not-So-Random Features, Algorithm 2 with spherical harmonics). The functions are all
    spherical harmonics up to a degree or, where there are too many of them, zonal functions
    :math:`P_l(\langle \zeta, x \rangle)` whose directions are found by geodesic ascent.

    Parameters
    ----------
    n_components : int, default=100
        Largest number of rounds, each of which picks one function. It is an upper limit of the
        number of output columns, not the number itself: a function that is picked again becomes
        heavier instead of adding a column. ``len(get_feature_names_out())`` is the number.
    functions : {"auto", "harmonics", "zonal"}, default="auto"
        Kind of functions. ``"auto"`` lists all harmonics in up to 10 dimensions and uses zonal
        functions above.
    max_degree : int or "auto", default="auto"
        Largest degree. For harmonics ``"auto"`` is the largest degree up to which there are at
        most `budget` of them (31 in three dimensions); for zonal functions it is 4.
    budget : int, default=1024
        Largest number of harmonics that ``max_degree="auto"`` may include.
    dual_update : {"gradient", "corrective"}, default="gradient"
        Move of the data player: one step of projected gradient ascent (``"gradient"``), or towards
        the dual weights of a linear squared-hinge model on the features so far
        (``"corrective"``). The latter needs fewer rounds, but fits noise more easily in few
        dimensions.
    step : float, default=0.5
        Size of the move, up to 1. With ``"gradient"``, 1 would remove the correlation of the dual
        weights with the function just picked, but for the limits of `K`. With ``"corrective"``
        it is the fraction of the way; 1 replaces the weights.
    C : float, default=1.0
        Upper limit of the dual weights: the parameter `C` of the support vector machine whose
        margin is optimised. For ``"corrective"``, the `C` of the squared-hinge model (of the ridge
        fit in regression).
    normalize : bool, default=True
        Whether to divide rows by their norms. If False, rows that are not of unit norm raise an
        error. A zero row has no direction: its features are all zero, and `fit` leaves it out.
    target : {"auto", "classification", "regression"}, default="auto"
        Type of the target `y`; ``"auto"`` infers it from `y`. With more than two classes there is
        one column of dual weights per class against the rest, and their potentials are summed.
        For regression, the residual of `y` (centred, divided by its largest absolute value)
        takes the place of :math:`\alpha y`.
    stop : "auto", int or None, default="auto"
        When the game stops. With ``"auto"``, some rows (a fifth, or 500, or a tenth, up to 2000)
        are held out of the game, and decide when it ends and how many of its rounds are kept.
        With fewer than 80 rows none are held out. An int is the number of rounds; None plays
        `n_components` rounds, as in the game of the paper, on all rows.
    n_jobs, memory_budget : see :class:`FourierFeatures`
        The values of all harmonics on all rows are kept during `fit` if they fit into
        `memory_budget` (None means one gigabyte), and are computed anew in every round otherwise.
    random_state : int, RandomState instance or None, default=None
        Controls where zonal searches start. With harmonics nothing is random.
    verbose : bool, default=False
        Whether to print the potential every ten rounds.

    Attributes
    ----------
    orders_ : integer ndarray of shape (n_functions, n_features_in_ - 1)
        Multi-indices of the harmonics, see
        :func:`~bochner.margin.sphere.harmonics.harmonic_orders`,
        in the order of their first picks. Harmonics only.
    directions_ : ndarray of shape (n_features_in_, n_functions)
        Directions of the zonal functions, unit vectors, one per column. Zonal functions only.
    degrees_ : integer ndarray of shape (n_functions,)
        Degree of each function.
    weights_ : ndarray of shape (n_functions,)
        Weight of each function, its share of the rounds kept; the weights sum to one.
    n_kept_ : int
        Number of rounds that the map is made of: all rounds played, or the first of them.
    history_ : dict of ndarrays of shape (n_iter_,)
        Record of the game, computed before the move of each round. ``"potential"`` is that of the
        function picked. For classes there are also ``"dual_sum"``, the sum of the dual weights,
        and ``"value"``, what those weights (or a share `s` of them, where that is better) are
        worth against the kernel player's best reply: the largest
        ``s * dual_sum - s**2 * potential / 2`` (for ``"corrective"`` the largest of any `s`, minus
        the sum of the squares of the weights over ``4 * C``, as in the dual of the squared
        hinge). For regression there is ``"squared_residual"``.
    duality_gap_ : float or None
        Estimate of how far the learned kernel is from the equilibrium: an upper limit of the
        hinge-loss SVM's optimum with it, minus the largest ``"value"``. Its scale is `C` times
        the number of rows. With harmonics up to a degree the kernel player's reply is exact and
        the gap an upper limit; with zonal functions it depends on how good the search was. None
        for regression, for ``"corrective"``, and after an interruption.
    max_degree_ : int
        Largest degree searched.
    n_iter_ : int
        Number of rounds played. It is less than `n_components` if nothing is left to pick, if the
        held-out loss no longer improves, or if `fit` was interrupted.
    classes_ : ndarray or None
        The classes, None for regression.

    See Also
    --------
    MarginFourierFeatures : The same game over cosines and sines of the whole space.

    Notes
    -----
    A harmonic is scaled to mean square one over the sphere (the orthonormal one times the square
    root of the area), a zonal function to mean square one on the training rows; both are then
    multiplied by the square root of their weight.

    The learned kernel is positive, but not rotation-invariant: the harmonics of one degree get
    different weights, so that :math:`k(x, x)` is not constant. (Theorem 2.2 of the paper says
    otherwise.)

    The search for a zonal function looks at 4000 rows, drawn anew in every round, if there are
    more. If a nearby function was picked before, and has 99 % of the new one's potential on all
    rows, it is picked again instead.

    Ctrl-C during `fit` ends the game early: the functions picked so far are kept, with a warning.
    Callbacks of scikit-learn, such as :class:`sklearn.callback.ProgressBar`, are notified after
    every round, and may end the game.

    `fit` on a dask array brings its rows to the host, at most 100000 of them and as many as fit in
    `memory_budget` (None means one gigabyte), a random sample if there are more. `transform` is
    lazy.

    References
    ----------
    B. Bullins, C. Zhang, Y. Zhang, Not-So-Random Features, ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.sphere.features import MarginHarmonicFeatures
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> learned = MarginHarmonicFeatures(n_components=10).fit(X, y)
    >>> learned.orders_[0]                      # the imaginary part of (x_1 + i x_2)^2
    array([ 2, -2])
    >>> learned.transform(X).shape == (200, len(learned.weights_))
    True
    """

    _learned: ClassVar[str] = "weights_"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: SHARED_CONSTRAINTS[name] for name in ("n_jobs", "memory_budget", "random_state")},
        "n_components": [Interval(Integral, 1, MOST, closed="both")],
        "functions": [StrOptions({"auto", "harmonics", "zonal"})],
        "max_degree": [StrOptions({"auto"}), Interval(Integral, 1, 10**5, closed="both")],
        "budget": [Interval(Integral, 1, MOST, closed="both")],
        "dual_update": [StrOptions({"gradient", "corrective"})],
        "step": [Interval(Real, 0, 1, closed="right")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "normalize": ["boolean"],
        "target": [StrOptions({"auto", "classification", "regression"})],
        "stop": [None, StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }

    orders_: NDArray[np.int64]
    directions_: Float
    degrees_: NDArray[np.int64]
    weights_: Float
    duality_gap_: float | None
    _scales: Float
    _harmonics: bool
    _normalize: bool

    def __init__(
        self,
        *,
        n_components: int = 100,
        functions: Literal["auto", "harmonics", "zonal"] = "auto",
        max_degree: int | Literal["auto"] = "auto",
        budget: int = 1024,
        dual_update: DualUpdate = "gradient",
        step: float = 0.5,
        C: float = 1.0,
        normalize: bool = True,
        target: TargetKind = "auto",
        stop: int | Literal["auto"] | None = "auto",
        n_jobs: int | None = None,
        memory_budget: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.functions = functions
        self.max_degree = max_degree
        self.budget = budget
        self.dual_update = dual_update
        self.step = step
        self.C = C
        self.normalize = normalize
        self.target = target
        self.stop = stop
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the functions by playing the game.

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
        if self.n_features_in_ < 2:
            raise ValueError(
                "n_features=1: the sphere of one dimension is two points; at least two columns "
                "are required."
            )
        random_state = check_random_state(self.random_state)
        most, budget = _MOST_ROWS if is_dask(X) else None, self.memory_budget
        X, y = take_part(X, y, random_state, most_rows=most, memory_budget=budget)
        there = to_numpy(nonzero_rows(X))
        if not there.all():
            X, y = rows_at(X, np.flatnonzero(there)), y[there]
            target = self._target_on_sphere(y)
        self._harmonics, self._normalize = self._uses_harmonics(), self.normalize
        self.classes_ = target.classes
        self.max_degree_ = degree_to_search(
            self.n_features_in_, self.max_degree, self.budget, harmonics=self._harmonics
        )
        used, held = self._split(y, target)
        columns = columns_of(target, y)
        family = self._family(rows_at(X, used) if len(held) else X, random_state)
        stop = None
        if len(held):
            rows = self._unit_rows(rows_at(X, held))
            stop = RoundStop(family, columns[used], rows, columns[held])
        player = make_player(
            target,
            columns[used],
            self.dual_update,
            damping=self.step,
            strength=self.C * len(used),
            C=self.C,
            n_parts=1,
            rescale=False,
        )
        self._play(family, player, stop)
        return self

    def _largest_entry(self, dtype: np.dtype[Any], *, reset: bool) -> float:
        return np.inf  # rows are divided by their largest entry before anything else

    def _features(self, X: Any) -> Any:
        return map_rows(self._map, X, self._n_features_out, n_threads=self._n_threads())

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def _uses_harmonics(self) -> bool:
        if self.functions == "auto":
            return bool(self.n_features_in_ <= EXACT_DIMENSIONS)
        return self.functions == "harmonics"

    def _split(self, y: NDArray[Any], target: Target) -> tuple[Rows, Rows]:
        """Split the rows into those the game is played on, of all classes, and held-out ones."""
        n = len(y)
        used, held = split_rows(n, RandomState(_SPLIT_SEED))
        known = target.classes is None or len(np.unique(y[used])) == len(target.classes)
        if self.stop != "auto" or n < FEWEST_ROWS or not known:
            return np.arange(n), np.empty(0, np.intp)
        return used, held

    def _family(self, X: Any, random_state: RandomState) -> HarmonicFamily | ZonalFamily:
        rows = self._unit_rows(X)
        if self._harmonics:
            orders = harmonic_orders(self.n_features_in_, self.max_degree_)
            return HarmonicFamily(rows, orders, **self._engine_options())
        return ZonalFamily(rows, self.max_degree_, random_state, **self._engine_options())

    def _play(
        self, family: HarmonicFamily | ZonalFamily, player: DataPlayer, stop: RoundStop | None
    ) -> None:
        def size() -> float:
            A = player.coefficients
            return float((A**2 if self.classes_ is None else np.abs(A)).sum())

        sizes = [size()]  # before each round
        context = self._init_callback_context(max_subtasks=self.n_components)
        context.call_on_fit_task_begin(estimator=self)

        def after_round(functions: list[Any], record: Record) -> bool | None:
            sizes.append(size())
            if self.verbose and len(functions) % 10 == 1:
                potential, count = record.potential[-1], len(set(functions))
                print(f"round {len(functions) - 1}: potential {potential:.6g}, {count} functions")
            ended = stop is not None and stop(functions)
            return subtask_done(context, self, "round") or ended

        most = self.n_components
        if self.stop is not None and self.stop != "auto":
            most = min(int(self.stop), most)
        functions, record = play(
            family, player, most, least_share=_NOTHING, after_round=after_round
        )
        context.call_on_fit_task_end(estimator=self)
        self.n_kept_ = len(functions)
        if stop is not None and not record.interrupted:
            self.n_kept_ = stop.n_kept(functions)
        chosen, weights = count_picks(functions[: self.n_kept_])
        if record.interrupted:
            warnings.warn(
                f"interrupted in round {len(functions)} of {self.n_components}; the {len(chosen)} "
                "functions picked so far are kept.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if not record.share[0] > _NOTHING:
            warnings.warn(
                "no function tells the labels apart on these rows; the map holds one that does "
                "not either.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.n_iter_ = len(functions)
        for name, value in family.describe(chosen).items():
            setattr(self, name, value)
        rounds, of_each = record.arrays(), np.array(sizes[: len(functions)])
        self.history_, self.duality_gap_ = {"potential": rounds["potential"]}, None
        if self.classes_ is None:
            self.history_["squared_residual"] = of_each
        else:
            self.history_ |= {"dual_sum": of_each, "value": rounds["value"]}
            if isinstance(player, GradientMargin) and not record.interrupted:
                features = family.values(chosen) * np.sqrt(weights)
                upper = hinge_optimum(features, player.signs, player.C)
                self.duality_gap_ = upper - float(rounds["value"].max())
        self.weights_ = weights

    def _target_on_sphere(self, y: NDArray[Any]) -> Target:
        if not len(y):
            raise ValueError("all rows of X are zero: none of them has a direction.")
        return Target.of(y, self.target)

    def _unit_rows(self, X: Any, first: int = 0) -> Any:
        dtype = wide_dtype(X) if self._harmonics else result_dtype(X)
        return unit_rows(X, dtype, normalize=self._normalize, first=first)

    def _map(self, X: Any, n_threads: int | None) -> Any:
        """Return the values of the functions on rows that are not lazy."""
        own, n = result_dtype(X), X.shape[0]
        scale = np.sqrt(self.weights_) * self._scales
        options: dict[str, Any] = {"n_threads": n_threads, "memory_budget": self.memory_budget}

        def of_block(block: slice) -> Any:
            part = X[block, :]
            rows, there = self._unit_rows(part, block.start), nonzero_rows(part)
            if self._harmonics:
                values = harmonics_at(rows, self.orders_, **options)
            else:
                values = zonal_functions(rows, self.directions_, self.degrees_, **options)
            return cast(values * convert(scale, values) * cast(there, values.dtype)[:, None], own)

        blocks = row_slices(n, _BLOCK_ROWS)
        if not is_host(X):
            parts = [of_block(block) for block in blocks]
            return parts[0] if len(parts) == 1 else namespace(X).concat(parts, axis=0)
        result = np.empty((n, self._n_features_out), own)
        for block in blocks:
            result[block] = of_block(block)
        return result
