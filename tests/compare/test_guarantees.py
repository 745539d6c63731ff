"""What is guaranteed of a cell, from which rows, and why where nothing is."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_approximation import Nystroem, RBFSampler

from bochner import MercerFeatures, PosteriorFourierFeatures
from bochner.compare import guarantees
from bochner.compare.document import summarise
from bochner.compare.guarantees import (
    DELTA,
    KINDS,
    Evidence,
    NoGuarantee,
    balanced_error,
    error_rate,
    guarantee_of,
)
from bochner.compare.measure import Measurer
from bochner.guarantees import clopper_pearson, residual_bound, residuals
from bochner.models.methods import METHODS
from tests.compare.cells import EXACT, cell

GAMMAS = (0.25, 1.0, 4.0)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(400, 2))
    return X, np.where(np.hypot(*X.T) < 0.55, 1, -1)


def evidence(X, y, task="classification", **given):
    return Evidence(X[300:], X, y, task, **given)


def posterior(X, y, gamma=1.0, **parameters):
    given = {"n_components": 8, "n_candidates": 500, "random_state": 0, **parameters}
    return PosteriorFourierFeatures(gamma=gamma, **given).fit(X[:300], y[:300])


def test_every_method_declares_a_kind_that_exists():
    declared = {method.guarantee for method in METHODS.values()}
    assert declared - {None} == set(KINDS)


def test_an_unknown_kind_is_refused(rows):
    with pytest.raises(ValueError, match=r"kind must be one of kernel residual, .* got 'luck'"):
        guarantee_of("luck", None, evidence(*rows))


def test_the_residual_is_that_of_the_test_rows(rows):
    X, y = rows
    nystroem = Nystroem(n_components=20, gamma=0.3, random_state=0).fit(X[:300])
    found = guarantee_of("kernel residual", nystroem, evidence(X, y))
    r = residuals(nystroem.transform(X[300:]))
    assert (found.value, found.delta) == (residual_bound(r, DELTA), DELTA)
    assert found.observed == pytest.approx(r.mean())
    assert "100 test rows" in found.statement
    mercer = MercerFeatures(n_components=21, gamma=0.3).fit(X[:300])
    found = guarantee_of("kernel residual", mercer, evidence(X, y))
    assert found.value == pytest.approx(residual_bound(mercer.residual(X[300:]), DELTA))


def test_features_that_do_not_nest_have_a_reason(rows):
    X, y = rows
    sampler = RBFSampler(n_components=10, gamma=0.3, random_state=0).fit(X[:300])
    found = guarantee_of("kernel residual", sampler, evidence(X, y))
    assert isinstance(found, NoGuarantee)
    assert "do not nest in this kernel" in found.reason


def test_the_alignment_bound_is_of_rows_that_did_not_scale_it(rows, monkeypatch):
    """Scaler and gamma come from a quarter of the rows, the posterior from the others."""
    X = rows[0]
    y = np.where(X[:, 0] > 0, 1, -1)  # equal classes, far apart
    X[:, 0] += 5 * y
    fitted = posterior(X, y)
    seen = {}
    kind = type(fitted)
    original_fit, original_bound = kind.fit, kind.bound

    def fit(self, X, y):
        seen["n"], seen["mean"] = len(X), np.abs(X.mean(axis=0)).max()
        return original_fit(self, X, y)

    def bound(self, delta, *, n_settings):
        seen["n_settings"], seen["gamma"] = n_settings, self.gamma
        return original_bound(self, delta, n_settings=n_settings)

    monkeypatch.setattr(kind, "fit", fit)
    monkeypatch.setattr(kind, "bound", bound)

    def rule(X):
        seen["others"] = len(X)
        return 0.5

    monkeypatch.setattr(guarantees, "gamma_by_rule", rule)
    chosen = evidence(X, y, scale=0.8, gammas=GAMMAS)
    found = guarantee_of("alignment loss", fitted, chosen)
    assert seen["n"] == 300
    assert seen["mean"] > 1e-4  # not centred by these rows
    assert seen["n_settings"] == len(GAMMAS)
    assert (seen["gamma"], seen["others"]) == (0.5, 100)  # the rule of the others, once
    assert found.value < 0.5
    assert "300 rows, with columns scaled by 100 others" in found.statement
    given = guarantee_of("alignment loss", fitted, evidence(X, y))
    assert (seen["n_settings"], seen["gamma"]) == (1, 1.0)
    assert given.informative
    assert "With probability 0.95 each, the alignment loss of the map's own kernel" in str(given)


def test_unequal_classes_have_another_level(rows):
    """A quarter of the rows inside a circle: 0.4 is below 0.5, and a constant kernel has less."""
    X, y = rows
    share = np.mean(y > 0)
    found = guarantee_of("alignment loss", posterior(X, y), evidence(X, y))
    assert found.uninformative == pytest.approx(2 * share * (1 - share), abs=0.05)
    assert not found.informative


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("regression", "numbers are scaled by the rows that the kernel is learned from"),
        ("one class", "the 300 rows to learn from are of one class"),
        ("constant", "100 rows are too few to scale the columns by: .*none of 2 varies"),
        ("frame", "100 rows are too few to scale the columns by: there is no column to learn"),
        ("continuous", "its divergence from the prior is unknown$"),
    ],
)
def test_conditions_that_do_not_hold_are_told(rows, change, reason):
    X, y = rows
    fitted = posterior(X, y)
    task = "regression" if change == "regression" else "classification"
    if change == "one class":
        y = np.ones_like(y)
    others = np.random.RandomState(0).permutation(len(y))[:100]
    if change in ("constant", "frame"):
        X = X.copy()
        X[others] = 7.0
    if change == "frame":
        X = pd.DataFrame(X, columns=["a", "b"])
    if change == "continuous":
        fitted = posterior(X, y, support="continuous")
    found = guarantee_of("alignment loss", fitted, evidence(X, y, task))
    assert isinstance(found, NoGuarantee)
    assert re.search(reason, found.reason)


def test_a_metric_of_the_same_rows_voids_a_bound_of_a_fixed_kernel(rows, two):
    X, y = rows
    found = guarantee_of("alignment loss", posterior(X, y), evidence(X, y, metric=True))
    assert isinstance(found, NoGuarantee)
    assert "the metric was learned on the same rows" in found.reason
    measurer = Measurer(replace(two, metric="diagonal"))
    details = measurer(cell("PosteriorFourierFeatures", 8, metric="diagonal")).details
    assert details["guarantee"] is None
    assert details["no_guarantee"] == found.reason
    # of rows that took no part in anything it is known how far features are from their kernel
    details = measurer(cell("MercerFeatures", 8, metric="diagonal")).details
    assert details["guarantee"]["name"] == "kernel residual"


def test_other_errors_are_not_swallowed(rows):
    """Only conditions of a guarantee are told as reasons; a mistake is a mistake."""
    X, y = rows

    def broken(rows):
        raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake"):
        guarantee_of("alignment loss", posterior(X, y), evidence(X, y, place=broken))
    with pytest.raises(ValueError, match="features"):
        guarantee_of("kernel residual", posterior(X, y), Evidence(X[:, :1], X, y, ""))


def test_the_error_rate_is_paid_for_all_lines():
    found = error_rate(3, 100, 10)
    assert found.value == clopper_pearson(3, 100, 0.005)
    assert found.delta == DELTA
    assert "for all 10 at once" in found.statement
    assert "on new rows" in found.statement
    assert found.value > error_rate(3, 100, 1).value


def test_the_balanced_error_is_bounded_in_every_class():
    found = balanced_error([[2, 8], [20, 92]], 5)
    limits = [clopper_pearson(2, 8, 0.005), clopper_pearson(20, 92, 0.005)]
    assert found.value == pytest.approx(np.mean(limits))
    assert found.uninformative == 0.5
    assert "balanced error on new rows" in found.statement
    assert balanced_error([[0, 50], [0, 0]], 1).value > 0.5  # nothing is known of a class


def test_guarantees_are_there_where_they_exist(wine, two, numbers):
    names = {}
    for setup in (wine, two, numbers):
        for method in ("MercerFeatures", "Nystroem", "PosteriorFourierFeatures", EXACT):
            found = Measurer(setup)(cell(method)).details["guarantee"]
            names[setup.table.name, method] = found and found["name"]
            if found:
                assert 0 < found["value"] <= 1
                assert "ndependent rows" in found["statement"]
    for name in ("wine", "disc", "sine"):
        assert names[name, "MercerFeatures"] == names[name, "Nystroem"] == "kernel residual"
        assert names[name, EXACT] is None
        bounded = None if name == "sine" else "alignment loss"
        assert names[name, "PosteriorFourierFeatures"] == bounded
    assert Measurer(wine)(cell("Nystroem", seed=1)).details["guarantee"] is None


def test_errors_are_counted_in_every_class(two):
    measured = Measurer(two)(cell("FourierFeatures"))
    by_class = np.array(measured.details["class_errors"])
    assert by_class.sum(axis=0).tolist() == [measured.details["errors"], 100]
    assert measured.score == pytest.approx(1 - np.mean(by_class[:, 0] / by_class[:, 1]))
    (summary,) = summarise(two, [measured])
    assert summary["certificate"] == balanced_error(by_class.tolist(), 1).as_dict()
    assert summary["certificate"]["value"] > 1 - measured.score
