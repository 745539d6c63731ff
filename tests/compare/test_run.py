"""Cells of a comparison, one after the other or in several processes, some of which fail."""

import os
import time

from bochner.compare.measure import Measurer
from bochner.records.cells import Result
from bochner.records.run import Failure
from tests.compare.cells import cell, events_of


class Broken(Measurer):
    def __call__(self, cell):
        if cell.method == "RBFSampler":
            raise RuntimeError("no\nluck")
        if cell.width == 13:
            os._exit(1)
        return super().__call__(cell)


def test_a_cell_that_fails_does_not_stop_the_others(wine):
    cells = [cell("RBFSampler"), cell("FourierFeatures")]
    begun, failure, _, result = events_of(cells, Broken(wine))
    assert begun is cells[0]
    assert failure == Failure(cells[0], "RuntimeError: no luck")
    assert result.cell is cells[1]


def test_no_cell_is_begun_after_the_deadline(wine):
    cells = [cell("FourierFeatures", seed=seed) for seed in range(3)]
    assert not events_of(cells, Measurer(wine), deadline=time.monotonic())
    events = events_of(cells, Measurer(wine), deadline=time.monotonic() + 1000)
    assert len(events) == 6


def test_processes_measure_the_same(wine):
    """One of them dies: what it did is lost, with what ran beside it, and the rest is not."""
    cells = [cell(method) for method in ("FourierFeatures", "Nystroem", "RBFSampler")]
    last = [cell("FourierFeatures", 13), *(cell("FourierFeatures", seed=s) for s in (1, 2, 3))]
    found = events_of([*cells, *last], Broken(wine), n_jobs=2)
    results = {event.cell: event for event in found if isinstance(event, (Result, Failure))}
    assert set(results) == {*cells, *last}
    lost = [each for each in results if "process ended" in getattr(results[each], "message", "")]
    assert last[0] in lost
    assert len(lost) <= 2
    for each in {*cells, *last} - {*lost, cells[2]}:
        assert results[each].score == Measurer(wine)(each).score
    if cells[2] not in lost:
        assert results[cells[2]] == Failure(cells[2], "RuntimeError: no luck")
    assert not events_of(cells, Broken(wine), n_jobs=2, deadline=time.monotonic())
