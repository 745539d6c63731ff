r"""Models by the name of their method: preparation, feature map and linear machine as one.

Every machine on top is written with a weight `C` of the loss,

.. math:: \min_{w, b} \; \tfrac12 |w|^2 + C \sum_i \ell(y_i, \varphi(x_i) \cdot w + b) ,

with the squared hinge for two classes and squares for more classes and for numbers, whose
``alpha`` is :math:`1 / (2 C)`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from bochner.engine.summaries import variance
from bochner.fourier.features import FourierFeatures
from bochner.fourier.landmarks import LandmarkSimilarities
from bochner.fourier.posterior_features import PosteriorFourierFeatures
from bochner.images.single_layer import make_network
from bochner.margin.features import MarginFourierFeatures
from bochner.margin.sphere.features import MarginHarmonicFeatures
from bochner.mercer.features import MercerFeatures
from bochner.models.preparation import make_preparation

Task = Literal["classification", "regression"]
TASKS = ("classification", "regression")

EXACT = "exact"
DEFAULT_C = 10.0


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
        `target`, and the settings of `grid`. None for the exact machine, which has no map.
    supervised : bool
        Whether the map looks at the labels.
    tasks : tuple of str
        What it can be used for.
    grid : mapping
        Settings of the map that are chosen on held-out rows: their values in order.
    uses_gamma : bool
        Whether `gamma` matters enough to be chosen on held-out rows.
    baseline : bool
        Whether it is not one of this package.
    main : bool
        Whether it is compared without being asked for.
    even : bool
        Whether its columns come in twos, a cosine and a sine.
    images : bool
        Whether it is for images only; its `make` is then given `image_shape` too, and no `gamma`.
    guarantee : str or None
        What is guaranteed of its kernel, by a key of `bochner.compare.guarantees.KINDS`.
    """

    name: str
    summary: str
    make: Callable[..., Any] | None
    supervised: bool = False
    tasks: tuple[str, ...] = TASKS
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    uses_gamma: bool = True
    baseline: bool = False
    main: bool = True
    even: bool = False
    images: bool = False
    guarantee: str | None = None


def _on_the_sphere(*, gamma: float | str, **parameters: Any) -> Any:
    """Rows on the sphere have no length that a gamma could scale."""
    return MarginHarmonicFeatures(**parameters)


_BETAS = (1.0, 3.0, 10.0, 30.0, 100.0)
_RHOS = (0.001, 0.003, 0.01, 0.03, 0.1)
_LANDMARK_BETAS = (0.1, 1.0, 10.0, 100.0)
_QUANTILES = (0.02, 0.1, 0.3)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "MarginFourierFeatures",
            "frequencies at the peaks of the labels' Fourier potential",
            MarginFourierFeatures,
            supervised=True,
            # It tries bands around gamma on held-out rows of its own.
            uses_gamma=False,
            even=True,
        ),
        Method(
            "MarginHarmonicFeatures",
            "spherical harmonics or zonal functions picked for the margin",
            _on_the_sphere,
            supervised=True,
            uses_gamma=False,
            main=False,
        ),
        Method(
            "PosteriorFourierFeatures",
            "random frequencies, reweighted by how well they align with the labels",
            PosteriorFourierFeatures,
            supervised=True,
            grid={"beta": _BETAS},
            even=True,
            guarantee="alignment loss",
        ),
        Method(
            "PosteriorFourierFeatures, chi2",
            "the same with a posterior within a chi-square ball",
            partial(PosteriorFourierFeatures, divergence="chi2"),
            supervised=True,
            grid={"rho": _RHOS},
            main=False,
            even=True,
            guarantee="alignment loss",
        ),
        Method(
            "LandmarkSimilarities",
            "similarities to landmarks, a learned kernel for each",
            LandmarkSimilarities,
            supervised=True,
            grid={"beta": _LANDMARK_BETAS},
        ),
        Method(
            "LandmarkSimilarities, plain",
            "similarities to landmarks with the plain kernel",
            partial(LandmarkSimilarities, posterior=None),
            supervised=True,
            main=False,
        ),
        Method(
            "MercerFeatures",
            "eigenfunctions of the kernel under the density of the rows",
            MercerFeatures,
            guarantee="kernel residual",
        ),
        Method(
            "ConvolutionalKernelNetwork",
            "a kernel between the patches of images, pooled over a coarse grid",
            make_network,
            grid={"quantile": _QUANTILES},
            uses_gamma=False,
            images=True,
        ),
        Method(
            "FourierFeatures",
            "random Fourier features, orthogonal frequencies",
            FourierFeatures,
            even=True,
        ),
        Method(
            "FourierFeatures, iid",
            "random Fourier features, independent frequencies",
            partial(FourierFeatures, sampling="iid"),
            main=False,
            even=True,
        ),
        Method(
            "FourierFeatures, sobol",
            "Fourier features of quasi-random frequencies",
            partial(FourierFeatures, sampling="sobol"),
            main=False,
            even=True,
        ),
        Method(
            "FourierFeatures, unpaired",
            "random Fourier features, one cosine with an offset for each frequency",
            partial(FourierFeatures, sampling="iid", paired=False),
            main=False,
        ),
        Method("RBFSampler", "scikit-learn's random Fourier features", RBFSampler, baseline=True),
        Method(
            "Nystroem",
            "scikit-learn's Nystroem approximation",
            Nystroem,
            baseline=True,
            guarantee="kernel residual",
        ),
        Method(EXACT, "the kernel machine itself: SVC or kernel ridge", None, baseline=True),
    )
}


