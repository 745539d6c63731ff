"""The curves hold the numbers of the document."""

import math

from bochner.report.comparison import comparison_view
from bochner.report.comparison.document import Comparison
from bochner.report.comparison.results import results_section
from bochner.report.numbers import MISSING
from tests.report import documents


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
            # side by side, but nearer to their own width than to any other
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


def test_one_look_per_method_in_all_charts():
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
    table = results_section(Comparison(document)).table
    assert [row.entries[2].text for row in table.rows[:2]] == [MISSING, MISSING]


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
