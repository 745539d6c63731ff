"""The optimum of a support vector machine with hinge loss, from above."""

import numpy as np
import pytest
from sklearn.svm import SVC

from bochner.linear.hinge import hinge_optimum


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_above_the_optimum_and_near_it(C):
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(80, 4))
    y = np.where(Phi[:, 0] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    svm = SVC(kernel="linear", C=C, tol=1e-8).fit(Phi, y)
    dual = np.abs(svm.dual_coef_).sum() - 0.5 * (svm.coef_**2).sum()
    assert dual - 1e-6 <= hinge_optimum(Phi, y[:, None], C) < 1.1 * dual


def test_columns_are_added():
    rng = np.random.default_rng(1)
    Phi, signs = rng.normal(size=(30, 2)), np.sign(rng.normal(size=(30, 3)))
    parts = [hinge_optimum(Phi, signs[:, [k]], 1.0) for k in range(3)]
    # one length for all columns together is at best as good as one for each
    assert sum(parts) - 1e-6 <= hinge_optimum(Phi, signs, 1.0) < 1.1 * sum(parts)


def test_one_class_costs_nothing():
    assert hinge_optimum(np.ones((4, 2)), np.ones((4, 1)), 1.0) == pytest.approx(0, abs=1e-6)
