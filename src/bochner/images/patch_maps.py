"""The feature map of a layer's patches: its bandwidth and its fitting."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.base import clone

from bochner.engine.places import convert, is_host, to_numpy
from bochner.engine.rowwise import row_slices
from bochner.fourier.features import FourierFeatures
from bochner.images.bumps import Bumps
from bochner.images.optimized import OptimizedMap, fit_optimized, random_pairs
from bochner.mercer.features import MercerFeatures, MercerWarning
from bochner.nystroem.features import NystroemFeatures, NystroemWarning

OURS = (FourierFeatures, MercerFeatures, NystroemFeatures)

_PAIRS = 100_000
_BATCH_BYTES = 2**20


@dataclass(frozen=True, eq=False)
class PatchMap:
    """A fitted map of the directions of patches."""

    estimator: Any  # the fitted object: a transformer, or the bumps themselves
    bumps: Bumps | None  # the map, if it is made of bumps
    n_maps: int  # number of features

    @property
    def threads(self) -> bool:
        """Whether several threads may call it at once."""
        return self.bumps is not None or isinstance(self.estimator, OURS)

    def __call__(self, U: Any) -> Any:
        """Return the features of the rows of `U`, on their device and in their dtype."""
        if self.bumps is not None:
            return self.bumps(U)
        if is_host(U) or isinstance(self.estimator, OURS):
            return self.estimator.transform(U)
        return convert(self.estimator.transform(to_numpy(U)), U)


def squared_scale(U: Any, quantile: float, random_state: RandomState) -> float:
    r"""A quantile of :math:`|u_i - u_j|^2` over 100000 random pairs of different rows.

    Where it is zero because rows are repeated, the quantile of the distances that are not zero (to
    the precision of the dtype) is returned instead, or zero if all of them are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.images.patch_maps import squared_scale
    >>> U = np.array([[1.0, 0.0]] * 9 + [[0.0, 1.0]])
    >>> squared_scale(U, 0.1, np.random.RandomState(0))
    2.0
    """
    first, second = random_pairs(len(U), _PAIRS, random_state)
    distances = np.empty(_PAIRS)
    for rows in row_slices(_PAIRS, _BATCH_BYTES // (8 * U.shape[1])):
        apart = U[first[rows]] - U[second[rows]]
        distances[rows] = np.einsum("ij,ij->i", apart, apart, dtype=np.float64)
    distances[distances <= (16 * np.finfo(U.dtype).eps) ** 2] = 0.0
    scale = float(np.quantile(distances, quantile))
    if scale == 0 and (distances > 0).any():
        scale = float(np.quantile(distances[distances > 0], quantile))
    return scale


def fit_patch_map(
    U: Any,
    approximation: Any,
    n_maps: int | None,
    gamma: float | None,
    random_state: RandomState,
    *,
    n_threads: int | None = None,
    memory_budget: int = 2**30,
    like: Any = None,
) -> PatchMap:
    """Fit an approximation of ``exp(-gamma |u - u'|^2)`` to directions of patches.

    A transformer is cloned and given `n_maps` as its ``n_components``, `gamma`, and a seed if its
    ``random_state`` is None, where it has such parameters; an `n_maps` or `gamma` of None leaves
    the value to the transformer. Directions are on the host; an optimisation runs where the array
    `like` is.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.images.patch_maps import fit_patch_map
    >>> U = np.eye(5)
    >>> phi = fit_patch_map(U, "nystroem", 5, 0.5, np.random.RandomState(0))(U)
    >>> (phi @ phi.T)[0, :2].round(3)
    array([1.   , 0.368])
    """
    seed = int(random_state.randint(2**31 - 1))
    if approximation == "optimized":
        approximation = OptimizedMap()
    if isinstance(approximation, OptimizedMap):
        assert n_maps is not None
        assert gamma is not None
        _enough(U, n_maps, "optimized")
        most = max(1, memory_budget // (4 * 8 * (U.shape[1] + 2)))
        settings = OptimizedMap(min(approximation.n_pairs, most), approximation.max_iter)
        bumps = fit_optimized(U, n_maps, gamma, settings, RandomState(seed), n_threads, like)
        return PatchMap(bumps, bumps, n_maps)
    if approximation == "nystroem":
        assert n_maps is not None
        _enough(U, n_maps, "nystroem")
        approximation = NystroemFeatures()
    elif approximation == "fourier":
        if n_maps is not None and n_maps % 2:
            raise ValueError(
                f"maps={n_maps}, but approximation='fourier' needs an even number: each frequency "
                "gives a cosine and a sine."
            )
        approximation = FourierFeatures()
    elif approximation == "mercer":
        approximation = MercerFeatures()
    estimator = clone(approximation)
    known = estimator.get_params(deep=False)
    given = {"n_components": n_maps, "gamma": gamma}
    if known.get("random_state", seed) is None:
        given["random_state"] = seed
    if isinstance(estimator, OURS):
        given["n_jobs"] = 1  # the layer calls it from several threads
    estimator.set_params(
        **{name: value for name, value in given.items() if name in known and value is not None}
    )
    with warnings.catch_warnings():
        # The architecture fixes width and bandwidth; captured_mass_ shows how much is missed.
        warnings.simplefilter("ignore", MercerWarning)
        warnings.simplefilter("ignore", NystroemWarning)
        estimator.fit(U)
    return PatchMap(estimator, None, int(estimator.transform(U[:1]).shape[1]))


def _enough(U: Any, n_maps: int, approximation: str) -> None:
    if len(U) < n_maps:
        raise ValueError(
            f"maps={n_maps} with approximation={approximation!r} needs at least as many patches "
            f"that are not zero, got {len(U)}: use fewer maps or more images."
        )
