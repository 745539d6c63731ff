"""How the pages are built: ``make docs``.

Nothing is fetched from the network, so that the build says the same everywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bochner

sys.path.insert(0, str(Path(__file__).parent))  # gallery.py

project = "bochner"
author = "The bochner developers"
copyright = author
version = release = bochner.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
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
    "image_scrapers": ("matplotlib", "gallery.figures_without_pyplot"),
    "only_warn_on_example_error": False,
    "show_memory": False,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1,
}

html_theme = "pydata_sphinx_theme"
html_title = "bochner"
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
html_sidebars = {"index": [], "start": [], "program": [], "extending": [], "errata": []}
html_copy_source = False
html_show_sphinx = False
