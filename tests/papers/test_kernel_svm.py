import numpy as np
import pytest
from sklearn.svm import SVC

from bochner.papers.kernel_svm import (
    arccosine_kernel,
    fit_svm,
    gaussian,
    held_out_scores,
    squared_distances,
)


def test_arccosine_kernel_is_its_integral(rng):
    # k(x, y) = 2 E[max(0, <w, x>) max(0, <w, y>)] for normal w.
    X = rng.normal(size=(3, 4))
    exact = arccosine_kernel(X, X)
    waves = np.maximum(rng.normal(size=(200000, 4)) @ X.T, 0)
    for i in range(3):
        for j in range(3):
            products = 2 * waves[:, i] * waves[:, j]
            error = products.std() / np.sqrt(len(products))
            assert abs(products.mean() - exact[i, j]) < 5 * error
    assert arccosine_kernel(np.zeros((1, 2)), np.ones((1, 2))) == 0
    values = arccosine_kernel(np.eye(2), np.array([[2.0, 0.0]]))
    np.testing.assert_allclose(values, [[2.0], [2 / np.pi]])


def test_machines_are_those_without_shortcuts(rng):
    X, held = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    y, held_y = (np.where(rows[:, 0] > 0.2 * rows[:, 1] ** 2, 1, -1) for rows in (X, held))
    predict = fit_svm(squared_distances, gaussian(0.5), 2.0, X, y, block=7)
    plain = SVC(C=2.0, gamma=0.5).fit(X, y)
    np.testing.assert_array_equal(predict(held), plain.predict(held))
    kernels = [gaussian(0.1), gaussian(0.5)]
    scores = held_out_scores(squared_distances, kernels, [1.0, 2.0, 3.0], X, y, held, held_y)
    assert scores.shape == (2, 3)
    assert scores[1, 1] == pytest.approx(plain.score(held, held_y))


def test_penalties_that_take_too_many_steps_are_left_out(rng):
    X, held = rng.normal(size=(80, 2)), rng.normal(size=(40, 2))
    y, held_y = (np.where(rng.normal(size=len(rows)) > 0, 1, -1) for rows in (X, held))
    penalties = [0.1, 1e3, 1e4]
    rows = [gaussian(0.1)], penalties, X, y, held, held_y
    whole = held_out_scores(squared_distances, *rows)
    some = held_out_scores(squared_distances, *rows, most_steps=200)
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(some, [[whole[0, 0], -np.inf, -np.inf]])
