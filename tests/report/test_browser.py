"""The page in a real browser: Chromium without a window, driven by Playwright.

Each page is opened once and put back into its first state between tests.
"""

import itertools
import re
import shutil
import time

import pytest

pytest.importorskip("playwright", reason="browser tests need playwright")
pytest.importorskip("jinja2", reason="the page needs jinja2")

from playwright.sync_api import sync_playwright

from bochner.report import write_page
from tests.report import documents

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=f"no browser: none of {NAMES} is there")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DOCUMENTS = {
    "comparison": documents.comparison,
    "wide": documents.wide,
    "plane": lambda: documents.plane(n=30),
    "study": documents.study,
    "close": documents.close,
    "hostile": documents.hostile,
    "many": lambda: documents.comparison(ours=tuple(f"Method number {i}" for i in range(27))),
    "numbers": lambda: documents.plane(regression=True, n=30),
    "interrupted": lambda: (
        documents.comparison(
            ours=("MercerFeatures",), baselines=(), widths=(64,), seeds=1, exact=False
        )
        | {"interrupted": True, "recommendation": None}
    ),
}
WIDTH, TIME = "#width .scatterlayer .trace", "#time .scatterlayer .trace"
N_METHODS = len(documents.OURS + documents.BASELINES) + 1

# Relative luminance of a colour as getComputedStyle writes it, and contrast by WCAG 2.2.
CONTRAST = """
() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const found = channels(getComputedStyle(e).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const worst = [];
  const check = (element, colour) => {
    const pair = [light(channels(colour)), light(ground(element))].sort((a, b) => a - b);
    worst.push([(pair[1] + 0.05) / (pair[0] + 0.05), element.textContent.trim().slice(0, 40)]);
  };
  const texts = "h1, h2, h3, p, li, dt, dd, th, td, summary, code, .chip > span, .tag, " +
    ".theme span, figcaption, .plain:not(.save), thead button";
  for (const element of document.querySelectorAll(texts)) {
    if (element.textContent.trim() && element.checkVisibility()) {
      check(element, getComputedStyle(element).color);
    }
  }
  for (const element of document.querySelectorAll(".plot text")) {
    if (element.textContent.trim()) {
      check(element.closest(".plot"), getComputedStyle(element).fill);
    }
  }
  return worst.sort((a, b) => a[0] - b[0])[0].concat(worst.length);
}
"""


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def seen():
    """What the browser complained of, and what it asked for."""
    return {"complaints": [], "requests": []}


@pytest.fixture(scope="module")
def first_visit(browser, seen, tmp_path_factory):
    """Opens a page the first time; later it is the same one."""
    folder = tmp_path_factory.mktemp("pages")
    known = {}

    def first_visit(name, **options):
        if (name, *options) not in known:
            path = write_page(DOCUMENTS[name](), folder / f"{name}.html")
            context = browser.new_context(**options)
            page = context.new_page()
            page.on("console", lambda message: seen["complaints"].append(message.text))
            page.on("pageerror", lambda error: seen["complaints"].append(str(error)))
            page.on("request", lambda request: seen["requests"].append(request.url))
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
            known[name, *options] = page
        return known[name, *options]

    yield first_visit
    for page in known.values():
        page.context.close()


@pytest.fixture
def visit(first_visit, seen):
    """A page as if just opened; in the end there was no complaint, and nothing was fetched."""

    def visit(name, width=1280, scheme="light"):
        page = first_visit(name)
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.mouse.move(0, 0)
        # The page redraws a moment after its width changed.
        size = "document.querySelector('.plot')?.chart.width"
        room = "document.querySelector('.plot')?.clientWidth"
        until(page, f"{size} === {room}")
        return page

    yield visit
    assert seen["complaints"] == []
    own = re.compile(r"file:.*/(" + "|".join(DOCUMENTS) + r")\.html|data:.*|blob:.*", re.DOTALL)
    assert [url for url in seen["requests"] if not own.fullmatch(url)] == []


def until(page, expression):
    """Wait for something to be true. (The page's policy forbids Playwright's own way.)"""
    end = time.monotonic() + 20
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never true: {expression}"
        time.sleep(0.02)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_opens_without_complaint_or_request(visit, name):
    page = visit(name)
    drawn = page.locator(".plot .main-svg").count()
    assert drawn >= page.locator(".plot").count() > 0
    assert page.evaluate("window.attacked") is None
    assert page.title() == DOCUMENTS[name]()["title"]


