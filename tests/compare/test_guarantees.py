"""What is guaranteed of the cells of a comparison."""

import numpy as np
import pytest

from bochner.compare.document import summarise
from bochner.compare.guarantees import Evidence, balanced_error, error_rate, learned_alignment
from bochner.compare.measure import Measurer
from bochner.guarantees import clopper_pearson
from bochner.models import selection
from bochner.models.pipelines import scale_rule
from tests.compare.cells import EXACT, cell


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


def test_the_alignment_bound_is_of_rows_that_did_not_scale_it(two, monkeypatch):
    """Scaler and gamma come from a quarter of the rows, the posterior from the others."""
    measurer = Measurer(two)
    learned, rows = measurer.learn(cell("PosteriorFourierFeatures", 8))
    called = {}
    kind = type(learned.feature_map)
    original_fit, original_bound = kind.fit, kind.bound

    def fit(self, X, y):
        called["n"], called["mean"] = len(X), np.abs(X.mean(axis=0)).max()
        return original_fit(self, X, y)

    def bound(self, delta, *, n_settings):
        called["n_settings"], called["gamma"] = n_settings, self.gamma
        return original_bound(self, delta, n_settings=n_settings)

    monkeypatch.setattr(kind, "fit", fit)
    monkeypatch.setattr(kind, "bound", bound)
    problem = rows.problem
    evidence = Evidence(
        rows.X_test,
        two.table.X,
        two.table.y,
        "classification",
        scale=scale_rule(problem.X),
        gammas=selection.GAMMAS,
    )
    found = learned_alignment(learned.feature_map, evidence)
    assert called["n"] == 300
    assert called["mean"] > 1e-4  # not centred by these rows
    assert called["n_settings"] == len(selection.GAMMAS)
    assert called["gamma"] == pytest.approx(learned.settings["gamma"], rel=0.3)
    assert found.value < 0.5


def test_the_error_rate_is_paid_for_all_lines():
    found = error_rate(3, 100, 10)
    assert found.value == clopper_pearson(3, 100, 0.005)
    assert "for all 10" in found.as_dict()["statement"]
    assert found.value > error_rate(3, 100, 1).value


def test_the_balanced_error_is_bounded_in_every_class(two):
    found = balanced_error([[2, 8], [20, 92]], 5)
    limits = [clopper_pearson(2, 8, 0.005), clopper_pearson(20, 92, 0.005)]
    assert found.value == pytest.approx(np.mean(limits))
    assert found.uninformative == 0.5
    assert "balanced error on new rows" in found.as_dict()["statement"]
    assert balanced_error([[0, 50], [0, 0]], 1).value > 0.5  # nothing is known of a class

    measured = Measurer(two)(cell("FourierFeatures"))
    by_class = np.array(measured.details["class_errors"])
    assert by_class.sum(axis=0).tolist() == [measured.details["errors"], 100]
    assert measured.score == pytest.approx(1 - np.mean(by_class[:, 0] / by_class[:, 1]))
    (summary,) = summarise(two, [measured])
    assert summary["certificate"] == balanced_error(by_class.tolist(), 1).as_dict()
    assert summary["certificate"]["value"] > 1 - measured.score
