"""The registry of methods: everything that the program must know of a way to make a model.

A new method is its file and one entry here. Nothing else in the package knows a method by its
name: who needs to know something of one asks its entry.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from sklearn.kernel_approximation import Nystroem, RBFSampler

from bochner.fourier.features import FourierFeatures
from bochner.fourier.landmarks import LandmarkSimilarities
from bochner.fourier.posterior_features import PosteriorFourierFeatures
from bochner.images.single_layer import make_network, one_layer
from bochner.margin.features import MarginFourierFeatures
from bochner.margin.sphere.features import EXACT_DIMENSIONS, MarginHarmonicFeatures
from bochner.mercer.features import MercerFeatures
from bochner.models.preparation import make_preparation, make_tree_preparation
from bochner.nystroem.features import NystroemFeatures

Task = Literal["classification", "regression"]
TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Rows:
    """What a method may ask of the rows it is to learn from, before it has seen any."""

    n_rows: int
    n_columns: int
    task: str
    image_shape: tuple[int, int, int] | None = None
    is_sparse: bool = False


Reason = str | None


def _always(width: int | None, rows: Rows) -> Reason:
    return None


def _no_settings(*_: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Method:
    """A way to make a model of rows, as the program offers it.

    A feature map with a linear model on top, the exact kernel method, or a whole model.

    Attributes
    ----------
    name : str
        What it is called in tables and options.
    summary : str
        One line about it.
    make : callable or None
        Makes the unfitted map from `n_components`, `gamma`, `random_state`, for supervised ones
        `target`, and the settings of `grid`. None for what has no map.
    whole : callable or None
        Makes an unfitted model that chooses its settings itself, from `task`, `n_rows`,
        `balanced` and `random_state`. A method with neither is the exact kernel method.
    prepare : callable
        Makes the unfitted preparation of a whole model, from rows and their `image_shape`.
    called : str
        What sentences call a method without a width.
    sparse : bool
        Whether a whole model takes sparse rows.
    simplest : bool
        Whether it counts as narrower than every map.
    only_compared : str or None
        Why it is no method of ``fit``, where it is none.
    cost : int
        Its place among the methods by what a fit costs, the cheapest first.
    supervised : bool
        Whether the map looks at the labels.
    tasks : tuple of str
        What it can be used for.
    grid : mapping
        Settings of the map that are chosen on held-out rows: their values in order.
    uses_gamma : bool
        Whether `gamma` matters enough to be chosen on held-out rows.
    baseline : bool
        Whether it is not one of this package; it then works on NumPy rows only.
    main : bool
        Whether it is compared without being asked for.
    reference : bool
        Whether it is what learned maps are compared with in words.
    even : bool
        Whether its columns come in twos, a cosine and a sine.
    images : bool
        Whether it is for images only; its `make` is then given `image_shape` too, and no `gamma`.
    limit : callable
        Why it cannot have a width for given rows, beyond what the other attributes say; None where
        it can.
    start : callable
        Further settings for a number of columns of the rows and a width.
    settle : callable
        Settings that the fitted map found by itself on held-out rows, not to be looked for again.
    trial_limits : mapping
        The most that numbers of the map may be while others are chosen, where it is costly.
    trial_width : int or None
        The most columns that it has meanwhile.
    guarantee : str or None
        What is guaranteed of its kernel, a key of `bochner.compare.guarantees.KINDS`.
    patterns : {"found", "weighted", "patches"} or None
        What a picture can show of what it learned of images: frequencies in the order in which
        they were found at peaks of the labels' Fourier potential, frequencies that weigh most, or
        directions of patches.
    saved_types : tuple of str
        Full names of the types that a fitted map may hold in a model file.
    """

    name: str
    summary: str
    make: Callable[..., Any] | None
    cost: int
    whole: Callable[..., Any] | None = None
    prepare: Callable[..., Any] = make_preparation
    called: str = ""
    sparse: bool = True
    simplest: bool = False
    only_compared: str | None = None
    supervised: bool = False
    tasks: tuple[str, ...] = TASKS
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    uses_gamma: bool = True
    baseline: bool = False
    main: bool = True
    reference: bool = False
    even: bool = False
    images: bool = False
    limit: Callable[[int | None, Rows], Reason] = _always
    start: Callable[[int, int | None], dict[str, Any]] = _no_settings
    settle: Callable[[Any], dict[str, Any]] = _no_settings
    trial_limits: Mapping[str, int] = field(default_factory=dict)
    trial_width: int | None = None
    guarantee: str | None = None
    patterns: Literal["found", "weighted", "patches"] | None = None
    saved_types: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether it is the exact kernel method, which has no map and so no width."""
        return self.make is None and self.whole is None

    @property
    def has_width(self) -> bool:
        """Whether it has a map, whose columns are counted."""
        return self.make is not None

    @property
    def has_kernel(self) -> bool:
        """Whether it is a kernel method; a whole model of others is there to compare with."""
        return self.whole is None or not self.baseline

    def why_not(self, width: int | None, rows: Rows) -> Reason:
        """Why the method cannot be used with this width on such rows; None where it can."""
        if rows.task not in self.tasks:
            return f"{self.name} is not for {rows.task}"
        if self.images and rows.image_shape is None:
            return (
                f"{self.name} is for images: give their shape, such as --image-shape 28x28 or "
                "32x32x3, or arrays of shape (n, height, width) in an npz file"
            )
        if self.even and width is not None and width % 2:
            return (
                f"{self.name} with {width} columns: its width must be even, a cosine and a sine "
                "for each frequency"
            )
        if not self.sparse and rows.is_sparse and rows.n_rows * rows.n_columns > MAX_DENSE:
            return f"{self.name} would make {rows.n_columns} sparse columns dense"
        return self.limit(width, rows)

    def make_map(
        self,
        *,
        width: int | None,
        task: str,
        gamma: float | str = "scale",
        image_shape: tuple[int, int, int] | None = None,
        random_state: int = 0,
        **settings: Any,
    ) -> Any:
        """The unfitted feature map of `width` columns, with further parameters in `settings`.

        `gamma` is as the map takes it; `image_shape`, which methods for images need, is height,
        width and channels.

        Examples
        --------
        >>> from bochner.models.methods import find_method
        >>> find_method("RBFSampler").make_map(width=10, gamma=0.5, task="regression")
        RBFSampler(gamma=0.5, n_components=10, random_state=0)
        """
        if self.make is None:
            raise ValueError(f"method {self.name!r} has no feature map.")
        if width is None:
            raise ValueError(f"width must be a whole number for {self.name!r}, got None.")
        if self.supervised:
            settings = {"target": task, **settings}
        if self.images:
            if image_shape is None:
                raise ValueError(f"{self.why_not(width, Rows(0, 0, task))}.")
            settings = {"image_shape": tuple(image_shape), **settings}
        else:
            settings = {"gamma": gamma, **settings}
        return self.make(n_components=width, random_state=random_state, **settings)