def test_a_script_that_gets_in_is_not_run(visit, seen):
    page = visit("hostile")
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'attacked = 1';"
        "document.body.append(s); }"
    )
    assert page.evaluate("window.attacked") is None
    assert re.search("Content Security Policy", seen["complaints"].pop())


def test_charts_have_every_method(visit):
    page = visit("comparison")
    assert page.locator(WIDTH).count() == N_METHODS
    assert page.locator(TIME).count() == N_METHODS
    assert page.locator("#width .errorbar").count() == 3 * (N_METHODS - 1)
    ticks = page.locator("#width .xtick text").all_text_contents()
    assert ticks == ["32", "128", "512"]


def test_plane_is_drawn(visit):
    page = visit("plane")
    assert page.locator("[id^=decisions-] .hm image").count() == 8
    assert page.locator("#potential .hm image").count() == 1
    assert page.locator("#potential .scatterlayer .point").count() == 3
    assert page.locator(".patches img").count() == 24
    whole = "(all) => all.every((image) => image.complete && image.naturalWidth === 5)"
    assert page.eval_on_selector_all(".patches img", whole)


@pytest.mark.parametrize("width", [360, 1280])
def test_ticks_do_not_overlap(visit, width):
    page = visit("comparison", width=width)
    boxes = "(all) => all.map((e) => e.getBoundingClientRect()).map((r) => [r.left, r.right])"
    for chart in ("#width", "#time"):
        places = sorted(page.eval_on_selector_all(f"{chart} .xtick text", boxes))
        assert len(places) >= 2
        for (_, right), (left, _) in itertools.pairwise(places):
            assert right < left


def test_hovering_shows_the_values(visit):
    page = visit("comparison")
    box = page.locator("#time .scatterlayer .point").last.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    text = page.locator("#time .hovertext").text_content(timeout=5000)
    assert "width 512" in text
    assert re.search(r"accuracy \d\d\.\d\d ± \d\.\d\d%", text)
    assert "transform" in text


def test_switching_a_method_off_hides_it_everywhere(visit):
    page = visit("plane")
    chip = page.get_by_role("button", name=documents.OURS[1], exact=True)
    key = chip.get_attribute("data-key")
    visible = f"(all) => all.filter((e) => e.dataset.key === '{key}' && !e.hidden).length"
    rows = "tbody tr, figure"
    assert page.eval_on_selector_all(rows, visible) > 7  # in three tables, and a picture
    chip.focus()
    page.keyboard.press("Enter")  # by keyboard, as well as by pointer below
    assert chip.get_attribute("aria-pressed") == "false"
    assert page.locator(WIDTH).count() == page.locator(TIME).count() == N_METHODS - 1
    assert page.eval_on_selector_all(rows, visible) == 0
    assert page.locator("#decisions-1").is_hidden()
    chip.click()
    assert page.locator(WIDTH).count() == page.locator(TIME).count() == N_METHODS
    assert page.locator("#decisions-1").is_visible()
    page.get_by_role("button", name="None").click()
    assert page.locator(WIDTH).count() == page.locator(TIME).count() == 0
    page.get_by_role("button", name="All", exact=True).click()
    assert page.locator(WIDTH).count() == N_METHODS


def test_pointing_at_a_switch_brings_its_line_out(visit):
    page = visit("comparison")
    faint = "(all) => all.filter((e) => getComputedStyle(e).opacity < 0.5).length"
    page.locator(".chip").first.hover()
    assert page.eval_on_selector_all(WIDTH, faint) == N_METHODS - 1
    page.mouse.move(0, 0)
    assert page.eval_on_selector_all(WIDTH, faint) == 0


def test_switches_of_a_study_work_on_all_its_charts(visit):
    page = visit("study")
    chips = page.get_by_role("button", name="learned", exact=True)
    assert chips.count() == 2
    chips.first.click()
    assert [chip.get_attribute("aria-pressed") for chip in chips.all()] == ["false", "false"]
    assert page.locator("#part-2-chart .scatterlayer .trace").count() == 5
    assert page.locator("#part-3-chart .scatterlayer .trace").count() == 1
    chips.last.click()
    assert page.locator("#part-2-chart .scatterlayer .trace").count() == 6


