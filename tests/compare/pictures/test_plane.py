"""What every method decides where, in the plane."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from bochner.compare.measure import Measurer
from bochner.compare.pictures.plane import RESOLUTION, plane
from tests.compare.cells import cell


def test_plane(two):
    measurer = Measurer(two)
    cells = [cell(method, width) for method in ("MarginFourierFeatures",) for width in (4, 24)]
    results = [measurer(each) for each in [*cells, cell("Nystroem", 24)]]
    picture = plane(two, results)
    assert [d["method"] for d in picture["decisions"]] == ["MarginFourierFeatures", "Nystroem"]
    for decision in picture["decisions"]:
        values = np.array(decision["values"])
        assert values.shape == (RESOLUTION, RESOLUTION)
        assert decision["classes"] == ["inside", "outside"]
        grid = np.meshgrid(picture["x"], picture["y"])
        assert np.mean((np.hypot(*grid) > 0.55) == (values == 1)) > 0.8
    potential = picture["potential"]
    values = np.array(potential["values"])
    assert values.shape == (len(potential["frequency_y"]), len(potential["frequency_x"]))
    assert 0 <= values.min() <= values.max() <= 1
    assert values == pytest.approx(values[::-1, ::-1], abs=1e-6)  # v(-w) = v(w)
    assert len(potential["chosen"]["x"]) in (2, 12)


def test_plane_of_a_table(two):
    frame = pd.DataFrame(two.table.X, columns=["east", "north"])
    setup = dataclasses.replace(two, table=dataclasses.replace(two.table, X=frame))
    picture = plane(setup, [Measurer(setup)(cell("FourierFeatures", 8))])
    assert picture["names"] == ["east", "north"]
    frame = frame.assign(north="a")
    setup = dataclasses.replace(two, table=dataclasses.replace(two.table, X=frame))
    assert plane(setup, []) is None