MAX_EXACT = 10_000  # training rows
MAX_DENSE = 50_000_000  # numbers of sparse rows made dense
KERNEL_MODEL_COLUMNS = 2048  # at most; fewer where there are few rows
KERNEL_MODEL_SECONDS = 30.0  # that it may take, as one line among many
MAX_ZONAL = 64  # columns that are worth a search each
MAX_COVARIANCE = 1024  # columns: eigenvectors of more, for each gamma, outweigh all the rest
LANDMARK_FREQUENCIES = 64
MAX_LANDMARK_NUMBERS = 20_000_000  # in the frequencies of all landmarks, drawn many times
N_CANDIDATES = 20_000  # of a posterior, unless their frequencies have more numbers than
MAX_DRAWN = 10_000_000
TRIAL_CANDIDATES = 5000  # while gamma and the strength are chosen
TRIAL_LANDMARKS = 128

_BETAS = (1.0, 3.0, 10.0, 30.0, 100.0)
_RHOS = (0.001, 0.003, 0.01, 0.03, 0.1)
_LANDMARK_BETAS = (0.1, 1.0, 10.0, 100.0)
_QUANTILES = (0.02, 0.1, 0.3)


def _exact_limit(width: int | None, rows: Rows) -> Reason:
    if rows.n_rows <= MAX_EXACT:
        return None
    return (
        "the exact kernel method: its time grows with the square of the training rows or faster, "
        f"of which there are {rows.n_rows}; the most is {MAX_EXACT} (--max-rows)"
    )


