import itertools
import json
import os
import signal
import time

import pytest

from bochner.records.cells import Cell, Notebook, Result
from bochner.records.run import Failure, Run


def measure_one(cell):  # importable by name: other processes find it
    if cell.seed < 0:
        raise ValueError(f"no seed\n{cell.seed}")
    return Result(cell, 0.9 + cell.seed / 100, 0.1 / 3, 1.0, {"C": 1e-7})


SLOW = (100,)


def measure_or_wait(cell):
    if cell.seed in SLOW:
        time.sleep(600)
    return measure_one(cell)


@pytest.fixture
def counted():
    measured = []

    def measure(cell):
        measured.append(cell)
        return measure_one(cell)

    return measured, measure


def seeds(*numbers, **values):
    return [Cell("table1", "mnist49", "ours", 100, seed, **values) for seed in numbers]


def test_nothing_is_measured_twice(tmp_path, counted):
    measured, measure = counted
    path = tmp_path / "folder" / "results.jsonl"
    events = []
    first = Run(measure, Notebook(path), watch=lambda *event: events.append(event))(seeds(0, 1, 0))
    assert measured == seeds(0, 1)
    assert [result.cell.seed for result in first] == [0, 1, 0]
    (zero, one), last = seeds(0, 1), first[1]
    assert events == [(zero, 0, 2), (first[0], 1, 2), (one, 1, 2), (last, 2, 2)]

    # Stopped in the middle of a line.
    with path.open("a") as file:
        file.write('{"cell": {"study": "tab')
    run = Run(measure, Notebook(path))
    assert len(run.notebook) == 2
    again = run(seeds(1, 2))
    assert measured == seeds(0, 1, 2)
    assert again[0] == first[1]
    assert run.planned == seeds(1, 2)
    assert run.results == again
    assert len(Notebook(path)) == 3
    assert json.loads(path.read_text().splitlines()[-1])["cell"]["seed"] == 2

    # Another setting is another cell.
    Run(measure, Notebook(path))(seeds(0, max_train=10))
    assert len(measured) == 4


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_cell_that_fails_does_not_stop_the_others(n_jobs, tmp_path):
    path = tmp_path / "results.jsonl"
    events = []
    run = Run(measure_one, Notebook(path), n_jobs, lambda event, *counts: events.append(event))
    assert run(seeds(2, -1, 0)) == [measure_one(cell) for cell in seeds(2, 0)]
    assert run.failures == {seeds(-1)[0]: "ValueError: no seed -1"}
    assert not run.missing
    assert len(Notebook(path)) == 2
    assert len(events) == 6
    assert Failure(seeds(-1)[0], "ValueError: no seed -1") in events
    assert run(seeds(-1)) == []  # not tried again in the same run
    assert len(events) == 6


def test_a_measurement_that_was_cut_short_is_not_kept(counted):
    """Some of what is measured catches Ctrl-C, and returns what it has."""
    measured, measure = counted

    def interrupted(cell):
        if cell.seed == 1:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                signal.pause()
            except KeyboardInterrupt:
                pass
        return measure(cell)

    run = Run(interrupted, Notebook())
    assert [result.cell.seed for result in run(seeds(0, 1, 2))] == [0]
    assert run.interrupted
    assert measured == seeds(0, 1)
    assert run(seeds(3, 0)) == run.results  # what is there; nothing more is measured
    assert run.planned == seeds(0, 1, 2, 3)
    assert run.missing == seeds(1, 2, 3)


def test_nothing_is_begun_after_the_deadline():
    run = Run(measure_one, Notebook(), deadline=time.monotonic())
    assert run(seeds(0, 1)) == []
    assert run.missing == seeds(0, 1)
    assert not run.interrupted


@pytest.mark.parametrize("is_writable", [True, False])
def test_processes_share_a_file_that_is_removed_or_do_without(is_writable, tmp_path, monkeypatch):
    folder = tmp_path if is_writable else tmp_path / "absent"
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    seen = []
    run = Run(
        measure_one, Notebook(), 2, lambda *event: seen.append(len(list(tmp_path.iterdir())))
    )
    assert [one.cell.seed for one in run(seeds(0, 1, 2))] == [0, 1, 2]
    assert max(seen) == is_writable
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_call_for_more(tmp_path, n_jobs):
    """One more seed after each time, up to three: on file or not, and in one pool of processes."""
    notebook, asked, totals = Notebook(tmp_path / "cells.jsonl"), [], []
    notebook.add(measure_one(*seeds(2)))

    def then(results):
        asked.append([result.cell.seed for result in results])
        return seeds(*range(min(4, 1 + len(results))))

    run = Run(measure_one, notebook, n_jobs, lambda _, done, n: totals.append((done, n)))
    found = run(seeds(0), then)
    assert [result.cell.seed for result in found] == [0, 1, 2, 3]
    # it is asked at the start, after every result, and again where more is on file
    assert [one for one, _ in itertools.groupby(asked)] == [
        [],
        [0],
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 3],
    ]
    assert totals[-1] == (3, 3)
    late = Run(measure_one, Notebook(), deadline=time.monotonic())
    assert not late(seeds(0), lambda results: seeds(0, 1))
    assert late.missing == seeds(0, 1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_is_no_longer_wanted_is_not_measured(n_jobs):
    """Nor waited for: one that takes ten minutes has begun beside the others."""

    def then(results):
        return seeds(0, 1) if results else seeds(*SLOW * (n_jobs == 2), 0, 1, 2)

    begun = time.monotonic()
    run = Run(measure_or_wait, Notebook(), n_jobs)
    assert [one.cell.seed for one in run((), then)] == [0, 1]
    assert time.monotonic() - begun < 60
    assert run.planned == seeds(0, 1)
    assert not run.missing
