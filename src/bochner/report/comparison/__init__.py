"""The page of a comparison: a lead, then one section after the other."""

from bochner.report.comparison.view import comparison_view

__all__ = ["comparison_view"]
