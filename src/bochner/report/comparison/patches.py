"""The patches that a method learned from images, as small pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bochner.report.comparison.document import Comparison
from bochner.report.pixels import grey_picture
from bochner.report.section import Section


@dataclass(frozen=True)
class Patches:
    """The patches of one method, as addresses of pictures."""

    method: str
    key: str
    caption: str
    pictures: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PatchesSection(Section):
    """The patches of all methods."""

    template: ClassVar[str] = "patches.html"
    methods: tuple[Patches, ...]


def patches_section(comparison: Comparison) -> PatchesSection | None:
    methods = tuple(
        Patches(
            str(entry["method"]),
            comparison.key(entry),
            str(entry.get("caption") or ""),
            tuple(grey_picture(image) for image in entry.get("images") or ()),
        )
        for entry in comparison.pictures.get("patches") or ()
    )
    heading = "What was learned of the images"
    return PatchesSection(name="patches", heading=heading, methods=methods) if methods else None
