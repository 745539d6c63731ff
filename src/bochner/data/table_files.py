"""Files read in pieces: text with separators, Parquet, svmlight, npz.

Everything that can be wrong with a file is a :class:`TableError` that names the file.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

CHUNK = 50_000  # rows read at a time, or as many as have
_CHUNK_ENTRIES = 5_000_000
_SNIFFED = 2**16  # characters by which the form of a text file is recognised
_SEPARATORS = ",;\t|"
# A label, then pairs of a position and a value.
_SVMLIGHT = re.compile(r"^[-+]?[\d.]+(e[-+]?\d+)?\s+(qid:\d+\s+)?(\d+:\S+\s*)+(#.*)?$", re.I)

# 3,14 and 1.234,5; beside them also 3 and 1.234.
_DECIMAL_COMMA = re.compile(r"\s*[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+(e[-+]?\d+)?\s*", re.I)
_COMMA_OR_WHOLE = r"\s*[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?(?:[eE][-+]?\d+)?\s*"
_NEARLY_ALL = 0.95

FORMATS = "CSV (.csv, .tsv, .txt), Parquet (.parquet), svmlight (.svm, .libsvm, .svmlight), .npz"


class TableError(ValueError):
    """A file that cannot be used, in one clear line for the user."""


@dataclass(frozen=True)
class TextForm:
    """How a text file with separators is written: what pandas has to be told."""

    separator: str
    names: tuple[str, ...]
    header: bool
    encoding: str


def file_format(path: Path) -> str:
    """``"csv"``, ``"parquet"``, ``"svmlight"`` or ``"npz"``, by the name and, if need be, a look.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bochner.data.table_files import file_format
    >>> file_format(Path("rows.libsvm.gz"))
    'svmlight'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix in (".svm", ".libsvm", ".svmlight"):
        return "svmlight"
    if suffix in (".parquet", ".pq"):
        return "parquet"
    if suffix == ".npz":
        return "npz"
    if suffix in (".csv", ".tsv"):
        return "csv"
    lines = _first_lines(path)[0]
    if not lines:
        raise TableError(f"the file {path} is empty.")
    rows = [line for line in lines if not line.startswith("#")]
    if rows and all(_SVMLIGHT.match(line) for line in rows[:20]):
        return "svmlight"
    return "csv"


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What goes wrong inside becomes a TableError with the name of the file."""
    try:
        yield
    except TableError:
        raise
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TableError(f"the file {path} is cut short or damaged: {error}") from error
    except MemoryError as error:
        raise TableError(f"the file {path} does not fit into memory.") from error
    except (ValueError, OSError, KeyError, IndexError) as error:
        raise TableError(f"the file {path} cannot be read: {error}") from error


def open_binary(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked where its name ends in .gz."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def _first_lines(path: Path) -> tuple[list[str], str]:
    with reading(path), open_binary(path) as file:
        start = file.read(_SNIFFED)
        whole = not file.read(1)
    if b"\0" in start:
        raise TableError(f"the file {path} is not text; what can be read is {FORMATS}.")
    encoding = "utf-8-sig"
    try:
        # the last character may be cut
        text = start.decode(encoding, errors="strict" if whole else "ignore")
        start[: max(0, len(start) - 4)].decode("utf-8-sig")
    except UnicodeDecodeError:
        encoding = "latin-1"
        text = start.decode(encoding)
    lines = text.splitlines()
    if not whole and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip()], encoding


def text_form(path: Path) -> TextForm:
    """Separator and header of a text file, from its first lines.

    The separator is the one that cuts all lines into the same number of fields, several of them;
    a comma is none where another one leaves numbers with decimal commas.
    The first line is a header if it has text where all others have numbers, if it has no number
    at all, or if it counts the columns from 0.
    """
    lines, encoding = _first_lines(path)
    if not lines:
        raise TableError(f"the file {path} is empty.")
    separator, fewest = ",", 0
    for candidate in (*_SEPARATORS, " "):
        rows = list(csv.reader(lines[:50], delimiter=candidate, skipinitialspace=True))
        counts = {len(row) for row in rows if row}
        if len(counts) == 1 and min(counts) > max(fewest, 1):
            separator, fewest = candidate, min(counts)
    if separator == ",":
        separator = next((found for found in ";\t" if _leaves_commas(lines[:50], found)), ",")
    rows = list(csv.reader(lines[:50], delimiter=separator, skipinitialspace=True))
    if separator != ",":
        rows = [[_with_point(field) for field in row] for row in rows]
    first, header = rows[0], _has_header(rows)
    if header:
        names = [field.strip() or f"column{i + 1}" for i, field in enumerate(first)]
    else:
        names = [f"column{i + 1}" for i in range(len(first))]
    if len(names) < 2:
        raise TableError(
            f"the file {path} has one column only ({names[0][:60]!r}); a target and at least one "
            "other column are needed, separated by a comma, semicolon, tab or bar."
        )
    return TextForm(separator, _different(names), header, encoding)


def _leaves_commas(lines: list[str], separator: str) -> bool:
    """Whether cutting here leaves fields with commas, all of which are decimal ones."""
    rows = list(csv.reader(lines, delimiter=separator, skipinitialspace=True))
    counts = {len(row) for row in rows if row}
    with_comma = [field for row in rows for field in row if "," in field]
    return (
        len(counts) == 1
        and min(counts) > 1
        and bool(with_comma)
        and all(_DECIMAL_COMMA.fullmatch(field) for field in with_comma)
    )


def _with_point(field: str) -> str:
    return field.replace(".", "").replace(",", ".") if _DECIMAL_COMMA.fullmatch(field) else field


def _has_header(rows: list[list[str]]) -> bool:
    first = rows[0]
    if not any(_is_number(field) for field in first):
        return True
    if len(first) > 2 and first == [str(i) for i in range(len(first))]:
        return len(rows) > 1 and first != rows[1]
    for field, *others in zip(*rows, strict=False):
        filled = [other for other in others if other.strip()]
        if field.strip() and not _is_number(field) and filled and all(map(_is_number, filled)):
            return True
    return False


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return field.strip().lower() not in ("nan", "inf", "infinity")


def _different(names: Iterable[str]) -> tuple[str, ...]:
    """Names that are all different: a repeated one gets a number."""
    found: dict[str, None] = {}
    for name in names:
        new, number = name, 1
        while new in found:
            number += 1
            new = f"{name}.{number}"
        found[new] = None
    return tuple(found)


def chunk_rows(n_columns: int) -> int:
    """Rows to read at a time, fewer where there are many columns.

    Examples
    --------
    >>> from bochner.data.table_files import chunk_rows
    >>> chunk_rows(10), chunk_rows(10_000)
    (50000, 500)
    """
    return min(CHUNK, max(100, _CHUNK_ENTRIES // n_columns))


def csv_frames(
    path: Path,
    form: TextForm,
    as_text: Iterable[str] = (),
    commas: set[str] | None = None,
) -> Iterator[Any]:
    """A text file as DataFrames of some rows each; `as_text` columns are not made numbers.

    Where the separator is no comma, other columns of numbers with decimal commas are made numbers;
    their names are added to `commas`.
    """
    import pandas as pd

    kinds = dict.fromkeys(as_text, str)
    with (
        reading(path),
        pd.read_csv(
            path,
            sep=form.separator,
            names=list(form.names),
            header=0 if form.header else None,
            index_col=False,
            dtype=kinds,
            encoding=form.encoding,
            skipinitialspace=True,
            chunksize=chunk_rows(len(form.names)),
            low_memory=False,
        ) as chunks,
    ):
        for frame in chunks:
            if form.separator != ",":
                for name in frame.columns:
                    if name not in kinds and _has_decimal_commas(frame[name]):
                        frame[name] = _with_points(frame[name])
                        if commas is not None:
                            commas.add(name)
            yield frame


def _has_decimal_commas(column: Any) -> bool:
    """Whether text is nearly all numbers, at least one of which has a decimal comma."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype):
        return False
    values = column.dropna().astype(str)
    if not len(values) or not _nearly_all_numbers(values.iloc[:100]):
        return False
    return _nearly_all_numbers(values) and bool(values.str.fullmatch(_DECIMAL_COMMA).any())


