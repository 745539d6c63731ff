"""How the pages are built: ``make docs``.

Nothing is fetched from the network, so that the build says the same everywhere.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import bochner

sys.path.insert(0, str(Path(__file__).parent))  # gallery.py, mathml.py

project = "bochner"
author = "The bochner developers"
copyright = author
version = release = bochner.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
exclude_patterns = ["_build", "auto_examples/**/*.ipynb", "auto_examples/**/*.py"]
templates_path = ["_templates"]

# Markdown: headings can be linked to as on GitHub.
myst_heading_anchors = 3

# Docstrings: a page for each public name, methods with their class.
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
default_role = "literal"  # `name` in a docstring is a parameter

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "image_scrapers": ("gallery.figures_without_pyplot", "matplotlib"),
    "only_warn_on_example_error": False,
    "show_memory": False,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,  # that page would load scripts from the network
}

html_theme = "pydata_sphinx_theme"
html_title = "bochner"
html_math_renderer = "mathml"
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
# The site has a folder for each version and a list of them (versions.py); a local build does not.
if switcher := os.environ.get("BOCHNER_DOCS_SWITCHER"):
    match = "dev" if "dev" in version else version
    html_theme_options |= {
        "switcher": {"json_url": switcher, "version_match": match},
        "check_switcher": False,  # nothing is fetched while building
        "show_version_warning_banner": True,
        "navbar_end": ["version-switcher", "theme-switcher"],
    }
html_sidebars = {name: [] for name in ("index", "start", "program", "extending", "architecture")}
html_copy_source = False
html_show_sphinx = False


def join_lines(app: Any, what: str, name: str, obj: Any, options: Any, lines: Any) -> None:
    """Join lines that end in a backslash, which raw docstrings keep: types that are too long."""
    lines[:] = re.sub(r" \\\n +", " ", "\n".join(lines)).split("\n")


def quote_attributes(app: Any, what: str, name: str, obj: Any, options: Any, lines: Any) -> None:
    """Quote names such as ``n_features_in_`` in shapes, where they would be read as links."""
    for index, line in enumerate(lines):
        head, colon, kind = line.partition(" : ")
        if colon:
            lines[index] = head + colon + re.sub(r"(?<![`\w])(\w+_)(?![`\w])", r"``\1``", kind)
        else:
            lines[index] = re.sub(r"(?<=[(, ])(n_features_in_)(?=[,)])", r"``\1``", line)


def link_pages(app: Any, name: str, source: list[str]) -> None:
    """Links to files outside of `docs`, right on GitHub, lead to the pages made of them."""
    source[0] = re.sub(
        r"\]\(\.\./(CHANGELOG|SECURITY)\.md\)", lambda m: f"]({m[1].lower()}.md)", source[0]
    )
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](auto_examples/\1.rst)", source[0])


def setup(app: Any) -> None:
    # Before numpydoc, at 500.
    app.connect("autodoc-process-docstring", join_lines, priority=300)
    app.connect("autodoc-process-docstring", quote_attributes, priority=400)
    app.connect("source-read", link_pages)
