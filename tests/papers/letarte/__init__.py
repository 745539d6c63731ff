from bochner.records.cells import Cell, Notebook, Result
from bochner.records.run import Run


def result(task="breast", method="SVM", seed=0, error=0.1, study="table1", width=None, **values):
    cell = Cell(study, task, method, width, seed, 5000, tuple(values.items()))
    details = {"gamma": 0.01, "C": 1.0, "n_train": 340, "n_available": 340, "n_test": 143}
    return Result(cell, 1 - error, 0.2, 0.5, {**details, "train error": error / 2})


def cell(method, width=None, study="table1", task="breast", **settings):
    return Cell(study, task, method, width, 0, 5000, tuple(settings.items()))


def anew(study):
    """Measure the cells of a study without a file."""
    return Run(study.measure, Notebook())
