"""The looks of the lines of a chart: colour, mark and dashes, in both themes.

The colours differ by more than ten units of CIELAB to the eyes of the colour-blind too (a test
computes it), and neighbours in the list differ in their marks as well: with eight colours and
seven marks, 56 series pass before a pair repeats.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# Custom properties of the style sheet, light and dark. A chart names them with an @: "@series-0".
_COLOURS = {
    "paper": ("#fdfdfc", "#14171c"),
    "card": ("#ffffff", "#1b1f26"),
    "ink": ("#1d2127", "#e7e9ed"),
    "soft": ("#565d68", "#a7aeba"),
    "line": ("#dcdfe4", "#373d48"),
    "grid": ("#eceef1", "#282d36"),
    "accent": ("#1f4fb8", "#8fb4ff"),
    "tint": ("#eef3fc", "#1c2638"),
    "warning": ("#7a4300", "#f2c078"),
    "warning-tint": ("#fdf3e3", "#31271a"),
    "quiet": ("#7b828d", "#8b939f"),
    "heat-0": ("#f7f9fc", "#171b22"),
    "heat-1": ("#7fa3d6", "#3f6fb5"),
    "heat-2": ("#17305f", "#e3edff"),
    "mark": ("#c2410c", "#ff9d5c"),
    "series-0": ("#2a48d0", "#6a93e0"),
    "series-1": ("#cf6f0e", "#dd8434"),
    "series-2": ("#0b7a5c", "#4fdc8c"),
    "series-3": ("#8a50a5", "#f3b2bb"),
    "series-4": ("#7f4b05", "#d8da55"),
    "series-5": ("#1e90f0", "#afcbfa"),
    "series-6": ("#84102c", "#e8506a"),
    "series-7": ("#343850", "#9b6fff"),
}
LIGHT = {name: light for name, (light, _) in _COLOURS.items()}
DARK = {name: dark for name, (_, dark) in _COLOURS.items()}
N_COLOURS = 8

# Names of the marks, and their shapes as SVG paths, for charts and the switches beside them.
MARKS = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "square": "M-3.5 -3.5h7v7h-7z",
    "triangle-up": "M0 -4.5L4.3 3.2H-4.3z",
    "diamond": "M0 -5L4.6 0L0 5L-4.6 0z",
    "star": "M0 -5L1.3 -1.6L4.8 -1.5L2 .7L3 4L0 2.1L-3 4L-2 .7L-4.8 -1.5L-1.3 -1.6z",
    "cross": "M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "triangle-down": "M0 4.5L4.3 -3.2H-4.3z",
}
_NAMES = tuple(MARKS)
# Names of the dashes, and the same as SVG dash arrays.
DASHES = {"solid": "none", "dash": "6 4", "dot": "2 3", "dashdot": "7 3 2 3", "longdash": "10 4"}
_QUIET = ("dash", "dot", "dashdot", "longdash")


@dataclass(frozen=True)
class Series:
    """One method, or one line of a study, and how it looks."""

    key: str  # the name that the page's script knows it by
    name: str  # as the user wrote it, not escaped
    colour: str  # a custom property of the style sheet, without the dashes in front
    mark: str  # a key of `MARKS`
    dash: str = "solid"  # a key of `DASHES`
    quiet: bool = False  # not ours but a baseline or a published result: has open marks

    @property
    def symbol(self) -> str:
        """The mark's full name: open for what is not ours."""
        return f"{self.mark}-open" if self.quiet else self.mark

    @property
    def mark_path(self) -> str:
        return MARKS[self.mark]

    @property
    def dash_array(self) -> str:
        return DASHES[self.dash]


def method_series(methods: Iterable[tuple[str, bool]]) -> dict[str, Series]:
    """Return a look for each method, ours first; pairs are a name and whether it is a baseline."""
    baseline: dict[str, bool] = {}
    for name, quiet in methods:
        baseline.setdefault(name, quiet)
    ours = [name for name, quiet in baseline.items() if not quiet]
    others = [name for name, quiet in baseline.items() if quiet]
    looks = {name: numbered(i, f"m{i}", name) for i, name in enumerate(ours)}
    for i, name in enumerate(others):
        mark, dash = _NAMES[i % len(_NAMES)], _QUIET[i % len(_QUIET)]
        looks[name] = Series(f"m{len(ours) + i}", name, "quiet", mark, dash, quiet=True)
    return looks


def numbered(index: int, key: str, name: str, *, published: bool = False) -> Series:
    """Return the look of the series of this number; a published one is dashed with open marks."""
    colour, mark = f"series-{index % N_COLOURS}", _NAMES[index % len(_NAMES)]
    return Series(key, name, colour, mark, "dash" if published else "solid", quiet=published)
