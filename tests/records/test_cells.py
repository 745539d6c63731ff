import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bochner.records.cells import Cell, Notebook, Result
from bochner.records.files import WriteError


def measure_one(cell):
    return Result(cell, 0.9 + cell.seed / 100, 0.1 / 3, 1.0, {"C": 1e-7})


def seeds(*numbers, **values):
    return [Cell("table1", "mnist49", "ours", 100, seed, **values) for seed in numbers]


def add(path, *numbers):
    """Add results of seeds to a file, and return what is read of it first."""
    notebook = Notebook(path)
    for cell in seeds(*numbers):
        notebook.add(measure_one(cell))
    return notebook


def test_a_line_cut_short_makes_room(tmp_path):
    path = tmp_path / "results.jsonl"
    add(path, 0, 1)
    whole = path.read_text()
    for cut in (whole[:-1], whole[:-20], whole[: whole.index("\n") + 2]):
        path.write_text(cut)
        notebook = Notebook(path)
        assert path.read_text() == cut  # nothing is changed before there is something to add
        notebook.add(measure_one(seeds(2)[0]))
        records = [json.loads(line) for line in path.read_text().splitlines()]
        kept = [0, 1] if cut == whole[:-1] else [0]
        assert [record["cell"]["seed"] for record in records] == [*kept, 2]

    # Another program mended it in between.
    path.write_text(whole[:-20])
    first, second = Notebook(path), Notebook(path)
    first.add(measure_one(seeds(3)[0]))
    second.add(measure_one(seeds(4)[0]))
    assert [json.loads(line)["cell"]["seed"] for line in path.open()] == [0, 3, 4]


def test_lines_are_only_added(tmp_path):
    path = tmp_path / "results.jsonl"
    add(path, 0)
    before = path.read_text()
    add(path, 1)
    assert path.read_text().startswith(before)
    assert path.read_text().count("\n") == 2


def test_settings_of_a_cell_have_no_order():
    one = Cell("s", "t", "m", 4, 0, settings=(("b", 1), ("a", 0.25)))
    other = Cell("s", "t", "m", 4, 0, settings=[["a", 0.25], ["b", 1]])
    assert one == other
    assert hash(one) == hash(other)
    assert str(one) == "s t m 4 a 0.25 b 1 seed 0"
    assert one.setting("c") is None
    assert Result(one, 1.0, 0.0, 0.0).cell.setting("a") == 0.25


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


def test_other_files_are_read_but_not_counted(tmp_path):
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    add(theirs, 0, 1)
    before = theirs.read_text()
    notebook = Notebook(ours, also=[theirs, tmp_path / "absent.jsonl"])
    assert len(notebook) == 0
    assert notebook[seeds(1)[0]] == measure_one(seeds(1)[0])
    notebook.add(measure_one(seeds(2)[0]))
    assert all(cell in notebook for cell in seeds(0, 1, 2))
    assert len(Notebook(ours)) == 1
    assert theirs.read_text() == before


def test_a_full_disk_keeps_what_is_there(tmp_path):
    """The system writes half of a line: it is taken back, and the error is one line."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "results.jsonl"
    notebook = add(path, 0)
    before = path.read_text()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, limits[1]))
    try:
        with pytest.raises(WriteError, match=r"results\.jsonl cannot be written: .* is kept"):
            notebook.add(measure_one(seeds(1)[0]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == before
    add(path, 2)
    assert len(Notebook(path)) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("score"),
        lambda record: record.update(score="high"),
        lambda record: record.update(fit=None),
        lambda record: record.update(details=[1]),
        lambda record: record.update(more=1),
        lambda record: record.update(cell=3),
        lambda record: record["cell"].pop("seed"),
        lambda record: record["cell"].update(width="8"),
        lambda record: record["cell"].update(settings=[["a", [1]]]),
        lambda record: record["cell"].update(settings=5),
    ],
)
def test_lines_that_are_no_results_are_measured_again(tmp_path, change):
    path = tmp_path / "results.jsonl"
    add(path, 0, 1)
    first, second = path.read_text().splitlines()
    record = json.loads(first)
    change(record)
    path.write_text(f"{json.dumps(record)}\n{second}\n[]\n3\nnull\n" + "[" * 10**5 + "\n")
    notebook = Notebook(path)
    assert len(notebook) == 1
    assert seeds(1)[0] in notebook
