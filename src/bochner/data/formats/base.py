"""The interface of table formats, and helpers to open files and to cut and sample rows.

Anything wrong with a file raises a :class:`~bochner.data.errors.TableError` that names the file.
"""

from __future__ import annotations

import gzip
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, BinaryIO, ClassVar

import numpy as np

from bochner.data.errors import DamagedFileError, TableError
from bochner.data.images import ImageShape, Shape
from bochner.records.memory import memory_limit

CHUNK = 50_000  # most rows read at a time
_CHUNK_ENTRIES = 5_000_000  # entries of these rows
_HEAD = 2**16  # bytes
PACKED = ".gz"

Piece = tuple[Any, Any]  # rows, and their labels or None
Part = tuple[int, ...] | None  # part of a file: some of its row groups, or None for all of it


@dataclass(frozen=True)
class Request:
    """Options for reading a table."""

    target: str | None = None  # labels, by name or position; None for the default
    max_rows: int | None = None  # if there are more rows, this many are drawn at random
    random_state: int = 0  # seed of the random draw
    image_shape: ImageShape = "auto"  # shape of the image in every row, from the user


@dataclass(frozen=True)
class Contents:
    """Contents of a file, before the target is examined."""

    X: Any  # DataFrame, ndarray or CSR matrix of shape (n, d)
    y: Any  # Series or ndarray of shape (n,)
    target: str | None  # name of the labels, if they have one
    n_rows_in_file: int
    notes: tuple[str, ...] = ()  # sentences for the user
    image_shape: Shape | None = None  # shape of the image in every row, from the file
    n_missing: int = 0  # rows of the file without a label, which are left out

    @property
    def n_labelled(self) -> int:
        """Number of rows of the file with a label, of which these are all or a sample."""
        return self.n_rows_in_file - self.n_missing


@dataclass(frozen=True)
class Expected:
    """Properties that a model expects of the rows to predict."""

    columns: tuple[str, ...] = ()  # names, if the columns have any
    text_columns: frozenset[str] = frozenset()  # columns of text, even if it is all digits
    target: str | None = None  # labels of this name are split off, if there are any
    image_shape: Shape | None = None


class TableWriter(ABC):
    """Writer of a table to a file, a piece at a time."""

    @abstractmethod
    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add rows, given as columns by name; the names are the same every time."""

    @abstractmethod
    def close(self) -> None:
        """Write remaining rows; the file stays open."""


class TableFormat(ABC):
    """A format of tables on file. A new one is a subclass and an entry in the registry.

    Attributes
    ----------
    name : str
        Name as shown to users.
    suffixes : tuple of str
        Suffixes of file names, in lower case. A suffix shared by several formats is not enough to
        recognise one.
    writes : bool
        Whether there is a :meth:`writer`; other formats can only be read.
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    writes: ClassVar[bool] = False

    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins like this, once decompressed, has this format."""
        return False

    @abstractmethod
    def read(self, path: Path, request: Request) -> Contents:
        """Read rows and labels, keeping no more than ``request.max_rows`` of them."""

    @abstractmethod
    def stream(self, path: Path, expected: Expected, notes: list[str]) -> Iterator[Piece]:
        """Yield rows to predict, with their labels if there are any, one piece after the other.

        Sentences for the user are added to `notes`.
        """

    def parts(self, path: Path) -> list[Part]:
        """Return parts of a file that can be read on their own, for :meth:`stream_part`."""
        return [None]

    def stream_part(
        self, path: Path, part: Part, expected: Expected, notes: list[str]
    ) -> Iterator[Piece]:
        """Yield rows to predict from one part, like :meth:`stream`."""
        return self.stream(path, expected, notes)

    def writer(self, file: BinaryIO) -> TableWriter:
        """Return a writer of a table to an open file."""
        raise NotImplementedError(f"tables cannot be written as {self.name}")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors inside the context into a TableError with the name of the file."""
    try:
        yield
    except TableError:
        raise
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFileError(f"the file {path} is cut short or damaged: {error}") from error
    except MemoryError as error:
        raise TableError(f"the file {path} does not fit into memory.") from error
    except (ValueError, OverflowError, OSError, KeyError, IndexError) as error:
        raise DamagedFileError(f"the file {path} cannot be read: {error}") from error


def open_binary(path: Path) -> IO[bytes]:
    """Open the bytes of a file, decompressed if its name ends in .gz."""
    if path.suffix.lower() == PACKED:
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def read_head(path: Path) -> tuple[bytes, bool]:
    """Return the first bytes of a file, to recognise it by, and whether they are all of it."""
    with reading(path), open_binary(path) as file:
        return file.read(_HEAD), not file.read(1)


def check_size(path: Path, n_bytes: int, what: str) -> None:
    """Raise an error, before allocation, if a file declares more than half of all memory."""
    limit = memory_limit()
    if limit is not None and n_bytes > limit / 2:
        raise TableError(
            f"{what} in {path} would take {n_bytes / 1e9:.3g} GB, more than half of the memory "
            f"({limit / 1e9:.3g} GB)."
        )


def sample_rows(contents: Contents, request: Request) -> Contents:
    """Draw as many rows of arrays as were requested, at random, in their order."""
    n, most = len(contents.y), request.max_rows
    if most is None or n <= most:
        return contents
    generator = np.random.RandomState(request.random_state)
    rows = np.sort(generator.permutation(n)[:most])
    return replace(contents, X=contents.X[rows], y=contents.y[rows])


def cut_rows(X: Any, y: Any) -> Iterator[Piece]:
    """Yield pieces of arrays that are in memory."""
    for first in range(0, X.shape[0], CHUNK):
        rows = slice(first, first + CHUNK)
        yield X[rows], None if y is None else y[rows]


def chunk_rows(n_columns: int) -> int:
    """Return the number of rows to read at a time, fewer if there are many columns.

    >>> chunk_rows(10), chunk_rows(10_000)
    (50000, 500)
    """
    return min(CHUNK, max(100, _CHUNK_ENTRIES // n_columns))
