import json
import re

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from bochner.data.local import LOCAL, VARIABLE, LocalDataset, load_local
from bochner.fourier.features import FourierFeatures
from bochner.papers.letarte import measures
from bochner.papers.letarte import plan as letarte
from bochner.papers.letarte import tables as letarte_tables
from bochner.papers.letarte.pictures import toy_picture
from bochner.papers.letarte.tables import REPORTS, table1_sections
from bochner.papers.letarte.toys import TOYS
from bochner.records.cells import Cell, Notebook, Result, run
from bochner.records.sections import as_text


@pytest.fixture(autouse=True)
def _nothing_kept():
    for kept in (measures._data, measures._split, measures._losses):
        kept.cache_clear()


def anew(cells):
    """Measure cells without a file."""
    return run(cells, measures.measure, Notebook())


@pytest.fixture
def breast():
    return load_local("breast")


def result(task="breast", method="SVM", seed=0, error=0.1, study="table1", width=None, **values):
    cell = Cell(study, task, method, width, seed, 5000, tuple(values.items()))
    details = {"gamma": 0.01, "C": 1.0, "n_train": 340, "n_available": 340, "n_test": 143}
    return Result(cell, 1 - error, 0.2, 0.5, {**details, "train error": error / 2})


def test_published_tables_agree_in_their_names():
    assert set(letarte_tables.PUBLISHED) == set(letarte_tables.PUBLISHED_SIZES)
    assert set(letarte_tables.PUBLISHED) <= set(LOCAL)
    assert {len(row) for row in letarte_tables.PUBLISHED.values()} == {
        len(letarte_tables.PUBLISHED_COLUMNS)
    }


def test_split_has_the_published_sizes(breast):
    split = measures.authors_split(breast)
    assert split.sizes == letarte_tables.PUBLISHED_SIZES["breast"]
    assert split.n_available == 340


def test_fixed_test_part_is_kept(breast):
    X_test, y_test = breast.X_train[:7], breast.y_train[:7]
    data = LocalDataset("fixed", breast.X_train[7:107], breast.y_train[7:107], X_test, y_test)
    split = measures.authors_split(data)
    assert split.sizes == (80, 20, 7, 30)
    assert split.X_test is X_test


def test_cut_leaves_the_other_rows_alone(breast):
    whole, cut = measures.authors_split(breast, 3), measures.authors_split(breast, 3, 100)
    assert cut.sizes == (100, 86, 143, 30)
    assert cut.n_available == 340
    np.testing.assert_array_equal(whole.X_valid, cut.X_valid)
    np.testing.assert_array_equal(whole.X_test, cut.X_test)
    rows = {row.tobytes() for row in whole.X_train}
    assert {row.tobytes() for row in cut.X_train} <= rows


def test_pool_split():
    data = LocalDataset("pool", np.arange(20.0)[:, None], np.ones(20, dtype=np.int64))
    split = measures.pool_split(data, 0, n_train=8, n_valid=4, n_test=100)
    assert split.sizes == (8, 4, 8, 1)
    parts = np.concatenate([split.X_train, split.X_valid, split.X_test])
    assert sorted(parts.ravel()) == list(range(20))
    with pytest.raises(ValueError, match="pool has 20 rows, too few for 16 \\+ 4"):
        measures.pool_split(data, 0, n_train=16, n_valid=4, n_test=1)


def test_machine_on_breast_is_the_published_one(breast):
    machine = measures.tune_svm(measures.authors_split(breast))
    assert f"{100 * machine.test_error:.2f}" == "4.90"
    assert machine.gamma == 1e-5


def test_machine_is_the_one_without_shortcuts(breast):
    split = measures.authors_split(breast)
    machine = measures.tune_svm(split, gammas=[1e-4], penalties=[10.0])
    plain = SVC(C=10.0, gamma=1e-4).fit(split.X_train, split.y_train)
    assert machine.test_error == pytest.approx(1 - plain.score(split.X_test, split.y_test))
    assert machine.valid_error == pytest.approx(1 - plain.score(split.X_valid, split.y_valid))


