import json
import re

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from bochner.datasets.local import LOCAL, VARIABLE, LocalDataset, load_local
from bochner.experiments import letarte
from bochner.experiments.letarte import Cell, Notebook, Result


@pytest.fixture(autouse=True)
def _nothing_kept():
    letarte._data.cache_clear()
    letarte._split.cache_clear()


@pytest.fixture
def breast():
    return load_local("breast")


def result(dataset="breast", method="SVM", seed=0, error=0.1, **values):
    cell = Cell("table1", dataset, method, seed, max_train=5000, **values)
    return Result(cell, error, 0.01, 1.0, 340, 340, 143, 0.5)


def test_published_tables_agree_in_their_names():
    assert set(letarte.PUBLISHED) == set(letarte.PUBLISHED_SIZES)
    assert set(letarte.PUBLISHED) <= set(LOCAL)
    assert {len(row) for row in letarte.PUBLISHED.values()} == {len(letarte.PUBLISHED_COLUMNS)}


def test_split_has_the_published_sizes(breast):
    split = letarte.authors_split(breast)
    assert split.sizes == letarte.PUBLISHED_SIZES["breast"]
    assert split.n_available == 340


def test_fixed_test_part_is_kept(breast):
    X_test, y_test = breast.X_train[:7], breast.y_train[:7]
    data = LocalDataset("fixed", breast.X_train[7:107], breast.y_train[7:107], X_test, y_test)
    split = letarte.authors_split(data)
    assert split.sizes == (80, 20, 7, 30)
    assert split.X_test is X_test


def test_cut_leaves_the_other_rows_alone(breast):
    whole, cut = letarte.authors_split(breast, 3), letarte.authors_split(breast, 3, 100)
    assert cut.sizes == (100, 86, 143, 30)
    assert cut.n_available == 340
    np.testing.assert_array_equal(whole.X_valid, cut.X_valid)
    np.testing.assert_array_equal(whole.X_test, cut.X_test)
    rows = {row.tobytes() for row in whole.X_train}
    assert {row.tobytes() for row in cut.X_train} <= rows


def test_pool_split():
    data = LocalDataset("pool", np.arange(20.0)[:, None], np.ones(20, dtype=np.int64))
    split = letarte.pool_split(data, 0, n_train=8, n_valid=4, n_test=100)
    assert split.sizes == (8, 4, 8, 1)
    parts = np.concatenate([split.X_train, split.X_valid, split.X_test])
    assert sorted(parts.ravel()) == list(range(20))
    with pytest.raises(ValueError, match="pool has 20 rows, too few for 16 \\+ 4"):
        letarte.pool_split(data, 0, n_train=16, n_valid=4, n_test=1)


def test_machine_on_breast_is_the_published_one(breast):
    machine = letarte.tune_svm(letarte.authors_split(breast))
    assert f"{100 * machine.test_error:.2f}" == "4.90"
    assert machine.gamma == 1e-5


def test_machine_is_the_one_without_shortcuts(breast):
    split = letarte.authors_split(breast)
    machine = letarte.tune_svm(split, gammas=[1e-4], penalties=[10.0])
    plain = SVC(C=10.0, gamma=1e-4).fit(split.X_train, split.y_train)
    assert machine.test_error == pytest.approx(1 - plain.score(split.X_test, split.y_test))
    assert machine.valid_error == pytest.approx(1 - plain.score(split.X_valid, split.y_valid))


def test_of_equal_pairs_the_smallest_C_then_gamma(breast):
    # So small a C that every machine votes for the larger class.
    machine = letarte.tune_svm(
        letarte.authors_split(breast), gammas=[1e-6, 1e-5], penalties=[1e-9, 1e-8]
    )
    assert (machine.C, machine.gamma) == (1e-9, 1e-6)


def test_linear_machine(breast):
    split = letarte.authors_split(breast)
    scaled = StandardScaler().fit(split.X_train)
    machine = letarte.tune_linear(scaled, split, 0.5, seed=0)
    assert machine.test_error < 0.05
    assert machine.C in letarte.PENALTIES
    assert machine.gamma == 0.5


@pytest.mark.parametrize("solver", letarte.SOLVERS)
def test_linear_machine_that_does_not_converge_is_no_warning(solver, breast):
    # Unscaled columns; warnings are errors here.
    split = letarte.authors_split(breast)
    machine = letarte.tune_linear(
        FunctionTransformer(), split, 0.5, seed=0, penalties=[1e4], solver=solver
    )
    assert machine.test_error < 0.5


def test_resume(tmp_path):
    path = tmp_path / "folder" / "results.jsonl"
    measured = []

    def measure(cell):
        measured.append(cell)
        return Result(cell, 0.1 / 3, 1e-7, 1.0, 340, 340, 143, 0.5)

    cells = [Cell("table1", "breast", "SVM", seed, 5000, gamma=1e-7) for seed in range(3)]
    notebook = Notebook(path)
    first = [notebook.result(cell, measure) for cell in cells[:2]]
    assert notebook.result(cells[0], measure) is first[0]
    assert measured == cells[:2]

    # Stopped in the middle of a line.
    with path.open("a") as file:
        file.write('{"cell": {"study": "tab')
    again = Notebook(path)
    assert len(again) == 2
    assert [again.result(cell, measure) for cell in cells][:2] == first
    assert measured == cells
    assert len(Notebook(path)) == 3
    assert json.loads(path.read_text().splitlines()[-1])["cell"]["seed"] == 2

    # Another setting is another cell.
    Notebook(path).result(Cell("table1", "breast", "SVM", 0, 5000, gamma=1e-6), measure)
    assert len(measured) == 4


