"""Newton steps in kernels, against those of array operations."""

import numpy as np
import pytest

from bochner.engine import tiles
from bochner.linear import newton, solve_squared_hinge, squared_hinge_path
from bochner.linear.squared_hinge import squared_hinge_paths
from tests.engine.tiles.place import DEVICE, needs_kernels, take_kernels, torch

pytestmark = needs_kernels


@pytest.fixture(autouse=True)
def taken(monkeypatch):
    take_kernels(monkeypatch)


def problem(n, D, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    features = np.cos(X @ rng.normal(size=(3, D)) + rng.uniform(0, 6, D))
    signs = np.sign(np.sin(2 * X[:, :1]) + 0.3 + 0.3 * rng.normal(size=(n, 1)))
    there = (torch.from_numpy(part.astype("f4")).to(DEVICE) for part in (features, signs))
    return *there, torch.zeros((1, D + 1), dtype=torch.float64, device=DEVICE)


@pytest.mark.parametrize(("n", "D"), [(300, 40), (130, 1), (1, 3), (700, 7)])
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_steps_are_those_of_array_operations(n, D, C, monkeypatch):
    features, signs, V = problem(n, D)
    monkeypatch.setattr("bochner.engine.tiles.hinge._MOST_PROGRAMS", 2)
    for n_steps in (1, 4):
        found = newton.newton_steps(features, signs, C, V, n_steps)
        with monkeypatch.context() as without:
            without.setattr(tiles, "run", lambda X: False)
            plain = newton.newton_steps(features, signs, C, V, n_steps)
            exact = newton.newton_steps(features.double(), signs.double(), C, V, n_steps)
        assert not V.any()
        for ours, single, right in zip(found, plain, exact, strict=True):
            assert ours.dtype == single.dtype
            errors = [float((part - right).abs().max()) for part in (ours, single)]
            assert errors[0] <= 2 * errors[1] + 3e-5 * float(right.abs().max())


@pytest.mark.parametrize("column_by_column", [False, True])
def test_they_end_at_the_minimum(column_by_column):
    features, signs, _ = problem(400, 20)
    if column_by_column:
        features = features.T.contiguous().T
    for C, found in zip(
        (0.1, 1.0), squared_hinge_path(features, signs, [0.1, 1.0], tol=None, max_steps=8),
        strict=True,
    ):  # fmt: skip
        exact = solve_squared_hinge(features.cpu().numpy().astype("f8"), signs.cpu().numpy(), C)
        np.testing.assert_allclose(found.coefficients.cpu(), exact.coefficients, atol=2e-3)
        np.testing.assert_allclose(found.margins.cpu(), exact.margins, atol=2e-3)


def test_columns_to_come_change_nothing():
    features, signs, V = problem(200, 10)
    room = torch.cat([features, torch.zeros((200, 20), device=DEVICE)], dim=1)
    C = torch.full((), 0.5, dtype=torch.float64, device=DEVICE)
    few = newton.newton_steps(features, signs, 0.5, V, 4)
    wide = torch.zeros((1, 31), dtype=torch.float64, device=DEVICE)
    many = newton.newton_steps(room, signs, C, wide, 4)
    torch.testing.assert_close(many[1], few[1], rtol=0, atol=1e-4)
    assert not many[0][:, 10:-1].any()


def test_no_row_inside_the_margin():
    features, _, V = problem(50, 4)
    signs = torch.ones((50, 1), device=DEVICE)
    found, margins = newton.newton_steps(features, signs, 10.0, V, 6)
    assert bool(torch.isfinite(found).all())
    assert float(margins.min()) > 1


def test_several_problems_are_each_alone(monkeypatch):
    features, signs, _ = problem(300, 12)
    others = features * 2 - 0.5, features[:, torch.randperm(12)], 0 * features
    V = torch.randn((4, 13), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    V = V.to(DEVICE)
    V_found, margins = newton.newton_steps_of_several(3, signs, 0.5, V, features, *others)
    with monkeypatch.context() as without:
        without.setattr(tiles, "run", lambda X: False)
        V_plain, plain = newton.newton_steps_of_several(3, signs, 0.5, V, features, *others)
    torch.testing.assert_close(V_found, V_plain, rtol=0, atol=1e-3)
    torch.testing.assert_close(margins, plain, rtol=0, atol=1e-3)
    for k, each in enumerate((features, *others)):
        V_alone, alone = newton.newton_steps(each, signs, 0.5, V[k : k + 1], 3)
        torch.testing.assert_close(V_found[k : k + 1], V_alone, rtol=0, atol=1e-5)
        torch.testing.assert_close(margins[k], alone[:, 0], rtol=0, atol=1e-5)


def test_several_paths_are_each_alone():
    features, signs, _ = problem(250, 9)
    both, Cs = [features, 1.5 * features], [1.0, 0.1]
    for own, path in zip(both, squared_hinge_paths(both, signs, Cs, n_steps=4), strict=True):
        alone = squared_hinge_path(own, signs, Cs, tol=None, max_steps=4)
        for ours, right in zip(path, alone, strict=True):
            for name in ("coefficients", "intercepts", "margins"):
                pair = getattr(ours, name), getattr(right, name)
                torch.testing.assert_close(*pair, rtol=0, atol=1e-4)
