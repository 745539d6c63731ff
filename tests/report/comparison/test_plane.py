"""Maps of the plane hold every value and every row."""

import pytest

from bochner.report.comparison import comparison_view
from tests.report import documents


def chart(document, name):
    return next(f for f in comparison_view(document).all_figures if f.name == name).spec


def test_decisions_have_a_colour_per_class_and_every_row():
    plane = documents.plane(n=9)
    spec = chart(plane, "decisions-0")
    surface, *points = spec["data"]
    assert surface["z"] == plane["pictures"]["plane"]["decisions"][0]["values"]
    assert len({colour for _, colour in surface["colorscale"]}) == len(points) == 2
    assert sum(len(trace["x"]) for trace in points) == 250
    labels = plane["pictures"]["plane"]["points"]["label"]
    assert len(points[0]["x"]) == labels.count("left")


def test_numbers_share_one_scale_over_all_methods():
    plane = documents.plane(regression=True, n=9)
    figures = [f for f in comparison_view(plane).all_figures if f.name.startswith("decisions")]
    limits = {(f.spec["data"][0]["zmin"], f.spec["data"][0]["zmax"]) for f in figures}
    values = [
        v for d in plane["pictures"]["plane"]["decisions"] for row in d["values"] for v in row
    ]
    assert limits == {(min(values), max(values))}


def test_potential_marks_what_was_chosen():
    plane = documents.plane(n=9)
    surface, chosen = chart(plane, "potential")["data"]
    assert chosen["x"] == plane["pictures"]["plane"]["potential"]["chosen"]["x"]
    expected = plane["pictures"]["plane"]["potential"]["values"]
    assert surface["z"][4] == pytest.approx(expected[4], rel=1e-3)