def _row_limit(name: str, width: int | None, rows: Rows) -> Reason:
    if width is None or width <= rows.n_rows:
        return None
    return f"{name} with {width} columns needs as many training rows, there are {rows.n_rows}"


def _landmark_limit(width: int | None, rows: Rows) -> Reason:
    drawn = (width or 0) * LANDMARK_FREQUENCIES * rows.n_columns
    if drawn <= MAX_LANDMARK_NUMBERS:
        return _row_limit("LandmarkSimilarities", width, rows)
    return (
        f"LandmarkSimilarities with {width} columns would draw {LANDMARK_FREQUENCIES} frequencies "
        f"for each, in {rows.n_columns} dimensions"
    )


def _zonal_limit(width: int | None, rows: Rows) -> Reason:
    if width is None or width <= MAX_ZONAL or rows.n_columns <= EXACT_DIMENSIONS:
        return None
    return (
        f"MarginHarmonicFeatures with {width} columns would take a search for each, in "
        f"{rows.n_columns} dimensions; the most is {MAX_ZONAL}"
    )


def _covariance_limit(width: int | None, rows: Rows) -> Reason:
    if rows.n_columns <= MAX_COVARIANCE:
        return None
    return (
        f"MercerFeatures needs the covariance of all {rows.n_columns} columns; the most is "
        f"{MAX_COVARIANCE}"
    )


def _grid_limit(width: int | None, rows: Rows) -> Reason:
    assert width is not None
    assert rows.image_shape is not None
    try:
        one_layer(width, rows.image_shape)
    except ValueError as error:
        return f"ConvolutionalKernelNetwork with {width} columns: {error}"
    return None


