"""Figure 1: the error of the Gram matrix under three densities in ten dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from bochner.papers.groups import Groups, score
from bochner.papers.mukuta import gram_error
from bochner.papers.mukuta.feature_maps import COMMON, MERCER, NYSTROEM, RANDOM, Float
from bochner.papers.study import Request, Runner
from bochner.records.cells import Cell, Result
from bochner.records.sections import Claim, Section

MIXTURES = tuple(f"{kind} {m}" for kind in ("weighted", "mixture") for m in (4, 16, 64))
QUICK_MIXTURES = ("weighted 16", "mixture 16")
DIMENSION = 10
ROWS = 5000  # rows to fit the maps, and as many others to measure the error
CLUSTERS, CLUSTER_DISTANCE, CLUSTER_WIDTH = 8, 4.0, 0.7

LOW, HIGH = 160, 640  # the widths of claims about few and about many columns
COMPARABLE = 1.5  # what we take "comparable" to mean: at most this many times the error
SIMILAR = 3.0  # and "similar for each distribution": the largest by the smallest


def collect_densities(request: Request, run: Runner) -> list[Result]:
    """Measure all maps, with mixtures of several sizes."""
    mixtures = QUICK_MIXTURES if request.quick else MIXTURES
    return gram_error.collect("densities", request, run, (*COMMON, *mixtures))


def measure(cell: Cell) -> Result:
    """Measure one cell, of this study or of the clusters."""
    return gram_error.measure_error(
        cell, lambda: sample(cell.task, cell.seed, cell.max_train or ROWS)
    )


@lru_cache(maxsize=1)
def sample(task: str, seed: int, n: int) -> gram_error.Sample:
    """Draw rows to fit to, and as many to measure the error on."""
    X = draw(task, 2 * n, np.random.RandomState(seed))
    return gram_error.Sample(X[:n], gram_error.Gram(X[n:], 1 / (2 * DIMENSION)))


def draw(task: str, n: int, random_state: np.random.RandomState) -> Float:
    """Draw synthetic rows: independent coordinates, or clusters."""
    shape = (n, DIMENSION)
    if task == "gaussian":
        return random_state.standard_normal(shape)
    if task == "laplace":
        return random_state.laplace(size=shape)
    if task == "uniform":
        return random_state.uniform(-1, 1, shape)
    centres = CLUSTER_DISTANCE * random_state.standard_normal((CLUSTERS, DIMENSION))
    rows = centres[random_state.randint(CLUSTERS, size=n)]
    return np.asarray(rows + CLUSTER_WIDTH * random_state.standard_normal(shape))


def sections(results: Sequence[Result]) -> list[Section]:
    """Report the errors, and what the paper claims."""
    return gram_error.error_sections(
        results,
        "Normalised spectral error of the Gram matrix",
        "random: independent single cosines, the paper's form; orthogonal: FourierFeatures with"
        " its defaults. weighted M: the paper's mixture of M; mixture M: orthogonalised.",
        claims,
    )


def claims(groups: Groups) -> list[Claim]:
    """Check what the paper says about its Figure 1."""
    found = [
        gram_error.smaller_error(
            groups, f"{MERCER} has a smaller error than {other} at D <= {LOW}", MERCER, other, LOW
        )
        for other in (RANDOM, NYSTROEM)
    ]
    text = f"{MERCER} has at most {COMPARABLE} times {NYSTROEM}'s at D >= {HIGH}"
    found.append(gram_error.error_ratio(groups, text, MERCER, NYSTROEM, COMPARABLE, HIGH))
    found += [
        groups.compare(f"{method} has a larger error than {MERCER}", method, MERCER, score)
        for method in groups.methods
        if method.startswith("weighted")
    ]
    similar = Claim(f"{RANDOM} errors differ at most {SIMILAR:g} times between densities")
    for width in groups.xs():
        errors = [groups.numbers(task, RANDOM, width, score) for task in groups.tasks]
        means = [float(np.mean(numbers)) for numbers in errors if numbers]
        if len(means) > 1:
            factor = max(means) / min(means)
            similar.check(factor <= SIMILAR, f"{width}: {factor:.1f} times")
    return [*found, similar]


FIGURE1 = gram_error.make_study(
    item="Figure 1",
    summary="error of the Gram matrix under three densities",
    tasks=("gaussian", "laplace", "uniform"),
    quick_note="1000 rows, 40 and 160 columns, mixtures of 16 only, two seeds",
    quick_time="30 s",
    full_time="about 30 min",
    collect=collect_densities,
    measure=measure,
    sections=sections,
)
