import re

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from bochner.data.local import VARIABLE
from bochner.papers.mukuta import measures as mukuta_measures
from bochner.papers.mukuta import plan as mukuta
from bochner.papers.mukuta import tables as mukuta_tables
from bochner.papers.mukuta.measures import (
    CANDIDATES,
    CHOSEN,
    MERCER,
    MERCER_MAPS,
    METHODS,
    NYSTROEM,
    ORTHOGONAL,
    PART,
    RANDOM,
    RERANKED,
    Gram,
    TriangularNystroem,
    draw,
    make_map,
    measure,
    ridge,
    spectral_error,
    spectral_norm,
)
from bochner.papers.mukuta.plan import cells
from bochner.papers.mukuta.tables import Claim
from bochner.records.cells import Cell, Result


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(mukuta_measures, "SYNTHETIC_ROWS", 300)
    yield
    mukuta_measures._sample.cache_clear()
    mukuta_measures._rows.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """Files of the right form, with labels that columns tell."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))

    def rows(n):
        X = rng.normal(5, 2, size=(n, 4))
        return X, np.where(np.sin(X[:, 0]) > 0, 1, -1).astype(np.int8)

    for name in ("a9a", "ijcnn1"):
        arrays = {}
        for part, n in (("train", 500), ("test", 300)):
            arrays[f"X_{part}"], arrays[f"y_{part}"] = rows(n)
        np.savez(tmp_path / f"{name}.npz", **arrays)
    X, y = rows(600)
    np.savez(tmp_path / "covtype.npz", X=X, y=np.where(y > 0, 2, 5).astype(np.uint8))
    for name in ("cadata", "cpusmall"):
        X = rng.normal(size=(400, 3))
        X[:, 2] = 7
        np.savez(tmp_path / f"{name}.npz", X=X, y=100 + 10 * np.sin(X[:, 0]))
    arrays = {}
    for part, n in (("train", 500), ("test", 200)):
        arrays[f"X_{part}"] = rng.uniform(size=(n, 6)).astype(np.float16)
        arrays[f"y_{part}"] = (np.arange(n) % 10).astype(np.uint8)
    np.savez(tmp_path / "cifar10_hog.npz", **arrays)
    return tmp_path


def result(task, method, width, seed=0, score=0.9, study="densities", **details):
    return Result(Cell(study, task, method, width, seed), score, 1.0, 2.0, details)


# --------------------------------------------------------------------------- plans


def test_cells_of_the_plans():
    assert len(cells("densities")) == 3 * 10 * 11 * 4
    assert {cell.width for cell in cells("images")} == {40, 160, 640, 2560, 10240}
    assert {cell.seed for cell in cells("images")} == set(range(5))
    assert {cell.task for cell in cells("machines")} == {
        "cpusmall",
        "cadata",
        "a9a",
        "ijcnn1",
        "covtype",
    }
    one = cells("machines", ["a9a"], [MERCER], [40], 1)
    assert one == [Cell("machines", "a9a", MERCER, 40, 0)]
    for study, plan in mukuta.PLANS.items():
        assert set(plan.methods) <= set(METHODS)
        assert len(set(cells(study))) == len(cells(study))
        quick = cells(study, quick=True)
        assert {cell.max_train for cell in quick} == {plan.quick_rows}
        assert len(quick) < len(cells(study))
        assert {cell.method for cell in quick} <= set(plan.methods)
    assert len(cells("densities", quick=True)) == 3 * 2 * 7 * 2


# --------------------------------------------------------------------------- spectral errors


@pytest.mark.parametrize("n", [1, 2, 3, 4, 30])
def test_spectral_norm(n, rng):
    matrix = rng.normal(size=(n, n))
    matrix = matrix + matrix.T
    norm = spectral_norm(lambda v: matrix @ v, n)
    assert norm == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-4)


@pytest.mark.parametrize("stored", [True, False])
def test_spectral_error_is_that_of_the_matrices(stored, rng, monkeypatch):
    if not stored:
        monkeypatch.setattr(mukuta_measures, "STORED_GRAM", 10)
    X, features = rng.normal(size=(50, 3)), 0.1 * rng.normal(size=(50, 5))
    gram = Gram(X, 0.3, block=7)
    assert (gram.stored is not None) == stored
    K = rbf_kernel(X, gamma=0.3)
    by_hand = np.linalg.norm(K - features @ features.T, 2) / np.linalg.norm(K, 2)
    assert spectral_error(gram, features) == pytest.approx(by_hand, rel=1e-4)


def test_triangular_nystroem_has_the_same_kernel(rng, monkeypatch):
    X, Z = rng.normal(size=(30, 4)), rng.normal(size=(60, 4))
    theirs = Nystroem(n_components=20, gamma=0.2, random_state=3).fit(Z)
    ours = TriangularNystroem(n_components=20, gamma=0.2, random_state=3).fit(Z)
    np.testing.assert_array_equal(ours.landmarks_, theirs.components_)
    Phi, Psi = ours.transform(X), theirs.transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, Psi @ Psi.T, atol=1e-6)
    assert isinstance(make_map(NYSTROEM, 20, 0.2, 0), Nystroem)
    monkeypatch.setattr(mukuta_measures, "EXACT_NYSTROEM", 10)
    assert isinstance(make_map(NYSTROEM, 20, 0.2, 0), TriangularNystroem)


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
        measured = measure(Cell("densities", "gaussian", method, 66, 0))
        errors[method] = measured.score
        if method in (RANDOM, ORTHOGONAL):
            assert measured.details == {}
        else:
            assert measured.score <= measured.details["certified"]
    assert errors[MERCER] < min(errors[RANDOM], errors[ORTHOGONAL], errors[NYSTROEM])
    assert "predicted" in measure(Cell("densities", "gaussian", MERCER, 66, 0)).details


@pytest.mark.parametrize("method", [name for name in MERCER_MAPS if "64" not in name])
def test_all_mercer_maps_of_the_studies(method):
    measured = measure(Cell("clusters", "clusters", method, 80, 0))
    assert 0 < measured.score <= measured.details["certified"]
    assert measured.score < 1


def test_measuring_again_gives_the_same():
    cell = Cell("densities", "laplace", NYSTROEM, 20, 1, max_train=100)
    first, second = measure(cell), measure(cell)
    assert (first.score, first.details) == (second.score, second.details)
    sample = mukuta_measures._sample("densities", "laplace", 1, 100)
    assert sample.X.shape == sample.gram.X.shape == (100, 10)
    assert not np.isin(sample.X, sample.gram.X).any()
    other = mukuta_measures._sample("densities", "laplace", 2, 100)
    assert not np.isin(sample.X, other.X).any()


def test_images_are_a_part_of_the_test_rows(folder):
    sample = mukuta_measures._sample("images", "cifar10_hog", 0, 50)
    assert sample.X.shape == (500, 6)
    assert sample.gram.X.shape == (50, 6)
    distances = ((sample.X[:, None] - sample.X) ** 2).sum(axis=2)
    assert sample.gram.gamma == pytest.approx(1 / distances.mean(), rel=1e-4)
    assert measure(Cell("images", "cifar10_hog", MERCER, 20, 0, 50)).score < 0.5


# --------------------------------------------------------------------------- linear machines


@pytest.mark.parametrize("method", [RANDOM, NYSTROEM, MERCER])
@pytest.mark.parametrize("task", ["a9a", "ijcnn1", "covtype"])
def test_classes(task, method, folder):
    measured = measure(Cell("machines", task, method, 40, 0))
    assert measured.score > 0.8
    # Only a test part that all seeds share is divided among them.
    assert (PART in measured.details) == (task != "covtype")


@pytest.mark.parametrize("method", [ORTHOGONAL, NYSTROEM, MERCER])
def test_numbers(method, folder):
    measured = measure(Cell("machines", "cadata", method, 40, 0))
    assert measured.score > 0.9
    data = mukuta_measures._rows("cadata", 0, None)
    expected = (1 - measured.score) * np.var(data.y_test)
    assert measured.details["MSE"] == pytest.approx(expected)


def test_parts_make_up_the_whole(folder):
    measured = [measure(Cell("machines", "a9a", ORTHOGONAL, 20, seed)) for seed in (0, 10)]
    # Another seed, another map, but the same part of the test rows.
    assert measured[0].score != measured[1].score
    data = mukuta_measures._rows("a9a", 0, None)
    whole = [len(range(seed, len(data.y_test), 10)) for seed in range(10)]
    assert sum(whole) == len(data.y_test)


@pytest.mark.parametrize(("task", "low"), [("a9a", 0), ("covtype", 0), ("cpusmall", -1)])
def test_rows_are_scaled_by_the_training_part(task, low, folder):
    data = mukuta_measures._rows(task, 0, None)
    varied = data.X_train.max(axis=0) > data.X_train.min(axis=0)
    np.testing.assert_allclose(data.X_train.min(axis=0), low)
    np.testing.assert_allclose(data.X_train.max(axis=0)[varied], 1)
    cut = mukuta_measures._rows(task, 0, 50)
    assert cut.X_train.shape[0] == 50
    np.testing.assert_array_equal(cut.y_test, data.y_test)


def test_mercer_maps_see_few_rows_and_landmarks_come_from_all(folder, monkeypatch):
    seen = []
    monkeypatch.setattr(mukuta_measures, "DENSITY_ROWS", {True: 60, False: 30})
    fit = mukuta_measures._timed_fit
    monkeypatch.setattr(
        mukuta_measures, "_timed_fit", lambda each, X: (seen.append(len(X)), fit(each, X))[1]
    )
    for task, method in (("a9a", MERCER), ("cadata", MERCER), ("a9a", NYSTROEM)):
        measure(Cell("machines", task, method, 10, 0))
    assert seen == [60, 30, 500]


def test_machines_are_those_of_liblinear_and_of_the_formula(folder, rng):
    features, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    theirs = Ridge(alpha=0.3, fit_intercept=False).fit(features, y)
    np.testing.assert_allclose(ridge(features, y, 0.3), theirs.coef_)

    measured = measure(Cell("machines", "a9a", NYSTROEM, 20, 0))
    data = mukuta_measures._rows("a9a", 0, None)
    nystroem = make_map(NYSTROEM, 20, 1 / 8, 0).fit(data.X_train)
    machine = LinearSVC(C=100.0, dual=False, fit_intercept=False, tol=1e-8, max_iter=10_000)
    machine.fit(nystroem.transform(data.X_train), data.y_train)
    theirs = machine.score(nystroem.transform(data.X_test), data.y_test)
    assert measured.score == pytest.approx(theirs, abs=1 / len(data.y_test))


def test_unknown_method():
    with pytest.raises(ValueError, match="there is no method 'best'; there are random"):
        measure(Cell("densities", "gaussian", "best", 10, 0))


# --------------------------------------------------------------------------- tables


def test_claims_as_text():
    claim = Claim("a is better")
    assert str(claim) == "not checked: a is better (nothing to compare)"
    claim.check(True, "x")
    assert str(claim) == "confirmed: a is better (1 of 1)"
    claim.check(True, "y: +1", noise=True)
    assert str(claim) == (
        "confirmed in the mean: a is better (2 of 2; by no more than noise at y: +1)"
    )
    claim.check(False, "z: -2")
    assert str(claim) == (
        "not confirmed: a is better (2 of 3; not at z: -2; by no more than noise at y: +1)"
    )


def test_densities_report():
    errors = {RANDOM: 0.2, NYSTROEM: 0.03, MERCER: 0.01, "weighted 4": 0.05}
    results = [
        result(task, method, width, seed, factor * error * (1 + 0.01 * seed))
        for task, factor in (("gaussian", 1.0), ("laplace", 2.0))
        for method, error in errors.items()
        for width in (40, 640)
        for seed in range(3)
    ]
    text = mukuta_tables.REPORTS["densities"](results)
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
    text = mukuta_tables.REPORTS["densities"](results)
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
    assert mukuta_tables._certificates(mukuta_tables.grouped(found)) == [
        "certificates: 0 of 2 violated, median bound 8 times the error; "
        "predicted residuals are 0.50 to 0.50 of those found"
    ]


def test_noise_decides():
    def machines(differences, parts):
        return mukuta_tables.machines_claims(
            mukuta_tables.grouped(
                [
                    result("a9a", method, 40, seed, 0.9 + shift, "machines", part=0.9 + part)
                    for seed, (d, p) in enumerate(zip(differences, parts, strict=True))
                    for method, shift, part in ((NYSTROEM, 0, 0), (MERCER, d, p), (RANDOM, 0, 0))
                ]
            )
        )

    random, orthogonal, seeds, rows = machines([0.01, 0.011], [0.01, 0.011])
    assert str(random).startswith("confirmed: Mercer does better than random at D <= 640 (1 of 1)")
    assert str(orthogonal).startswith("not checked")
    assert str(seeds).startswith("confirmed: Mercer is within noise (seeds) of Nystroem")
    # The seeds agree that it is worse; the test rows are too few to tell.
    random, _, seeds, rows = machines([-0.01, -0.011], [-0.06, 0.05])
    assert str(random).startswith("not confirmed")
    assert str(seeds).startswith("not confirmed")
    assert str(rows).startswith("confirmed: Mercer is within noise (seeds and test rows)")
    assert str(machines([0.01, 0.011], [0.3, -0.3])[0]).startswith("confirmed in the mean")


def test_machines_speak_of_the_tasks_shown_in_the_units_of_the_table():
    def report(task, max_train=None):
        results = [
            Result(Cell("machines", task, method, 40, 0, max_train), score, 1, 2, {"MSE": square})
            for method, score, square in ((RANDOM, 0.9, 10.0), (MERCER, 0.89, 11.0))
        ]
        return mukuta_tables.REPORTS["machines"](results)

    numbers, classes = report("cpusmall"), report("covtype")
    assert "not at cpusmall 40: MSE +10 %" in numbers
    assert "ridge 0.01, without intercept" in numbers
    assert "covtype" not in numbers
    assert "hinge" not in numbers
    assert "not at covtype 40: -1 points" in classes
    assert "At most 50000 training rows, cut at random (covtype has 522910); the squ" in classes
    assert "ridge" not in classes
    assert "At most 1000 training rows" in report("a9a", 1000)


def test_reports_of_the_other_studies():
    machines = [
        result("cpusmall", MERCER, 40, seed, 0.9, "machines", MSE=12.0 + seed) for seed in (0, 1)
    ] + [result("a9a", MERCER, 160, seed, 0.85, "machines", part=0.8) for seed in (0, 1)]
    text = mukuta_tables.REPORTS["machines"](machines)
    assert re.search(r"cpusmall +40 +12.5 ± 0.5\n", text)
    assert re.search(r"a9a +160 +85.00 ± 0.00\n", text)
    assert re.search(r"a9a +40 +-\n", text)

    clusters = [
        result("clusters", method, 40, score=score, study="clusters")
        for method, score in ((NYSTROEM, 0.2), ("mixture 8", 0.09))
    ]
    text = mukuta_tables.REPORTS["clusters"](clusters)
    assert "confirmed: the orthogonalised mixture of 8 has at most half" in text
    text = mukuta_tables.REPORTS["clusters"]([*clusters, result("clusters", NYSTROEM, 40, 1, 0.1)])
    assert "(0 of 1; not at clusters 40: 0.60 times)" in text

    images = [result("cifar10_hog", RANDOM, 40), result("cifar10_hog", MERCER, 40, score=0.1)]
    text = mukuta_tables.REPORTS["images"](images)
    assert "confirmed: Mercer has a smaller error than random (1 of 1)" in text
    assert "stand-in" in text


# --------------------------------------------------------------------------- commands


@pytest.mark.parametrize(
    "arguments",
    [
        ["densities", "--tasks", "gaussian", "uniform", "--seeds", "1"],
        ["clusters"],
        ["images"],
        ["machines", "--tasks", "cadata", "a9a"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands(arguments, folder, capsys):
    file = folder / "results.jsonl"
    methods = ["--methods", RANDOM, NYSTROEM, MERCER]
    command = [*arguments, *methods, "--widths", "20", "--quick", "--resume", str(file)]
    mukuta.main(command)
    first = capsys.readouterr()
    assert "mean ± standard error over " in first.out
    n_cells = file.read_text().count("\n")
    assert first.err.count("\n") == n_cells >= 6

    mukuta.main(command)
    second = capsys.readouterr()
    assert second.out == first.out
    assert second.err == ""


def test_commands_say_what_is_wrong(capsys, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    for study in ("images", "machines"):
        with pytest.raises(SystemExit):
            mukuta.main([study, "--quick"])
        assert "set the environment variable BOCHNER_DATA" in capsys.readouterr().err
    for arguments, message in (
        (["densities", "--tasks", "cauchy"], "invalid choice: 'cauchy'"),
        (["densities", "--methods", "best"], "invalid choice: 'best'"),
        (["densities", "--widths", "41"], "must be even (a cosine and a sine each), got 41"),
        (["densities", "--seeds", "0"], "must be a whole number of at least 1, got '0'"),
    ):
        with pytest.raises(SystemExit):
            mukuta.main(arguments)
        assert message in capsys.readouterr().err


def test_a_density_is_chosen_without_the_test_rows(folder):
    cell = Cell("machines", "a9a", CHOSEN, 40, 0)
    chosen = measure(cell)
    gaussians = chosen.details["gaussians"]
    method = next(name for name, count in CANDIDATES.items() if count == gaussians)
    assert chosen.score == measure(Cell("machines", "a9a", method, 40, 0)).score
    with np.load(folder / "a9a.npz") as archive:
        arrays = dict(archive)
    arrays["y_test"] = -arrays["y_test"]
    np.savez(folder / "a9a.npz", **arrays)
    mukuta_measures._rows.cache_clear()
    again = measure(cell)
    assert again.details["gaussians"] == gaussians
    assert again.score == pytest.approx(1 - chosen.score)


def test_a_density_is_chosen_for_numbers(folder):
    result = measure(Cell("machines", "cadata", CHOSEN, 40, 0))
    assert result.details["gaussians"] in CANDIDATES.values()
    assert result.details["MSE"] > 0
