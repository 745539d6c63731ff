import math

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from bochner.plots.curves import curves_figure
from bochner.records.sections import Chart, Series


def test_curves_and_their_looks():
    ours = Series("ours", (1, 10), (5.0, 2.0), (0.5, math.nan))
    theirs = Series("paper", (1, 10), (6.0, 3.0), published=True, subject="ours")
    figure = curves_figure(Chart("columns", "error", (ours, theirs), log_y=True), "title")
    (axis,) = figure.axes
    assert (axis.get_xscale(), axis.get_yscale()) == ("linear", "log")
    assert (axis.get_xlabel(), axis.get_ylabel(), axis.get_title()) == (
        "columns",
        "error",
        "title",
    )
    lines = [container.lines[0] for container in axis.containers]
    assert [line.get_linestyle() for line in lines] == ["-", "--"]
    assert len({line.get_color() for line in lines}) == 1  # of one subject
    np.testing.assert_array_equal(lines[1].get_ydata(), [6.0, 3.0])
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["ours", "paper"]


def test_more_curves_than_colours():
    series = tuple(Series(str(k), (1,), (float(k),)) for k in range(12))
    containers = curves_figure(Chart("x", "y", series)).axes[0].containers
    assert len(containers) == 12
    assert len({container.lines[0].get_color() for container in containers}) == 7
