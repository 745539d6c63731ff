import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bochner.linear import project_onto_dual_set
from tests.places import PLACES, on_host


def alternating(alpha, y, C, n_rounds):
    """The paper's way: clip, then remove the component along y, over and over."""
    for _ in range(n_rounds):
        alpha = np.clip(alpha - y * (y @ alpha) / len(y), 0, C)
    return alpha


def check_optimality(alpha, y, C, projected):
    """The conditions that hold at the nearest point of K, and nowhere else.

    Feasible, and ``alpha - projected = t y + (multipliers)``, where the multipliers are zero
    strictly inside, not negative at C and not positive at 0: an interval for t from every entry.
    """
    scale = max(np.abs(alpha).max(), 1e-300)
    size = max(projected.max(), 1e-300)
    slack = 1e-14 * len(y)
    assert (projected >= 0).all()
    assert (projected <= C).all()
    assert abs(y @ projected) <= slack * size
    t, rounding = y * (alpha - projected), slack * scale
    at_zero, at_limit = projected <= rounding, projected >= C - rounding
    from_below = ~np.where(y > 0, at_limit, at_zero)  # t is at least what these say
    from_above = ~np.where(y > 0, at_zero, at_limit)  # and at most what these say
    least = max(t[from_below], default=-np.inf)
    most = min(t[from_above], default=np.inf)
    assert least <= most + rounding


@settings(deadline=None, max_examples=200)
@given(
    n=st.integers(1, 30),
    C=st.sampled_from([1e-8, 0.3, 1.0, 1e8, np.inf]),
    scale=st.sampled_from([1e-200, 1e-8, 1.0, 1e8]),
    rounded=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_conditions_of_optimality(n, C, scale, rounded, seed):
    rng = np.random.default_rng(seed)
    alpha = rng.normal(size=n)
    if rounded:  # corners then coincide
        alpha = np.round(2 * alpha) / 2
    alpha, y = scale * alpha, rng.choice([-1, 1], size=n)
    check_optimality(alpha, y, C, project_onto_dual_set(alpha, y, C))


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_a_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    alpha, y, C = rng.normal(size=8), np.r_[1, -1, rng.choice([-1, 1], size=6)], 0.7
    found = minimize(
        lambda a: 0.5 * np.sum((a - alpha) ** 2),
        np.zeros(8),
        jac=lambda a: a - alpha,
        bounds=[(0, C)] * 8,
        constraints={"type": "eq", "fun": lambda a: y @ a, "jac": lambda a: y},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    np.testing.assert_allclose(project_onto_dual_set(alpha, y, C), found.x, atol=1e-7)


def test_nearer_than_alternating_projections(rng):
    alpha, y, C = rng.normal(size=200), rng.choice([-1, 1], size=200), 0.5
    exact = project_onto_dual_set(alpha, y, C)
    papers = alternating(alpha, y, C, 1000)
    assert abs(y @ papers) < 1e-6
    assert np.sum((exact - alpha) ** 2) <= np.sum((papers - alpha) ** 2) + 1e-9


@pytest.mark.parametrize("C", [0.2, np.inf])
def test_a_point_of_the_set_stays(C, rng):
    alpha, y = rng.normal(size=(50, 3)), rng.choice([-1, 1], size=(50, 3))
    once = project_onto_dual_set(alpha, y, C)
    np.testing.assert_allclose(project_onto_dual_set(once, y, C), once, atol=1e-15)


@pytest.mark.parametrize("sign", [-1, 1])
def test_with_one_class_only_zero_is_left(sign, rng):
    projected = project_onto_dual_set(rng.normal(size=20), np.full(20, sign), 1.0)
    np.testing.assert_array_equal(projected, 0)


def test_a_large_point_does_not_spoil_feasibility(rng):
    alpha = 1e12 * rng.uniform(0.9, 1.1, size=1000)
    y = rng.choice([-1, 1], size=1000)
    projected = project_onto_dual_set(alpha, y, 1.0)
    assert abs(y @ projected) < 1e-12


def test_columns_are_projected_alone_and_labels_may_be_shared(rng):
    alpha, y = rng.normal(size=(40, 3)), rng.choice([-1, 1], size=40)
    together = project_onto_dual_set(alpha, y, 0.4)
    alone = [project_onto_dual_set(column, y, 0.4) for column in alpha.T]
    np.testing.assert_allclose(together, np.transpose(alone), atol=1e-15)
    tiled = project_onto_dual_set(alpha, np.tile(y[:, None], 3), 0.4)
    np.testing.assert_array_equal(tiled, together)


def test_limits_may_differ_between_rows(rng):
    alpha, y = rng.normal(size=30), rng.choice([-1, 1], size=30)
    C = rng.uniform(0.1, 1, size=30)
    projected = project_onto_dual_set(alpha, y, C)
    check_optimality(alpha, y, C, projected)
    np.testing.assert_allclose(
        project_onto_dual_set(np.c_[alpha, alpha], y, C)[:, 1], projected, atol=1e-15
    )


@pytest.mark.parametrize("place", ["numpy", "fortran", "strided", "torch", "strict"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_in_every_place(place, dtype, rng):
    alpha = rng.normal(size=(60, 2)).astype(dtype)
    y = rng.choice([-1.0, 1.0], size=(60, 2)).astype(dtype)
    put = PLACES[place]
    projected = project_onto_dual_set(put(alpha), put(y), 0.5)
    assert type(projected) is type(put(alpha))
    result = on_host(projected)
    assert result.dtype == dtype
    expected = project_onto_dual_set(alpha.astype(np.float64), y, 0.5)
    np.testing.assert_allclose(result, expected, atol=2 * np.finfo(dtype).eps)


def test_messages_name_the_parameter():
    alpha, y = np.ones(3), np.array([1, -1, 1])
    with pytest.raises(ValueError, match=r"alpha must have shape .* got \(\)"):
        project_onto_dual_set(np.array(1.0), y, 1.0)
    with pytest.raises(ValueError, match=r"y must have the shape of alpha, \(3,\)"):
        project_onto_dual_set(alpha, y[:2], 1.0)
    with pytest.raises(ValueError, match=r"y must hold -1 and \+1 only, got .*0"):
        project_onto_dual_set(alpha, np.array([0, 1, 1]), 1.0)
    with pytest.raises(ValueError, match=r"C must be greater than 0, got -1"):
        project_onto_dual_set(alpha, y, -1)
