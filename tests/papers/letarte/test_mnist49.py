import re

import numpy as np
import pytest

from bochner.data.local import LocalDataset
from bochner.papers.letarte import common, mnist49
from bochner.papers.letarte.mnist49 import METHODS, MNIST49
from bochner.papers.study import Request
from bochner.records.sections import as_text
from tests.papers.letarte import anew, cell


@pytest.fixture
def _few(monkeypatch, rng):
    n = 120
    pool = LocalDataset("mnist49", rng.normal(size=(n, 3)), np.where(np.arange(n) % 2, 1, -1))
    monkeypatch.setattr(common, "load_local", lambda name: pool)
    for name, rows in (("TRAIN_ROWS", 60), ("VALID_ROWS", 20), ("TEST_ROWS", 30)):
        monkeypatch.setattr(mnist49, name, rows)
    monkeypatch.setattr(mnist49, "CANDIDATES", 50)


@pytest.mark.usefixtures("_few")
def test_the_study():
    results = MNIST49.collect(Request(("mnist49",), 2, widths=(2, 4)), anew(MNIST49))
    assert len(results) == 2 * len(METHODS) * 2
    assert {(r.details["n_train"], r.details["n_test"]) for r in results} == {(60, 30)}
    text = as_text(MNIST49.sections(results))
    assert re.search(r"frequencies +2 +4\n", text)
    assert re.search(r"\nchi-square +\d+\.\d ± \d+\.\d +\d+\.\d ± \d+\.\d\n", text)
    assert "gamma 0.02; the strength of the posterior" in text


@pytest.mark.parametrize("method", METHODS)
def test_posteriors_learn(method, monkeypatch, breast):
    for name, rows in (("VALID_ROWS", 86), ("TEST_ROWS", 143)):
        monkeypatch.setattr(mnist49, name, rows)
    monkeypatch.setattr(mnist49, "CANDIDATES", 200)
    monkeypatch.setattr(common, "load_local", lambda name: breast)
    one = cell(method, 40, "mnist49", gamma=1e-5)
    object.__setattr__(one, "max_train", 340)
    here = MNIST49.measure(one)
    assert here.score > 0.8
    pytest.importorskip("torch", reason="PyTorch is not installed")
    assert MNIST49.measure(one, device="cpu:0").score == pytest.approx(here.score, abs=0.03)