def make_map(
    method: str,
    *,
    width: int,
    task: str,
    gamma: float | str = "scale",
    image_shape: Sequence[int] | None = None,
    random_state: int = 0,
    **settings: Any,
) -> Any:
    """The unfitted feature map of a method.

    Parameters
    ----------
    method : str
        A key of `METHODS`, other than the exact machine.
    width : int
        Number of columns.
    task : {"classification", "regression"}
        What the labels are.
    gamma : float or str, default="scale"
        As the map takes it.
    image_shape : sequence of int or None, default=None
        Height, width and channels, where rows are images; some methods need it.
    random_state : int, default=0
        The seed.
    **settings
        Other parameters of the map.

    Examples
    --------
    >>> from bochner.models.methods import make_map
    >>> make_map("RBFSampler", width=10, gamma=0.5, task="regression")
    RBFSampler(gamma=0.5, n_components=10, random_state=0)
    """
    found = find_method(method)
    if found.make is None:
        raise ValueError(f"method {method!r} has no feature map.")
    if found.supervised:
        settings = {"target": task, **settings}
    if found.images:
        if image_shape is None:
            raise ValueError(for_images(found.name))
        settings = {"image_shape": tuple(image_shape), **settings}
    else:
        settings = {"gamma": gamma, **settings}
    return found.make(n_components=width, random_state=random_state, **settings)


def for_images(method: str) -> str:
    """What to tell someone who wants this method for rows that are no images."""
    return (
        f"{method} is for images: give their shape, such as --image-shape 28x28 or 32x32x3, or "
        "arrays of shape (n, height, width) in a npz file"
    )


def make_machine(
    task: str,
    n_classes: int | None,
    *,
    C: float | None = None,
    balanced: bool = False,
    random_state: int = 0,
) -> Any:
    """The unfitted linear machine: LinearSVC, RidgeClassifier or Ridge.

    Parameters
    ----------
    task : {"classification", "regression"}
        What the labels are.
    n_classes : int or None
        Number of classes; two have the squared hinge.
    C : float or None, default=None
        Weight of the loss; None is 10.
    balanced : bool, default=False
        Whether every class weighs the same, however many rows it has.
    random_state : int, default=0
        The seed.

    Examples
    --------
    >>> from bochner.models.methods import make_machine
    >>> make_machine("regression", None, C=5.0)
    Ridge(alpha=0.1)
    """
    C = DEFAULT_C if C is None else C
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C must be a finite number greater than 0, got {C!r}.")
    if task == "regression":
        return Ridge(alpha=1 / (2 * C))
    weight = "balanced" if balanced else None
    if n_classes == 2:
        # The intercept should not be penalised; liblinear does so less when it is scaled up.
        return LinearSVC(
            C=C,
            dual=False,
            class_weight=weight,
            intercept_scaling=10.0,
            max_iter=5000,
            random_state=random_state,
        )
    return RidgeClassifier(alpha=1 / (2 * C), class_weight=weight)


