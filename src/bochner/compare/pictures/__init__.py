"""Pictures of a comparison, as data: drawn from the fitted models, then put together."""

from __future__ import annotations

from typing import Any

from bochner.compare.pictures.patches import draw_patches
from bochner.compare.pictures.plane import draw_plane
from bochner.compare.plan import Setup
from bochner.records.cells import Cell


def draw_cell(setup: Setup, cell: Cell, model: Any, split: Any) -> dict[str, Any]:
    """Draw the fitted model of a cell; a picture that fails does not cost its result."""
    drawn: dict[str, Any] = {}
    for name, draw in (("plane", draw_plane), ("patches", draw_patches)):
        try:
            picture = draw(setup, cell, model, split)
        except Exception as error:
            picture = {"failed": f"{type(error).__name__}: {error}"}
        if picture:
            drawn[name] = picture
    return drawn
