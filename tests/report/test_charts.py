"""plotly knows every word of the charts, and axes show what they can."""

import copy

import pytest

pytest.importorskip("plotly", reason="its words are what charts are written in")

import plotly.graph_objects as go

from bochner.report.comparison import comparison_view
from bochner.report.numbers import number
from bochner.report.series import LIGHT
from bochner.report.study import study_view
from tests.report import documents

DOCUMENTS = {
    "comparison": documents.comparison(),
    "plane": documents.plane(n=9),
    "plane of numbers": documents.plane(regression=True, n=9),
    "study": documents.study(),
    "hostile": documents.hostile(),
}


def view_of(document):
    return (comparison_view if document["kind"] == "comparison" else study_view)(document)


def coloured(value):
    """What the page's script does."""
    if isinstance(value, dict):
        return {key: coloured(v) for key, v in value.items()}
    if isinstance(value, list):
        return [coloured(v) for v in value]
    return LIGHT[value[1:]] if isinstance(value, str) and value.startswith("@") else value


@pytest.mark.parametrize("name", DOCUMENTS)
def test_plotly_accepts_every_figure(name):
    figures = view_of(DOCUMENTS[name]).all_figures
    assert figures
    assert len({figure.name for figure in figures}) == len(figures)
    for figure in figures:
        spec = coloured(copy.deepcopy(figure.spec))
        go.Figure(data=spec["data"], layout=spec["layout"])  # raises for what it does not know
        assert figure.label


def test_published_series_are_dashed_in_the_colour_of_ours():
    figure = study_view(documents.study()).all_figures[0]
    traces = {trace["name"]: trace for trace in figure.spec["data"]}
    for name in ("RFF", "ORF", "learned"):
        ours, theirs = traces[name], traces[f"{name} (published)"]
        assert ours["line"]["color"] == theirs["line"]["color"]
        assert (ours["line"]["dash"], theirs["line"]["dash"]) == ("solid", "dash")
        assert ours["meta"]["key"] != theirs["meta"]["key"]


def test_logarithmic_axes_drop_what_they_cannot_show():
    document = documents.study()
    chart = document["sections"][2]["chart"]
    chart["series"][0]["y"][:3] = [0.0, -1.0, None]
    figure = study_view(document).all_figures[1]
    trace = next(t for t in figure.spec["data"] if t["name"] == "RFF")
    assert trace["y"][:3] == [None, None, None]
    assert figure.spec["layout"]["yaxis"]["type"] == "log"
    assert all(number(v) for v in figure.spec["layout"]["yaxis"]["tickvals"])