def _fewer_candidates(n_columns: int, width: int | None) -> dict[str, Any]:
    """A limit of the posterior's candidates, where rows have very many columns."""
    affordable = max(MAX_DRAWN // n_columns, width or 1)
    return {"n_candidates": affordable} if affordable < N_CANDIDATES else {}


def _found_by_the_game(feature_map: Any) -> dict[str, Any]:
    setting = feature_map.setting_
    return {name: getattr(setting, name) for name in ("dual_update", "band", "damping")}


def _on_the_sphere(*, gamma: float | str, **parameters: Any) -> Any:
    """Rows on the sphere have no length that a gamma could scale."""
    return MarginHarmonicFeatures(**parameters)


def _exponential(*, gamma: float | str, **parameters: Any) -> Any:
    """With a `gamma` of squared distances, as all methods are given it: a rule is its own."""
    own = gamma if isinstance(gamma, str) else float(gamma) ** 0.5
    return NystroemFeatures(kernel="exponential", gamma=own, **parameters)


def _kernel_model(*, task: str, n_rows: int, balanced: bool, random_state: int) -> Any:
    # late: they are made of what is registered here
    from bochner.models.classifier import KernelClassifier
    from bochner.models.regressor import KernelRegressor

    width = min(KERNEL_MODEL_COLUMNS, max(64, 2 * (n_rows // 4)))
    given: dict[str, Any] = {"time_budget": KERNEL_MODEL_SECONDS, "random_state": random_state}
    if task == "regression":
        return KernelRegressor(width, **given)
    return KernelClassifier(width, class_weight="balanced" if balanced else None, **given)


def _boosting(*, task: str, n_rows: int, balanced: bool, random_state: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    given: dict[str, Any] = {"categorical_features": "from_dtype", "random_state": random_state}
    if task == "regression":
        return HistGradientBoostingRegressor(**given)
    weights = "balanced" if balanced else None
    return HistGradientBoostingClassifier(class_weight=weights, **given)


def _linear(*, task: str, n_rows: int, balanced: bool, random_state: int) -> Any:
    from bochner.linear.heads import RidgeClassifier, RidgeRegressor

    given: dict[str, Any] = {"C": "auto", "random_state": random_state}
    if task == "regression":
        return RidgeRegressor(**given)
    return RidgeClassifier(class_weight="balanced" if balanced else None, **given)


def _kernel_model_entry(name: str, task: str) -> Method:
    return Method(
        name,
        "the whole model in one line: scaling, metric, kernel and map, all chosen",
        None,
        cost=5,
        whole=_kernel_model,
        prepare=partial(make_preparation, standardize=False),
        called=name,
        supervised=True,
        tasks=(task,),
        only_compared=f"{name} is what fit makes when it is given no method",
    )


_FOURIER_TYPES = ("bochner.fourier.features.FourierFeatures",)
_POSTERIOR_TYPES = (
    "bochner.fourier.alignment.AlignmentSums",
    "bochner.fourier.candidates.Candidates",
    "bochner.fourier.posterior_features.PosteriorFourierFeatures",
)
_LANDMARK_TYPES = ("bochner.fourier.landmarks.LandmarkSimilarities",)
_MERCER_TYPES = (
    "bochner.kernels.ProductMatern",
    "bochner.mercer.features.MercerFeatures",
    "bochner.mercer.marginals.Marginal",
    "bochner.mercer.mixtures.Mixture",
    "bochner.mercer.moments.Moments",
    "bochner.mercer.plan.GaussianPlan",
    "bochner.mercer.products.Products",
    "bochner.mercer.separable.SeparablePlan",
    "bochner.mercer.union.UnionPlan",
)
_NYSTROEM_TYPES = ("bochner.nystroem.features.NystroemFeatures",)
_NETWORK_TYPES = (
    "bochner.images.bumps.Bumps",
    "bochner.images.forward.FittedLayer",
    "bochner.images.layers.GradientLayer",
    "bochner.images.layers.PatchLayer",
    "bochner.images.network.ConvolutionalKernelNetwork",
    "bochner.images.optimized.OptimizedMap",
    "bochner.images.patch_maps.PatchMap",
)

_FOURIER_VARIANTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("iid", "random Fourier features, independent frequencies", {"sampling": "iid"}),
    ("sobol", "Fourier features of quasi-random frequencies", {"sampling": "sobol"}),
    (
        "unpaired",
        "random Fourier features, one cosine with an offset for each frequency",
        {"sampling": "iid", "paired": False},
    ),
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _kernel_model_entry("KernelClassifier", "classification"),
        _kernel_model_entry("KernelRegressor", "regression"),
        Method(
            "HistGradientBoosting",
            "scikit-learn's gradient boosting of trees: no kernel",
            None,
            cost=4,
            whole=_boosting,
            prepare=make_tree_preparation,
            called="gradient boosting (scikit-learn's HistGradientBoosting)",
            supervised=True,
            baseline=True,
            sparse=False,
            only_compared="HistGradientBoosting is scikit-learn's, and fit makes kernel models",
        ),
        Method(
            "linear",
            "a plain linear model of the columns: no kernel",
            None,
            cost=0,
            whole=_linear,
            called="a plain linear model",
            supervised=True,
            baseline=True,
            sparse=False,
            simplest=True,
            only_compared="linear has no kernel, and fit makes kernel models",
        ),
        Method(
            "MarginFourierFeatures",
            "frequencies at the peaks of the labels' Fourier potential",
            MarginFourierFeatures,
            cost=5,
            supervised=True,
            # It tries bands around gamma on held-out rows of its own.
            uses_gamma=False,
            even=True,
            settle=_found_by_the_game,
            patterns="found",
            saved_types=(
                "bochner.margin.features.MarginFourierFeatures",
                "bochner.margin.trials.Setting",
            ),
        ),
        Method(
            "MarginHarmonicFeatures",
            "spherical harmonics or zonal functions picked for the margin",
            _on_the_sphere,
            cost=9,
            supervised=True,
            uses_gamma=False,
            main=False,
            limit=_zonal_limit,
            saved_types=("bochner.margin.sphere.features.MarginHarmonicFeatures",),
        ),
        Method(
            "PosteriorFourierFeatures",
            "random frequencies, reweighted by how well they align with the labels",
            PosteriorFourierFeatures,
            cost=7,
            supervised=True,
            grid={"beta": _BETAS},
            even=True,
            start=_fewer_candidates,
            trial_limits={"n_candidates": TRIAL_CANDIDATES},
            guarantee="alignment loss",
            patterns="weighted",
            saved_types=_POSTERIOR_TYPES,
        ),
        Method(
            "PosteriorFourierFeatures, chi2",
            "the same with a posterior within a chi-square ball",
            partial(PosteriorFourierFeatures, divergence="chi2"),
            cost=7,
            supervised=True,
            grid={"rho": _RHOS},
            main=False,
            even=True,
            start=_fewer_candidates,
            trial_limits={"n_candidates": TRIAL_CANDIDATES},
            guarantee="alignment loss",
            saved_types=_POSTERIOR_TYPES,
        ),
        Method(
            "LandmarkSimilarities",
            "similarities to landmarks, a learned kernel for each",
            LandmarkSimilarities,
            cost=6,
            supervised=True,
            grid={"beta": _LANDMARK_BETAS},
            trial_width=TRIAL_LANDMARKS,
            limit=_landmark_limit,
            saved_types=_LANDMARK_TYPES,
        ),
        Method(
            "LandmarkSimilarities, plain",
            "similarities to landmarks with the plain kernel",
            partial(LandmarkSimilarities, posterior=None),
            cost=6,
            supervised=True,
            main=False,
            limit=partial(_row_limit, "LandmarkSimilarities, plain"),
            saved_types=_LANDMARK_TYPES,
        ),
        Method(
            "MercerFeatures",
            "eigenfunctions of the kernel under the density of the rows",
            MercerFeatures,
            cost=4,
            limit=_covariance_limit,
            guarantee="kernel residual",
            saved_types=_MERCER_TYPES,
        ),
        Method(
            "NystroemFeatures",
            "the kernel's values at random rows, made orthogonal",
            NystroemFeatures,
            cost=3,
            limit=partial(_row_limit, "NystroemFeatures"),
            guarantee="kernel residual",
            saved_types=_NYSTROEM_TYPES,
        ),
        Method(
            "NystroemFeatures, exponential",
            "the same with the exponential kernel exp(-gamma^(1/2) |x - y|), for rough tables",
            _exponential,
            cost=3,
            limit=partial(_row_limit, "NystroemFeatures, exponential"),
            guarantee="kernel residual",
            saved_types=_NYSTROEM_TYPES,
        ),
        Method(
            "ConvolutionalKernelNetwork",
            "a kernel between the patches of images, pooled over a coarse grid",
            make_network,
            cost=8,
            grid={"quantile": _QUANTILES},
            uses_gamma=False,
            images=True,
            limit=_grid_limit,
            patterns="patches",
            saved_types=_NETWORK_TYPES,
        ),
        Method(
            "FourierFeatures",
            "random Fourier features, orthogonal frequencies",
            FourierFeatures,
            cost=2,
            reference=True,
            even=True,
            saved_types=_FOURIER_TYPES,
        ),
        *(
            Method(
                f"FourierFeatures, {variant}",
                summary,
                partial(FourierFeatures, **options),
                cost=2,
                main=False,
                even=options.get("paired", True),
                saved_types=_FOURIER_TYPES,
            )
            for variant, summary, options in _FOURIER_VARIANTS
        ),
        Method(
            "RBFSampler",
            "scikit-learn's random Fourier features",
            RBFSampler,
            cost=1,
            baseline=True,
        ),
        Method(
            "Nystroem",
            "scikit-learn's Nystroem approximation",
            Nystroem,
            cost=3,
            baseline=True,
            limit=partial(_row_limit, "Nystroem"),
            guarantee="kernel residual",
        ),
        Method(
            "exact",
            "the exact kernel method: a support vector machine or kernel ridge regression",
            None,
            cost=10,
            called="the exact kernel method",
            baseline=True,
            limit=_exact_limit,
        ),
    )
}


def find_method(name: str) -> Method:
    """The method of this name, in any case of letters; a ValueError names those there are.

    Examples
    --------
    >>> from bochner.models.methods import find_method
    >>> find_method("nystroem").name
    'Nystroem'
    """
    wanted = name.strip().lower()
    known = {method.lower(): method for method in METHODS}
    if wanted in known:
        return METHODS[known[wanted]]
    close = [lowered for lowered in known if wanted and wanted in lowered]
    close.sort(key=lambda lowered: (not lowered.startswith(wanted), len(lowered)))
    close = (close or difflib.get_close_matches(wanted, known))[:3]
    meant = f"did you mean {' or '.join(known[lowered] for lowered in close)}? " if close else ""
    raise ValueError(f"there is no method {name!r}; {meant}there are {'; '.join(METHODS)}")
