"""Pictures for the gallery that matplotlib's pyplot knows nothing of."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def figures_without_pyplot(block: Any, block_vars: dict[str, Any], gallery_conf: Any) -> str:
    """The figures that a block has made with :mod:`bochner.plots`.

    These are made without pyplot, which is where the gallery's own scraper looks. That one closes
    what it finds, after which a figure looks like ours: so this one must come first.
    """
    paths = []
    for value in block_vars["example_globals"].values():
        if isinstance(value, Figure) and not getattr(value, "in_gallery", False):
            value.in_gallery = True
            if value.canvas.manager is None:  # not pyplot's
                paths.append(next(block_vars["image_path_iterator"]))
                value.savefig(paths[-1])
    return figure_rst(paths, gallery_conf["src_dir"])
