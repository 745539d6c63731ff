"""Cells and results made by hand."""

from bochner.models.methods import METHODS
from bochner.records.cells import Cell, Notebook, Result
from bochner.records.run import Run

EXACT = next(name for name, method in METHODS.items() if method.exact)
WIDTHLESS = [name for name, method in METHODS.items() if not method.has_width]
FOR_TABLES = [name for name, method in METHODS.items() if not method.images]
FOR_CLASSES = [name for name in FOR_TABLES if "classification" in METHODS[name].tasks]


def cell(method, width=40, seed=0, metric=None):
    settings = () if metric is None else (("metric", metric),)
    width = None if method in WIDTHLESS else width
    return Cell("x", "task", method, width, seed, settings=settings)


def events_of(cells, measurer, **options):
    """All that happens when cells are measured."""
    seen = []
    Run(measurer, Notebook(), watch=lambda event, *_: seen.append(event), **options)(cells)
    return seen


def result(method, width, seed, score, fit=1.0):
    details = {
        "transform": 0.5,
        "chosen": {"gamma": 1.0 + seed, "C": 2.0},
        "errors": round(100 * (1 - score)),
        "n_test": 100,
        "guarantee": None,
    }
    return Result(Cell("x", "t", method, width, seed), score, fit, 3.0, details)


def line(method, width, score, error=1.0, seconds=1.0, scores=(), metric=None):
    return {
        "scores": {str(seed): score for seed, score in enumerate(scores)},
        "method": f"{method} after a metric" if metric else method,
        "entry": method,
        "metric": metric,
        "width": width,
        "score": score,
        "standard_error": error,
        "fit": seconds,
        "transform": 0.0,
    }
