import re

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from sklearn.metrics.pairwise import rbf_kernel

from bochner.papers.mukuta import densities, gram_error, images
from bochner.papers.mukuta.clusters import CLUSTERS
from bochner.papers.mukuta.densities import FIGURE1, draw
from bochner.papers.mukuta.feature_maps import (
    MERCER,
    MERCER_MAPS,
    METHODS,
    NYSTROEM,
    ORTHOGONAL,
    RANDOM,
    RERANKED,
)
from bochner.papers.mukuta.gram_error import (
    Gram,
    certificate_lines,
    spectral_error,
    spectral_norm,
)
from bochner.papers.mukuta.images import FIGURE2
from bochner.papers.study import Request
from bochner.records.cells import Cell
from bochner.records.sections import as_text
from tests.papers.mukuta import planned, result


def test_cells_of_the_plans():
    cells = planned(FIGURE1, Request(FIGURE1.tasks, FIGURE1.full.seeds))
    assert len(cells) == 3 * 10 * 11 * 4
    assert len(planned(FIGURE1, Request(FIGURE1.tasks, 2, True))) == 3 * 2 * 7 * 2
    cells = planned(FIGURE2, Request(FIGURE2.tasks, FIGURE2.full.seeds))
    assert {cell.width for cell in cells} == {40, 160, 640, 2560, 10240}
    assert {cell.seed for cell in cells} == set(range(5))
    for study in (FIGURE1, FIGURE2, CLUSTERS):
        cells = planned(study, Request(study.tasks, study.full.seeds))
        quick = planned(study, Request(study.tasks, 2, True))
        assert {cell.method for cell in quick} <= {cell.method for cell in cells} <= set(METHODS)
        assert len(set(cells)) == len(cells) > len(quick)
        assert {cell.max_train for cell in quick} == {1000}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 30])
def test_spectral_norm(n, rng):
    matrix = rng.normal(size=(n, n))
    matrix = matrix + matrix.T
    norm = spectral_norm(lambda v: matrix @ v, n)
    assert norm == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-4)


@pytest.mark.parametrize("stored", [True, False])
def test_spectral_error_is_that_of_the_matrices(stored, rng, monkeypatch):
    if not stored:
        monkeypatch.setattr(gram_error, "STORED_GRAM", 10)
    X, features = rng.normal(size=(50, 3)), 0.1 * rng.normal(size=(50, 5))
    gram = Gram(X, 0.3, block=7)
    assert (gram.stored is not None) == stored
    K = rbf_kernel(X, gamma=0.3)
    by_hand = np.linalg.norm(K - features @ features.T, 2) / np.linalg.norm(K, 2)
    assert spectral_error(gram, features) == pytest.approx(by_hand, rel=1e-4)


@pytest.mark.parametrize("task", ["gaussian", "laplace", "uniform"])
def test_densities(task):
    X = draw(task, 20_000, np.random.RandomState(0))
    assert X.shape == (20_000, 10)
    # Fourth moments over squared variances tell the three apart.
    moment, variance = {"gaussian": (3, 1), "laplace": (24 / 4, 2), "uniform": (9 / 5, 1 / 3)}[
        task
    ]
    error = np.std(X**2) / np.sqrt(X.size)
    assert abs(np.mean(X**2) - variance) < 4 * error
    kurtosis = X**4 / variance**2
    assert abs(kurtosis.mean() - moment) < 4 * kurtosis.std() / np.sqrt(X.size)


def test_clusters_are_apart():
    X = draw("clusters", 400, np.random.RandomState(0))
    near = np.linalg.norm(X[:, None] - X, axis=2) < 4
    assert connected_components(near)[0] == 8


def test_mercer_is_better_than_random_and_the_certificate_holds():
    errors = {}
    for method in (RANDOM, ORTHOGONAL, NYSTROEM, MERCER, RERANKED):
        measured = FIGURE1.measure(Cell("densities", "gaussian", method, 66, 0))
        errors[method] = measured.score
        if method in (RANDOM, ORTHOGONAL):
            assert measured.details == {}
        else:
            assert measured.score <= measured.details["certified"]
    assert errors[MERCER] < min(errors[RANDOM], errors[ORTHOGONAL], errors[NYSTROEM])
    assert "predicted" in FIGURE1.measure(Cell("densities", "gaussian", MERCER, 66, 0)).details


