import json
from functools import partial

import pytest

from bochner.data import download
from bochner.data.local import CACHE_VARIABLE, VARIABLE
from bochner.papers import study as studies
from bochner.papers.bullins import pictures as bullins_pictures
from bochner.papers.outcome import document, draw, shown_of, write_outcome
from bochner.papers.study import FILES, STUDIES, Request, find_data
from bochner.records.cells import Cell, Notebook, Result, run
from bochner.records.provenance import machine, versions
from bochner.records.sections import Chart, Section, Series

PAPERS = {
    "letarte": ["table1", *(f"figure{k}" for k in range(1, 7))],
    "bullins": ["table1", "figure1"],
    "mukuta": [*(f"figure{k}" for k in range(1, 7)), "table2"],
}


def pretend(cell):
    """A result of any study, without measuring."""
    names = ("gamma", "C", "train error", "n_train", "n_available", "n_test", "columns", "MSE")
    names += ("transform", "quantile", "off-diagonal", "RMSE", "part", "images")
    return Result(cell, 0.9 - 0.001 * cell.seed, 0.5, 1.0, dict.fromkeys(names, 2.0))


def test_every_table_and_figure_is_there():
    assert set(STUDIES) == {f"{p}-{name}" for p, names in PAPERS.items() for name in names}
    for name, study in STUDIES.items():
        assert study.name == name
        assert study.item.lower().replace(" ", "") == name.partition("-")[2]
        assert study.seeds >= study.quick_seeds >= 1
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
    assert {file for files in FILES.values() for file in files} <= set(download.SOURCES)
    assert STUDIES["letarte-table1"].files() == (
        "internet_ads.npz",
        "adult.npz",
        "farm_ads.npz",
        "mnist.npz",
    )
    assert STUDIES["bullins-figure1"].files() == ()


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", STUDIES)
def test_plans(name, quick, capsys):
    study = STUDIES[name]
    planned = []

    def pretended(cells):
        planned.extend(cells)
        return run(cells, pretend, Notebook())

    request = Request(study.tasks_of(quick), 2, quick)
    results = study.collect(request, pretended)
    assert {cell.task for cell in planned} == set(request.tasks)
    assert shown_of(study, results) == results
    assert {result.cell.seed for result in results} == {0, 1}
    assert set(study.shown) == {result.cell.study for result in results}
    assert len(planned) < (3000 if not quick else 200)
    if quick and study.shown != ("toys",):
        assert all(cell.max_train <= 2000 for cell in planned)


def test_one_task_of_two_experiments():
    asked = []
    run_one = partial(run, measure=pretend, notebook=Notebook())
    study = STUDIES["bullins-figure1"]
    results = study.collect(
        Request(("sphere",), 1, True), lambda cells: asked.extend(cells) or run_one(cells)
    )
    assert {cell.study for cell in asked} == {"checkerboard"}
    table, picture = study.sections(results)
    assert table.heading.startswith("Checkerboard")
    assert picture.picture is not None


def test_data_that_is_missing_is_said_once_a_task(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "mnist.npz").touch()
    asked = []

    def obtain(file, **options):
        asked.append(file)
        return download.obtain(file, **options)

    monkeypatch.setattr(studies, "obtain", obtain)
    tasks = ("breast", "mnist17", "mnist49", "ads", "cifar-pm")
    found, left_out = find_data(tasks, True, print)
    assert found == ("breast", "mnist17", "mnist49")
    assert asked == ["mnist.npz", "internet_ads.npz", "cifar10_train.npz", "cifar10_test.npz"]
    assert [line.partition(",")[0] for line in left_out] == ["ads", "cifar-pm"]
    assert "because internet_ads.npz is not in" in left_out[0]


def test_document_and_files(tmp_path):
    pytest.importorskip("matplotlib")
    from bochner.plots.canvas import new_figure

    study = STUDIES["letarte-table1"]
    sections = [
        Section("A table: ours!", (("a", "b"), ("c", "d")), ("Line.",)),
        Section("A chart", chart=Chart("x", "y", (Series("s", (1, 2), (3.0, 4.0)),))),
        Section("A picture", picture=partial(new_figure, 1, 1)),
    ]
    results = [Result(Cell("table1", "breast", "PB", None, s), 0.9, 0.0, 1.26) for s in range(2)]
    request = Request(("breast",), 2)
    pictures = draw(sections)
    assert pictures[:2] == [None, None]
    made = document(study, request, results, sections, pictures, command="bochner x", notes=["n"])
    assert (made["kind"], made["version"], made["seconds"]) == ("study", 1, 2.5)
    assert made["title"].startswith("Table 1: ")
    assert made["sections"][2]["image"].startswith("data:image/png;base64,iVBOR")
    written = write_outcome(made, sections, pictures, tmp_path / "folder")
    assert written == [
        "results.json",
        "02-a-chart-chart.png",
        "02-a-chart-chart.svg",
        "03-a-picture.png",
    ]
    assert sorted(p.name for p in (tmp_path / "folder").iterdir()) == sorted(written)
    assert json.loads((tmp_path / "folder" / "results.json").read_text()) == made


def test_without_matplotlib_there_are_no_figures(tmp_path, monkeypatch):
    def absent():
        raise ModuleNotFoundError("matplotlib")

    monkeypatch.setattr("bochner.plots.curves.new_figure", lambda *size: absent())
    sections = [
        Section("A picture", picture=absent),
        Section("A chart", chart=Chart("x", "y", (Series("s", (1, 2), (3.0, 4.0)),))),
    ]
    pictures = draw(sections)
    assert pictures == [None, None]
    assert write_outcome({}, sections, pictures, tmp_path) == ["results.json"]


def test_pictures_of_the_plane_and_the_sphere(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(bullins_pictures, "STAGES", (2, 4))
    monkeypatch.setattr(bullins_pictures, "ROWS", 200)
    monkeypatch.setattr(bullins_pictures, "HARMONICS", 20)
    monkeypatch.setattr(bullins_pictures, "RESOLUTION", 12)
    figure = bullins_pictures.windmill_picture("W2", 0)
    titles = [axis.get_title() for axis in figure.axes]
    assert [title for title in titles if "frequencies" in title] == [
        "2 frequencies",
        "4 frequencies",
    ]
    figure = bullins_pictures.checkerboard_picture(0)
    titles = [axis.get_title() for axis in figure.axes]
    assert {"decision", "feature 1", "feature 3"} <= set(titles)


def test_provenance():
    assert set(versions()) >= {"python", "numpy", "scikit-learn"}
    assert machine("cuda")["device"] == "cuda"
    assert machine()["cores"] >= 1
