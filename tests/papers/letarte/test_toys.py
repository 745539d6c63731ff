import re

import numpy as np
import pytest

from bochner.papers.letarte.toys import FIGURE4, TOYS, picture
from bochner.papers.study import Request
from bochner.records.sections import as_text
from tests.papers.letarte import anew


@pytest.mark.parametrize("name", TOYS)
def test_toys_have_two_classes_and_some_noise(name):
    X, y = TOYS[name](4000, np.random.RandomState(0))
    assert X.shape == (4000, 2)
    assert np.abs(X).max() <= 1
    assert 0.15 < np.mean(y == 1) < 0.85
    clean = np.sin(5 * X[:, 0]) if name == "stripes" else 0.45 - np.linalg.norm(X, axis=1)
    assert 0.005 < np.mean(np.sign(clean) != y) < 0.1


def test_the_study():
    results = FIGURE4.collect(Request(("ring",), 2), anew(FIGURE4))
    assert {r.cell.method for r in results} == {"SVM", "RBF-R", "PB-R"}
    for seed in range(2):
        gammas = {r.details["gamma"] for r in results if r.cell.seed == seed}
        assert len(gammas) == 1
    text = as_text(FIGURE4.sections(results))
    assert re.search(r"data +SVM +RBF-R +PB-R\nring +\d", text)
    assert "predicts better from learned similarities" in text


def test_pictures_have_the_names_of_the_table():
    text = pytest.importorskip("matplotlib.text")
    results = FIGURE4.collect(Request(("ring",), 1), anew(FIGURE4))
    figure = picture([r for r in results if r.cell.method != "SVM"])
    written = {found.get_text().partition("\n")[0] for found in figure.findobj(text.Text)}
    assert {"RBF-R", "PB-R"} <= written
