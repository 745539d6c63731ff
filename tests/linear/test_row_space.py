import numpy as np

from bochner.linear.row_space import RowSpace


def test_row_space_keeps_the_features():
    rng = np.random.default_rng(6)
    wide, tall = rng.normal(size=(8, 20)), rng.normal(size=(20, 8))
    for features in (wide, tall, np.vstack([wide, wide])):  # rows that depend on others
        space = RowSpace.of(features)
        basis = space.coefficients(np.eye(8))
        np.testing.assert_allclose(space.features, features @ basis, atol=1e-12)
        np.testing.assert_allclose(features @ basis @ basis.T, features, atol=1e-6)
        np.testing.assert_allclose(basis.T @ basis, np.eye(8), atol=1e-6)


def test_a_factor_that_would_divide_by_almost_nothing_is_not_used():
    features = np.eye(3, 5)
    features[2] = features[1] + 1e-7 * features[2]
    assert RowSpace.of(features).features.shape == (3, 2)
