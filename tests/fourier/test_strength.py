import numpy as np
from sklearn.linear_model import Ridge

from bochner.fourier.strength import better_than_first, held_out_errors


def test_errors_are_those_of_a_ridge_regression_of_least_criterion(rng):
    Phi, held = rng.normal(size=(30, 6)), rng.normal(size=(9, 6))
    Y = Phi[:, :2] + rng.normal(size=(30, 2))
    Y_held = held[:, :2]
    centred, targets = Phi - Phi.mean(axis=0), Y - Y.mean(axis=0)
    largest = np.linalg.eigvalsh(centred.T @ centred)[-1]
    criteria = {}
    for penalty in largest * 10.0 ** -np.arange(1, 12):
        hat = centred @ np.linalg.solve(centred.T @ centred + penalty * np.eye(6), centred.T)
        residuals = targets - hat @ targets
        criteria[penalty] = (residuals**2).sum() / (29 - np.trace(hat)) ** 2
    best = Ridge(alpha=min(criteria, key=criteria.get)).fit(Phi, Y)
    expected = ((best.predict(held) - Y_held) ** 2).sum(axis=1)
    np.testing.assert_allclose(held_out_errors(Phi, Y, held, Y_held), expected, rtol=1e-8)


def test_constant_features_predict_the_mean():
    errors = held_out_errors(np.ones((5, 2)), np.arange(5.0)[:, None], np.ones((1, 2)), [[2.0]])
    np.testing.assert_allclose(errors, 0, atol=1e-20)


def test_another_is_chosen_only_if_better_by_a_standard_error(rng):
    noise = rng.normal(size=400)
    first = 1 + np.abs(noise)
    assert better_than_first([first, first - 0.1, first - 0.2]) == 2
    assert better_than_first([first, first + 0.1]) == 0
    uncertain = first + noise - noise.mean() - 0.5 * noise.std() / 20
    assert better_than_first([first, uncertain]) == 0
