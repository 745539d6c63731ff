"""Peaks chosen in kernels, against those of array operations."""

import numpy as np
import pytest

from bochner.margin.peaks import peaks_and_rest
from tests.engine.tiles.place import DEVICE, needs_kernels, torch

pytestmark = needs_kernels


def chosen(points, values, *numbers):
    from bochner.engine.tiles import peaks

    there = (torch.from_numpy(array).to(DEVICE) for array in (points, values))
    return [part[0].cpu().numpy() for part in peaks.peaks_and_rest(*there, *numbers)]


@pytest.mark.parametrize(
    ("d", "m", "n_peaks", "apart", "n_left"),
    [(3, 100, 10, 0.7, 50), (2, 20, 20, 0.5, 15), (40, 7, 3, 5.0, 3), (1, 1, 1, 1.0, 1)],
)
@pytest.mark.parametrize("ties", [False, True])
def test_they_are_those_of_array_operations(d, m, n_peaks, apart, n_left, ties):
    rng = np.random.default_rng(m)
    points, values = rng.normal(size=(d, m)).astype("f4"), rng.normal(size=m).astype("f4")
    points[:, m // 2 :] = -points[:, : m - m // 2] * np.float32(1.01)  # mirror images are near
    if ties:
        values = np.round(values)
        values[::5] = -np.inf
    found = chosen(points, values, n_peaks, apart, n_left)
    for ours, right in zip(
        found, peaks_and_rest(points, values, n_peaks, apart, n_left), strict=True
    ):
        np.testing.assert_array_equal(ours, right)


def test_values_that_are_none_come_last():
    points, values = np.arange(4, dtype="f4")[None, :], np.float32([np.nan, 1, 2, np.nan])
    assert chosen(points, values, 3, 0.1, 2)[0][0].tolist() == [2, 1, 0]


def test_games_together_are_each_alone():
    from bochner.engine.tiles import peaks

    generator = torch.Generator().manual_seed(0)
    points, values = (torch.randn(shape, generator=generator) for shape in ((3, 60), (60,)))
    together = peaks.peaks_and_rest(points.to(DEVICE), values.to(DEVICE), 4, 0.5, 10, n_games=3)
    for k in range(3):
        own = slice(20 * k, 20 * k + 20)
        alone = peaks_and_rest(points[:, own].numpy(), values[own].numpy(), 4, 0.5, 10)
        for ours, right in zip(together, alone, strict=True):
            np.testing.assert_array_equal(ours[k].cpu(), right)
