"""The table "map x place" of the docs, made from what the tests run through.

``python -m tests.docs.place_table`` writes it anew.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.feature_map_case import PUBLIC_MAPS, FeatureMapCase
from tests.places import PLACES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- begin of the table of places -->", "<!-- end of the table of places -->"

# Columns of the table: their heads, and the places of the tests that they stand for.
COLUMNS = {
    "NumPy, any layout": ("numpy", "fortran", "strided"),
    "pandas": ("table",),
    "SciPy sparse": ("csr", "csr_array", "csc"),
    "PyTorch": ("torch",),
    "other array API": ("strict",),
    "dask": ("dask",),
    "dask, sparse blocks": ("dask_sparse",),
    "float32": ("float32",),
}
SAME, SOME, WORKS = "same", "some", "works"


def cases() -> list[type[FeatureMapCase]]:
    """All cases that pytest runs, of all test modules."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if "(FeatureMapCase)" in path.read_text():
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    found, waiting = [], [FeatureMapCase]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if hasattr(kind, "estimator") and getattr(kind, "__test__", True):
            found.append(kind)
    return found


def agreement(places: tuple[str, ...], of_map: list[type[FeatureMapCase]]) -> str:
    """Whether a fit in all of these places gives the map of a fit on NumPy rows."""
    same = [set(places) <= set(case.fit_agrees) for case in of_map]
    return SAME if all(same) else SOME if any(same) else WORKS


def gradients(name: str) -> str:
    """Whether PyTorch can follow a map: always, with some parameters, or never."""
    from tests.engine.test_gradients import MAPS, REFUSED

    can, cannot = ({type(each).__name__ for each in table.values()} for table in (MAPS, REFUSED))
    return "yes" if name not in cannot else SOME if name in can else "no"


def table() -> str:
    """The table in Markdown."""
    shown = {place for column in COLUMNS.values() for place in column}
    assert shown == {*PLACES, "table", "float32"}
    by_map: dict[str, list[type[FeatureMapCase]]] = {}
    for case in cases():
        by_map.setdefault(type(case.estimator).__name__, []).append(case)
    assert by_map.keys() == PUBLIC_MAPS - {"ConvolutionalKernelNetwork"}  # takes images
    head = ["map", *COLUMNS, "gradients"]
    rows = [
        [f"`{name}`", *(agreement(c, by_map[name]) for c in COLUMNS.values()), gradients(name)]
        for name in sorted(by_map)
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def written() -> str:
    """The table that is in the docs."""
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0].strip()


def main() -> None:
    """Put the table into the docs."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
