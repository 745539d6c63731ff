"""The registry of table formats: a new format is one file here and one entry in `FORMATS`."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from bochner.data.errors import EmptyFileError, TableError
from bochner.data.formats.base import PACKED, TableFormat, read_head
from bochner.data.formats.delimited import DelimitedText
from bochner.data.formats.npz import Npz
from bochner.data.formats.parquet import Parquet
from bochner.data.formats.svmlight import Svmlight

__all__ = [
    "FORMATS",
    "describe_formats",
    "find_format",
    "has_format",
    "name_without_suffixes",
    "result_name",
    "written_format",
]

FORMATS: dict[str, TableFormat] = {
    entry.name: entry for entry in (DelimitedText(), Parquet(), Svmlight(), Npz())
}


def find_format(path: Path) -> TableFormat:
    """Find the format of a file by its suffix, or by its beginning if that is ambiguous.

    Parameters
    ----------
    path : Path
        A file. A suffix ``.gz`` of its name is ignored.

    Returns
    -------
    TableFormat
        The format, an entry of the registry.

    Raises
    ------
    TableError
        If this is not a file, or its format is not in the registry; the message is one line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bochner.data.formats import find_format
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.txt"
    ...     _ = path.write_text("+1 1:0.5 7:2")
    ...     find_format(path).name
    'svmlight'
    """
    if not path.is_file():
        raise TableError(f"{path} is not a file; what can be read is {describe_formats()}.")
    if path.stat().st_size == 0:
        raise EmptyFileError(f"the file {path} is empty.")
    suffix = _unpacked(path).suffix.lower()
    by_suffix = [entry for entry in FORMATS.values() if suffix in entry.suffixes]
    if len(by_suffix) == 1:
        return by_suffix[0]
    head, whole = read_head(path)
    if not whole:  # the last line is cut off
        head = head[: head.rfind(b"\n") + 1] or head
    # The first entry, text with separators, accepts any text: it is asked last.
    for entry in reversed(FORMATS.values()):
        if entry.recognises(head):
            return entry
    raise TableError(
        f"the format of the file {path} is unknown; what can be read is {describe_formats()}."
    )


def has_format(path: Path) -> bool:
    """Whether the name of a file has the suffix of a known format.

    >>> has_format(Path("rows.csv.gz")), has_format(Path("LICENSE"))
    (True, False)
    """
    suffix = _unpacked(path).suffix.lower()
    return any(suffix in entry.suffixes for entry in FORMATS.values())


def written_format(path: Path) -> TableFormat:
    """Return the format for writing a table to a file, or for one made from that file.

    >>> written_format(Path("rows.parquet")).name, written_format(Path("rows.npz")).name
    ('Parquet', 'CSV')
    """
    suffix = _unpacked(path).suffix.lower()
    can = [entry for entry in FORMATS.values() if entry.writes and suffix in entry.suffixes]
    return can[0] if can else next(iter(FORMATS.values()))


def describe_formats() -> str:
    """List the formats with their suffixes, for messages.

    >>> describe_formats()[:32]
    'CSV (.csv, .tsv, .txt, .data), P'
    """
    return ", ".join(f"{name} ({', '.join(entry.suffixes)})" for name, entry in FORMATS.items())


def name_without_suffixes(path: Path) -> str:
    """Return the name of a file without the suffixes of its format.

    >>> name_without_suffixes(Path("data/rows.2020.csv.gz"))
    'rows.2020'
    """
    known = {PACKED, *(suffix for entry in FORMATS.values() for suffix in entry.suffixes)}
    name = path.name
    for suffix in reversed(path.suffixes):
        if suffix.lower() in known:
            name = name.removesuffix(suffix)
    return name or path.name


def result_name(path: Path, taken: Container[str] = ()) -> str:
    """Name results measured on a file: with its suffix, unless that is the usual one.

    Files that differ only in their format have different names, none of which is in `taken`.

    >>> result_name(Path("rows.csv.gz")), result_name(Path("rows.svm"))
    ('rows', 'rows-svm')
    """
    usual = next(iter(FORMATS.values())).suffixes[0]
    path = _unpacked(path)
    if path.suffix.lower() == usual and path.stem not in taken:
        return path.stem
    return path.name.replace(".", "-")


def _unpacked(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() == PACKED else path