def _nearly_all_numbers(values: Any) -> bool:
    return bool(values.str.fullmatch(_COMMA_OR_WHOLE).mean() >= _NEARLY_ALL)


def _with_points(column: Any) -> Any:
    """Numbers; or text, where something else is among them."""
    import pandas as pd

    text = column.astype(object).where(column.notna(), None)
    there = column.notna()
    values = column[there].astype(str)
    number = values.str.fullmatch(_COMMA_OR_WHOLE)
    points = values.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    text[there] = values.where(~number, points).astype(object)
    return pd.to_numeric(text) if number.all() else text


def decimal_commas_note(names: Iterable[str]) -> str:
    """The sentence about columns whose numbers were written with decimal commas."""
    names = list(names)
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"Commas are read as decimal points: {shown}."


def parquet_names(path: Path) -> list[str]:
    """The columns of a Parquet file."""
    with reading(path):
        return [str(name) for name in _parquet(path).schema_arrow.names]


def parquet_frames(path: Path) -> Iterator[Any]:
    """A Parquet file as DataFrames of some rows each."""
    with reading(path):
        file = _parquet(path)
        size = chunk_rows(len(file.schema_arrow.names))
        for batch in file.iter_batches(batch_size=size):
            frame = batch.to_pandas()
            frame.columns = [str(name) for name in frame.columns]
            yield frame


