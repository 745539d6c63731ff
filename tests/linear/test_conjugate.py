import numpy as np
import pytest

from bochner.linear import conjugate
from bochner.linear.conjugate import conjugate_path
from tests.linear.naive import krylov_fit
from tests.places import PLACES, on_host


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
def test_every_step_is_the_best_of_its_krylov_space(place, rng):
    Phi, Y = rng.normal(size=(40, 12)) + 0.3, rng.normal(size=(40, 2)) + 5
    for t, found in enumerate(conjugate_path(PLACES[place](Phi), Y, 6), start=1):
        coefficients, intercepts = map(on_host, found)
        for k in range(2):
            expected, intercept = krylov_fit(Phi, Y[:, k], t)
            np.testing.assert_allclose(coefficients[:, k], expected, atol=1e-5)
            assert intercepts[k] == pytest.approx(intercept, abs=1e-5)


def test_all_steps_are_least_squares(rng):
    Phi, Y = rng.normal(size=(40, 8)), rng.normal(size=(40, 3))
    *_, (coefficients, intercepts) = conjugate_path(Phi, Y, 8)
    ones = np.hstack([Phi, np.ones((40, 1))])
    expected = np.linalg.lstsq(ones, Y)[0]
    np.testing.assert_allclose(np.vstack([coefficients, intercepts]), expected, atol=1e-10)


@pytest.mark.parametrize("column", [np.zeros(30), np.full(30, 2.5), np.arange(30.0)])
def test_what_is_fitted_exactly_stays_as_it_is(column):
    """A constant, or a single feature: nothing is left to step along."""
    Phi = np.arange(30.0)[:, None] - 3
    for coefficients, intercepts in conjugate_path(Phi, column[:, None], 5):
        np.testing.assert_allclose(Phi @ coefficients[:, 0] + intercepts[0], column, atol=1e-9)


def test_single_precision_is_near_double(rng):
    Phi, Y = rng.normal(size=(3000, 20)), rng.normal(size=(3000, 1))
    *_, (single, _) = conjugate_path(Phi.astype(np.float32), Y, 5)
    *_, (double, _) = conjugate_path(Phi, Y, 5)
    assert single.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=1e-6)


@pytest.mark.parametrize("place", ["numpy", "torch", "strict"])
def test_opposite_columns_have_opposite_solutions(place, monkeypatch, rng):
    widths, path = [], conjugate._path

    def counted(features, residuals, n_steps):
        widths.append(residuals.shape[1])
        return path(features, residuals, n_steps)

    monkeypatch.setattr(conjugate, "_path", counted)
    Phi, y = rng.normal(size=(40, 12)), (np.arange(40) % 3 == 0).astype(float)
    both = np.column_stack([y, 1 - y])
    alone = list(conjugate_path(Phi, y[:, None], 4))
    for (coefficients, intercepts), (expected, intercept) in zip(
        conjugate_path(PLACES[place](Phi), both, 4), alone, strict=True
    ):
        coefficients, intercepts = on_host(coefficients), on_host(intercepts)
        np.testing.assert_allclose(coefficients, np.hstack([expected, -expected]), atol=1e-12)
        np.testing.assert_allclose(intercepts, [intercept[0], 1 - intercept[0]], atol=1e-12)
    assert widths == [1, 1]
