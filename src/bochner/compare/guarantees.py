"""Guarantees for the cells of a comparison.

Each guarantee is computed so that its conditions hold for independent rows: either from rows that
took no part in anything, or from a map that is learned for it, with scaler and gamma from other
rows. The entry of a method in the registry declares which guarantee its kernel has, as a key of
`KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bochner.data.tables import take_rows
from bochner.engine.places import single_rows, to_numpy
from bochner.guarantees import (
    ConditionsNotMet,
    Guarantee,
    clopper_pearson,
    residual_bound,
    residuals,
)
from bochner.models.pipelines import gamma_by_rule
from bochner.models.preparation import make_preparation

DELTA = 0.05
_OTHERS = 0.25  # share of the rows, for scaler and gamma
_FIRST_MODEL = "of the first split's model (fit trains another one on all rows)"


@dataclass(frozen=True)
class NoGuarantee:
    """Absence of a guarantee, and the reason: a sentence without the full stop."""

    reason: str


@dataclass(frozen=True)
class Evidence:
    """The rows from which a guarantee of a fitted map may be computed.

    `X_test` holds the prepared test rows on the device of the map, and `place` puts other rows
    there; `X` and `y` are all rows, not prepared. `scale` is the default gamma of the prepared
    training rows, and `gammas` are the multiples of it among which gamma was chosen, empty if the
    user gave it. `seed` decides which rows scale the columns. `metric` is whether a metric learned
    on the training rows comes before the map; `X_test` has been transformed by it.
    """

    X_test: Any
    X: Any
    y: NDArray[Any]
    task: str
    seed: int = 0
    scale: float = 1.0
    gammas: Sequence[float] = ()
    place: Callable[[Any], Any] = field(default=lambda X: X)
    image_shape: tuple[int, int, int] | None = None
    metric: bool = False


def guarantee_of(
    kind: str | None, feature_map: Any, evidence: Evidence
) -> Guarantee | NoGuarantee:
    """Return the guarantee for the kernel of a fitted map, or the reason why there is none.

    `kind` is a key of `KINDS`, or None if no guarantee is known for the method.
    """
    if kind is None:
        return NoGuarantee("none is known for the kernel of this method")
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    try:
        return KINDS[kind](feature_map, evidence)
    except ConditionsNotMet as error:
        return NoGuarantee(str(error).rstrip("."))


def kernel_residual(feature_map: Any, evidence: Evidence) -> Guarantee:
    """Bound how far features that nest in a kernel are from it on new rows, from the test rows.

    The map must have a method ``residual``, or features whose residuals can be computed.
    """
    if hasattr(feature_map, "residual"):
        r = np.clip(to_numpy(feature_map.residual(evidence.X_test)), 0.0, 1.0)
    else:
        r = residuals(feature_map.transform(evidence.X_test))
    value = residual_bound(r, DELTA)
    return Guarantee(
        "kernel residual",
        value,
        DELTA,
        "Chernoff and empirical Bernstein",
        f"{len(r)} test rows",
        ("independent rows that took no part in the fit",),
        observed=float(r.mean()),
        details={"bound on the mean squared error of the kernel": value**2},
        scope="of the first split's map (its kernel values of two new rows are off by at most as "
        "much in the root mean square, where the kernel of a row with itself is 1)",
        each=True,
    )


def learned_alignment(feature_map: Any, evidence: Evidence) -> Guarantee:
    """Bound the alignment loss of a learned kernel, under conditions that hold.

    The bound requires that the columns are scaled, and the candidates for gamma listed, without
    the rows that the posterior is learned from. A map with the same settings is therefore learned
    on three quarters of all rows, with scaler and default gamma from the other quarter; the bound
    accounts for the choice of gamma from a list. The map must have a method ``bound`` and a number
    for `gamma`.
    """
    X, y = evidence.X, evidence.y
    if evidence.metric:
        raise ConditionsNotMet(
            "the bound is of a kernel that was fixed before, and the metric was learned on the "
            "same rows"
        )
    if evidence.task == "regression":
        raise ConditionsNotMet("numbers are scaled by the rows that the kernel is learned from")
    order = np.random.RandomState(evidence.seed).permutation(len(y))
    others, rows = np.split(order, [int(_OTHERS * len(y))])
    if len(np.unique(y[rows])) < 2:
        raise ConditionsNotMet(f"the {len(rows)} rows to learn from are of one class")
    X_others, X_rows = take_rows(X, others), take_rows(X, rows)
    try:
        prepare = make_preparation(X_others, evidence.image_shape).fit(X_others)
    except ValueError as error:
        raise ConditionsNotMet(
            f"{len(others)} rows are too few to scale the columns by: {error}"
        ) from error
    gamma = feature_map.gamma
    if evidence.gammas:
        factors = np.array(evidence.gammas)
        nearest = np.abs(np.log(gamma / evidence.scale / factors)).argmin()
        gamma = factors[nearest] * gamma_by_rule(prepare.transform(X_others))
    again = clone(feature_map).set_params(gamma=float(gamma))
    # a separate map, which may as well learn from float32 rows in half of the time
    again.fit(single_rows(evidence.place(prepare.transform(X_rows))), y[rows])
    found: Guarantee = again.bound(DELTA, n_settings=len(evidence.gammas) or 1)
    return replace(
        found,
        sample=f"{len(rows)} rows, with columns scaled by {len(others)} others",
        scope=f"{found.scope}, for a map with the first split's settings and not for the model,",
        assumptions=("independent rows of one distribution",),
        each=True,
    )


KINDS: dict[str, Callable[[Any, Evidence], Guarantee]] = {
    "kernel residual": kernel_residual,
    "alignment loss": learned_alignment,
}


def error_rate(errors: int, n_test: int, n_certified: int) -> Guarantee:
    """Return an upper bound of the error rate on new rows, from the errors on the test rows.

    It holds for `n_certified` models at once on the same rows.
    """
    return Guarantee(
        "error rate",
        clopper_pearson(errors, n_test, DELTA / n_certified),
        DELTA,
        "Clopper and Pearson",
        f"the {n_test} test rows of the first split",
        ("independent rows",),
        observed=errors / n_test,
        details={"errors": errors},
        scope=f"on new rows, {_FIRST_MODEL},",
        together=n_certified,
        percent=True,
    )


def balanced_error(class_errors: Sequence[Sequence[int]], n_certified: int) -> Guarantee:
    """Return an upper bound of the balanced error on new rows, the mean of those of the classes.

    `class_errors` has the numbers of wrong decisions and of test rows of every class. The rows of
    a class are independent whatever their number is, so that each class has the bound of Clopper
    and Pearson, at a confidence that lets all of them hold at once, for `n_certified` models.
    """
    delta = DELTA / n_certified / len(class_errors)
    limits = [clopper_pearson(wrong, n, delta) if n else 1.0 for wrong, n in class_errors]
    return Guarantee(
        "balanced error",
        float(np.mean(limits)),
        DELTA,
        "Clopper and Pearson in every class",
        f"the test rows of the first split, in {len(class_errors)} classes",
        ("independent rows",),
        details={"rows of the smallest class": min(n for _, n in class_errors)},
        uninformative=1 - 1 / len(class_errors),
        scope=f"on new rows, the mean of the classes' error rates, {_FIRST_MODEL},",
        together=n_certified,
        percent=True,
    )
