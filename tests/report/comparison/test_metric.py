"""What a metric learned, on the page."""

from bochner.report.comparison.document import Comparison
from bochner.report.comparison.metric import metric_section
from bochner.report.page import render_page
from tests.report import documents

METRIC = {
    "mode": "full",
    "columns": 30,
    "importances": [["size <b>", 0.75], ["age", 0.125]],
    "directions": [[["size <b>", 0.9], ["age", -0.4]]],
}


def with_metric(**changes):
    return documents.comparison() | {"metric": METRIC | changes}


def test_no_metric_no_section():
    assert metric_section(Comparison(documents.comparison())) is None


def test_bars_and_directions():
    section = metric_section(Comparison(with_metric()))
    (figure,) = section.figures
    (bars,) = figure.spec["data"]
    assert bars["x"] == [0.75, 0.125]
    assert "<" not in figure.spec["layout"]["yaxis"]["ticktext"][0]
    assert figure.note == "The 2 largest of 30."
    assert section.directions == ("0.9 size <b> - 0.4 age …",)
    assert section.mode.startswith("It turns")


def test_the_page_says_where_none_helps():
    assert "None was better" in metric_section(Comparison(with_metric(mode=None))).mode
    page = render_page(with_metric())
    assert "0.9 size &lt;b&gt; - 0.4 age" in page
    assert "size <b>" not in page.partition("<script")[0]
