"""Chains that climb in kernels, against the formulas of the search."""

import numpy as np
import pytest

from bochner.engine import device, plain, tiles
from bochner.margin import search
from bochner.margin.peaks import ascend_potential
from bochner.margin.search import FamiliesTogether, Search, WaveFamily
from tests.engine.tiles.place import DEVICE, needs_kernels, take_kernels, torch

pytestmark = needs_kernels
STEPS = {"n_steps": 5, "first_move": 0.05, "growth": 1.5, "shrinkage": 0.4}


@pytest.fixture(autouse=True)
def taken(monkeypatch):
    """However small the problem."""
    take_kernels(monkeypatch)


def problem(n, d, m, k):
    rng = np.random.default_rng(0)
    X, A, starts = rng.normal(size=(n, d)), rng.normal(size=(n, k)) / n, rng.normal(size=(d, m))
    return X.astype("f4"), A.astype("f4"), (starts * d**-0.5).astype("f4")


def climbed(X, A, starts, **limits):
    there = (torch.from_numpy(array).to(DEVICE) for array in (X, A, starts))
    return device.climb_potential(*there, memory_budget=None, **limits, **STEPS)


def expected(X, A, starts, band, longest):
    """In float64 by the loop of the search."""
    wide = X.astype("f8"), A.astype("f8")

    def potential(points):
        v, slope = plain.potential_and_gradient(wide[0], points, wide[1], np.ones(A.shape[1]))
        if band is None:
            return v, slope
        share = np.exp(-(points**2).sum(axis=0) / (2 * band**2))
        return share * v, share * (slope - v / band**2 * points)

    return ascend_potential(potential, starts.astype("f8"), n_steps=5, longest=longest)


@pytest.mark.parametrize("band", [None, 1.5])
@pytest.mark.parametrize("longest", [1.05, 1e3])
@pytest.mark.parametrize("shape", [(150, 37, 30, 1), (300, 3, 5, 2), (7, 200, 1, 1)])
def test_they_are_where_those_of_the_search_are(shape, longest, band):
    X, A, starts = problem(*shape)
    points, values = climbed(X, A, starts, band=band, longest=longest)
    right_points, right_values = expected(X, A, starts, band, longest)
    assert points.shape == starts.shape
    np.testing.assert_allclose(values.cpu(), right_values, rtol=2e-4, atol=1e-7)
    np.testing.assert_allclose(points.cpu(), right_points, rtol=2e-3, atol=2e-4)
    assert float(torch.linalg.vector_norm(points, dim=0).max()) <= longest * (1 + 1e-6)


def test_limits_may_be_where_the_chains_are():
    X, A, starts = problem(150, 37, 30, 1)
    there = {"band": torch.tensor(1.5), "longest": torch.tensor(1.05, dtype=torch.float64)}
    moved = climbed(X, A, starts, **{name: value.to(DEVICE) for name, value in there.items()})
    for ours, same in zip(moved, climbed(X, A, starts, band=1.5, longest=1.05), strict=True):
        assert torch.equal(ours, same)


def test_where_it_is_flat_they_stay():
    X, A, starts = problem(50, 4, 6, 1)
    points, values = climbed(X, 0 * A, starts, band=2.0, longest=1e3)
    np.testing.assert_array_equal(points.cpu(), starts)
    assert not values.any()


def test_other_chains_are_left_to_the_search():
    X, A, starts = problem(20, 1025, 3, 1)
    assert climbed(X, A, starts, band=None, longest=1e3) is None
    assert climbed(X[:, :5], A, starts[:5], band=None, longest=None) is None
    assert climbed(X[:, :5], A, starts[:5, :0], band=None, longest=1e3) is None
    assert climbed(X[:, :5], np.tile(A, 17), starts[:5], band=None, longest=1e3) is None


@pytest.mark.parametrize("n_rows", [None, 100])
def test_a_search_is_the_same_with_them(n_rows, monkeypatch):
    X, A, _ = problem(150, 6, 1, 1)
    rows, coefficients = (torch.from_numpy(array).to(DEVICE) for array in (X, A))
    search = Search(1.0, n_peaks=3, n_chains=12, n_steps=4, n_rows=n_rows)
    found = []
    for kernels in (True, False):
        monkeypatch.setattr(tiles, "run", lambda X, kernels=kernels: kernels)
        waves = WaveFamily(rows, search, 6, random_state=np.random.RandomState(0))
        found.append([waves.propose(coefficients, 6) for _ in range(2)])
    for ours, right in zip(*found, strict=True):
        for name in ("functions", "columns", "potential", "share"):
            values = (getattr(proposal, name) for proposal in (ours, right))
            torch.testing.assert_close(*values, rtol=2e-3, atol=2e-3)


def test_games_together_are_each_alone():
    X, A, starts = problem(150, 9, 21, 6)
    bands = torch.tensor([1.5, 0.7, 3.0], dtype=torch.float64, device=DEVICE)
    together = climbed(X, A, starts, band=bands, longest=1.4, n_games=3)
    for k in range(3):
        own, chains = A[:, 2 * k : 2 * k + 2], slice(7 * k, 7 * k + 7)
        alone = climbed(X, own, starts[:, chains], band=float(bands[k]), longest=1.4)
        torch.testing.assert_close(together[0][:, chains], alone[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(together[1][chains], alone[1], rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("kernels", [True, False])
def test_families_together_propose_what_each_does(kernels, monkeypatch):
    X, A, _ = problem(150, 6, 1, 3)
    rows = torch.from_numpy(X).to(DEVICE)
    coefficients = [torch.from_numpy(A[:, k : k + 1]).to(DEVICE) for k in range(3)]
    monkeypatch.setattr(search, "on_cuda", lambda X: True)
    monkeypatch.setattr(tiles, "run", lambda X: kernels)

    def families():
        return [
            WaveFamily(
                rows,
                Search(1.0, band=band, n_peaks=3, n_chains=12, n_steps=3),
                8,
                random_state=np.random.RandomState(0),
            )
            for band in (12.0, 4.0, 12.0)
        ]

    together, each = FamiliesTogether(families()), families()
    for n_wanted in (8, 5, 2):
        found = together.propose(coefficients, n_wanted)
        for ours, family, own in zip(found, each, coefficients, strict=True):
            right = family.propose(own, n_wanted)
            for name in ("functions", "columns", "potential", "share"):
                values = (getattr(proposal, name) for proposal in (ours, right))
                torch.testing.assert_close(*values, rtol=1e-3, atol=1e-3)
            assert ours.n_functions == right.n_functions
