"""The charts hold the numbers of the document, and plotly knows every word of them."""

import copy
import math

import pytest

pytest.importorskip("plotly", reason="the page needs plotly")

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


def chart(document, name):
    return next(f for f in comparison_view(document).all_figures if f.name == name).spec


def test_width_chart_has_every_score_at_its_width():
    document = documents.comparison()
    by_name = {trace["name"]: trace for trace in chart(document, "width")["data"]}
    for method in documents.OURS + documents.BASELINES:
        rows = [s for s in document["summaries"] if s["method"] == method]
        trace = by_name[method]
        assert trace["y"] == [s["score"] for s in rows]
        assert trace["error_y"]["array"] == [s["standard_error"] for s in rows]
        for x, row in zip(trace["x"], rows, strict=True):
            # beside each other, but nearer to their own width than to any other
            assert abs(math.log(x / row["width"])) < 0.12 * math.log(4)
            text = trace["text"][rows.index(row)]
            assert f"width {row['width']}<br>" in text
            assert f"{row['score']:.2f} ± {row['standard_error']:.2f}%" in text
    level = by_name[documents.EXACT]
    assert set(level["y"]) == {document["summaries"][-1]["score"]}
    assert min(level["x"]) < 32
    assert max(level["x"]) > 512


def test_time_chart_has_fit_and_transform_together():
    document = documents.comparison()
    for trace in chart(document, "time")["data"]:
        rows = [s for s in document["summaries"] if s["method"] == trace["name"]]
        assert trace["x"] == [s["fit"] + s["transform"] for s in rows]
        assert trace["y"] == [s["score"] for s in rows]
        assert trace["marker"]["size"] == sorted(trace["marker"]["size"])


def test_one_look_a_method_in_all_charts():
    document = documents.comparison()
    looks = {}
    for name in ("width", "time"):
        for trace in chart(document, name)["data"]:
            look = trace["meta"]["key"], trace["line"]["color"], trace["marker"]["symbol"]
            assert looks.setdefault(trace["name"], look) == look
    assert len(set(looks.values())) == len(looks)
    quiet = {name for name, (_, colour, _) in looks.items() if colour == "@quiet"}
    assert quiet == {*documents.BASELINES, documents.EXACT}


def test_missing_numbers_leave_gaps():
    document = documents.comparison()
    first, second, third = document["summaries"][:3]
    first["score"], second["score"] = math.nan, None
    third["fit"] = None
    name = first["method"]
    width = next(t for t in chart(document, "width")["data"] if t["name"] == name)
    assert width["y"] == [None, None, third["score"]]
    time = next(t for t in chart(document, "time")["data"] if t["name"] == name)
    assert time["y"] == [None, None]
    view = comparison_view(document)
    assert [row.entries[2].text for row in view.table.rows[:2]] == ["–", "–"]  # noqa: RUF001


def test_one_seed_has_no_error_bars():
    document = documents.comparison(seeds=1)
    assert all("error_y" not in trace for trace in chart(document, "width")["data"])


def test_one_width_spreads_the_methods():
    traces = chart(documents.comparison(widths=(64,)), "width")["data"]
    xs = [trace["x"][0] for trace in traces if trace["name"] != documents.EXACT]
    assert len(xs) == len(traces) - 1
    alone = documents.comparison(ours=("one",), baselines=(), widths=(64,), exact=False)
    assert chart(alone, "width")["data"][0]["x"] == [64]
    assert len(set(xs)) == len(xs)
    assert all(64 / 1.5 < x < 64 * 1.5 for x in xs)


def test_without_a_width_there_is_no_width_chart():
    document = documents.comparison()
    document["summaries"] = document["summaries"][-1:]
    names = [figure.name for figure in comparison_view(document).all_figures]
    assert names == ["time"]


def test_decisions_have_a_colour_a_class_and_every_row():
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
