"""Layers written as loops, one number at a time: what the fast ones must agree with."""

from __future__ import annotations

import math

import numpy as np


def patch_at(image, row, column, side, center):
    """A patch as a list of numbers, its norm taken out: direction and norm."""
    channels = image.shape[2]
    values = [
        [float(image[row + i, column + j, k]) for i in range(side) for j in range(side)]
        for k in range(channels)
    ]
    if center:
        values = [[v - sum(one) / len(one) for v in one] for one in values]
    flat = [values[k][p] for p in range(side * side) for k in range(channels)]
    norm = math.sqrt(sum(v * v for v in flat))
    return (np.array(flat) / norm, norm) if norm >= 1e-6 else (np.zeros(len(flat)), 0.0)


def layer_output(image, xi, n_maps, *, side, stride, center):
    """One image (height, width, channels) through one layer; `xi` takes a single direction."""
    rows, columns = image.shape[0] - side + 1, image.shape[1] - side + 1
    out = np.zeros((math.ceil(rows / stride), math.ceil(columns / stride), n_maps))
    for a in range(out.shape[0]):
        for b in range(out.shape[1]):
            for row in range(rows):
                for column in range(columns):
                    down, across = row - a * stride, column - b * stride
                    if abs(down) > stride or abs(across) > stride:
                        continue
                    u, norm = patch_at(image, row, column, side, center)
                    if norm:
                        weight = math.exp(-(down**2 + across**2) / stride**2)
                        out[a, b] += weight * norm * xi(u)
    return out


def convolutional_kernel(one, other, gamma, *, side, center, position):
    """The sum over all pairs of patches: positions, norms, directions."""
    total = 0.0
    rows, columns = one.shape[0] - side + 1, one.shape[1] - side + 1
    places = [(i, j) for i in range(rows) for j in range(columns)]
    left = [patch_at(one, *z, side, center) for z in places]
    right = [patch_at(other, *z, side, center) for z in places]
    for z, (u, r) in zip(places, left, strict=True):
        for w, (v, s) in zip(places, right, strict=True):
            if r and s:
                total += position(z, w) * r * s * math.exp(-gamma * float((u - v) @ (u - v)))
    return total
