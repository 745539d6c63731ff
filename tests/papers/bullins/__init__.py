from dataclasses import replace

from bochner import PosteriorFourierFeatures
from bochner.records.cells import Cell, Result


def cheap(experiment):
    """The experiment with another learned map, in place of the slower one."""

    def make_map(band=None, **parameters):
        return PosteriorFourierFeatures(n_candidates=200, **parameters)

    return replace(experiment, make_map=make_map)


def result(task, method, width, seed=0, score=0.9, fit=1.0, study="table1", **details):
    return Result(Cell(study, task, method, width, seed), score, fit, 2.0, details)
