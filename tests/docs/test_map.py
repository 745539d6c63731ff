"""`docs/architecture.md` is a true map: it names the files that there are, and no others."""

import re
from pathlib import Path

import bochner

SOURCE = Path(bochner.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_the_map_names_every_file():
    text = PAGE.read_text()
    named = set(re.findall(r"^\| `([\w/]+\.py)` \|", text, flags=re.MULTILINE))
    files = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")}
    markers = {name for name in files - named if name.endswith("__init__.py")}
    assert named == files - markers


def test_what_the_map_points_to_exists():
    for name in re.findall(r"`((?:\w+/)+\w+\.py)`", PAGE.read_text()):
        root = SOURCE if not name.startswith("tests/") else PAGE.parents[1]
        assert (root / name).exists(), name
