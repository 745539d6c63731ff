r"""Plots of the Fourier potential over the plane of frequencies

.. math:: v(w) = \sum_k \Bigl| \sum_i A_{ik} e^{i \langle w, x_i \rangle} \Bigr|^2

with the frequencies chosen at its peaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.engine import fourier_sums
from bochner.plots.canvas import (
    Float,
    check_points,
    check_resolution,
    finish,
    grid_points,
    legend_entry,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper's colours for the frequencies; a black ring keeps them visible on any grey.
CHOSEN, NEWEST = "magenta", "cyan"


def potential_landscape(
    X: Any,
    coefficients: ArrayLike,
    frequencies: ArrayLike | None = None,
    newest: ArrayLike | None = None,
    *,
    extent: float | None = None,
    resolution: int = 201,
) -> Figure:
    r"""Plot the Fourier potential over the plane of frequencies (Figure 1b, and 1a in the middle).

    The figure shows :math:`v(w) / \sum_k (\sum_i |A_{ik}|)^2`, which lies in [0, 1]; shades of
    grey follow its square root, so that lower peaks are visible too. Each frequency stands for
    two, :math:`\pm w`, and both are marked, in magenta, or in cyan for the newest.

    Parameters
    ----------
    X : array of shape (n, 2)
        Rows.
    coefficients : array of shape (n,) or (n, k)
        Coefficients :math:`A`, ``alpha * y`` for a support vector machine; the potentials of
        several columns are added.
    frequencies : array of shape (2, N), optional
        Chosen frequencies, one per column.
    newest : array of shape (2, M), optional
        Frequencies to mark as the newest.
    extent : float, optional
        Range of frequencies to show, from ``-extent`` to ``extent`` along both axes. By default a
        little more than the range of the given frequencies or, without any, ten divided by the
        spread of the rows.
    resolution : int, default=201
        Number of grid points along an axis.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import windmill
    >>> from bochner.plots import potential_landscape
    >>> X, y = windmill(200, random_state=0)
    >>> figure = potential_landscape(X, y / 200, frequencies=[[3.0], [1.0]])
    >>> [axes.get_title() for axes in figure.axes][:1]
    ['Fourier potential']
    """
    figure = new_figure(5.6, 4.6)
    axes = figure.subplots()
    image = draw_potential(axes, X, coefficients, frequencies, newest, extent, resolution)
    figure.colorbar(image, ax=axes, label="share of the largest possible", shrink=0.85)
    finish(axes, "Fourier potential", "w")
    return figure


def draw_potential(
    axes: Any,
    X: Any,
    coefficients: ArrayLike,
    frequencies: ArrayLike | None,
    newest: ArrayLike | None,
    extent: float | None,
    resolution: int,
) -> Any:
    """Draw on axes and return the image; parameters as for :func:`potential_landscape`."""
    from matplotlib.colors import PowerNorm

    points = check_points("X", X, 2)
    chosen = check_frequencies("frequencies", frequencies)
    latest = check_frequencies("newest", newest)
    if extent is None:
        extent = frequency_extent(points, chosen, latest)
    elif not (np.isfinite(extent) and extent > 0):
        raise ValueError(f"extent must be a finite number greater than 0, got {extent!r}.")
    axis = np.linspace(-extent, extent, check_resolution(resolution))
    v = _potential(points, coefficients, grid_points(axis, axis))
    # The outer pixels are centred on the ends of the axis.
    edge = extent + (axis[1] - axis[0]) / 2
    image = axes.imshow(
        v.reshape(len(axis), -1),
        origin="lower",
        extent=(-edge, edge, -edge, edge),
        cmap="gray",
        norm=PowerNorm(0.5, vmin=0, vmax=v.max() or 1.0),
        interpolation="bilinear",
    )
    # Many marks would hide the landscape: the more there are, the smaller they are.
    size = float(np.clip(400 / max(1, chosen.shape[1]), 8, 40))
    _mark(axes, chosen, CHOSEN, "chosen", size)
    _mark(axes, latest, NEWEST, "newest", 1.6 * max(size, 20))
    axes.set(xlim=(-edge, edge), ylim=(-edge, edge))
    return image


def _potential(points: Float, coefficients: ArrayLike, frequencies: Float) -> Float:
    """Return the potential at each row of `frequencies`, as a share of its largest value."""
    A = np.asarray(coefficients, dtype=np.float64)
    if A.ndim not in (1, 2) or len(A) != len(points):
        raise ValueError(
            f"coefficients must have shape ({len(points)},) or ({len(points)}, k), "
            f"got shape {A.shape}."
        )
    A = A.reshape(len(points), -1)
    v: Float = (np.abs(fourier_sums(points, frequencies.T, A)) ** 2).sum(axis=1)
    return v / ((np.abs(A).sum(axis=0) ** 2).sum() or 1.0)


def _mark(axes: Any, frequencies: Float, colour: str, name: str, area: float) -> None:
    """Mark each frequency and its negative."""
    if frequencies.shape[1]:
        both = np.hstack([frequencies, -frequencies])
        axes.scatter(*both, s=area, color=colour, edgecolors="black", linewidths=0.5)
        legend_entry(axes, name, colour, "o", edge="black")


def check_frequencies(name: str, frequencies: ArrayLike | None) -> Float:
    """Return frequencies of the plane, one per column; no columns for None."""
    if frequencies is None:
        return np.empty((2, 0))
    W = np.asarray(frequencies, dtype=np.float64)
    if W.ndim != 2 or W.shape[0] != 2 or not np.isfinite(W).all():
        raise ValueError(
            f"{name} must be finite and have shape (2, N), one frequency per column, "
            f"got shape {W.shape}."
        )
    return W


def frequency_extent(points: Float, *marks: Float) -> float:
    """Return a little more than the largest mark, or else a value for the spread of the rows."""
    largest = max((float(np.abs(m).max()) for m in marks if m.size), default=0.0)
    spread = float(points.std(axis=0).max()) or 1.0
    return 1.15 * largest if largest > 0 else 10 / spread
