"""The page: results as one HTML file that needs no network (``pip install bochner[cli]``)."""

from bochner.report.page import render_page, write_page

__all__ = ["render_page", "write_page"]
