"""Drawing frequencies: independently, orthogonally, or quasi-randomly.

==============  =====================  =======================================================
sampling        kernels                what it does
==============  =====================  =======================================================
``iid``         all                    independent draws, as in random Fourier features
``orthogonal``  Gaussian, Matern       blocks of ``d`` orthogonal directions (Haar) with
                                       independent lengths: every frequency has the right law,
                                       and the error of the kernel is smaller
``sobol``,      all the standard ones  scrambled low-discrepancy points pushed through the
``halton``                             inverse distribution function; best in few dimensions
``auto``        all                    ``orthogonal`` where the kernel allows it, else ``iid``
==============  =====================  =======================================================
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.kernels import SpectralKernel

Sampling = Literal["auto", "iid", "orthogonal", "sobol", "halton"]
SAMPLINGS = ("auto", "iid", "orthogonal", "sobol", "halton")

Float = NDArray[np.float64]

_AT_ONCE = 2**18  # entries of the orthogonal matrices made at once


def draw_frequencies(
    kernel: SpectralKernel,
    n_frequencies: int,
    n_features: int,
    *,
    sampling: Sampling = "auto",
    random_state: RandomState,
) -> Float:
    """Draw the frequencies of `kernel`, one per column, in float64; see the table above."""
    if sampling == "auto":
        sampling = "orthogonal" if hasattr(kernel, "sample_norms") else "iid"
    if sampling == "iid":
        W = np.asarray(kernel.sample(n_frequencies, n_features, random_state), dtype=np.float64).T
    elif sampling == "orthogonal":
        W = _orthogonal(kernel, n_frequencies, n_features, random_state)
    elif sampling in ("sobol", "halton"):
        W = _quasi_random(kernel, n_frequencies, n_features, sampling, random_state)
    else:
        raise ValueError(f"sampling must be one of {SAMPLINGS}, got {sampling!r}.")
    if W.shape != (n_features, n_frequencies):
        raise ValueError(
            f"kernel.sample({n_frequencies}, {n_features}, ...) must return an array of shape "
            f"({n_frequencies}, {n_features}), got {W.T.shape}."
        )
    if not np.isfinite(W).all():
        raise ValueError(f"{type(kernel).__name__} drew frequencies that are not finite.")
    return W


def _require(kernel: Any, sampling: str, *methods: str) -> None:
    missing = [method for method in methods if not hasattr(kernel, method)]
    if missing:
        raise ValueError(
            f"sampling={sampling!r} is not available for {type(kernel).__name__}, which has no "
            f"{' or '.join(missing)}; use sampling='iid'."
        )


def _orthogonal(kernel: Any, n: int, d: int, random_state: RandomState) -> Float:
    """Columns of Haar-distributed orthogonal matrices, each with the length of its own draw."""
    _require(kernel, "orthogonal", "sample_norms")
    W, first = np.empty((d, n)), 0
    while first < n:
        width = min(d, n - first)
        count = min(max(1, _AT_ONCE // d**2), (n - first) // width)
        Q, R = np.linalg.qr(random_state.standard_normal((count, d, width)))
        # QR leaves the signs to the library; fixing them makes Q exactly uniform.
        Q *= np.copysign(1.0, np.diagonal(R, axis1=1, axis2=2))[:, None]
        last = first + count * width
        W[:, first:last] = Q.transpose(1, 0, 2).reshape(d, -1)
        first = last
    norms: Float = kernel.sample_norms(n, d, random_state)
    return W * norms


def _quasi_random(kernel: Any, n: int, d: int, sequence: str, random_state: RandomState) -> Float:
    _require(kernel, sequence, "uniforms", "from_uniforms")
    from scipy.stats import qmc  # slow to import, and only needed here

    dimension, rng = kernel.uniforms(d), np.random.default_rng(random_state.randint(2**31))
    if sequence == "halton":
        U = qmc.Halton(dimension, rng=rng).random(n)
    else:
        if dimension > qmc.Sobol.MAXDIM:
            raise ValueError(
                f"sampling='sobol' goes up to {qmc.Sobol.MAXDIM} dimensions, got {dimension}; "
                "use sampling='halton' or 'orthogonal'."
            )
        U = qmc.Sobol(dimension, rng=rng).random_base2(max(0, (n - 1).bit_length()))[:n]
    tiny = 2.0**-53  # keeps the inverse distribution functions finite
    W: Float = kernel.from_uniforms(np.clip(U, tiny, 1 - tiny)).T
    return W
