"""A new chart or section of the page is its function and one entry."""

import json

import pytest

pytest.importorskip("jinja2", reason="the page needs jinja2")

from bochner.report import render_page
from bochner.report.charts import Figure, layout, line
from bochner.report.comparison import comparison_view, curves, view
from bochner.report.numbers import number
from bochner.report.section import Section
from tests.report import documents


def seeds_figure(comparison):
    """A chart that nobody has asked for yet."""
    traces = [
        line(
            comparison.looks[str(s["method"])],
            [number(s.get("seeds"))],
            [number(s["score"])],
            [""],
        )
        for s in comparison.summaries
    ]
    spec = {"data": traces, "layout": layout("seeds", comparison.measure.label)}
    return Figure("seeds", "Scores by seeds", "Chart of scores by seeds.", spec)


def shown(text):
    start = text.index('id="figures">') + len('id="figures">')
    return json.loads(text[start : text.index("</script>", start)])


def test_a_new_chart_is_one_entry(monkeypatch):
    monkeypatch.setattr(curves, "CHARTS", [*curves.CHARTS, seeds_figure])
    text = render_page(documents.comparison())
    assert ">Scores by seeds</h3>" in text
    assert 'id="seeds"' in text
    assert list(shown(text)) == ["width", "time", "seeds"]


def test_a_new_section_is_one_entry(monkeypatch):
    def seeds_section(comparison):
        if not comparison.summaries:
            return None
        return Section(name="more", heading="Seeds & more", figures=(seeds_figure(comparison),))

    monkeypatch.setattr(view, "SECTIONS", [seeds_section, *view.SECTIONS])
    text = render_page(documents.comparison())
    assert '<h2 id="more-heading">Seeds &amp; more</h2>' in text
    assert text.index("more-heading") < text.index("table-heading")
    assert "seeds" in shown(text)
    assert "more-heading" not in render_page(documents.comparison() | {"summaries": []})


def test_names_of_sections_and_figures_are_unique():
    made = comparison_view(documents.plane(n=9))
    for names in ([s.name for s in made.sections], [f.name for f in made.all_figures]):
        assert len(set(names)) == len(names)
    assert len(made.sections) == len(view.SECTIONS)
