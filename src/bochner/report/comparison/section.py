"""What a section of the page is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bochner.report.charts import Figure


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading and charts; a subclass adds what its own template shows.

    Attributes
    ----------
    template : str
        In the folder of templates; the section is `part` in it.
    name : str
        Unique on the page: letters, digits and hyphens.
    heading : str
    figures : tuple of Figure
        All charts of the section, which the page's script draws.
    """

    template: ClassVar[str] = "section.html"
    name: str
    heading: str
    figures: tuple[Figure, ...] = ()
