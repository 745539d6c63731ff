"""The registry of methods: everything that the program must know of a way to make features.

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
from bochner.fourier.landmarks import SMALLEST_POOL, LandmarkSimilarities
from bochner.fourier.posterior_features import PosteriorFourierFeatures
from bochner.images.single_layer import make_network, one_layer
from bochner.margin.features import MarginFourierFeatures
from bochner.margin.sphere.features import EXACT_DIMENSIONS, MarginHarmonicFeatures
from bochner.mercer.features import MercerFeatures
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


Reason = str | None


def _always(width: int | None, rows: Rows) -> Reason:
    return None


def _no_settings(*_: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Method:
    """A way to turn rows into features, as the program offers it.

    Attributes
    ----------
    name : str
        What it is called in tables and options.
    summary : str
        One line about it.
    make : callable or None
        Makes the unfitted map from `n_components`, `gamma`, `random_state`, for supervised ones
        `target`, and the settings of `grid`. None for the exact kernel method, which has no map.
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
    guarantee: str | None = None
    patterns: Literal["found", "weighted", "patches"] | None = None
    saved_types: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether it is the exact kernel method, which has no map and so no width."""
        return self.make is None

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


MAX_EXACT = {"classification": 10_000, "regression": 5000}  # training rows
MAX_ZONAL = 64  # columns that are worth a search each
MAX_COVARIANCE = 1024  # columns: eigenvectors of more, for each gamma, outweigh all the rest
MAX_POOL_NUMBERS = 20_000_000  # in the frequencies that landmarks share, drawn several times
N_CANDIDATES = 20_000  # of a posterior, unless their frequencies have more numbers than
MAX_DRAWN = 10_000_000

_BETAS = (1.0, 3.0, 10.0, 30.0, 100.0)
_RHOS = (0.001, 0.003, 0.01, 0.03, 0.1)
_QUANTILES = (0.02, 0.1, 0.3)


def _exact_limit(width: int | None, rows: Rows) -> Reason:
    most = MAX_EXACT[rows.task]
    if rows.n_rows <= most:
        return None
    return (
        "the exact kernel method: its time grows with the square of the training rows or faster, "
        f"of which there are {rows.n_rows}; the most is {most} (--max-rows)"
    )


def _row_limit(name: str, width: int | None, rows: Rows) -> Reason:
    if width is None or width <= rows.n_rows:
        return None
    return f"{name} with {width} columns needs as many training rows, there are {rows.n_rows}"


def _landmark_limit(width: int | None, rows: Rows) -> Reason:
    if SMALLEST_POOL * rows.n_columns <= MAX_POOL_NUMBERS:
        return _row_limit("LandmarkSimilarities", width, rows)
    return (
        f"LandmarkSimilarities would draw {SMALLEST_POOL} frequencies several times, in "
        f"{rows.n_columns} dimensions"
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
    found = {name: getattr(setting, name) for name in ("dual_update", "band", "damping")}
    return {**found, "stop": feature_map.n_learned_}


def _on_the_sphere(*, gamma: float | str, **parameters: Any) -> Any:
    """Rows on the sphere have no length that a gamma could scale."""
    return MarginHarmonicFeatures(**parameters)


def _exponential(*, gamma: float | str, **parameters: Any) -> Any:
    """With a `gamma` of squared distances, as all methods are given it: a rule is its own."""
    own = gamma if isinstance(gamma, str) else float(gamma) ** 0.5
    return NystroemFeatures(kernel="exponential", gamma=own, **parameters)


_FOURIER_TYPES = ("bochner.fourier.features.FourierFeatures",)
_POSTERIOR_TYPES = (
    "bochner.fourier.alignment.AlignmentSums",
    "bochner.fourier.candidates.Candidates",
    "bochner.fourier.posterior_features.PosteriorFourierFeatures",
)
_LANDMARK_TYPES = (
    "bochner.fourier.candidates.Candidates",
    "bochner.fourier.landmarks.LandmarkSimilarities",
    "bochner.fourier.own_sets.OwnSets",
    "bochner.fourier.pool.Pool",
)
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
            "frequencies that together fit the labels, as many as help on held-out rows",
            PosteriorFourierFeatures,
            cost=7,
            supervised=True,
            even=True,
            start=_fewer_candidates,
            guarantee="alignment loss",
            patterns="weighted",
            saved_types=_POSTERIOR_TYPES,
        ),
        Method(
            "PosteriorFourierFeatures, kl",
            "random frequencies, drawn by how well each aligns with the labels",
            partial(PosteriorFourierFeatures, draw="without_replacement"),
            cost=7,
            supervised=True,
            grid={"beta": _BETAS},
            main=False,
            even=True,
            start=_fewer_candidates,
            guarantee="alignment loss",
            saved_types=_POSTERIOR_TYPES,
        ),
        Method(
            "PosteriorFourierFeatures, chi2",
            "the same with a posterior within a chi-square ball",
            partial(PosteriorFourierFeatures, divergence="chi2", draw="without_replacement"),
            cost=7,
            supervised=True,
            grid={"rho": _RHOS},
            main=False,
            even=True,
            start=_fewer_candidates,
            guarantee="alignment loss",
            saved_types=_POSTERIOR_TYPES,
        ),
        Method(
            "LandmarkSimilarities",
            "similarities to landmarks, a learned kernel for each",
            LandmarkSimilarities,
            cost=6,
            supervised=True,
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