@pytest.mark.parametrize("method", [name for name in MERCER_MAPS if "64" not in name])
def test_all_mercer_maps_of_the_studies(method):
    measured = CLUSTERS.measure(Cell("clusters", "clusters", method, 80, 0))
    assert 0 < measured.score <= measured.details["certified"]
    assert measured.score < 1


def test_measuring_again_gives_the_same():
    cell = Cell("densities", "laplace", NYSTROEM, 20, 1, max_train=100)
    first, second = FIGURE1.measure(cell), FIGURE1.measure(cell)
    assert (first.score, first.details) == (second.score, second.details)
    sample = densities.sample("laplace", 1, 100)
    assert sample.X.shape == sample.gram.X.shape == (100, 10)
    assert not np.isin(sample.X, sample.gram.X).any()
    other = densities.sample("laplace", 2, 100)
    assert not np.isin(sample.X, other.X).any()


def test_images_are_a_part_of_the_test_rows(folder):
    sample = images.sample(0, 50)
    assert sample.X.shape == (500, 6)
    assert sample.gram.X.shape == (50, 6)
    distances = ((sample.X[:, None] - sample.X) ** 2).sum(axis=2)
    assert sample.gram.gamma == pytest.approx(1 / distances.mean(), rel=1e-4)
    assert FIGURE2.measure(Cell("images", "cifar10_hog", MERCER, 20, 0, 50)).score < 0.5


def test_densities_report():
    errors = {RANDOM: 0.2, NYSTROEM: 0.03, MERCER: 0.01, "weighted 4": 0.05}
    results = [
        result(task, method, width, seed, factor * error * (1 + 0.01 * seed))
        for task, factor in (("gaussian", 1.0), ("laplace", 2.0))
        for method, error in errors.items()
        for width in (40, 640)
        for seed in range(3)
    ]
    text = as_text(FIGURE1.sections(results))
    assert "mean ± standard error over 3 seeds\n" in text
    assert re.search(r"Nystroem +0.0303 ± 0.0002 +0.0303 ± 0.0002\n", text)
    assert "confirmed: Mercer has a smaller error than random at D <= 160 (2 of 2)" in text
    assert "confirmed: Mercer has at most 1.5 times Nystroem's at D >= 640 (2 of 2)" in text
    assert "confirmed: weighted 4 has a larger error than Mercer (4 of 4)" in text
    assert "random errors differ at most 3 times between densities (2 of 2)" in text
    assert "certificates" not in text

    results += [result("uniform", NYSTROEM, 40, score=0.02)]
    results += [result("uniform", MERCER, 40, score=0.025, certified=0.02, residual=0.1)]
    results += [result("uniform", RANDOM, 40, score=4.0)]
    text = as_text(FIGURE1.sections(results))
    assert (
        "not confirmed: Mercer has a smaller error than Nystroem at D <= 160 (2 of 3; "
        "not at uniform 40: +0.005)" in text
    )
    assert "(1 of 2; not at 40: 19.8 times)" in text
    assert "certificates: 1 of 1 violated: densities uniform Mercer 40 seed 0" in text


def test_certificates_in_the_report():
    found = [
        result("gaussian", MERCER, 40, score=0.01, certified=0.1, residual=0.2, predicted=0.1),
        result("gaussian", NYSTROEM, 40, score=0.02, certified=0.1, residual=0.3),
    ]
    assert certificate_lines(found) == (
        "certificates: 0 of 2 violated, median bound 8 times the error; "
        "predicted residuals are 0.50 to 0.50 of those found",
    )


def test_reports_of_clusters_and_images():
    clusters = [
        result("clusters", method, 40, score=score, study="clusters")
        for method, score in ((NYSTROEM, 0.2), ("mixture 8", 0.09))
    ]
    text = as_text(CLUSTERS.sections(clusters))
    assert "confirmed: the orthogonalised mixture of 8 has at most half" in text
    text = as_text(CLUSTERS.sections([*clusters, result("clusters", NYSTROEM, 40, 1, 0.1)]))
    assert "(0 of 1; not at clusters 40: 0.60 times)" in text

    found = [result("cifar10_hog", RANDOM, 40), result("cifar10_hog", MERCER, 40, score=0.1)]
    text = as_text(FIGURE2.sections(found))
    assert "confirmed: Mercer has a smaller error than random (1 of 1)" in text
    assert "stand-in" in text