def test_standard_error():
    mean, error = letarte.mean_and_error([result(error=0.5), result(error=0.7)])
    assert mean == pytest.approx(60)
    assert error == pytest.approx(10)
    assert np.isnan(letarte.mean_and_error([result()])[1])


def test_svm_command(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(letarte, "GAMMAS", (1e-5,))
    arguments = ["svm", "--datasets", "breast", "--output", str(tmp_path / "svm.jsonl")]
    letarte.main(arguments)
    first = capsys.readouterr()
    assert re.search(r"breast +340 +143 +1e-05 +1000 +4.90 +4.90", first.out)
    assert first.err.startswith("breast SVM seed 42: error 4.90 %")
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
    monkeypatch.setattr(letarte, "GAMMAS", (1e-6, 1e-5))
    asked = []

    def stand_in(cell):
        asked.append(cell)
        return StandardScaler()

    monkeypatch.setattr(letarte, "_feature_map", stand_in)
    results = letarte.table1(
        ["breast"], range(2), 5000, Notebook(), gamma_per_seed, solver="authors"
    )
    assert {(r.cell.method, r.cell.solver) for r in results} == {
        ("SVM", "converged"),
        ("RBF", "authors"),
        ("PB", "authors"),
    }
    assert [(r.cell.method, r.cell.seed) for r in results] == [
        (method, seed) for seed in range(2) for method in ("SVM", "RBF", "PB")
    ]
    assert all(0 <= r.error < 0.15 for r in results)
    for seed in range(2):
        choosing = 42 if not gamma_per_seed else seed
        split = letarte.authors_split(load_local("breast"), choosing)
        gamma = letarte.tune_svm(split, letarte.GAMMAS).gamma
        assert {r.gamma for r in results if r.cell.seed == seed} == {gamma}
    assert [cell.method for cell in asked] == ["RBF", "PB"] * 2


def test_table1_report():
    errors = {"SVM": (0.04, 0.06), "RBF": (0.05, 0.07), "PB": (0.03, 0.05)}
    results = [
        result(method=method, seed=seed, error=pair[seed])
        for method, pair in errors.items()
        for seed in range(2)
    ]
    results += [result("mnist56", method, seed) for method in errors for seed in range(2)]
    text = letarte.table1_report(results)
    assert re.search(
        r"breast +0.01 +5.00 ± 1.00 +4.90 +6.00 ± 1.00 +6.99 +4.00 ± 1.00 +3.50, 2.80", text
    )
    assert "PB beats RBF on 1 of 2 datasets (paper, beta = 1: 1)" in text
    assert "over 2 splits" in text
    assert "Linear machine: converged" in text
    assert "once, on the authors' split" in text
    assert "on each split;" in letarte.table1_report(results, gamma_per_seed=True)


def test_mnist49_cells_and_report(monkeypatch, rng):
    n = 120
    pool = LocalDataset("mnist49", rng.normal(size=(n, 3)), np.where(np.arange(n) % 2, 1, -1))
    monkeypatch.setattr(letarte, "load_local", lambda name: pool)
    monkeypatch.setattr(letarte, "MNIST49_ROWS", (60, 20, 30))
    monkeypatch.setattr(letarte, "N_CANDIDATES", 50)
    results = letarte.mnist49(range(2), Notebook(), 0.1, frequencies=(2, 4))
    assert len(results) == 2 * len(letarte.MNIST49_METHODS) * 2
    assert {(r.n_train, r.n_test) for r in results} == {(60, 30)}
    text = letarte.mnist49_report(results)
    assert re.search(r"frequencies +2 +4\n", text)
    assert re.search(r"\nchi-square +\d+\.\d ± \d+\.\d +\d+\.\d ± \d+\.\d\n", text)
    assert "gamma 0.1; the strength of the posterior" in text


def test_a_feature_map_needs_its_settings():
    with pytest.raises(ValueError, match="RBF needs a gamma"):
        letarte.measure(Cell("table1", "breast", "RBF", 0, 5000))
    with pytest.raises(ValueError, match="random needs a number of frequencies"):
        letarte.measure(Cell("table1", "breast", "random", 0, 5000, gamma=1.0))


@pytest.mark.parametrize("method", ["RBF", "PB"])
def test_landmarks_learn(method):
    measured = letarte.measure(Cell("table1", "breast", method, 0, 5000, gamma=1e-5))
    assert measured.error < 0.15  # always guessing the larger class: 0.37


@pytest.mark.parametrize("method", letarte.POSTERIORS)
def test_posteriors_learn(method, monkeypatch):
    monkeypatch.setattr(letarte, "N_CANDIDATES", 200)
    cell = Cell("table1", "breast", method, 0, 5000, 1e-5, n_frequencies=20)
    assert letarte.measure(cell).error < 0.2
