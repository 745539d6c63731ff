"""How the pages are built: ``make docs``, or ``sphinx-build -W docs docs/_build/html``.

Nothing is fetched from the network, so that the build works and says the same everywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

import bochner

sys.path.insert(0, str(Path(__file__).parent))  # the gallery finds the scraper by its name

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

# Markdown: the headings of a page can be linked to as on GitHub.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

# Docstrings: one page for each public name, methods with their class.
autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "autolink"  # `name` in a docstring is a parameter, or a link where one exists


def figures_without_pyplot(block: Any, block_vars: dict[str, Any], gallery_conf: Any) -> str:
    """Pictures for the gallery: figures that a block has made with :mod:`bochner.plots`.

    These never go through pyplot, where the gallery's own scraper looks.
    """
    seen: set[int] = block_vars.setdefault("seen_figures", set())
    seen = gallery_conf.setdefault("seen_figures", seen)
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, Figure) and value.number_is_ours and id(value) not in seen:
            seen.add(id(value))
    return figure_rst(paths, gallery_conf["src_dir"])
