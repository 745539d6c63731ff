import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bochner.records.cells import Cell, Notebook, Result, aligned, mean_and_error, run


def measure_one(cell):  # importable by name: other processes find it
    return Result(cell, 0.9 + cell.seed / 100, 0.1 / 3, 1.0, {"C": 1e-7})


@pytest.fixture
def counted():
    measured = []

    def measure(cell):
        measured.append(cell)
        return measure_one(cell)

    return measured, measure


def seeds(*numbers, **values):
    return [Cell("table1", "mnist49", "ours", 100, seed, **values) for seed in numbers]


def test_nothing_is_measured_twice(tmp_path, counted, capsys):
    measured, measure = counted
    path = tmp_path / "folder" / "results.jsonl"
    first = run(seeds(0, 1, 0), measure, Notebook(path))
    assert measured == seeds(0, 1)
    assert [result.cell.seed for result in first] == [0, 1, 0]
    assert capsys.readouterr().err.splitlines()[1] == (
        "[2/2] table1 mnist49 ours 100 seed 1: 0.9100 (C 1e-07, 1.0 s)"
    )

    # Stopped in the middle of a line.
    with path.open("a") as file:
        file.write('{"cell": {"study": "tab')
    notebook = Notebook(path)
    assert len(notebook) == 2
    again = run(seeds(1, 2), measure, notebook)
    assert measured == seeds(0, 1, 2)
    assert again[0] == first[1]
    assert len(Notebook(path)) == 3
    assert json.loads(path.read_text().splitlines()[-1])["cell"]["seed"] == 2

    # Another setting is another cell.
    run(seeds(0, max_train=10), measure, Notebook(path))
    assert len(measured) == 4


def test_a_line_cut_short_makes_room(tmp_path, counted):
    path = tmp_path / "results.jsonl"
    run(seeds(0, 1), counted[1], Notebook(path))
    whole = path.read_text()
    for cut in (whole[:-1], whole[:-20], whole[: whole.index("\n") + 2]):
        path.write_text(cut)
        notebook = Notebook(path)
        assert path.read_text() == cut  # nothing is changed before there is something to add
        run(seeds(2), counted[1], notebook)
        records = [json.loads(line) for line in path.read_text().splitlines()]
        kept = [0, 1] if cut == whole[:-1] else [0]
        assert [record["cell"]["seed"] for record in records] == [*kept, 2]

    # Another program mended it in between.
    path.write_text(whole[:-20])
    first, second = Notebook(path), Notebook(path)
    run(seeds(3), counted[1], first)
    run(seeds(4), counted[1], second)
    assert [json.loads(line)["cell"]["seed"] for line in path.open()] == [0, 3, 4]


def test_lines_are_only_added(tmp_path, counted):
    path = tmp_path / "results.jsonl"
    run(seeds(0), counted[1], Notebook(path))
    before = path.read_text()
    run(seeds(0, 1), counted[1], Notebook(path))
    assert path.read_text().startswith(before)
    assert path.read_text().count("\n") == 2


def test_what_was_done_before_an_error_is_kept(tmp_path):
    def measure(cell):
        if cell.seed == 1:
            raise FileNotFoundError("no such file")
        return measure_one(cell)

    path = tmp_path / "results.jsonl"
    with pytest.raises(FileNotFoundError):
        run(seeds(0, 1), measure, Notebook(path))
    assert list(Notebook(path)._results) == seeds(0)


def test_several_processes_give_the_same(tmp_path):
    path = tmp_path / "results.jsonl"
    results = run(seeds(2, 0, 1), measure_one, Notebook(path), n_jobs=2)
    assert results == [measure_one(cell) for cell in seeds(2, 0, 1)]
    assert len(Notebook(path)) == 3


def test_mean_and_error():
    assert mean_and_error([1.0, 3.0]) == (2.0, pytest.approx(1.0))
    mean, error = mean_and_error([1.0])
    assert mean == 1.0
    assert math.isnan(error)


def test_aligned_refuses_rows_of_unequal_length():
    with pytest.raises(ValueError):
        aligned([("a", "b"), ("c",)])


@given(
    settings=st.dictionaries(
        st.text(max_size=5),
        st.one_of(st.integers(-5, 5), st.floats(allow_nan=False), st.text(max_size=5)),
        max_size=4,
    ),
    width=st.none() | st.integers(1, 9),
)
def test_any_cell_is_found_again(settings, width, tmp_path_factory):
    path = tmp_path_factory.mktemp("cells") / "results.jsonl"
    cell = Cell("s", "t", "m", width, 0, settings=tuple(settings.items()))
    Notebook(path).add(measure_one(cell))
    again = Notebook(path)
    assert cell in again
    assert again[cell] == measure_one(cell)
    assert all(cell.setting(name) == value for name, value in settings.items())
