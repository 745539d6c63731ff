"""The registry of methods: the ways to make a model that the program offers.

To add a method, write its file and one entry here. Nothing else in the package refers to a method
by its name: everything about a method is in its entry. Maps are imported when one is made, so that
a program that reads a model imports only the map in it.
"""

from __future__ import annotations

import difflib
from functools import partial
from typing import Any

from bochner.linear.splits import count_kept
from bochner.models.method import TASKS, Imported, Method, Reason, Rows, Task
from bochner.models.preparation import make_preparation, make_tree_preparation
from bochner.records.memory import memory_limit

__all__ = ["METHODS", "TASKS", "Method", "Rows", "Task", "find_method"]

MAX_EXACT = 10_000  # training rows
KERNEL_MODEL_SECONDS = 30.0  # time budget in a comparison, as one line among many
MAX_ZONAL = 64  # columns that are worth a search each
MAX_COVARIANCE = 1024  # columns: with more, eigenvectors for each gamma outweigh all other work
MAX_POOL_NUMBERS = 20_000_000  # in the frequencies that landmarks share, drawn several times
N_CANDIDATES = 20_000  # of a posterior, unless their frequencies have more numbers than
MAX_DRAWN = 10_000_000
TRIAL_CANDIDATES = 5000  # while gamma and the strength are chosen
TRIAL_LANDMARKS = TRIAL_GRID = 128
TRIAL_SET, TRIAL_CHOICES = 64, 1000  # columns, and candidates for them

_BETAS = (1.0, 3.0, 10.0, 30.0, 100.0)
_RHOS = (0.001, 0.003, 0.01, 0.03, 0.1)
_QUANTILES = (0.02, 0.1, 0.3)


def _exact_limit(width: int | None, rows: Rows) -> Reason:
    matrices = 16 * rows.n_rows**2  # the kernel of all rows, and its factor, of ridge regression
    memory = memory_limit()
    if rows.task == "regression" and memory is not None and matrices > memory / 4:
        return (
            f"the exact kernel method: its matrices for {rows.n_rows} training rows would take "
            f"{matrices / 1e9:.2g} GB (--max-rows)"
        )
    if rows.n_rows <= MAX_EXACT:
        return None
    return (
        "the exact kernel method: its time grows with the square of the training rows or faster, "
        f"of which there are {rows.n_rows}; the most is {MAX_EXACT} (--max-rows)"
    )


def _row_limit(name: str, width: int | None, rows: Rows) -> Reason:
    learned_from = count_kept(rows.n_rows)
    if width is None or width <= learned_from:
        return None
    return (
        f"{name} with {width} columns needs as many training rows, there are {learned_from} "
        "besides those held out to choose settings by"
    )


def _landmark_limit(width: int | None, rows: Rows) -> Reason:
    from bochner.fourier.landmarks import SMALLEST_POOL

    if SMALLEST_POOL * rows.n_columns <= MAX_POOL_NUMBERS:
        return _row_limit("LandmarkSimilarities", width, rows)
    return (
        f"LandmarkSimilarities would draw {SMALLEST_POOL} frequencies several times, in "
        f"{rows.n_columns} dimensions"
    )


def _zonal_limit(width: int | None, rows: Rows) -> Reason:
    from bochner.margin.sphere.features import EXACT_DIMENSIONS

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
    from bochner.images.single_layer import one_layer

    assert width is not None
    assert rows.image_shape is not None
    try:
        one_layer(width, rows.image_shape)
    except ValueError as error:
        return f"ConvolutionalKernelNetwork with {width} columns: {error}"
    return None


