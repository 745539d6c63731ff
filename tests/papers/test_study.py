import pytest

from bochner.data import download
from bochner.data.local import CACHE_VARIABLE, VARIABLE
from bochner.papers import study as studies
from bochner.papers.letarte import table2, tuned_landmarks
from bochner.papers.registry import STUDIES
from bochner.papers.study import Request, grid
from bochner.records.cells import Notebook, Result
from bochner.records.run import Run
from bochner.records.sections import as_text

PAPERS = {
    "letarte": [
        "table1",
        "table1cut",
        "table2",
        *(f"figure{k}" for k in range(1, 7)),
        "svm",
        "mnist49",
    ],
    "bullins": ["table1", "figure1", "digits", "regression"],
    "mukuta": [*(f"figure{k}" for k in range(1, 7)), "table2", "clusters", "variants"],
}


def pretend(cell, **device):
    """A result of any study, without measuring."""
    names = (
        "gamma",
        "C",
        "valid error",
        "train error",
        "n_train",
        "n_available",
        "n_test",
        "columns",
        "MSE",
    )
    names += (
        "transform",
        "quantile",
        "off-diagonal",
        "RMSE",
        "part",
        "images",
        "maps",
        "held out",
    )
    names += (*table2.COLUMNS, *(f"{column} error" for column in tuned_landmarks.COLUMNS))
    return Result(cell, 0.9 - 0.001 * cell.seed, 0.5, 1.0, dict.fromkeys(names, 2.0))


def test_every_table_and_figure_is_there():
    assert set(STUDIES) == {f"{p}-{name}" for p, names in PAPERS.items() for name in names}
    for name, study in STUDIES.items():
        assert study.name == name
        assert study.item.lower().replace(" ", "") == name.partition("-")[2]
        assert study.full.seeds >= study.quick.seeds >= 1
        assert set(study.tasks_of(quick=True)) <= set(study.tasks)


def test_figures_of_one_experiment_share_its_datasets():
    def tasks(*names):
        return [task for name in names for task in STUDIES[f"letarte-{name}"].tasks]

    seven = set(tasks("table1"))
    for pair in (("figure2", "figure6"), ("figure3", "figure5")):
        assert len(tasks(*pair)) == len(seven)
        assert set(tasks(*pair)) == seven
    assert STUDIES["mukuta-figure3"].tasks == ("cpusmall", "cadata", "yearmsd")
    assert STUDIES["mukuta-figure4"].tasks == ("a9a", "ijcnn1", "covtype")


def test_files_can_be_downloaded_or_are_known_not_to():
    needed = {file for study in STUDIES.values() for file in study.all_files()}
    assert needed <= set(download.SOURCES)
    assert STUDIES["letarte-table1"].all_files() == (
        "internet_ads.npz",
        "adult.npz",
        "farm_ads.npz",
        "mnist.npz",
    )
    assert STUDIES["bullins-figure1"].all_files() == ()
    assert STUDIES["mukuta-table2"].files["cifar-pm"] == ("cifar10_train.npz", "cifar10_test.npz")


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", STUDIES)
def test_plans(name, quick):
    study = STUDIES[name]
    run = Run(pretend, Notebook())
    request = Request(study.tasks_of(quick), 2, quick)
    results = study.collect(request, run)
    assert {cell.task for cell in run.planned} == set(request.tasks)
    assert len({result.cell.seed for result in results}) == 2
    assert len({result.cell for result in results}) == len(results)
    assert len(run.planned) < (3000 if not quick else 200)
    trains_little = study.tasks in (("stripes",), ("ring",)) or study is table2.TABLE2
    if quick and not trains_little:
        assert all(cell.max_train <= 3000 for cell in run.planned)
    assert as_text(study.sections(results)).count("\n") >= 2


@pytest.mark.parametrize("name", [name for name, study in STUDIES.items() if study.widths])
def test_widths_that_are_asked_for(name):
    study = STUDIES[name]
    run = Run(pretend, Notebook())
    planned, chosen = (
        study.collect(Request(study.tasks, 1, widths=widths), run) for widths in ((), (6,))
    )
    assert len(chosen) < len(planned)
    varied = {(r.cell.width, r.cell.setting("percent")) for r in chosen}
    assert varied & {(6, None), (12, None), (None, 6)}


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("kept", [2, 3, 7])
def test_any_cell_may_fail(name, kept):
    """One in so many cells has a result; sections are made of whatever there is."""
    study = STUDIES[name]

    def some(cell):
        some.count += 1
        if some.count % kept:
            raise RuntimeError("no luck")
        return pretend(cell)

    some.count = -1
    run = Run(some, Notebook())
    results = study.collect(Request(study.tasks_of(True), 3, True), run)
    assert run.failures
    if results:
        assert as_text(study.sections(results))


def test_one_task_of_two_experiments():
    run = Run(pretend, Notebook())
    study = STUDIES["bullins-figure1"]
    results = study.collect(Request(("sphere",), 1, True, widths=(7,)), run)
    assert {(cell.study, cell.width) for cell in run.planned} == {
        ("checkerboard", 100),
        ("checkerboard", None),
    }
    table, picture = study.sections(results)
    assert table.heading.startswith("Checkerboard")
    assert picture.picture is not None


def test_tasks_without_settings_are_left_out():
    request = Request(("a", "b"), 1)
    cells = grid("x", request, [("m", 4), ("n", None)], 10, {"b": {"gamma": 0.5}})
    assert [str(cell) for cell in cells] == ["x b m 4 gamma 0.5 seed 0", "x b n gamma 0.5 seed 0"]


def test_data_that_is_missing_is_said_once_per_task(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "mnist.npz").touch()
    asked = []

    def obtain(file, **options):
        asked.append(file)
        return download.obtain(file, **options)

    monkeypatch.setattr(studies, "obtain", obtain)
    tasks = ("breast", "mnist17", "mnist49", "ads")
    found, left_out = STUDIES["letarte-table1"].find_data(tasks, True, print)
    assert found == ("breast", "mnist17", "mnist49")
    assert asked == ["mnist.npz", "internet_ads.npz"]
    assert [one.task for one in left_out] == ["ads"]
    assert "because internet_ads.npz is not in" in str(left_out[0])
    asked.clear()
    _, left_out = STUDIES["mukuta-figure6"].find_data(("cifar-pm",), True, print)
    assert asked == ["cifar10_train.npz", "cifar10_test.npz"]
    assert len(left_out) == 1
