"""What is guaranteed of the cells of a comparison, as a number and a sentence.

Each guarantee is computed so that its conditions hold for independent rows: from rows that took
no part in anything, or from a map that is learned for it with scaler and gamma from other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bochner.engine.places import to_numpy
from bochner.guarantees import clopper_pearson, residual_bound, residuals
from bochner.models.methods import scale_rule
from bochner.models.preparation import make_preparation
from bochner.models.selection import GAMMAS, Learned, Problem

DELTA = 0.05
_OTHERS = 0.25  # of the rows: for scaler and gamma


def kernel_residual(feature_map: Any, X_test: Any) -> dict[str, Any]:
    """How far features that nest in a kernel are from it on new rows, from the test rows.

    Parameters
    ----------
    feature_map : MercerFeatures or Nystroem
        Fitted on training rows.
    X_test : array of shape (m, d)
        Prepared test rows.
    """
    if hasattr(feature_map, "residual"):
        r = np.clip(to_numpy(feature_map.residual(X_test)), 0.0, 1.0)
    else:
        r = residuals(feature_map.transform(X_test))
    value = residual_bound(r, DELTA)
    return {
        "name": "kernel residual",
        "value": float(value),
        "uninformative": 1.0,
        "statement": (
            f"With probability {1 - DELTA:g}, the features of a new row leave out at most "
            f"{value:.3g} of the kernel's 1, on average; the mean squared error of the kernel is "
            f"at most {value**2:.3g}. From {len(r)} test rows, which took no part in the fit; "
            "holds for independent rows."
        ),
    }


def learned_alignment(
    X: Any, learned: Learned, problem: Problem, y: NDArray[Any]
) -> dict[str, Any] | None:
    """The bound of a learned kernel's alignment loss, under conditions that hold.

    The bound wants columns scaled, and gamma listed, without the rows that the posterior is
    learned from. So a map with the same settings is learned on three quarters of all rows, with
    scaler and scale rule from the other quarter; that gamma was picked from a list is paid for.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n, d)
        All rows, not prepared.
    learned : Learned
        With the settings.
    problem : Problem
        Where they come from.
    y : array of shape (n,)
        All labels, coded.
    """
    order = np.random.RandomState(problem.seed).permutation(len(y))
    others, rows = np.split(order, [int(_OTHERS * len(y))])
    if len(np.unique(y[rows])) < 2:
        return None
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    prepare = make_preparation(take(others), problem.image_shape).fit(take(others))
    gamma = learned.chosen.settings["gamma"]
    n_settings = 1
    if problem.gamma is None:
        factors = np.array(GAMMAS)
        nearest = np.abs(np.log(gamma / scale_rule(problem.X) / factors)).argmin()
        gamma = factors[nearest] * scale_rule(prepare.transform(take(others)))
        n_settings = len(GAMMAS)
    feature_map = clone(learned.feature_map).set_params(gamma=float(gamma))
    feature_map.fit(problem.place(prepare.transform(take(rows))), y[rows])
    bound = feature_map.bound(DELTA, n_settings=n_settings)
    return {
        "name": "alignment loss",
        "value": float(bound.value),
        "uninformative": bound.uninformative,
        "statement": (
            f"{str(bound)[0].upper()}{str(bound)[1:]}. Of a kernel with these settings learned "
            f"on {len(rows)} rows, with columns scaled by {len(others)} others; it is about pairs "
            "of new rows, not about the classifier. Holds for independent rows."
        ),
    }


def error_rate(errors: int, n_test: int, n_certified: int) -> dict[str, Any]:
    """An upper limit of the error rate on new rows, from test rows that were only counted.

    Parameters
    ----------
    errors, n_test : int
        Wrong decisions, and test rows.
    n_certified : int
        For how many machines at once it is to hold on the same rows.
    """
    value = clopper_pearson(errors, n_test, DELTA / n_certified)
    together = f", for all {n_certified} lines at once" if n_certified > 1 else ""
    return {
        "name": "error rate",
        "value": float(value),
        "uninformative": 1.0,
        "statement": (
            f"With probability {1 - DELTA:g}{together}, the error rate on new rows is at most "
            f"{100 * value:.2f} %: {errors} errors on the {n_test} test rows of the first split "
            "(Clopper and Pearson). Holds for independent rows."
        ),
    }


def balanced_error(class_errors: Sequence[Sequence[int]], n_certified: int) -> dict[str, Any]:
    """An upper limit of the balanced error on new rows: the mean over the classes of their own.

    The rows of a class are independent whatever their number is, so that each class has the limit
    of Clopper and Pearson; that all are to hold at once is paid for.

    Parameters
    ----------
    class_errors : sequence of pairs of int
        Wrong decisions, and test rows, of every class.
    n_certified : int
        For how many machines at once it is to hold on the same rows.
    """
    delta = DELTA / n_certified / len(class_errors)
    limits = [clopper_pearson(wrong, n, delta) if n else 1.0 for wrong, n in class_errors]
    value = float(np.mean(limits))
    together = f", for all {n_certified} lines at once" if n_certified > 1 else ""
    fewest = min(n for _, n in class_errors)
    return {
        "name": "balanced error",
        "value": value,
        "uninformative": 1 - 1 / len(class_errors),
        "statement": (
            f"With probability {1 - DELTA:g}{together}, the balanced error on new rows, the mean "
            f"of the classes' error rates, is at most {100 * value:.2f} %: from the errors in "
            f"each of the {len(class_errors)} classes on the test rows of the first split "
            f"(Clopper and Pearson), of which the smallest class has {fewest}. Holds for "
            "independent rows."
        ),
    }