def _affordable_candidates(n_columns: int, width: int | None) -> int:
    return max(MAX_DRAWN // n_columns, width or 1)


def _fewer_candidates(n_columns: int, width: int | None) -> dict[str, Any]:
    """Return a limit of the posterior's candidates, if the rows have very many columns."""
    affordable = _affordable_candidates(n_columns, width)
    return {"n_candidates": affordable} if affordable < N_CANDIDATES else {}


def _as_many_as_are_looked_at(n_columns: int, width: int | None) -> dict[str, Any]:
    """Return how many candidates a set is chosen from: more would only loosen its certificate."""
    from bochner.fourier.candidates import n_first

    affordable = _affordable_candidates(n_columns, width)
    return {"n_candidates": min(affordable, n_first(2 * (width or 0), n_columns))}


def _found_by_the_game(feature_map: Any) -> dict[str, Any]:
    setting = feature_map.setting_
    found = {name: getattr(setting, name) for name in ("dual_update", "band", "damping")}
    return {**found, "stop": feature_map.n_learned_}


def _chosen_on_held_out_rows(feature_map: Any) -> dict[str, Any]:
    return {"n_chosen": feature_map.n_chosen_}


def _strength_of_landmarks(feature_map: Any) -> dict[str, Any]:
    beta = getattr(feature_map, "beta_", 0.0)  # the plain kernel has none
    return {"beta": beta, "n_fit_steps": feature_map.n_fit_steps_} if beta else {"posterior": None}


def _rounds_kept(feature_map: Any) -> dict[str, Any]:
    return {"stop": feature_map.n_kept_}


def _on_the_sphere(*, gamma: float | str, **parameters: Any) -> Any:
    """Make the map without the gamma, as rows on the sphere have no length to scale."""
    from bochner.margin.sphere.features import MarginHarmonicFeatures

    return MarginHarmonicFeatures(**parameters)


def _exponential(*, gamma: float | str, **parameters: Any) -> Any:
    """Make the map from a `gamma` of squared distances, as for all methods, or from a rule."""
    from bochner.nystroem.features import NystroemFeatures

    own = gamma if isinstance(gamma, str) else float(gamma) ** 0.5
    return NystroemFeatures(kernel="exponential", gamma=own, **parameters)


def _kernel_model(*, task: str, n_rows: int, balanced: bool, random_state: int) -> Any:
    # late imports: these models are made of methods registered here
    from bochner.models.classifier import KernelClassifier
    from bochner.models.regressor import KernelRegressor

    given: dict[str, Any] = {"time_budget": KERNEL_MODEL_SECONDS, "random_state": random_state}
    if task == "regression":
        return KernelRegressor(**given)
    return KernelClassifier(class_weight="balanced" if balanced else None, **given)


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


_FOURIER = Imported("bochner.fourier.features.FourierFeatures")
_LANDMARKS = Imported("bochner.fourier.landmarks.LandmarkSimilarities")
_MARGIN = Imported("bochner.margin.features.MarginFourierFeatures")
_MERCER = Imported("bochner.mercer.features.MercerFeatures")
_NETWORK = Imported("bochner.images.network.ConvolutionalKernelNetwork")
_NYSTROEM = Imported("bochner.nystroem.features.NystroemFeatures")
_POSTERIOR = Imported("bochner.fourier.posterior_features.PosteriorFourierFeatures")

_FOURIER_TYPES = (_FOURIER.path,)
_POSTERIOR_TYPES = (
    "bochner.fourier.alignment.AlignmentSums",
    "bochner.fourier.candidates.Candidates",
    _POSTERIOR.path,
)
_LANDMARK_TYPES = (
    "bochner.fourier.candidates.Candidates",
    _LANDMARKS.path,
    "bochner.fourier.own_sets.OwnSets",
    "bochner.fourier.pool.Pool",
)
_MERCER_TYPES = (
    "bochner.kernels.ProductMatern",
    _MERCER.path,
    "bochner.mercer.marginals.Marginal",
    "bochner.mercer.mixtures.Mixture",
    "bochner.mercer.moments.Moments",
    "bochner.mercer.plan.GaussianPlan",
    "bochner.mercer.products.Products",
    "bochner.mercer.separable.SeparablePlan",
    "bochner.mercer.union.UnionPlan",
)
_NYSTROEM_TYPES = (_NYSTROEM.path,)
_NETWORK_TYPES = (
    "bochner.images.bumps.Bumps",
    "bochner.images.forward.FittedLayer",
    "bochner.images.layers.GradientLayer",
    "bochner.images.layers.PatchLayer",
    _NETWORK.path,
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
            _MARGIN,
            cost=5,
            supervised=True,
            # It tries bands around gamma on held-out rows of its own.
            uses_gamma=False,
            even=True,
            settle=_found_by_the_game,
            patterns="found",
            saved_types=(
                _MARGIN.path,
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
            settle=_rounds_kept,
            limit=_zonal_limit,
            saved_types=("bochner.margin.sphere.features.MarginHarmonicFeatures",),
        ),
        Method(
            "PosteriorFourierFeatures",
            "frequencies that together fit the labels, as many as help on held-out rows",
            _POSTERIOR,
            cost=7,
            supervised=True,
            even=True,
            start=_as_many_as_are_looked_at,
            settle=_chosen_on_held_out_rows,
            trial_width=TRIAL_SET,
            trial_limits={"n_candidates": TRIAL_CHOICES},
            guarantee="alignment loss",
            patterns="weighted",
            saved_types=_POSTERIOR_TYPES,
        ),
        Method(
            "PosteriorFourierFeatures, kl",
            "random frequencies, drawn by how well each aligns with the labels",
            partial(_POSTERIOR, draw="without_replacement"),
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
            partial(_POSTERIOR, divergence="chi2", draw="without_replacement"),
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
            _LANDMARKS,
            cost=6,
            supervised=True,
            settle=_strength_of_landmarks,
            # The gamma of the plain kernel suits what is learned around it.
            trial_settings={"posterior": None},
            trial_width=TRIAL_LANDMARKS,
            limit=_landmark_limit,
            saved_types=_LANDMARK_TYPES,
        ),
        Method(
            "LandmarkSimilarities, plain",
            "similarities to landmarks with the plain kernel",
            partial(_LANDMARKS, posterior=None),
            cost=6,
            supervised=True,
            main=False,
            limit=partial(_row_limit, "LandmarkSimilarities, plain"),
            saved_types=_LANDMARK_TYPES,
        ),
        Method(
            "MercerFeatures",
            "eigenfunctions of the kernel under the density of the rows",
            _MERCER,
            cost=4,
            limit=_covariance_limit,
            guarantee="kernel residual",
            saved_types=_MERCER_TYPES,
        ),
        Method(
            "NystroemFeatures",
            "the kernel's values at random rows, made orthogonal",
            _NYSTROEM,
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
            Imported("bochner.images.single_layer.make_network"),
            cost=8,
            grid={"quantile": _QUANTILES},
            uses_gamma=False,
            images=True,
            trial_width=TRIAL_GRID,
            limit=_grid_limit,
            patterns="patches",
            saved_types=_NETWORK_TYPES,
        ),
        Method(
            "FourierFeatures",
            "random Fourier features, orthogonal frequencies",
            _FOURIER,
            cost=2,
            reference=True,
            even=True,
            saved_types=_FOURIER_TYPES,
        ),
        *(
            Method(
                f"FourierFeatures, {variant}",
                summary,
                partial(_FOURIER, **options),
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
            Imported("sklearn.kernel_approximation.RBFSampler"),
            cost=1,
            baseline=True,
            counterpart="FourierFeatures",
        ),
        Method(
            "Nystroem",
            "scikit-learn's Nystroem approximation",
            Imported("sklearn.kernel_approximation.Nystroem"),
            cost=3,
            baseline=True,
            counterpart="NystroemFeatures",
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
    """Return the method of this name, ignoring case; a ValueError lists the known methods.

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
