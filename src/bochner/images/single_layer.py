"""A convolutional kernel network of one layer with a given number of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bochner.images.layers import PatchLayer
from bochner.images.network import ConvolutionalKernelNetwork

FEWEST_MAPS = 4
N_PATCHES = 100_000  # patches that the density is fitted to
MAX_IMAGES = 2000  # images they are drawn from, and that mean and scale are estimated on
_LARGE_PATCHES_FROM = 20  # the shorter side of an image, in pixels
_FINE_GRID_ABOVE = 12  # the longer side


def one_layer(n_components: int, image_shape: Sequence[int]) -> PatchLayer:
    """Return the layer with a given number of columns on images of a given shape.

    Patches are 3 x 3, or 5 x 5 where both sides have at least 20 pixels. They are pooled over a
    grid of 2 positions along the longer side, or 4 where it has more than 12 pixels. The columns
    are shared by the positions of the grid: their number must be a multiple of the number of
    positions, with at least 4 columns for each. A ValueError is raised where the number of columns
    or the images do not allow this.

    Examples
    --------
    >>> from bochner.images.single_layer import one_layer
    >>> layer = one_layer(128, (28, 28, 1))
    >>> layer.patch, layer.maps, layer.stride
    (5, 8, 6)
    """
    height, width = image_shape[:2]
    patch = 5 if min(height, width) >= _LARGE_PATCHES_FROM else 3
    if min(height, width) < patch:
        raise ValueError(f"images of {height} x {width} pixels have no patches of 3 x 3")
    rows, columns = height - patch + 1, width - patch + 1
    wanted = 4 if max(height, width) > _FINE_GRID_ABOVE else 2
    stride = -(-max(rows, columns) // wanted)
    grid = -(-rows // stride), -(-columns // stride)
    positions = grid[0] * grid[1]
    maps, rest = divmod(n_components, positions)
    if rest or maps < FEWEST_MAPS:
        raise ValueError(
            f"{n_components} columns are shared by a grid of {grid[0]} x {grid[1]}: a multiple of "
            f"{positions} is needed, from {FEWEST_MAPS * positions} on"
        )
    return PatchLayer(patch=patch, maps=maps, stride=stride)


def make_network(
    *,
    n_components: int,
    image_shape: Sequence[int],
    random_state: Any = None,
    quantile: float = 0.1,
    **parameters: Any,
) -> ConvolutionalKernelNetwork:
    """Return an unfitted network made of :func:`one_layer`, for flattened images.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bochner.images.single_layer import make_network
    >>> X, _ = load_digits(return_X_y=True)
    >>> make_network(n_components=32, image_shape=(8, 8, 1)).fit_transform(X).shape
    (1797, 32)
    """
    return ConvolutionalKernelNetwork(
        layers=[one_layer(n_components, image_shape)],
        image_shape=tuple(image_shape),
        quantile=quantile,
        random_state=random_state,
        **{"n_patches": N_PATCHES, "max_images": MAX_IMAGES, **parameters},
    )
