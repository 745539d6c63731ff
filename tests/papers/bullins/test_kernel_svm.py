from functools import partial

import numpy as np
from sklearn.svm import SVC

from bochner.papers.bullins.kernel_svm import arccosine_kernel, gaussian_kernel, tune_svm


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


def test_one_kernel_and_one_penalty_hold_nothing_out(rng):
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    kernel = partial(gaussian_kernel, gamma=0.5)
    predict, name, C = tune_svm({0.5: kernel}, X, y, [2.0], seed=0)
    assert (name, C) == (0.5, 2.0)
    np.testing.assert_array_equal(predict(X, block=7), SVC(C=2.0, gamma=0.5).fit(X, y).predict(X))
