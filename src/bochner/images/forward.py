"""Forward pass of a fitted layer: patches, features and pooling, within a given memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.engine.places import is_host, item_size, namespace, zeros
from bochner.engine.rowwise import row_slices
from bochner.engine.threads import default_threads, for_each
from bochner.images.layers import GradientLayer, Layer
from bochner.images.patches import (
    extract_patches,
    gradients,
    normalize_patches,
    pool,
    pooling_matrix,
)

_BLOCK_BYTES = 2**24  # per thread on the host; larger blocks leave its cache


@dataclass(frozen=True, eq=False)
class FittedLayer:
    """A layer with the fitted map of its patches."""

    layer: Layer
    center: bool  # whether patch means are subtracted
    xi: Callable[[Any], Any]  # maps rows of directions to rows of features
    n_maps: int  # number of features of one patch
    threads: bool = True  # whether several threads may use xi at once

    def shape_after(self, shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return height, width and channels of the output for maps of a given shape."""
        rows, columns, channels = positions(self.layer, shape)
        stride = self.layer.stride
        groups = channels if isinstance(self.layer, GradientLayer) else 1
        return -(-rows // stride), -(-columns // stride), groups * self.n_maps

    def __call__(self, maps: Any, memory_budget: int, n_threads: int | None = 1) -> Any:
        """Return the output (n, rows, columns, maps) for maps (n, height, width, channels).

        Scratch memory stays below `memory_budget`, or below what the patches of one row of one
        image need, if that is more. The result does not depend on `n_threads`; None means as many
        as BLAS may use.
        """
        n, _, _, channels = maps.shape
        gradient = isinstance(self.layer, GradientLayer)
        rows, columns, _ = positions(self.layer, maps.shape[1:])
        groups = channels if gradient else 1
        patch = patch_side(self.layer)
        down = pooling_matrix(rows, self.layer.stride, self.layer.width, self.layer.radius)
        across = pooling_matrix(columns, self.layer.stride, self.layer.width, self.layer.radius)
        d = 2 * channels if gradient else patch * patch * channels
        one_row = columns * item_size(maps) * (4 * d + 4 * groups * self.n_maps)
        threads = default_threads() if n_threads is None else n_threads
        allowed = memory_budget
        if is_host(maps):
            # fixed by the budget alone, so that threads do not change the result
            allowed = max(1, min(memory_budget // 4, _BLOCK_BYTES))
            threads = min(threads, max(1, memory_budget // allowed))
        if not (is_host(maps) and self.threads):
            threads = 1
        height = int(np.clip(allowed // one_row, 1, rows))
        count = int(np.clip(allowed // (one_row * rows), 1, n))
        shape = (n, down.shape[0], across.shape[0], groups * self.n_maps)
        out = zeros(shape, maps, maps.dtype)

        def add(images: slice) -> None:
            block = maps[images, ...]
            block = gradients(block) if gradient else block
            for top in range(0, rows, height):
                bottom = min(top + height, rows)
                # only some centres pool these rows
                seen = np.flatnonzero(down[:, top:bottom].any(axis=1))
                if len(seen):
                    zeta = self._features(block[:, top : bottom + patch - 1, ...], patch, groups)
                    low, high = int(seen[0]), int(seen[-1]) + 1
                    pooled = pool(zeta, down[low:high, top:bottom], across)
                    out[images, low:high, ...] += pooled

        for_each(add, row_slices(n, count), threads)
        return out

    def _features(self, block: Any, patch: int, groups: int) -> Any:
        """Return the features of every patch times its norm."""
        xp = namespace(block)
        patches = extract_patches(block, patch)
        n, rows, columns, d = patches.shape
        patches = xp.reshape(patches, (n * rows * columns * groups, d // groups))
        directions, norms = normalize_patches(patches, block.shape[3], center=self.center)
        shape = (n, rows, columns, groups * self.n_maps)
        if is_host(block):
            some = np.flatnonzero(norms)
            if len(some) < len(norms):  # flat parts of an image cost nothing
                result = np.zeros((len(norms), self.n_maps), block.dtype)
                if len(some):
                    result[some] = self.xi(directions[some]) * norms[some, None]
                return result.reshape(shape)
        return xp.reshape(self.xi(directions) * norms[:, None], shape)


def patch_side(layer: Layer) -> int:
    """Return the side of the layer's patches."""
    return 1 if isinstance(layer, GradientLayer) else layer.patch


def positions(layer: Layer, shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return rows and columns of patches in maps of a given shape, and channels of the maps."""
    side = patch_side(layer)
    return shape[0] - side + 1, shape[1] - side + 1, shape[2]
