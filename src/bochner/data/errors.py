"""The errors of everything that reads a user's data."""

from __future__ import annotations


class TableError(ValueError):
    """A file that cannot be used, in one clear line for the user."""


class EmptyFileError(TableError):
    """A file without rows that could be learned from; among several files it is left out."""


class DamagedFileError(TableError):
    """A file that cannot be read to its end; among several files it may be left out."""
