import re
from functools import partial

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from bochner.fourier.features import FourierFeatures
from bochner.papers.letarte import common, frequencies, svm
from bochner.papers.letarte.common import authors_split
from bochner.papers.letarte.frequencies import FIGURE3, METHODS
from bochner.papers.study import Request
from bochner.records.sections import as_text
from tests.papers.letarte import anew, cell, result


def test_path_is_the_model_without_shortcuts(breast):
    """LIBLINEAR penalises its intercept: as a large constant column it is hardly penalised."""
    split = authors_split(breast, 42)
    feature_map = FourierFeatures(n_components=20, gamma=1e-5, random_state=0).fit(split.X_train)
    path = partial(common.linear_path, penalties=(10.0,))
    tuned = common.tune([(7.0, feature_map)], split, 1e-5, path, block=50)
    features = feature_map.transform(split.X_train)
    plain = LinearSVC(C=10.0, dual=False, intercept_scaling=100.0, tol=1e-10, max_iter=10**6)
    plain.fit(features, split.y_train)
    assert (tuned.strength, tuned.C, tuned.gamma) == (7.0, 10.0, 1e-5)
    test_error = 1 - plain.score(feature_map.transform(split.X_test), split.y_test)
    valid_error = 1 - plain.score(feature_map.transform(split.X_valid), split.y_valid)
    assert tuned.test_error == pytest.approx(test_error, abs=1.5 / 143)
    assert tuned.valid_error == pytest.approx(valid_error, abs=1.5 / 86)
    assert tuned.train_error == pytest.approx(
        1 - plain.score(features, split.y_train), abs=1.5 / 340
    )


def test_path_takes_the_first_of_equal_maps(breast):
    split = authors_split(breast, 42)
    feature_map = FourierFeatures(n_components=20, gamma=1e-5, random_state=0).fit(split.X_train)
    poor = FunctionTransformer(lambda X: np.zeros((len(X), 2)))
    maps = [(1.0, poor), (2.0, feature_map), (3.0, feature_map)]
    assert common.tune(maps, split, 1e-5, common.linear_path).strength == 2.0


def test_unknown_method():
    with pytest.raises(ValueError, match="there is no method 'best'; there are RFF, OKRFF"):
        FIGURE3.measure(cell("best", 4, "frequencies", gamma=1.0))


@pytest.mark.parametrize("method", METHODS)
def test_cells(method):
    measured = FIGURE3.measure(cell(method, 20, "frequencies", gamma=1e-5, candidates=100))
    assert measured.score > 0.8
    assert 0 <= measured.details["train error"] < 0.2
    chosen = {"OKRFF": "rho", "PBRFF": "beta"}.get(method)
    assert {"rho", "beta"} & set(measured.details) == ({chosen} if chosen else set())


@pytest.mark.parametrize("method", METHODS)
def test_on_a_device(method):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    asked = cell(method, 20, "frequencies", gamma=1e-5, candidates=100)
    there, here = FIGURE3.measure(asked, device="cpu:0"), FIGURE3.measure(asked)
    assert there.score == pytest.approx(here.score, abs=1.5 / 143)
    assert FIGURE3.on_devices


def test_the_study(monkeypatch):
    monkeypatch.setattr(svm, "GAMMAS", (1e-6, 1e-5))
    monkeypatch.setattr(frequencies, "CANDIDATES", 1000)
    results = FIGURE3.collect(Request(("breast",), 2, widths=(1, 1000)), anew(FIGURE3))
    assert len(results) == 2 * 2 * 3
    text = as_text(FIGURE3.sections(results))
    assert re.search(r"D +RFF +OKRFF +PBRFF +RFF, train +OKRFF, train +PBRFF, train\n1 +\d", text)
    assert "N = 1000 candidates" in text
    assert "PBRFF errs less than RFF at D <= 50" in text
    assert "OKRFF is within 1 percent of RFF at D >= 1000" in text


def test_charts_of_the_figures():
    results = [
        result("breast", method, seed, 0.1 + seed / 100, "frequencies", 2 * count, candidates=9)
        for method in METHODS
        for count in (1, 10)
        for seed in range(2)
    ]
    section = FIGURE3.sections(results)[1]
    assert [series.name for series in section.chart.series] == [
        *METHODS,
        *(f"{method}, train" for method in METHODS),
    ]
    test, train = section.chart.series[0], section.chart.series[3]
    assert test.x == (1, 10)
    assert test.y == pytest.approx((10.5, 10.5))
    assert test.error == pytest.approx((0.5, 0.5))
    assert train.y == pytest.approx((5.25, 5.25))


def test_report_of_what_is_done_so_far():
    """A study that was interrupted has methods and seeds missing."""
    results = [
        result(method="RFF", study="frequencies", width=2, candidates=9),
        result(method="OKRFF", study="frequencies", width=20, candidates=9),
    ]
    text = as_text(FIGURE3.sections(results))
    assert re.search(r"\n1 +10.00 +- +5.00 +-\n", text)
    assert "not checked: OKRFF errs less than RFF" in text