def _parquet(path: Path) -> Any:
    try:
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise TableError(
            f"reading {path} needs pyarrow: pip install pyarrow, or save the table as CSV."
        ) from error
    return parquet.ParquetFile(path)


def svmlight_rows(
    path: Path, keep: int | None, random_state: np.random.RandomState
) -> tuple[Any, Any, int]:
    """CSR rows and labels of a svmlight file, `keep` of them at random, and how many there are."""
    from sklearn.datasets import load_svmlight_file

    with reading(path):
        kept: list[tuple[int, bytes]] = []
        n = 0
        with open_binary(path) as file:
            for line in file:
                if not line.strip() or line.lstrip().startswith(b"#"):
                    continue
                if keep is None or n < keep:
                    kept.append((n, line))
                else:
                    # Reservoir sampling: row n replaces one kept with probability keep / (n + 1).
                    place = random_state.randint(n + 1)
                    if place < keep:
                        kept[place] = (n, line)
                n += 1
        if n == 0:
            raise TableError(f"the file {path} is empty.")
        kept.sort()
        text = b"".join(line if line.endswith(b"\n") else line + b"\n" for _, line in kept)
        try:
            X, y = load_svmlight_file(io.BytesIO(text))
        except ValueError as error:
            raise TableError(
                f"the file {path} is not in svmlight form (lines 'label index:value ...'): {error}"
            ) from error
    return X.tocsr(), y, n


def npz_arrays(path: Path, target: str | None) -> tuple[Any, Any, str, tuple[str, ...]]:
    """Rows of any shape, labels and the labels' name from a npz file, and notes."""
    if not zipfile.is_zipfile(path):
        raise TableError(f"the file {path} is not a npz file, which numpy.savez writes.")
    with reading(path), np.load(path, allow_pickle=False) as archive:
        names = list(archive.files)
        pairs = [("X", "y"), ("X_train", "y_train"), ("x_train", "y_train"), ("data", "target")]
        rows = next((x for x, _ in pairs if x in names), None)
        labels = target or next((y for x, y in pairs if x == rows and y in names), None)
        if rows is None or labels is None or labels not in names:
            wanted = "X and y, or X_train and y_train" if target is None else f"X and {target!r}"
            raise TableError(
                f"the file {path} must hold arrays {wanted}; it holds {', '.join(names)}."
            )
        X, y = archive[rows], archive[labels]
    notes = []
    if f"{rows[0]}_test" in names:
        notes.append(f"Only {rows} and {labels} are used; the test arrays are not looked at.")
    if X.ndim < 2 or X.dtype.kind not in "fiub":
        raise TableError(
            f"{rows} in {path} must be numbers of shape (rows, columns), got {X.dtype} of shape "
            f"{X.shape}."
        )
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim != 1 or len(y) != len(X):
        raise TableError(
            f"{labels} in {path} must have shape ({len(X)},), got {y.shape}: one label a row."
        )
    return X, y, labels, tuple(notes)