def test_of_equal_pairs_the_smallest_C_then_gamma(breast):
    # So small a C that every machine votes for the larger class.
    machine = measures.tune_svm(
        measures.authors_split(breast), gammas=[1e-6, 1e-5], penalties=[1e-9, 1e-8]
    )
    assert (machine.C, machine.gamma) == (1e-9, 1e-6)


def test_linear_machine(breast):
    split = measures.authors_split(breast)
    scaled = StandardScaler().fit(split.X_train)
    machine = measures.tune_linear(scaled, split, 0.5, seed=0)
    assert machine.test_error < 0.05
    assert machine.C in measures.PENALTIES
    assert machine.gamma == 0.5


@pytest.mark.parametrize("solver", measures.SOLVERS)
def test_linear_machine_that_does_not_converge_is_no_warning(solver, breast):
    # Unscaled columns; warnings are errors here.
    split = measures.authors_split(breast)
    machine = measures.tune_linear(
        FunctionTransformer(), split, 0.5, seed=0, penalties=[1e4], solver=solver
    )
    assert machine.test_error < 0.5


def test_resume(tmp_path):
    path = tmp_path / "folder" / "results.jsonl"
    measured = []

    def measure(cell):
        measured.append(cell)
        return Result(cell, 1 - 0.1 / 3, 0.0, 0.5, {"gamma": 1e-7})

    def cell(seed, gamma=1e-7):
        settings = (("solver", "authors"), ("gamma", gamma))
        return Cell("table1", "breast", "PB", None, seed, 5000, settings)

    cells = [cell(seed) for seed in range(3)]
    notebook = Notebook(path)
    first = run([*cells[:2], cells[0]], measure, notebook)
    assert first[2] is first[0]
    assert measured == cells[:2]

    # Stopped in the middle of a line.
    with path.open("a") as file:
        file.write('{"cell": {"study": "tab')
    again = Notebook(path)
    assert len(again) == 2
    assert run(cells, measure, again)[:2] == first[:2]
    assert measured == cells
    assert len(Notebook(path)) == 3
    assert json.loads(path.read_text().splitlines()[-1])["cell"]["seed"] == 2

    # Another setting is another cell.
    run([cell(0, gamma=1e-6)], measure, Notebook(path))
    assert len(measured) == 4


