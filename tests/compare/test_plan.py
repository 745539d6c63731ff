"""What is compared, in which order, and what is left out."""

import dataclasses

import numpy as np
import pandas as pd
from scipy import sparse

from bochner.compare.plan import (
    Setup,
    fingerprint,
    line_name,
    plan_cells,
)
from bochner.data.tables import Table, read_table
from bochner.linear.scoring import MEASURES
from bochner.models import methods
from tests.compare.cells import EXACT, FOR_CLASSES, WIDTHLESS


def test_plan(wine):
    cells, left_out = plan_cells(wine, FOR_CLASSES, [10, 200], n_seeds=2)
    n_widthless = len(set(WIDTHLESS) & set(FOR_CLASSES))
    assert len(cells) == 2 * (2 * len(FOR_CLASSES) - n_widthless - 6)
    assert left_out == [
        "MarginHarmonicFeatures with 200 columns would take a search for each, in 13 dimensions; "
        "the most is 64",
        *(
            f"{method} with 200 columns needs as many training rows, there are 100 besides "
            "those held out to choose settings by"
            for method in (
                "LandmarkSimilarities",
                "LandmarkSimilarities, plain",
                "NystroemFeatures",
                "NystroemFeatures, exponential",
                "Nystroem",
            )
        ),
    ]
    assert [each.seed for each in cells] == sorted(each.seed for each in cells)
    assert sum(each.method == EXACT for each in cells) == 2


def test_every_line_again_after_a_metric(wine):
    methods = ["FourierFeatures", "Nystroem", EXACT]
    plain, _ = plan_cells(wine, methods, [10, 20], 1)
    cells, _ = plan_cells(dataclasses.replace(wine, metric="auto"), methods, [10, 20], 1)
    assert [each for each in cells if each.setting("metric") is None] == plain  # found on file
    assert len(cells) == 2 * len(plain)
    names = [(line_name(each), each.width) for each in cells[:6]]
    assert names[0] == ("FourierFeatures", 10)
    assert names[3] == ("FourierFeatures after a metric", 10)
    assert names[5] == (f"{EXACT} after a metric", None)
    digits = Setup(read_table("digits"), MEASURES["accuracy"], metric="auto")
    cells, _ = plan_cells(digits, ["ConvolutionalKernelNetwork"], [32], 1)
    assert [each.setting("metric") for each in cells] == [None]  # it would mix the pixels


def test_what_is_too_large_is_left_out():
    X, y = np.zeros((20_000, 1)), np.arange(20_000) % 2
    setup = Setup(Table("long", X, y, "classification", None, 20_000), MEASURES["accuracy"])
    cells, left_out = plan_cells(setup, [EXACT], [8], 1)
    assert not cells
    assert "15000; the most is 10000" in left_out[0]
    wide = sparse.csr_matrix((100, 50_000))
    setup = Setup(Table("wide", wide, y[:100], "classification", None, 100), MEASURES["accuracy"])
    cells, left_out = plan_cells(setup, ["MercerFeatures", "LandmarkSimilarities"], [32], 1)
    assert not cells
    assert "covariance of all 50000 columns" in left_out[0]
    assert "512 frequencies several times, in 50000 dimensions" in left_out[1]


def test_a_wide_sparse_file_is_not_for_the_dear_methods():
    """Such a cell would take longer than all others together."""
    table = Table(
        "wide", sparse.csr_matrix((1000, 3000)), np.arange(1000) % 2, "classification", None, 0
    )
    setup = Setup(table, MEASURES["accuracy"])
    cells, left_out = plan_cells(setup, ["MercerFeatures", "LandmarkSimilarities"], [32, 128], 1)
    found = [("LandmarkSimilarities", 32), ("LandmarkSimilarities", 128)]
    assert [(each.method, each.width) for each in cells] == found
    assert len(left_out) == 1


def test_the_cheapest_come_first_and_every_method_before_more(wine):
    cells, _ = plan_cells(wine, FOR_CLASSES, [64, 10], n_seeds=2)
    first = cells[: len(FOR_CLASSES)]
    assert {each.method for each in first} == set(FOR_CLASSES)
    assert {each.width for each in first} == {10, None}
    assert {each.width for each in cells[len(FOR_CLASSES) : len(cells) // 2]} == {64}
    names = [each.method for each in first]
    assert names.index("RBFSampler") < names.index("MarginFourierFeatures") < names.index(EXACT)
    last = [each.method for each in cells[len(FOR_CLASSES) : len(cells) // 2]]
    assert last.index("MarginFourierFeatures") < last.index("RBFSampler")


def test_fingerprint(wine):
    table = wine.table
    changed = table.X.copy()
    changed[3, 3] += 1e-9
    frame = pd.DataFrame({"a": ["x", None], "b": [1, 2]})
    others = [
        dataclasses.replace(wine, gamma=1.0),
        dataclasses.replace(wine, measure=MEASURES["balanced-accuracy"]),
        dataclasses.replace(wine, device="cuda"),
        dataclasses.replace(wine, table=dataclasses.replace(table, X=changed)),
        dataclasses.replace(wine, table=dataclasses.replace(table, y=table.y[::-1])),
        dataclasses.replace(wine, table=dataclasses.replace(table, X=sparse.csr_matrix(table.X))),
        *(
            dataclasses.replace(wine, table=dataclasses.replace(table, X=X))
            for X in (frame, frame.rename(columns={"a": "c"}), frame.assign(a=[None, "x"]))
        ),
    ]
    names = [fingerprint(setup) for setup in (wine, *others)]
    assert len(set(names)) == len(names)
    again = dataclasses.replace(wine, table=read_table("wine"))
    assert fingerprint(again) == names[0]


def test_constants_agree_with_the_maps():
    from bochner import PosteriorFourierFeatures

    assert PosteriorFourierFeatures().n_candidates == methods.N_CANDIDATES
