"""Extraction, normalisation, sampling and pooling of image patches, and image gradients.

Images and the maps made from them have the shape (n, height, width, channels). All functions work
on NumPy arrays and on arrays of any array-API library, on the device of the arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import convert, namespace, to_numpy
from bochner.engine.summaries import take_rows

SMALLEST_NORM = 1e-6  # patches below it, or below it relative to what was subtracted, are zero


def extract_patches(maps: Any, patch: int) -> Any:
    """Return all `patch` x `patch` patches of maps (n, height, width, channels), unpadded.

    Their shape is (n, height - patch + 1, width - patch + 1, patch * patch * channels): row by row
    of the patch, with the channels of a pixel side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.images.patches import extract_patches
    >>> extract_patches(np.arange(6.0).reshape(1, 2, 3, 1), 2)[0, 0]
    array([[0., 1., 3., 4.],
           [1., 2., 4., 5.]])
    """
    if patch == 1:
        return maps
    height, width = maps.shape[1] - patch + 1, maps.shape[2] - patch + 1
    parts = [maps[:, i : i + height, j : j + width, :] for i in range(patch) for j in range(patch)]
    return namespace(maps).concat(parts, axis=-1)


def normalize_patches(patches: Any, channels: int, *, center: bool) -> tuple[Any, Any]:
    r"""Return directions :math:`u = p / |p|` and norms :math:`r = |p|` of patches, one per row.

    With `center` the mean of the patch is subtracted first, in every channel separately. Direction
    and norm are exactly 0 where the norm is below 1e-6, or below 1e-6 of the norm before the mean
    was subtracted: such a patch is rounding, not a pattern.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.images.patches import normalize_patches
    >>> directions, norms = normalize_patches(np.array([[5.0, 1.0], [7.0, 7.0]]), 1, center=True)
    >>> directions.round(3), norms.round(3)
    (array([[ 0.707, -0.707],
           [ 0.   ,  0.   ]]), array([2.828, 0.   ]))
    """
    xp = namespace(patches)
    n, d = patches.shape
    removed = None
    if center:
        pixels = d // channels
        split = xp.reshape(patches, (n, pixels, channels))
        mean = xp.mean(split, axis=1, keepdims=True)
        patches = xp.reshape(split - mean, (n, d))
        removed = pixels * xp.sum(mean * mean, axis=(1, 2))
    squares = xp.sum(patches * patches, axis=1)
    norms = xp.sqrt(squares)
    nothing = norms < SMALLEST_NORM
    if removed is not None:
        nothing = nothing | (norms < SMALLEST_NORM * xp.sqrt(squares + removed))
    directions = patches / xp.where(nothing, xp.ones_like(norms), norms)[:, None]
    directions = xp.where(nothing[:, None], xp.zeros_like(directions), directions)
    return directions, xp.where(nothing, xp.zeros_like(norms), norms)


def draw_directions(
    maps: Any, patch: int, center: bool, keys: NDArray[np.float64], quota: int
) -> NDArray[Any]:
    """Return directions of the `quota` nonzero patches of smallest key in every image."""
    xp = namespace(maps)
    patches = extract_patches(maps, patch)
    n, rows, columns, d = patches.shape
    patches = xp.reshape(patches, (n * rows * columns, d))
    directions, norms = normalize_patches(patches, maps.shape[3], center=center)
    keys = np.where(to_numpy(norms).reshape(keys.shape) > 0, keys, np.inf)
    least = np.argsort(keys, axis=1)[:, :quota]
    real = np.isfinite(np.take_along_axis(keys, least, axis=1))
    index = (least + np.arange(n)[:, None] * rows * columns)[real]
    return take_rows(directions, index)


def pooling_matrix(
    size: int, stride: int, width: float | None = None, radius: int | None = None
) -> NDArray[np.float64]:
    r"""Return the matrix of Gaussian pooling along one axis.

    .. math:: A_{cz} = e^{-(z - c)^2 / \beta^2} \text{ where } |z - c| \le \text{radius}, \text{
              otherwise } 0,

    for positions ``z = 0, ..., size - 1`` and centres ``c = 0, stride, 2 stride, ...`` among
    them. The width :math:`\beta` of the Gaussian and the radius are the stride by default.

    Notes
    -----
    The sum over centres is a quadrature of an integral over the line: with a `width` of at least
    the stride and a radius of several widths, away from the border,

    .. math:: \sum_c A_{cz} A_{cz'} \approx \frac{\beta}{s} \sqrt{\frac{\pi}{2}}\,
              e^{-(z - z')^2 / (2 \beta^2)} .

    Examples
    --------
    >>> from bochner.images.patches import pooling_matrix
    >>> pooling_matrix(4, 2).round(3)
    array([[1.   , 0.779, 0.368, 0.   ],
           [0.368, 0.779, 1.   , 0.779]])
    """
    width = float(stride) if width is None else width
    radius = stride if radius is None else radius
    distance = np.arange(size)[None, :] - np.arange(0, size, stride)[:, None]
    return np.where(np.abs(distance) <= radius, np.exp(-((distance / width) ** 2)), 0.0)


def pool(maps: Any, down: NDArray[np.float64], across: NDArray[np.float64]) -> Any:
    """Pool maps by given matrices, one for each axis of the image."""
    xp = namespace(maps)
    n, rows, _, channels = maps.shape
    pooled = xp.matmul(convert(across, maps), maps)
    pooled = xp.reshape(pooled, (n, rows, across.shape[0] * channels))
    pooled = xp.matmul(convert(down, maps), pooled)
    return xp.reshape(pooled, (n, down.shape[0], across.shape[0], channels))


def gradients(images: Any) -> Any:
    """Return the gradient of every channel: central differences, one-sided at the border.

    Every channel has a slope down and a slope across. Images need at least 2 x 2 pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.images.patches import gradients
    >>> gradients(np.array([[0.0, 1.0, 4.0], [0.0, 1.0, 4.0]])[None, :, :, None])[0, 0]
    array([[0., 1.],
           [0., 2.],
           [0., 3.]])
    """
    xp = namespace(images)
    slopes = [_differences(xp, images, axis) for axis in (1, 2)]
    n, rows, columns, channels = images.shape
    return xp.reshape(xp.stack(slopes, axis=-1), (n, rows, columns, 2 * channels))


def _differences(xp: Any, images: Any, axis: int) -> Any:
    def part(start: int | None, end: int | None) -> Any:
        return images[(*[slice(None)] * axis, slice(start, end), ...)]

    first, inner, last = (
        part(1, 2) - part(0, 1),
        (part(2, None) - part(None, -2)) / 2,
        part(-1, None) - part(-2, -1),
    )
    return xp.concat([first, inner, last], axis=axis)