def test_svm_command(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(measures, "GAMMAS", (1e-5,))
    arguments = ["svm", "--datasets", "breast", "--output", str(tmp_path / "svm.jsonl")]
    letarte.main(arguments)
    first = capsys.readouterr()
    assert re.search(r"breast +340 +143 +1e-05 +1000 +4.90 +4.90", first.out)
    assert first.err.startswith("[1/1] svm breast SVM seed 42: 0.9510 (gamma 1e-05, C 1000")
    letarte.main(arguments)
    second = capsys.readouterr()
    assert second.out == first.out
    assert second.err == ""
    letarte.main([*arguments, "--max-train", "200"])
    assert "200 of 340 training rows" in capsys.readouterr().out


def test_command_says_what_is_wrong(capsys, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(SystemExit):
        letarte.main(["svm", "--datasets", "ads"])
    assert "set the environment variable BOCHNER_DATA" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        letarte.main(["svm", "--datasets", "breast,wine"])
    assert "there is no dataset 'wine'" in capsys.readouterr().err


@pytest.mark.parametrize("gamma_per_seed", [False, True])
def test_table1_cells(gamma_per_seed, monkeypatch):
    monkeypatch.setattr(measures, "GAMMAS", (1e-6, 1e-5))
    asked = []

    def stand_in(cell):
        asked.append(cell)
        return StandardScaler()

    monkeypatch.setattr(measures, "_feature_map", stand_in)
    results = letarte.table1(["breast"], range(2), 5000, anew, gamma_per_seed, ["authors"])
    assert {(r.cell.method, r.cell.setting("solver")) for r in results} == {
        ("SVM", None),
        ("RBF", "authors"),
        ("PB", "authors"),
    }
    assert [(r.cell.method, r.cell.seed) for r in results] == [
        (method, seed) for seed in range(2) for method in ("SVM", "RBF", "PB")
    ]
    assert all(0.85 < r.score <= 1 for r in results)
    for seed in range(2):
        choosing = 42 if not gamma_per_seed else seed
        split = measures.authors_split(load_local("breast"), choosing)
        gamma = measures.tune_svm(split, measures.GAMMAS).gamma
        assert {r.details["gamma"] for r in results if r.cell.seed == seed} == {gamma}
    assert [cell.method for cell in asked] == ["RBF", "PB"] * 2


def test_table1_report():
    errors = {"SVM": (0.04, 0.06), "RBF": (0.05, 0.07), "PB": (0.03, 0.05)}
    results = [
        result(method=method, seed=seed, error=pair[seed])
        for method, pair in errors.items()
        for seed in range(2)
    ]
    results += [result("mnist56", method, seed) for method in errors for seed in range(2)]
    text = REPORTS["table1"](results)
    assert re.search(
        r"breast +0.01 +5.00 ± 1.00 +4.90 +6.00 ± 1.00 +6.99 +4.00 ± 1.00 +3.50, 2.80", text
    )
    assert "PB beats RBF on 1 of 2 datasets (paper, beta = 1: 1)" in text
    assert "over 2 splits" in text
    assert "Linear machine: converged" in text
    assert "once, on the authors' split" in text
    assert "on each split;" in as_text(table1_sections(results, gamma_per_seed=True))


def test_mnist49_cells_and_report(monkeypatch, rng):
    n = 120
    pool = LocalDataset("mnist49", rng.normal(size=(n, 3)), np.where(np.arange(n) % 2, 1, -1))
    monkeypatch.setattr(measures, "load_local", lambda name: pool)
    for module in (letarte, measures):
        monkeypatch.setattr(module, "MNIST49_ROWS", (60, 20, 30))
    monkeypatch.setattr(measures, "N_CANDIDATES", 50)
    results = letarte.mnist49(range(2), anew, 0.1, frequencies=(2, 4))
    assert len(results) == 2 * len(measures.MNIST49_METHODS) * 2
    assert {(r.details["n_train"], r.details["n_test"]) for r in results} == {(60, 30)}
    text = REPORTS["mnist49"](results)
    assert re.search(r"frequencies +2 +4\n", text)
    assert re.search(r"\nchi-square +\d+\.\d ± \d+\.\d +\d+\.\d ± \d+\.\d\n", text)
    assert "gamma 0.1; the strength of the posterior" in text


def cell(method, width=None, study="table1", task="breast", **settings):
    return Cell(study, task, method, width, 0, 5000, tuple(settings.items()))


def test_a_feature_map_needs_its_settings():
    with pytest.raises(ValueError, match="RBF needs a gamma"):
        measures.measure(cell("RBF"))
    for method in ("random", "KL, without"):
        with pytest.raises(ValueError, match=f"{method} needs a number of columns"):
            measures.measure(cell(method, gamma=1.0))
    with pytest.raises(ValueError, match="there is no method 'best'; there are RFF, OKRFF"):
        measures.measure(cell("best", 4, "greedy", gamma=1.0))


@pytest.mark.parametrize("method", ["RBF", "PB", *measures.LANDMARK_METHODS])
def test_landmarks_learn(method):
    measured = measures.measure(cell(method, gamma=1e-5))
    assert measured.score > 0.85  # always guessing the larger class: 0.63


@pytest.mark.parametrize("method", measures.POSTERIORS)
def test_posteriors_learn(method, monkeypatch):
    monkeypatch.setattr(measures, "N_CANDIDATES", 200)
    assert measures.measure(cell(method, 40, gamma=1e-5)).score > 0.8


def test_landmarks_are_as_many_as_asked_for_and_of_the_kind():
    shapes = {}
    for method in measures.LANDMARK_METHODS:
        split = measures._split("landmarks", "breast", 0, 5000)
        one = cell(method, study="landmarks", gamma=1e-5, percent=5)
        fitted = measures._feature_map(one).fit(split.X_train, split.y_train)
        shapes[method] = fitted.landmarks_.shape[0], bool(fitted.in_sample_.all())
        assert (fitted.posterior is None) == method.startswith("RBF")
    assert shapes == {
        "RBF-R": (17, True),
        "RBF-C": (17, False),
        "PB-R": (17, True),
        "PB-C": (17, False),
    }


def test_path_is_the_machine_without_shortcuts(breast):
    """LIBLINEAR penalises its intercept: as a large constant column it is hardly penalised."""
    split = measures.authors_split(breast)
    feature_map = FourierFeatures(n_components=20, gamma=1e-5, random_state=0).fit(split.X_train)
    machine, strength = measures.tune_path(
        iter([(7.0, feature_map)]), split, 1e-5, penalties=[10.0], block=50
    )
    features = feature_map.transform(split.X_train)
    plain = LinearSVC(C=10.0, dual=False, intercept_scaling=100.0, tol=1e-10, max_iter=10**6)
    plain.fit(features, split.y_train)
    assert (strength, machine.C, machine.gamma) == (7.0, 10.0, 1e-5)
    test_error = 1 - plain.score(feature_map.transform(split.X_test), split.y_test)
    valid_error = 1 - plain.score(feature_map.transform(split.X_valid), split.y_valid)
    assert machine.test_error == pytest.approx(test_error, abs=1.5 / 143)
    assert machine.valid_error == pytest.approx(valid_error, abs=1.5 / 86)
    assert machine.train_error == pytest.approx(
        1 - plain.score(features, split.y_train), abs=1.5 / 340
    )


def test_path_takes_the_first_of_equal_maps(breast):
    split = measures.authors_split(breast)
    feature_map = FourierFeatures(n_components=20, gamma=1e-5, random_state=0).fit(split.X_train)
    poor = FunctionTransformer(lambda X: np.zeros((len(X), 2)))
    maps = [(1.0, poor), (2.0, feature_map), (3.0, feature_map)]
    assert measures.tune_path(iter(maps), split, 1e-5)[1] == 2.0


@pytest.mark.parametrize("method", measures.GREEDY_METHODS)
def test_greedy_cells(method):
    measured = measures.measure(cell(method, 20, "greedy", gamma=1e-5, candidates=100))
    assert measured.score > 0.8
    assert 0 <= measured.details["train error"] < 0.2
    chosen = {"OKRFF": "rho", "PBRFF": "beta"}.get(method)
    assert {"rho", "beta"} & set(measured.details) == ({chosen} if chosen else set())


def test_studies_of_the_figures(monkeypatch):
    monkeypatch.setattr(measures, "GAMMAS", (1e-6, 1e-5))
    results = letarte.landmarks(["breast"], range(2), 5000, anew, percents=(1, 5))
    assert len(results) == 2 * 2 * 4
    gamma = letarte.choose_gamma(["breast"], 5000, anew)["breast"]
    assert {r.cell.setting("gamma") for r in results} == {gamma}
    text = REPORTS["landmarks"](results)
    assert re.search(r"percent +RBF-R +RBF-C +PB-R +PB-C\n1 +\d", text)
    assert "learned landmarks (PB) err less than plain ones" in text
    assert "centroids vary less from split to split" in text

    results = letarte.greedy(["breast"], range(2), 5000, anew, (1, 1000), n_candidates=1000)
    assert len(results) == 2 * 2 * 3
    text = REPORTS["greedy"](results)
    assert re.search(r"D +RFF +OKRFF +PBRFF +RFF, train +OKRFF, train +PBRFF, train\n1 +\d", text)
    assert "N = 1000 candidates" in text
    assert "PBRFF errs less than RFF at D <= 50" in text
    assert "OKRFF is within 1 percent of RFF at D >= 1000" in text


def test_charts_of_the_figures():
    results = [
        result(method=method, seed=seed, error=0.1 + seed / 100, study="greedy", width=2 * count,
               candidates=9)
        for method in measures.GREEDY_METHODS
        for count in (1, 10)
        for seed in range(2)
    ]  # fmt: skip
    section = letarte_tables.greedy_sections(results)[1]
    assert [series.name for series in section.chart.series] == [
        *measures.GREEDY_METHODS,
        *(f"{method}, train" for method in measures.GREEDY_METHODS),
    ]
    test, train = section.chart.series[0], section.chart.series[3]
    assert test.x == (1, 10)
    assert test.y == pytest.approx((10.5, 10.5))
    assert test.error == pytest.approx((0.5, 0.5))
    assert train.y == pytest.approx((5.25, 5.25))


def test_claims_about_landmarks():
    def study(errors):
        return REPORTS["landmarks"](
            [
                result(
                    method=method,
                    seed=seed,
                    error=(error + spread * (-1) ** seed) / 100,
                    study="landmarks",
                    percent=percent,
                )
                for method, (error, spread) in errors.items()
                for percent in (1, 5)
                for seed in range(2)
            ]
        )

    text = study({"RBF-R": (9, 0.3), "RBF-C": (9.5, 0.2), "PB-R": (8, 0.3), "PB-C": (7, 0.4)})
    assert (
        "confirmed: learned landmarks (PB) err less than plain ones (RBF) on the average of the"
        " shares (2 of 2)" in text
    )
    assert "confirmed: rows at random and centroids are within 1 percent on average" in text
    assert (
        "not confirmed: centroids vary less from split to split than rows at random (1 of 2; "
        "not at breast PB-C: 0.40 against 0.30)" in text
    )


def test_toys():
    results = letarte.toys(["ring"], range(2), anew)
    assert {r.cell.method for r in results} == {"SVM", "RBF-R", "PB-R"}
    for seed in range(2):
        gammas = {r.details["gamma"] for r in results if r.cell.seed == seed}
        assert len(gammas) == 1
    text = REPORTS["toys"](results)
    assert re.search(r"data +SVM +RBF-R +PB-R\nring +\d", text)
    assert "predicts better from learned similarities" in text


def test_pictures_have_the_names_of_the_table():
    text = pytest.importorskip("matplotlib.text")
    results = letarte.toys(["ring"], range(1), anew)
    figure = toy_picture([r for r in results if r.cell.method != "SVM"])
    written = {found.get_text().partition("\n")[0] for found in figure.findobj(text.Text)}
    assert {"RBF-R", "PB-R"} <= written


@pytest.mark.parametrize("name", TOYS)
def test_toys_have_two_classes_and_some_noise(name):
    X, y = TOYS[name](4000, np.random.RandomState(0))
    assert X.shape == (4000, 2)
    assert np.abs(X).max() <= 1
    assert 0.15 < np.mean(y == 1) < 0.85
    clean = np.sin(5 * X[:, 0]) if name == "stripes" else 0.45 - np.linalg.norm(X, axis=1)
    assert 0.005 < np.mean(np.sign(clean) != y) < 0.1


def test_tables_of_what_is_done_so_far():
    """A study that was interrupted has methods and seeds missing."""
    assert re.search(
        r"breast +0.01 +10.00 +4.90 +- +6.99 +- +3.50, 2.80", REPORTS["table1"]([result()])
    )
    text = REPORTS["greedy"](
        [
            result(method="RFF", study="greedy", width=2, candidates=9),
            result(method="OKRFF", study="greedy", width=20, candidates=9),
        ]
    )
    assert re.search(r"\n1 +10.00 +- +5.00 +-\n", text)
    assert "not checked: OKRFF errs less than RFF" in text
