"""What every table format has: an interface, and ways to open, cut and sample rows.

Everything that can be wrong with a file is a :class:`~bochner.data.errors.TableError` that names
the file.
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

CHUNK = 50_000  # rows read at a time, or as many as have
_CHUNK_ENTRIES = 5_000_000
_HEAD = 2**16  # bytes
PACKED = ".gz"

Piece = tuple[Any, Any]  # rows, and their labels or None
Part = tuple[int, ...] | None  # of a file: some of its row groups, or all of it


@dataclass(frozen=True)
class Request:
    """What a table is read for."""

    target: str | None = None  # the labels, by name or position; None for the usual ones
    max_rows: int | None = None  # of more rows than this, this many are drawn at random
    random_state: int = 0  # decides which
    image_shape: ImageShape = "auto"  # what the user says that every row is an image of


@dataclass(frozen=True)
class Contents:
    """What came out of a file, before the target was looked at."""

    X: Any  # DataFrame, ndarray or CSR matrix of shape (n, d)
    y: Any  # Series or ndarray of shape (n,)
    target: str | None  # the name of the labels, where they have one
    n_rows_in_file: int
    notes: tuple[str, ...] = ()  # sentences for the user
    image_shape: Shape | None = None  # what the file says that every row is an image of
    n_missing: int = 0  # rows of the file that have no label, and are not among these

    @property
    def n_labelled(self) -> int:
        """Rows of the file that have a label, of which these are all or a sample."""
        return self.n_rows_in_file - self.n_missing


@dataclass(frozen=True)
class Expected:
    """What a model expects of the rows that it predicts."""

    columns: tuple[str, ...] = ()  # names, where the columns have any
    text_columns: frozenset[str] = frozenset()  # those that are text, also where it is digits
    target: str | None = None  # labels of this name are split off, where they are there
    image_shape: Shape | None = None


class TableWriter(ABC):
    """A table that is written to a file, a piece at a time."""

    @abstractmethod
    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add rows: columns by name, the same ones every time."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left; the file stays open."""


class TableFormat(ABC):
    """A format of tables on file. A new one is a subclass and an entry in the registry.

    Attributes
    ----------
    name : str
        As it is shown to users.
    suffixes : tuple of str
        Of file names, in lower case. One that several formats have does not decide alone.
    writes : bool
        Whether there is a :meth:`writer`; other formats are only read.
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    writes: ClassVar[bool] = False

    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins like this, unpacked, is of this format."""
        return False

    @abstractmethod
    def read(self, path: Path, request: Request) -> Contents:
        """Rows and labels, of which no more than ``request.max_rows`` are kept."""

    @abstractmethod
    def stream(self, path: Path, expected: Expected, notes: list[str]) -> Iterator[Piece]:
        """Rows to predict, with their labels where they are there, one piece after the other.

        Sentences for the user are added to `notes`.
        """

    def parts(self, path: Path) -> list[Part]:
        """Parts of a file that can be read by themselves, for :meth:`stream_part`."""
        return [None]

    def stream_part(
        self, path: Path, part: Part, expected: Expected, notes: list[str]
    ) -> Iterator[Piece]:
        """As :meth:`stream`, of one part."""
        return self.stream(path, expected, notes)

    def writer(self, file: BinaryIO) -> TableWriter:
        """What writes a table to an open file."""
        raise NotImplementedError(f"tables cannot be written as {self.name}")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What goes wrong inside becomes a TableError with the name of the file."""
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
    """The bytes of a file, unpacked where its name ends in .gz."""
    if path.suffix.lower() == PACKED:
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def read_head(path: Path) -> tuple[bytes, bool]:
    """The first bytes of a file, by which it is recognised, and whether they are all of it."""
    with reading(path), open_binary(path) as file:
        return file.read(_HEAD), not file.read(1)


def check_size(path: Path, n_bytes: int, what: str) -> None:
    """An error before memory is asked for where a file declares more than half of all there is."""
    limit = memory_limit()
    if limit is not None and n_bytes > limit / 2:
        raise TableError(
            f"{what} in {path} would take {n_bytes / 1e9:.3g} GB, more than half of the memory "
            f"({limit / 1e9:.3g} GB)."
        )


def sample_rows(contents: Contents, request: Request) -> Contents:
    """As many rows of arrays as were asked for, drawn at random, in their order."""
    n, most = len(contents.y), request.max_rows
    if most is None or n <= most:
        return contents
    generator = np.random.RandomState(request.random_state)
    rows = np.sort(generator.permutation(n)[:most])
    return replace(contents, X=contents.X[rows], y=contents.y[rows])


def cut_rows(X: Any, y: Any) -> Iterator[Piece]:
    """Arrays that are in memory, in pieces."""
    for first in range(0, X.shape[0], CHUNK):
        rows = slice(first, first + CHUNK)
        yield X[rows], None if y is None else y[rows]


def chunk_rows(n_columns: int) -> int:
    """Rows to read at a time, fewer where there are many columns.

    >>> chunk_rows(10), chunk_rows(10_000)
    (50000, 500)
    """
    return min(CHUNK, max(100, _CHUNK_ENTRIES // n_columns))
