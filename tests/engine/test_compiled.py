"""The sine-cosine kernel against extended precision."""

import numpy as np
import pytest

from bochner.engine.compiled import sincos_tile, sum_tile


def sincos(phases, scale=None):
    phases = np.ascontiguousarray(phases)
    height, width = phases.shape
    out = np.full((height + 2, 2 * width + 3), np.nan, phases.dtype)
    flags = np.empty(height, np.bool_)
    scale = np.ones(width, phases.dtype) if scale is None else scale
    sincos_tile(phases, scale, out, 1, 1, width + 2, flags)
    # nothing outside the two windows was touched
    assert np.isnan(out[[0, -1]]).all()
    assert np.isnan(out[:, [0, width + 1, -1]]).all()
    return out[1:-1, 1 : width + 1], out[1:-1, width + 2 : -1], flags


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1.2e-7), (np.float64, 2.3e-16)])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0, 4000.0])
def test_accuracy(dtype, error, spread):
    rng = np.random.default_rng(0)
    phases = rng.uniform(-spread, spread, size=(64, 4096)).astype(dtype)
    cosine, sine, flags = sincos(phases)
    exact = phases.astype(np.longdouble)
    assert np.abs(cosine - np.cos(exact)).max() <= error
    assert np.abs(sine - np.sin(exact)).max() <= error
    assert not flags.any()


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1.2e-7), (np.float64, 2.3e-16)])
def test_around_every_change_of_quadrant(dtype, error):
    centres = np.arange(-1000, 1001) * (np.pi / 4)
    phases = np.stack([centres + shift for shift in (-1e-6, -1e-9, 0, 1e-9, 1e-6)]).astype(dtype)
    cosine, sine, _ = sincos(phases)
    exact = phases.astype(np.longdouble)
    assert np.abs(cosine - np.cos(exact)).max() <= error
    assert np.abs(sine - np.sin(exact)).max() <= error


@pytest.mark.parametrize(("dtype", "quadrants"), [(np.float32, 2**12), (np.float64, 2**20)])
def test_large_phases_are_reported_by_row(dtype, quadrants):
    limit = quadrants * np.pi / 2
    phases = np.zeros((5, 100), dtype)
    phases[0, 99] = limit * 0.999
    phases[1, 37] = limit * 1.001
    phases[3, 0] = -limit * 10
    phases[4, 50] = np.inf
    assert sincos(phases)[2].tolist() == [False, True, False, True, True]
    part, total = np.empty((2, 100), dtype), np.zeros((2, 100))
    flags = [bool(sum_tile(row[None], np.ones(1, dtype), part, total)) for row in phases]
    assert flags == [False, True, False, True, True]


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 2e-5), (np.float64, 1e-13)])
def test_sums_without_storing_the_waves(dtype, error):
    rng = np.random.default_rng(0)
    phases, weights = rng.normal(size=(150, 333)).astype(dtype), rng.normal(size=150).astype(dtype)
    total = np.ones((2, 333))
    assert not sum_tile(phases, weights, np.empty((2, 333), dtype), total)
    expected = np.stack([weights @ np.cos(phases), weights @ np.sin(phases)])
    np.testing.assert_allclose(total, 1 + expected, rtol=0, atol=error)


def test_scale_is_applied_by_column():
    phases = np.zeros((2, 3))
    cosine, _, _ = sincos(phases, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(cosine, [[1.0, 2.0, 3.0]] * 2)