def test_headings_sort(visit):
    page = visit("comparison")
    table = page.locator("table").first
    heading = table.locator("th", has_text="accuracy")

    def scores():
        column = table.locator("tbody tr > :nth-child(3)")
        return [float(text.split()[0]) for text in column.all_text_contents()]

    before = scores()
    heading.locator("button").click()
    assert scores() == sorted(before)
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").click()
    assert scores() == sorted(before, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"
    # What has no width is last in both orders.
    for _ in range(2):
        table.locator("th", has_text="width").locator("button").click()
        assert documents.EXACT in table.locator("tbody tr").last.text_content()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_narrow_window_does_not_scroll_sideways(visit, name):
    page = visit(name, width=360)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    widths = "(all) => Math.min(...all.map((e) => e.clientWidth))"
    assert page.eval_on_selector_all(".plot", widths) >= 250


def test_results_are_not_wider_than_their_frame(visit):
    page = visit("wide", width=1200)
    inside, whole = page.eval_on_selector(".scroll", "(e) => [e.clientWidth, e.scrollWidth]")
    assert whole <= inside


def test_values_close_together_have_ticks(visit):
    """Squared errors of house prices: large, and within a tenth of each other."""
    page = visit("close")
    inside = """(all) => {
      const frame = document.querySelector(".plot .nsewdrag").getBoundingClientRect();
      return all.map((e) => e.getBoundingClientRect())
        .filter((r) => r.bottom > frame.top && r.top < frame.bottom).length;
    }"""
    assert page.eval_on_selector_all(".plot .ytick text", inside) >= 2


def test_phone_shows_the_whole_width(first_visit):
    """A phone zooms out where a page is too wide; and a finger on a chart scrolls."""
    size = {"width": 360, "height": 740}
    page = first_visit("comparison", viewport=size, is_mobile=True, has_touch=True)
    assert page.evaluate("innerWidth") == 360
    assert page.evaluate("document.querySelector('#width').chart.closer") is False


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["plane", "study", "interrupted"])
def test_text_has_contrast(visit, name, scheme):
    page = visit(name, scheme=scheme)
    contrast, text, count = page.evaluate(CONTRAST)
    assert count > 40
    assert contrast >= 4.5, text


def test_theme_follows_the_system_until_told_otherwise(visit):
    page = visit("study", scheme="dark")
    colours = (
        "[getComputedStyle(document.body).backgroundColor,"
        " getComputedStyle(document.querySelector('.plot .js-line')).stroke].join(' ')"
    )
    dark = page.evaluate(colours)
    page.emulate_media(color_scheme="light")
    until(page, f"{colours} !== '{dark}'")
    page.get_by_label("Dark").check(force=True)
    until(page, f"{colours} === '{dark}'")
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
    assert page.get_by_label("Dark").is_checked()  # remembered
    assert page.evaluate(colours) == dark
    page.get_by_label("Auto").check(force=True)
    until(page, f"{colours} !== '{dark}'")


def test_everything_is_reached_by_keyboard(visit):
    page = visit("interrupted")
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.className || document.activeElement.localName")
        )
    assert {"skip", "input", "chip", "plain", "plain save", "scroll", "button"} <= reached


def test_prints_light_and_recovers(visit):
    page = visit("plane", scheme="dark")
    ink = "document.querySelector('#width').chart.ink"
    page.evaluate(f"() => addEventListener('beforeprint', () => {{ window.printed = {ink}; }})")
    before = page.evaluate(ink)
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate("window.printed") != before
    assert page.evaluate(ink) == before
    assert page.locator(WIDTH).count() == N_METHODS


def test_chart_is_saved_as_a_picture(visit):
    page = visit("comparison")
    page.locator("figure.chart").first.hover()
    with page.expect_download() as waiting:
        page.locator("[data-save=width]").click()
    assert waiting.value.suggested_filename == "width.svg"


def test_command_is_copied(visit):
    page = visit("comparison")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("[data-copy]").click()
    until(page, "document.querySelector('[data-copy]').textContent === 'Copied'")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == documents.comparison()["command"]


def test_zooming_brings_ticks_and_double_click_the_whole(visit):
    page = visit("comparison")
    page.locator("#time").scroll_into_view_if_needed()
    box = page.locator("#time .nsewdrag").bounding_box()
    x, y, w, h = box["x"], box["y"], box["width"], box["height"]
    page.mouse.move(x + 0.5 * w, y + 0.2 * h)
    page.mouse.down()
    page.mouse.move(x + 0.58 * w, y + 0.8 * h, steps=4)
    page.mouse.up()
    until(page, "document.querySelector('#time').chart.ticks === 'found'")
    assert page.locator("#time .xtick").count() >= 2
    page.mouse.dblclick(x + 0.5 * w, y + 0.5 * h)
    until(page, "document.querySelector('#time').chart.ticks === 'given'")