def make_exact(task: str, *, gamma: float, C: float | None = None, balanced: bool = False) -> Any:
    """The unfitted kernel machine: SVC, or kernel ridge regression of centred numbers.

    Parameters
    ----------
    task, C, balanced
        As for :func:`make_machine`.
    gamma : float
        Of the gaussian kernel.
    """
    C = DEFAULT_C if C is None else C
    if task == "regression":
        ridge = KernelRidge(alpha=1 / (2 * C), kernel="rbf", gamma=gamma)
        return TransformedTargetRegressor(ridge, transformer=StandardScaler())
    return SVC(C=C, gamma=gamma, class_weight="balanced" if balanced else None)


def make_model(
    method: str,
    X: Any,
    y: Any,
    task: str,
    *,
    width: int | None = 256,
    gamma: float | str = "scale",
    C: float | None = None,
    balanced: bool = False,
    random_state: int = 0,
    image_shape: Sequence[int] | None = None,
    **settings: Any,
) -> Pipeline:
    """An unfitted pipeline with the steps ``prepare``, ``map`` and ``machine``.

    Parameters
    ----------
    method : str
        A key of `METHODS`.
    X : DataFrame, array or sparse matrix of shape (n, d)
        Rows, looked at to choose the preparation; with ``gamma="scale"`` also to know the scale
        of what comes out of it.
    y : array of shape (n,)
        Labels, of which only the number of classes is looked at.
    task : {"classification", "regression"}
        What the labels are.
    width : int or None, default=256
        Number of columns of the map; not looked at by the exact machine.
    gamma : float or "scale", default="scale"
        As in ``exp(-gamma |x - y|^2)`` of prepared rows; ``"scale"`` is ``1 / (d var)`` of them.
    C : float or None, default=None
        Weight of the loss; None is 10.
    balanced : bool, default=False
        Whether every class weighs the same, however many rows it has.
    random_state : int, default=0
        The seed of map and machine.
    image_shape : sequence of int or None, default=None
        Height, width and channels, where rows are images.
    **settings
        Other parameters of the map, such as `beta`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner.models.methods import make_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_model("PosteriorFourierFeatures", X, y, "classification", width=20)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """
    found = find_method(method)
    if task not in found.tasks:
        raise ValueError(f"task must be one of {', '.join(found.tasks)}, got {task!r}.")
    prepare = make_preparation(X, image_shape)
    if isinstance(gamma, str) and gamma != "scale":
        raise ValueError(f"gamma must be a number or 'scale', got {gamma!r}.")
    n_classes = len(np.unique(np.asarray(y))) if task == "classification" else None
    if isinstance(gamma, str) and not found.images:
        gamma = scale_rule(clone(prepare).fit_transform(X))
    feature_map: Any = "passthrough"
    if found.make is None:
        machine = make_exact(task, gamma=float(gamma), C=C, balanced=balanced)
    else:
        if width is None:
            raise ValueError(f"width must be a whole number for {method!r}, got None.")
        feature_map = make_map(
            found.name,
            width=width,
            task=task,
            gamma=gamma,
            image_shape=image_shape,
            random_state=random_state,
            **settings,
        )
        machine = make_machine(task, n_classes, C=C, balanced=balanced, random_state=random_state)
    return Pipeline([("prepare", prepare), ("map", feature_map), ("machine", machine)])


def scale_rule(X: Any) -> float:
    """``1 / (d var)`` of prepared rows, scikit-learn's ``gamma="scale"``; 1 for constant ones.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.models.methods import scale_rule
    >>> scale_rule(np.array([[-1.0, 2.0], [1.0, -2.0]]))
    0.2
    """
    spread = X.shape[1] * variance(X)
    return float(1 / spread) if spread > 0 else 1.0


def find_method(name: str) -> Method:
    """The method of this name, in any case of letters; a ValueError names those there are.

    Examples
    --------
    >>> from bochner.models.methods import find_method
    >>> find_method("nystroem").name
    'Nystroem'
    """
    for method in METHODS.values():
        if method.name.lower() == name.strip().lower():
            return method
    wanted = name.strip().lower()
    known = {method.lower(): method for method in METHODS}
    close = [lowered for lowered in known if wanted and wanted in lowered]
    close = (close or difflib.get_close_matches(wanted, known))[:3]
    meant = f"did you mean {' or '.join(known[lowered] for lowered in close)}? " if close else ""
    raise ValueError(f"there is no method {name!r}; {meant}there are {'; '.join(METHODS)}")
