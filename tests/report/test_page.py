"""The file: complete by itself, deaf to what strings try, and never half written."""

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("jinja2", reason="the page needs jinja2")

from bochner.report import render_page, write_page
from bochner.report.pixels import grey_picture
from tests.report import documents

VOID = {"meta", "link", "img", "input", "br", "wbr", "hr"}


class Reader(HTMLParser):
    """The tags, their attributes, and the text outside of scripts; checks that tags match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.scripts = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            self.scripts.append((self.tags[-1][1], text))
        elif self.open and self.open[-1] != "style":
            self.words.append(text)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


def test_comparison_says_everything_in_words():
    document = documents.plane(n=9)
    text = Reader(render_page(document)).text
    expected = [
        document["title"],
        document["recommendation"]["sentence"],
        document["recommendation"]["reason"],
        document["command"],
        documents.STATEMENT,
        "PAC-Bayes-kl",
        *document["left_out"],
        *document["data"]["notes"],
        *document["versions"].values(),
        "97.05 ± 0.31",
        "0.3912",
        "The 24 patches with the largest weight.",
        "2 cores, cpu",
        "48 s",
    ]
    for words in expected:
        assert words in text


def test_time_of_all_cells_stands_beside_that_of_the_last_run():
    """Started again, the program measures what is missing: a second, for an hour's results."""
    document = documents.comparison() | {"seconds": 1.5}
    document["cells"] = [cell | {"seconds": 60.0} for cell in document["cells"][:3]]
    text = " ".join(Reader(render_page(document)).text.split())
    assert "took, this time1.5 s" in text
    assert "all cells together3 min" in text


def test_study_says_everything_in_words():
    document = documents.study()
    text = Reader(render_page(document)).text
    for section in document["sections"]:
        assert section["heading"] in text
    for words in (document["paper"], *document["notes"], "97.1 ± 0.2", "Ours: means over three"):
        assert words in text


@pytest.mark.parametrize(
    "change",
    [
        {"recommendation": None},
        {"summaries": [], "cells": []},
        {"interrupted": True},
        {"left_out": [], "pictures": {}, "versions": {}, "machine": {}},
        {"seconds": None, "created": None, "command": ""},
        {"seconds": math.nan},
    ],
    ids=lambda change: "-".join(change),
)
def test_what_is_missing_is_left_out(change):
    reader = Reader(render_page(documents.comparison() | change))
    assert ("Interrupted." in reader.text) == bool(change.get("interrupted"))


@pytest.mark.parametrize(
    "options",
    [
        {"seeds": 1},
        {"widths": (64,)},
        {"ours": ("MercerFeatures",), "baselines": (), "exact": False},
        {"ours": tuple(f"method {i}" for i in range(30))},
        {"regression": True},
    ],
    ids=["one seed", "one width", "one method", "thirty methods", "regression"],
)
def test_shapes_of_a_comparison(options):
    document = documents.comparison(**options)
    reader = Reader(render_page(document))
    rows = [tag for tag, attributes in reader.tags if tag == "tr" and "data-key" in attributes]
    promises = [s[p] for s in document["summaries"] for p in ("guarantee", "certificate") if s[p]]
    assert len(rows) == len(document["summaries"] + document["cells"] + promises)
    assert ("± is one standard error" in reader.text) == (options.get("seeds") != 1)


def test_no_guarantee_is_said_plainly():
    document = documents.comparison()
    for summary in document["summaries"]:
        summary["guarantee"] = summary["certificate"] = None
    assert "no method of this comparison came with a bound" in Reader(render_page(document)).text


def test_the_reason_for_no_guarantee_is_said_once():
    document = documents.comparison()
    methods = list(dict.fromkeys(summary["method"] for summary in document["summaries"]))
    for summary in document["summaries"]:
        summary["no_guarantee"] = "numbers are scaled by the rows"
    text = Reader(render_page(document)).text
    assert "Not guaranteed of the kernel" in text
    assert f"{', '.join(methods)}: numbers are scaled by the rows." in text
    assert text.count("numbers are scaled") == 1


def test_strings_stay_strings():
    text = render_page(documents.hostile())
    reader = Reader(text)
    images = [attributes for tag, attributes in reader.tags if tag == "img"]
    assert images
    assert all(image["src"].startswith("data:image/png") for image in images)
    assert not [a for _, attributes in reader.tags for a in attributes if a.startswith("on")]
    assert [attributes for tag, attributes in reader.tags if tag == "script"] == [
        {},
        {"type": "application/json", "id": "figures"},
        {},
    ]
    assert documents.ATTACK in reader.text
    figures = json.loads(next(t for a, t in reader.scripts if a.get("id") == "figures"))
    for figure in figures.values():
        words = json.dumps(figure)
        assert "<script" not in words
        assert "<img" not in words


def test_policy_names_the_scripts_of_the_page():
    reader = Reader(render_page(documents.comparison()))
    policy = next(
        a["content"] for tag, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    allowed = re.search(r"script-src ([^;]*);", policy).group(1)
    for attributes, script in reader.scripts:
        if not attributes:
            known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            assert f"'sha256-{known}'" in allowed
    assert "unsafe-inline" not in allowed


def test_nothing_is_fetched():
    for document in (documents.plane(n=9), documents.study()):
        for tag, attributes in Reader(render_page(document)).tags:
            for name in ("src", "href", "action", "srcset"):
                assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)


def test_the_page_is_small_enough_to_mail_and_its_scripts_cannot_end_their_tags():
    page = render_page(documents.plane())
    assert len(page.encode()) < 1_000_000
    scripts = [text for attributes, text in Reader(page).scripts if not attributes]
    assert [("Charts =" in text, "Charts.draw" in text) for text in scripts] == [
        (False, True),
        (True, False),
    ]
    assert all("</script" not in text and "<!--" not in text for text in scripts)


def test_every_label_points_at_something():
    for document in (documents.plane(n=9), documents.study()):
        tags = Reader(render_page(document)).tags
        names = [attributes["id"] for _, attributes in tags if "id" in attributes]
        assert len(names) == len(set(names))
        for _, attributes in tags:
            assert attributes.get("aria-labelledby", names[0]) in names
            assert attributes.get("href", "#" + names[0])[1:] in {*names, "ata:,"}


def test_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "page.html"
    assert write_page(documents.comparison(), str(path)) == path
    before = path.read_bytes()
    with pytest.raises(ValueError, match="image of section"):
        write_page(
            documents.study() | {"sections": [{"heading": "x", "image": "https://x/y.png"}]}, path
        )
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "poem"}, r"kind must be one of \['comparison', 'study'\], got 'poem'"),
        ({"version": 2}, "version must be 1, .* got 2"),
    ],
)
def test_foreign_documents_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        render_page(documents.comparison() | change)


def test_grey_picture_is_a_picture():
    image_module = pytest.importorskip("PIL.Image", reason="reads the picture back")
    import io

    grey = np.array([[0, 0.25, 1.0], [2.0, -1.0, np.nan]])
    file = base64.b64decode(grey_picture(grey).partition(",")[2])
    read = np.asarray(image_module.open(io.BytesIO(file)))
    np.testing.assert_array_equal(read, [[0, 64, 255], [255, 0, 0]])
    with pytest.raises(ValueError, match=r"image must have shape \(height, width\)"):
        grey_picture([1, 2])
