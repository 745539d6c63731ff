import numpy as np

from bochner.fourier.strength import held_out_errors
from tests.linear.naive import ridge_of_least_criterion


def test_errors_are_those_of_a_ridge_regression_of_least_criterion(rng):
    Phi, held = rng.normal(size=(30, 6)), rng.normal(size=(9, 6))
    Y, Y_held = Phi[:, :2] + rng.normal(size=(30, 2)), held[:, :2]
    best = ridge_of_least_criterion(Phi, Y)
    expected = ((best.predict(held) - Y_held) ** 2).sum(axis=1)
    np.testing.assert_allclose(held_out_errors(Phi, Y, held, Y_held), expected, rtol=1e-8)
